/**
 * Options of public calls. An option that a call does not know is refused, with the option that was probably meant: ignored, a
 * misspelt `wait` would wait for ever. Values are looked at only as far as the call itself would stumble over them.
 */
import { TenureError } from './errors.ts';
import { nearestWord } from './nearest-word.ts';

/** What kind of value an option takes; `any` where whatever reads the value refuses it with words of its own. */
export type OptionKind = 'any' | 'signal' | 'function' | 'boolean' | 'number' | 'text' | 'bytes' | 'object';

/** Every option of a call. An option that is added to the type and not here does not compile. */
export type OptionTable<Options> = { readonly [Key in keyof Required<Options>]: OptionKind };

/** What other libraries call it, or what people try first: the first of ours that the call has is suggested. */
const ELSEWHERE: Readonly<Record<string, readonly string[]>> = {
  timeout: ['wait', 'timeout', 'timeoutMs', 'signal'],
  timeoutms: ['wait', 'timeout', 'timeoutMs', 'signal'],
  waitms: ['wait'],
  retries: ['wait'],
  retrycount: ['wait'],
  ttl: ['term', 'maxTerm'],
  ttlms: ['term', 'maxTerm'],
  duration: ['term', 'maxTerm'],
  lease: ['term', 'maxTerm'],
  expires: ['term', 'maxTerm'],
  maxttl: ['maxTerm'],
  abort: ['signal'],
  abortsignal: ['signal'],
  metadata: ['meta'],
  value: ['meta'],
  data: ['meta'],
  meta: ['value'],
  node: ['self'],
  id: ['self', 'name'],
  nodes: ['members'],
  peers: ['members'],
  hosts: ['members'],
  servers: ['members'],
  endpoints: ['members'],
  port: ['listen'],
  host: ['listen'],
  password: ['secret', 'clientSecret'],
  log: ['logger'],
};

/** The options themselves. Throws `TENURE_BAD_ARGUMENT` for an unknown option, or a value of the wrong kind. */
export function checkOptions<Options extends object>(call: string, options: Options, table: OptionTable<Options>): Options {
  // Functions have properties as well; a caller that passes one has mixed up the order.
  if (!isObject(options)) {
    throw new TenureError('TENURE_BAD_ARGUMENT', `the options of ${call} are an object like { ${someOf(table)} }, not ${shown(options)}`, {
      call,
    });
  }
  for (const key in options) {
    const kind: OptionKind | undefined = Object.hasOwn(table, key) ? table[key] : undefined;
    if (kind === undefined) throw unknownOption(call, key, Object.keys(table));
    const value: unknown = options[key];
    if (kind !== 'any' && value !== undefined && !KINDS[kind].has(value)) {
      throw new TenureError('TENURE_BAD_ARGUMENT', `${key} of ${call} is ${KINDS[kind].words}, not ${shown(value)}`, { call, option: key });
    }
  }
  return options;
}

/** Throws `TENURE_BAD_ARGUMENT` unless it is a function: JavaScript has no compiler to say so. */
export function checkFunction(call: string, what: string, value: unknown): void {
  if (typeof value !== 'function')
    throw new TenureError('TENURE_BAD_ARGUMENT', `${what} of ${call} is a function, not ${shown(value)}`, { call });
}

/** In words, and how it is told. */
const KINDS: Readonly<Record<Exclude<OptionKind, 'any'>, { readonly words: string; readonly has: (value: unknown) => boolean }>> = {
  // By its members: a signal of another realm, as in tests with Jest, is none of our class.
  signal: { words: 'an AbortSignal', has: (value) => isObject(value) && 'aborted' in value && 'addEventListener' in value },
  function: { words: 'a function', has: (value) => typeof value === 'function' },
  boolean: { words: 'true or false', has: (value) => typeof value === 'boolean' },
  number: { words: 'a number', has: (value) => typeof value === 'number' },
  text: { words: 'a text', has: (value) => typeof value === 'string' },
  bytes: { words: 'a text or bytes (a Uint8Array)', has: (value) => typeof value === 'string' || ArrayBuffer.isView(value) },
  object: { words: 'an object', has: isObject },
};

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

function unknownOption(call: string, option: string, known: readonly string[]): TenureError {
  const meant = ELSEWHERE[option.toLowerCase()]?.find((one) => known.includes(one)) ?? nearestWord(option, known);
  const has = known.length === 0 ? 'it has none' : `it has ${known.join(', ')}`;
  return new TenureError(
    'TENURE_BAD_ARGUMENT',
    `${call} has no option '${option}'${meant === null ? '' : ` (did you mean '${meant}'?)`}; ${has}`,
    { call, option, ...(meant === null ? {} : { meant }) },
  );
}

function someOf(table: object): string {
  return Object.keys(table).slice(0, 2).join(', ');
}

function shown(value: unknown): string {
  if (typeof value === 'string') return `'${value.slice(0, 40)}'`;
  if (typeof value === 'function') return 'a function';
  if (isObject(value)) return Array.isArray(value) ? 'a list' : 'another object';
  return String(value);
}
