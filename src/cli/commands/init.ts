/** `tenure init`: writes a config file to start from and fresh secrets beside it. Never writes over anything. */
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { Command } from 'commander';
import { TenureError } from '../../kernel/index.ts';
import { findSettings } from '../config.ts';
import type { CliSettings } from '../settings.ts';
import { printJson } from '../terminal.ts';

interface InitFlags {
  readonly cell?: string;
  readonly members?: string;
  readonly json?: boolean;
}

const THREE_HERE = 'a=127.0.0.1:4601,b=127.0.0.1:4602,c=127.0.0.1:4603';
const SECRET_BYTES = 32;

export function initCommand(): Command {
  return new Command('init')
    .summary('write a config file and secrets to start from')
    .description(
      'Writes tenure.yaml, member.secret and client.secret (readable by you only) into a folder, and refuses to write over anything.\n' +
        'The same files go to every member; clients get tenure.yaml and client.secret, but not member.secret.',
    )
    .argument('[folder]', 'where to write', '.')
    .option('--cell <name>', 'the name of the cell (TENURE_CELL): main unless told otherwise')
    .option('--members <list>', `every member with its address (TENURE_MEMBERS): ${THREE_HERE} unless told otherwise`)
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      `
Examples:
  tenure init                                       three members on this machine, to try it
  tenure init /etc/tenure --cell orders --members a=10.0.0.1:4600,b=10.0.0.2:4600,c=10.0.0.3:4600

Exit codes: 0 written, 64 usage, 78 a file is there already or a value cannot be used.`,
    )
    .action(async (folder: string, flags: InitFlags) => {
      const { cell = '', members = {} } = await wanted(flags);
      const files = {
        'tenure.yaml': { text: starterConfig(cell, members), mode: 0o644 },
        'member.secret': { text: freshSecret(), mode: 0o600 },
        'client.secret': { text: freshSecret(), mode: 0o600 },
      };
      const paths = Object.fromEntries(Object.keys(files).map((name) => [name, relative('.', join(folder, name)) || name]));
      const there = Object.values(paths).filter((path) => existsSync(path));
      if (there.length > 0) throw new TenureError('TENURE_BAD_CONFIG', `${there.join(', ')}: already there, and nothing is written over`);
      try {
        mkdirSync(folder, { recursive: true });
        for (const [name, { text, mode }] of Object.entries(files)) writeFileSync(join(folder, name), text, { mode, flag: 'wx' });
      } catch (error) {
        throw new TenureError('TENURE_BAD_CONFIG', `cannot write: ${error instanceof Error ? error.message : String(error)}`);
      }
      if (flags.json) printJson({ cell, files: Object.values(paths) });
      else process.stdout.write(nextSteps(paths, Object.keys(members)));
    });
}

/** Of the environment only these two count: the config file is about to be written. */
async function wanted({ cell, members }: InitFlags): Promise<CliSettings> {
  const { TENURE_CELL, TENURE_MEMBERS } = process.env;
  const flags = { ...(cell === undefined ? {} : { cell }), ...(members === undefined ? {} : { members }) };
  const { settings } = await findSettings(flags, { TENURE_CELL: TENURE_CELL || 'main', TENURE_MEMBERS: TENURE_MEMBERS || THREE_HERE });
  return settings;
}

function starterConfig(cell: string, members: Readonly<Record<string, string>>): string {
  const lines = Object.entries(members).map(([id, address]) => `  ${quoted(id)}: ${quoted(address)}`);
  return `# The configuration of one Tenure cell, the same for all members and clients. docs/cli.md lists every setting;
# flags and TENURE_… variables win over what is written here.
cell: ${quoted(cell)}

# Each member and where others reach it. Which one a process is, it is told by --self, or by its host name.
members:
${lines.join('\n')}

# Paths are relative to this file. Clients need the second only.
secretFile: member.secret
clientSecretFile: client.secret

# The longest term of any lease. A member that starts keeps silent about as long.
maxTerm: 15s
`;
}

/** JSON texts are YAML texts; plain words and addresses need no quotes. */
function quoted(text: string): string {
  if (/^[A-Za-z0-9][\w.-]*:\d+$/.test(text)) return text;
  return /^[A-Za-z][\w.-]*$/.test(text) && !/^(?:true|false|null|yes|no|on|off|y|n)$/i.test(text) ? text : JSON.stringify(text);
}

function freshSecret(): string {
  return `${randomBytes(SECRET_BYTES).toString('hex')}\n`;
}

function nextSteps(paths: Readonly<Record<string, string>>, ids: readonly string[]): string {
  const config = paths['tenure.yaml'];
  const serves = ids.map((id) => `  tenure serve --config ${config} --self ${id}\n`);
  return (
    `wrote ${Object.values(paths).join(', ')}\n\n` +
    `Start each member, in a terminal or on a machine of its own:\n${serves.join('')}\n` +
    `Then, as a client:\n  export TENURE_CONFIG=${config}\n  tenure status\n  tenure acquire my-first-lease\n`
  );
}
