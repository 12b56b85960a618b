/**
 * How any command finds its cell or its store: flags, then environment, then a config file, each setting from the first that has it. What
 * is wrong or missing is told with where it was said, and ends with exit code 78. A config file is never looked for: a lock
 * that depends on the folder one happens to be in would be two locks.
 */
import { existsSync, readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import type { Command } from 'commander';
import { parseEngine, type EngineOptions, type ConnectOptions, type JoinOptions } from '../api/index.ts';
import { TenureError } from '../kernel/index.ts';
import { checkMember } from './member-check.ts';
import {
  checkSetting,
  flagOf,
  SETTING_KEYS,
  SETTINGS,
  variableOf,
  type CliSettings,
  type SettingKey,
  type SettingUser,
} from './settings.ts';
import { whyUnreadable } from './unreadable.ts';

/** What commander has made of the flags that `addLeaseOptions`, `addCellOptions` and `addMemberOptions` add. */
export type CellFlags = Partial<Record<Exclude<SettingKey, 'keepVotes'>, string>> & { readonly keepVotes?: boolean } & {
  readonly config?: string;
  readonly connectTimeout?: string;
};

type Environment = Readonly<Record<string, string | undefined>>;

export interface FoundSettings {
  readonly settings: CliSettings;
  /** Where each was said: a flag, a variable, or file and line. */
  readonly origins: Partial<Record<SettingKey, string>>;
  /** Settings from the command line, or from the file it names; this process found the others around it. */
  readonly byCommandLine: ReadonlySet<SettingKey>;
  /** The config file, if there is one. */
  readonly file: string | undefined;
}

/** Settings with where they were said. */
export type Sourced = Pick<FoundSettings, 'settings' | 'origins'>;

/** The flags with which a command finds leases: in a cell, or in a store. */
export function addLeaseOptions(command: Command): Command {
  return addOptions(command, ['leases', 'cell']).option(
    '--connect-timeout <duration>',
    'how long to look for a majority, or for the store, before giving up: 5s',
  );
}

/** The flags with which a client finds its cell. */
export function addCellOptions(command: Command): Command {
  return addOptions(command, ['cell']).option('--connect-timeout <duration>', 'how long to look for a majority before giving up: 5s');
}

/** The flags of a member. */
export function addMemberOptions(command: Command): Command {
  return addOptions(command, ['cell', 'members']);
}

/** All flags there are. */
export function addAllOptions(command: Command): Command {
  return addOptions(command, ['leases', 'cell', 'members']);
}

function addOptions(command: Command, users: readonly SettingUser[]): Command {
  command.option('--config <file>', 'a config file with any of these settings (TENURE_CONFIG)');
  for (const key of SETTING_KEYS) {
    const { placeholder, meaning, usedBy } = SETTINGS[key];
    if (users.includes(usedBy)) command.option(`${flagOf(key)} ${placeholder}`.trim(), `${meaning} (${variableOf(key)})`);
  }
  return command;
}

/** All that was said, from the strongest source for each; nothing is required yet. */
export async function findSettings(flags: CellFlags, env: Environment = process.env): Promise<FoundSettings> {
  const file = flags.config ?? said(env['TENURE_CONFIG']);
  // The YAML reader is loaded only where there is a file to read.
  const inFile = file === undefined ? null : (await import('./config-file.ts')).readConfigFile(file);
  const settings: CliSettings = { ...inFile?.settings };
  const origins: FoundSettings['origins'] = { ...inFile?.origins };
  const byCommandLine = new Set<SettingKey>(SETTING_KEYS.filter((key) => flags.config !== undefined && key in origins));
  const problems: string[] = [];
  for (const key of SETTING_KEYS) {
    const flag = flags[key];
    const value = flag ?? said(env[variableOf(key)]);
    if (value === undefined) continue;
    const origin = flag === undefined ? variableOf(key) : flagOf(key);
    for (const { path, message } of checkSetting(key, value, settings)) problems.push(`${[origin, ...path].join('.')}: ${message}`);
    origins[key] = origin;
    if (flag === undefined) byCommandLine.delete(key);
    else byCommandLine.add(key);
  }
  if (problems.length > 0) throw new TenureError('TENURE_BAD_CONFIG', problems.join('\n'));
  return { settings, origins, byCommandLine, file };
}

/**
 * Where the leases are. Either a cell or a store has to be named, not both: leases of the same name in two places are two locks. What the command line names
 * counts more than what the environment does. Throws `TENURE_BAD_CONFIG`.
 */
export function placeOfLeases({ settings, origins, byCommandLine }: FoundSettings): 'cell' | 'store' {
  const named = (['store', 'cell', 'members'] as const).filter((key) => settings[key] !== undefined);
  const onCommandLine = named.filter((key) => byCommandLine.has(key));
  const [first, second] = onCommandLine.length > 0 ? onCommandLine : named;
  if (first === 'store' && second !== undefined) {
    throw new TenureError(
      'TENURE_BAD_CONFIG',
      `a cell (${origins[second]}) and a store (${origins.store}) are named, and leases are in one place: give one of them`,
    );
  }
  if (first === undefined) {
    throw new TenureError(
      'TENURE_BAD_CONFIG',
      `which cell or store? Give ${naming('cell')} and ${naming('members')}, or ${naming('store')}, or --config FILE (TENURE_CONFIG); ${startFrom()}`,
    );
  }
  return first === 'store' ? 'store' : 'cell';
}

/** What a client needs to connect. Throws `TENURE_BAD_CONFIG`. */
export async function clientConfig(flags: CellFlags, env: Environment = process.env): Promise<ConnectOptions> {
  return asClient(await findSettings(flags, env));
}

export function asClient({ settings, origins }: Sourced): ConnectOptions {
  const { cell, members } = required(settings);
  const { clientSecretFile, secretFile } = settings;
  // A file is shared with members, and its secretFile is theirs; a user that passes one to a client means the client's.
  const own = clientSecretFile ?? (isFromFile(origins.secretFile) ? undefined : secretFile);
  const origin = clientSecretFile === undefined ? origins.secretFile : origins.clientSecretFile;
  return { cell, members, ...(own === undefined ? {} : { clientSecret: readSecret(own, origin) }) };
}

/** A client that proves the members' secret may do what only members may. */
export function asAdmin({ settings, origins }: Sourced): ConnectOptions {
  const { cell, members } = required(settings);
  const { secretFile } = settings;
  return { cell, members, ...(secretFile === undefined ? {} : { secret: readSecret(secretFile, origins.secretFile) }) };
}

/** What a member needs to join. Throws `TENURE_BAD_CONFIG`. */
export function asMember({ settings, origins }: Sourced, host: string = hostname()): JoinOptions {
  const { cell, members } = required(settings);
  const { listen, secretFile, clientSecretFile, maxTerm, rateError, replication, view, dataDir, keepVotes, succession, engine } = settings;
  const self = settings.self ?? memberOnHost(members, host);
  // With an address of its own it may be a member that is to be added.
  if (!Object.hasOwn(members, self) && listen === undefined) {
    throw new TenureError(
      'TENURE_BAD_CONFIG',
      `${origins.self}: self: ${self} is not among the members ${Object.keys(members).join(', ')}; a member that is to be added needs --listen`,
    );
  }
  const options: JoinOptions = {
    cell,
    self,
    members,
    ...(listen === undefined ? {} : { listen }),
    ...(secretFile === undefined ? {} : { secret: readSecret(secretFile, origins.secretFile) }),
    ...(clientSecretFile === undefined ? {} : { clientSecret: readSecret(clientSecretFile, origins.clientSecretFile) }),
    ...(maxTerm === undefined ? {} : { maxTerm }),
    ...(rateError === undefined ? {} : { rateError }),
    ...(replication === undefined ? {} : { replication }),
    ...(engine === undefined ? {} : { engine: readEngine(engine, origins.engine) }),
    ...(view === undefined ? {} : { view }),
    ...(dataDir === undefined ? {} : { dataDir }),
    ...(keepVotes === undefined ? {} : { keepVotes }),
    ...(succession === undefined ? {} : { succession }),
  };
  checkMember(options, origins);
  return options;
}

function readEngine(text: string, origin: string | undefined): EngineOptions {
  try {
    return parseEngine(text);
  } catch (error) {
    if (!(error instanceof TenureError)) throw error;
    throw new TenureError('TENURE_BAD_CONFIG', `${origin}: engine: ${error.message}`);
  }
}

/** A pod of a StatefulSet is called like its member; elsewhere the short host name may be. */
function memberOnHost(members: Readonly<Record<string, string>>, host: string): string {
  const short = host.split('.')[0] ?? host;
  const found = [host, short].find((name) => Object.hasOwn(members, name));
  if (found !== undefined) return found;
  throw new TenureError(
    'TENURE_BAD_CONFIG',
    `which member is this? Give --self (or TENURE_SELF, or self in the config file): one of ${Object.keys(members).join(', ')}. ` +
      `The host name, ${host}, is none of them`,
  );
}

function required({ cell, members }: CliSettings): { cell: string; members: Record<string, string> } {
  if (cell !== undefined && members !== undefined) return { cell, members };
  const missing = (['cell', 'members'] as const).filter((key) => (key === 'cell' ? cell : members) === undefined);
  throw new TenureError(
    'TENURE_BAD_CONFIG',
    `which cell? Give ${missing.map(naming).join(' and ')}, or --config FILE (TENURE_CONFIG); ${startFrom()}`,
  );
}

function naming(key: SettingKey): string {
  return `${flagOf(key)} (${variableOf(key)})`;
}

function startFrom(): string {
  const nearby = ['tenure.yaml', 'tenure.yml', 'tenure.json'].find((name) => existsSync(name));
  return nearby === undefined ? 'tenure init writes a config file to start from' : `there is a ${nearby} here: --config ${nearby} reads it`;
}

/** The last line's end is not part of a secret: editors and `openssl rand -hex 32 > file` add one. */
function readSecret(file: string, origin: string | undefined): Uint8Array {
  let bytes: Uint8Array;
  try {
    bytes = readFileSync(file);
  } catch (error) {
    throw new TenureError('TENURE_BAD_CONFIG', `${origin}: cannot read the secret in ${file}: ${whyUnreadable(error)}`, { file });
  }
  let end = bytes.length;
  while (end > 0 && (bytes[end - 1] === 0x0a || bytes[end - 1] === 0x0d)) end--;
  if (end === 0)
    throw new TenureError('TENURE_BAD_CONFIG', `${origin}: ${file} is empty: make a secret with openssl rand -hex 32`, { file });
  return bytes.subarray(0, end);
}

function isFromFile(origin: string | undefined): boolean {
  return origin !== undefined && /:\d+$/.test(origin);
}

/** A variable that is set to nothing is not set: unit files and compose files cannot unset one. */
function said(value: string | undefined): string | undefined {
  return value === '' ? undefined : value;
}
