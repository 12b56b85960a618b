/**
 * Every setting of a cell and its clients, once: its key in a config file, its flag, its environment variable, what it means and what
 * values it takes. A value may be text (a flag, the environment) or from a file; both end as the same thing.
 */
import * as v from 'valibot';
import { either, ENGINE_EXAMPLES, isEngineNamed } from '../api/engines/index.ts';
import { encodeName, parseDuration } from '../kernel/index.ts';
import { MEMBERS_MAX, parseAddress } from '../transport/index.ts';

const nameText = v.pipe(
  v.string('a text is needed'),
  v.rawCheck(({ dataset, addIssue }) => {
    if (dataset.typed) complainIf(() => encodeName(dataset.value), addIssue);
  }),
);

const address = v.pipe(
  v.string('an address is needed: host:port'),
  v.rawCheck(({ dataset, addIssue }) => {
    if (dataset.typed) complainIf(() => parseAddress(dataset.value), addIssue);
  }),
);

const path = v.pipe(v.string('a path is needed'), v.nonEmpty('a path is needed'));

const duration = v.pipe(
  v.union([v.string(), v.number()], "a duration is needed, like '15s'"),
  v.rawCheck(({ dataset, addIssue }) => {
    if (dataset.typed) complainIf(() => parseDuration(dataset.value), addIssue);
  }),
);

/** Taken as it is: a record would leave out the ids below without a word. */
const mapping = v.custom<Record<string, unknown>>((value) => typeof value === 'object' && value !== null && !Array.isArray(value));
const NO_IDS: ReadonlySet<string> = new Set(['__proto__', 'prototype', 'constructor']);

/** A mapping in a file; `a=host-a:4600,b=host-b:4600` in flags and the environment. */
const members = v.pipe(
  v.union([v.string(), mapping], 'members are needed: one line `id: host:port` each'),
  v.rawTransform(({ dataset, addIssue, NEVER }) => {
    if (typeof dataset.value !== 'string') return dataset.value;
    // Without a prototype, so that `__proto__` is an id like any other, and refused below like any other.
    const listed = Object.create(null) as Record<string, string>;
    for (const part of dataset.value.split(',').map((one) => one.trim())) {
      const at = part.indexOf('=');
      const id = part.slice(0, at).trim();
      if (at <= 0 || Object.hasOwn(listed, id)) {
        const why = at <= 0 ? `'${part}' is no member: write id=host:port, with commas between members` : `member ${id} is there twice`;
        addIssue({ message: why });
        return NEVER;
      }
      listed[id] = part.slice(at + 1).trim();
    }
    return listed;
  }),
  v.rawCheck(({ dataset, addIssue }) => {
    if (!dataset.typed) return;
    const ids = Object.keys(dataset.value);
    if (ids.length === 0) addIssue({ message: 'at least one member is needed' });
    if (ids.length > MEMBERS_MAX) {
      addIssue({ message: `a cell has 1 to ${MEMBERS_MAX} members, not ${ids.length}` });
      return;
    }
    for (const id of ids.filter((one) => NO_IDS.has(one))) addIssue({ message: `${id} cannot be the id of a member` });
    for (const [index, id] of ids.entries()) {
      const first = ids.slice(0, index).find((other) => dataset.value[other] === dataset.value[id]);
      if (first !== undefined) addIssue({ message: `${first} and ${id} have the same address` });
    }
  }),
  v.record(nameText, address),
);

function numberBetween(min: number, max: number, hint: string): v.GenericSchema<unknown, number> {
  return v.pipe(
    v.union([v.number(), v.pipe(v.string(), v.regex(/^\s*\d+(?:\.\d+)?\s*$/), v.transform(Number))], hint),
    v.minValue(min, hint),
    v.maxValue(max, hint),
  );
}

/** The settings of all sources: each value checked, none required. */
export interface CliSettings {
  store?: string;
  cell?: string;
  members?: Record<string, string>;
  clientSecretFile?: string;
  secretFile?: string;
  self?: string;
  listen?: string;
  view?: string;
  dataDir?: string;
  keepVotes?: boolean;
  succession?: 'majority' | 'strict';
  engine?: string;
  maxTerm?: string | number;
  rateError?: number;
  replication?: number;
}

export type SettingKey = keyof CliSettings;

/** The users of a setting: commands that use leases, every client of a cell and its members, or members only. */
export type SettingUser = 'leases' | 'cell' | 'members';

interface Setting<Value> {
  /** `<address>` and the like, for help; nothing for a flag that needs no value. */
  readonly placeholder: string;
  readonly meaning: string;
  readonly schema: v.GenericSchema<unknown, Value>;
  readonly usedBy: SettingUser;
}

export const ENGINE_MEANING: string = `the lease engine: ${ENGINE_EXAMPLES.join(', ')}, …`;

