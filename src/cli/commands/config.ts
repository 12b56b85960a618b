/** `tenure config check`: looks at a configuration as `serve` and clients would, and starts nothing. */
import { statSync } from 'node:fs';
import { Command } from 'commander';
import { formatDuration, TenureError } from '../../kernel/index.ts';
import { shownUrl } from '../../store/by-url.ts';
import {
  addAllOptions,
  asClient,
  asMember,
  findSettings,
  placeOfLeases,
  type CellFlags,
  type FoundSettings,
  type Sourced,
} from '../config.ts';
import { engineOf } from '../engine-of.ts';
import { SETTING_KEYS } from '../settings.ts';
import { paletteFor, printJson, table } from '../terminal.ts';

interface CheckFlags extends CellFlags {
  readonly json?: boolean;
}

export function configCommand(): Command {
  const check = addAllOptions(
    new Command('check')
      .summary('say what a configuration means, or what is wrong with it')
      .description(
        'Reads a config file with the environment and the flags, as every other command does, and prints each setting with where it came from.\n' +
          'Secrets are read and their length is looked at, but they are not shown. Nothing is started and nobody is called.',
      )
      .argument('[file]', 'the config file (default: the one of --config or TENURE_CONFIG)')
      .option('--json', 'print one JSON object'),
  )
    .addHelpText(
      'after',
      `
Examples:
  tenure config check tenure.yaml
  TENURE_CONFIG=/etc/tenure/tenure.yaml tenure config check --self b

Exit codes: 0 it can work, 78 it cannot (the message names file, line and key).`,
    )
    .action(async (file: string | undefined, flags: CheckFlags) => {
      const found = await findSettings(file === undefined ? flags : { ...flags, config: file });
      const { settings, origins } = withoutPasswords(found);
      const { warnings, outlook } = placeOfLeases(found) === 'store' ? ofStore() : ofCell(found);
      if (flags.json) printJson({ settings, origins, warnings });
      else print({ settings, origins }, warnings, outlook);
    });
  return new Command('config')
    .summary('look at a configuration')
    .description('Looks at configurations; see the commands.')
    .addCommand(check);
}

/** Settings that are allowed but unwise, and the behaviour to expect. */
interface Judgement {
  readonly warnings: readonly string[];
  readonly outlook: string;
}

function ofStore(): Judgement {
  return { warnings: [], outlook: 'leases are in the store; tenure store doctor looks whether it can be used' };
}

/** Throws what would keep a member or a client from starting. */
function ofCell(found: FoundSettings): Judgement {
  const { settings, origins } = found;
  const client = asClient(found);
  // A file without self is right: all members share it. Any of them stands for all.
  const self = settings.self ?? Object.keys(client.members)[0] ?? '';
  const member = asMember({ settings: { ...settings, self }, origins });
  const count = Object.keys(client.members).length;
  const { silenceUs } = engineOf(member).timing;
  for (const [key, secret] of [
    ['secretFile', member.secret],
    ['clientSecretFile', member.clientSecret],
  ] as const) {
    if (secret !== undefined && secret.length < SECRET_BYTES_MIN) {
      throw new TenureError(
        'TENURE_BAD_CONFIG',
        `${origins[key]}: ${key}: the secret has ${secret.length} bytes and needs ${SECRET_BYTES_MIN}: make one with openssl rand -hex 32`,
      );
    }
  }
  const warnings: string[] = [];
  if (count % 2 === 0) {
    warnings.push(`${count} members survive no more losses than ${count - 1}: a majority of ${count} is ${Math.floor(count / 2) + 1}`);
  }
  if (settings.secretFile === undefined) warnings.push('without secretFile only loopback addresses are served and dialled');
  else if (settings.clientSecretFile === undefined) warnings.push('without clientSecretFile only clients on the same machine are served');
  for (const path of [settings.secretFile, settings.clientSecretFile]) {
    if (path !== undefined && (statSync(path).mode & 0o007) !== 0)
      warnings.push(`everybody on this machine can read ${path}: chmod 600 it`);
  }
  return { warnings, outlook: `a member that starts keeps silent for ${formatDuration(silenceUs)}` };
}

/** Throws if the URL of the store cannot name one. */
function withoutPasswords({ settings, origins }: Sourced): Sourced {
  return settings.store === undefined ? { settings, origins } : { settings: { ...settings, store: shownUrl(settings.store) }, origins };
}

const SECRET_BYTES_MIN = 16;

function print({ settings, origins }: Sourced, warnings: readonly string[], outlook: string): void {
  const { dim, green, yellow } = paletteFor(process.stdout);
  const rows = SETTING_KEYS.flatMap((key) => {
    const value = settings[key];
    if (value === undefined) return [];
    const shown =
      typeof value === 'object'
        ? Object.entries(value)
            .map(([id, address]) => `${id}=${address}`)
            .join(',')
        : String(value);
    return [[key, shown, dim(origins[key] ?? '')]];
  });
  process.stdout.write(table(rows));
  for (const warning of warnings) process.stdout.write(`${yellow('warning')}: ${warning}\n`);
  process.stdout.write(`${green('ok')}: ${outlook}\n`);
}