/** In the order in which help shows them. */
export const SETTINGS: { readonly [Key in SettingKey]-?: Setting<NonNullable<CliSettings[Key]>> } = {
  store: {
    placeholder: '<url>',
    meaning: 'a store, where there is no cell: file:///DIRECTORY, postgres://…, redis://…',
    schema: v.pipe(v.string('a URL is needed'), v.nonEmpty('a URL is needed')),
    usedBy: 'leases',
  },
  cell: { placeholder: '<name>', meaning: 'the name of the cell', schema: nameText, usedBy: 'cell' },
  members: { placeholder: '<list>', meaning: 'every member: a=host-a:4600,b=host-b:4600,…', schema: members, usedBy: 'cell' },
  clientSecretFile: { placeholder: '<file>', meaning: 'the secret of the clients', schema: path, usedBy: 'cell' },
  secretFile: {
    placeholder: '<file>',
    meaning: 'the secret of the members; for a client without --client-secret-file, its own',
    schema: path,
    usedBy: 'cell',
  },
  self: { placeholder: '<id>', meaning: 'which member this is; the host name if that is a member', schema: nameText, usedBy: 'members' },
  listen: {
    placeholder: '<address>',
    meaning: 'where to listen; its own address unless told otherwise',
    schema: address,
    usedBy: 'members',
  },
  view: {
    placeholder: '<text>',
    meaning:
      'the view of the cell, once its members or terms have changed (tenure members ls --json); a member with --data-dir keeps it there',
    schema: v.pipe(v.string('a text is needed'), v.regex(/^[\w-]+$/, 'no view: write it as tenure members ls --json tells it')),
    usedBy: 'members',
  },
  dataDir: {
    placeholder: '<folder>',
    meaning: 'a folder of this member alone, so that its tokens rise across every restart; needs the package lmdb',
    schema: path,
    usedBy: 'members',
  },
  keepVotes: {
    placeholder: '',
    meaning: 'keep every vote in --data-dir before it is given: a restart is then not silent',
    schema: v.union(
      [
        v.boolean(),
        v.pipe(
          v.picklist(['true', 'false']),
          v.transform((text) => text === 'true'),
        ),
      ],
      'true or false is needed',
    ),
    usedBy: 'members',
  },
  succession: {
    placeholder: '<mode>',
    meaning: 'when a started member takes the place of its earlier life: majority, or strict',
    schema: v.picklist(['majority', 'strict'], 'majority or strict is needed'),
    usedBy: 'members',
  },
  engine: {
    placeholder: '<engine>',
    meaning: ENGINE_MEANING,
    schema: v.pipe(v.string(), v.check(isEngineNamed, `an engine is ${either(ENGINE_EXAMPLES)}, for example`)),
    usedBy: 'members',
  },
  maxTerm: { placeholder: '<duration>', meaning: 'the longest term of any lease: 15s', schema: duration, usedBy: 'members' },
  rateError: {
    placeholder: '<ratio>',
    meaning: 'how far the rate of a clock may be off: 0.1',
    schema: numberBetween(0, 0.2, 'a number from 0 to 0.2 is needed; a tenth is 0.1'),
    usedBy: 'members',
  },
  replication: {
    placeholder: '<n>',
    meaning: 'how many members vote on a name; all unless told otherwise',
    schema: v.pipe(numberBetween(1, 64, 'a whole number from 1 to 64 is needed'), v.integer('a whole number is needed')),
    usedBy: 'members',
  },
};

export const SETTING_KEYS: readonly SettingKey[] = Object.keys(SETTINGS) as SettingKey[];

/** The paths among them: paths in a file are relative to the file. */
export const PATH_KEYS: ReadonlySet<SettingKey> = new Set(['clientSecretFile', 'secretFile', 'dataDir']);

/** `clientSecretFile` is `--client-secret-file` … */
export function flagOf(key: SettingKey): string {
  return `--${key.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

/** … and `TENURE_CLIENT_SECRET_FILE`. */
export function variableOf(key: SettingKey): string {
  return `TENURE_${key.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`;
}

export interface Complaint {
  /** Where in the value: keys of a mapping, outermost first. */
  readonly path: readonly string[];
  readonly message: string;
}

/** Checks one value and adds what it means to `settings`, or says what is wrong with it. */
export function checkSetting(key: SettingKey, value: unknown, settings: CliSettings): Complaint[] {
  const checked = v.safeParse<v.GenericSchema<unknown, unknown>>(SETTINGS[key].schema, value);
  if (checked.success) {
    Object.assign(settings, { [key]: checked.output });
    return [];
  }
  return checked.issues.map(({ path: within, message }) => ({ path: (within ?? []).map(({ key: part }) => String(part)), message }));
}

function complainIf(throws: () => unknown, addIssue: (issue: { message: string }) => void): void {
  try {
    throws();
  } catch (error) {
    addIssue({ message: error instanceof Error ? error.message : String(error) });
  }
}
