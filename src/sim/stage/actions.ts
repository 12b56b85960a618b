/**
 * Actions, as data and as text: the common vocabulary of tapes, plays, stages, scripts and the explorer. `parseAction` reads what
 * `formatAction` writes. Verbs that are not the stage's own belong to the actor on the node they name.
 */
import { formatDuration, parseDuration, TenureError, type SpanUs } from '../../kernel/index.ts';
import { OWN_DISK } from '../../core/index.ts';
import type { AccessRequest, Damage, StoragePlace } from '../registers.ts';

/**
 * A message by sender, addressee, kind, and its number among the messages of its kind on that link, from 1. It does
 * not depend on what other nodes sent, so a script keeps its meaning when lines are taken out.
 */
export interface MessageRef {
  readonly from: number;
  readonly to: number;
  readonly label: string;
  readonly ordinal: number;
  /** The name that the message is about, for people; the other fields identify it. */
  readonly topic?: string;
}

/** An access to storage, by its number on its node, from 1. */
export interface AccessRef<Access = number> {
  readonly node: number;
  readonly access: Access;
}

/** A message or an access by where it came from: the nth of its kind, from 0, that came of this step. It keeps its meaning when steps are taken out. */
export interface StepOrigin {
  readonly step: number;
  /** Of a message: addressee, label and topic. Of an access: empty. */
  readonly kind: string;
  readonly nth: number;
}

/** What tells the messages of one step apart: addressee, label and topic. */
export function kindOfMessage({ to, label, topic = '' }: { readonly to: number; readonly label: string; readonly topic?: string }): string {
  return `${to} ${label} ${topic}`;
}

/** The word a message is called by: the first of its description. */
export function labelOf(description: string): string {
  return /^[A-Za-z_-]+/.exec(description)?.[0] ?? 'message';
}

/** What an act has to do with requests, where lines may be taken out: numbers of requests are said only when it is done. */
export interface RequestUse {
  /** It takes a number of its own among its node's requests. */
  readonly asks: boolean;
  /** The step whose request it is about. */
  readonly about: number | null;
}

/** An access: the process that waits for its answer, or null if that process has crashed, and the request. */
export interface ProcessAccess {
  readonly incarnation: number | null;
  readonly request: AccessRequest;
}

/** A read may be answered with a change of its own choice; null is that nothing is there. */
export interface AnswerRef extends AccessRef {
  readonly finding?: AccessRef | null;
}

/** Numbers the core draws in this step, in order; every further number is 0. */
interface Choosing {
  readonly choices?: readonly number[];
}

/** Something that happens. Messages, accesses, requests and findings that it is about are named as the place has it where it is written down. */
type Action<Message, Access, Act, Finding = AccessRef<Access> | null> =
  /** What the actor of a node is told to do, in its own words: `acquire p x 2s`. */
  | ({ readonly kind: 'act'; readonly node: number; readonly verb: string; readonly words: readonly string[] } & Act & Choosing)
  | ({ readonly kind: 'deliver'; readonly message: Message } & Choosing)
  | { readonly kind: 'drop' | 'duplicate'; readonly message: Message }
  /** Where all goes well, it arrives only so long after now. */
  | { readonly kind: 'delay'; readonly message: Message; readonly byUs: number }
  /** All messages under way are lost, except delayed messages. */
  | { readonly kind: 'drop-all' }
  | ({ readonly kind: 'wake'; readonly node: number } & Choosing)
  /** A node's first start, and each later one. A restart loses the disk unless it is said to be kept. */
  | { readonly kind: 'start' | 'pause' | 'resume'; readonly node: number }
  | { readonly kind: 'sleep' | 'awake'; readonly node: number }
  /** At once; or in the middle of its next step, after so many effects: messages, accesses to storage and words to its application. */
  | { readonly kind: 'crash'; readonly node: number; readonly after?: number }
  /** A process is taken for dead and another started in its place; it lives on beside it, gets no more mail, and is called by its name and a prime. */
  | { readonly kind: 'twin'; readonly node: number; readonly as?: number }
  /** `as` is the incarnation; if nothing is said, it follows from the node and how often that was up. */
  | { readonly kind: 'restart'; readonly node: number; readonly diskKept: boolean; readonly as?: number }
  /** A machine on which no process is up was started again: its monotonic clock shows that it is up for so long. */
  | { readonly kind: 'boot'; readonly node: number; readonly uptimeUs: number }
  /** True time goes by, on every clock; no node is woken by it. */
  | { readonly kind: 'advance'; readonly byUs: number }
  /** A wall clock is set, by so much, forward or back. */
  | { readonly kind: 'set'; readonly node: number; readonly byUs: number }
  /** From here on the clocks of a node run fast or slow. */
  | { readonly kind: 'rate'; readonly node: number; readonly ppm: number }
  /** A storage access, by its number on that node, takes effect; no process is told of it yet. */
  | ({ readonly kind: 'effect' } & AccessRef<Access>)
  /**
   * It takes effect, unless it did before, and is answered. A read may find any write that a regular register allows, or null:
   * nothing written; without a finding, it finds the last write that took effect. A list may name or leave out keys that come or go meanwhile.
   */
  | ({ readonly kind: 'answer'; readonly finding?: Finding; readonly listing?: readonly string[] } & AccessRef<Access> & Choosing)
  /** A write takes effect at another key than its own. */
  | ({ readonly kind: 'misdirect'; readonly to: string } & AccessRef<Access>)
  /** A change that took effect does so once more, whether it was answered or not; a swap only if it finds the seen value again. */
  | ({ readonly kind: 'repeat' } & AccessRef<Access>)
  /** Records of a shared unit or an own disk are damaged. */
  | Damage
  /** Everything a node asks of storage is answered, oldest first, until nothing is left. */
  | ({ readonly kind: 'answer-all'; readonly node: number } & Choosing)
  /** It is said to have failed. It has had no effect unless it took effect before; a change of a shared unit may still take effect later. */
  | ({ readonly kind: 'fail' } & AccessRef<Access> & Choosing)
  /**
   * For so long everything goes well: messages arrive, accesses are answered and timers fire, all in time. A node that asks all the while
   * is owed progress. The first number chosen is the seed of all that cores draw meanwhile.
   */
  | ({ readonly kind: 'settle'; readonly byUs: number } & Ways & Choosing);

/** On a stage, where everything has its name. */
export type StageAction = Action<MessageRef, number, unknown>;
/** On a tape and in a play, where messages and accesses are known by their origin. */
export type OriginAction = Action<StepOrigin, StepOrigin, RequestUse>;
/** In the explorer, where messages are numbered, and a change that a read finds is known by its value. */
export type SearchAction = Action<number, ProcessAccess, unknown, Uint8Array | null>;

/** Translates messages and accesses into the names that a stage gives them; null if the stage does not have them. */
export interface StageNames<Message, Access, Finding> {
  message(message: Message): MessageRef | null;
  /** With the finding of an answer, where it says one. */
  access(access: AccessRef<Access>, finding: Finding | undefined): AnswerRef | null;
}

/** The same action in the names of a stage; null if the stage does not have its message or access. */
export function inStageNames<Message, Access, Finding>(
  action: Action<Message, Access, unknown, Finding>,
  names: StageNames<Message, Access, Finding>,
): StageAction | null {
  if ('message' in action) {
    const message = names.message(action.message);
    return message && { ...action, message };
  }
  if (!('access' in action)) return action;
  const { finding, ...rest } = { finding: undefined, ...action };
  const access = names.access(action, finding);
  return access && { ...rest, ...access };
}

/** How it goes where all goes well, and what applications do of themselves meanwhile: nothing, where nothing is said. */
export interface Ways {
  /** Each message takes a time of its own, up to the usual latency, so messages overtake each other. */
  readonly outOfOrder?: boolean;
  /** So long after the grant, or after all began to go well, each holder gives its lease back: then no request may starve beside others. */
  readonly giveBackUs?: number;
  /** So long after a refusal, a release or a loss, each node asks for the same lease again. */
  readonly askAgainUs?: number;
}

export type NodeNames = readonly string[];

export function formatAction(action: StageAction, names: NodeNames): string {
  const line = formatBare(action, names);
  const choices = 'choices' in action ? action.choices : undefined;
  return choices && choices.length > 0 ? `${line} choosing ${choices.join(',')}` : line;
}

export function formatMessageRef({ from, to, label, ordinal }: MessageRef, names: NodeNames): string {
  return `${names[from] ?? from}→${names[to] ?? to} ${label} #${ordinal}`;
}

function formatBare(action: StageAction, names: NodeNames): string {
  switch (action.kind) {
    case 'act':
      return [action.verb, names[action.node], ...action.words.map(quoteIfNeeded)].join(' ');
    case 'deliver':
    case 'drop':
    case 'duplicate':
      return `${action.kind} ${formatMessageRef(action.message, names)}`;
    case 'delay':
      return `delay ${formatMessageRef(action.message, names)} ${formatSpan(action.byUs)}`;
    case 'drop-all':
      return 'drop all';
    case 'advance':
      return `advance ${formatSpan(action.byUs)}`;
    case 'settle': {
      const { byUs, outOfOrder, giveBackUs, askAgainUs } = action;
      const order = outOfOrder === true ? ' out of order' : '';
      const back = giveBackUs === undefined ? '' : ` giving back after ${formatSpan(giveBackUs)}`;
      const again = askAgainUs === undefined ? '' : ` asking again after ${formatSpan(askAgainUs)}`;
      return `settle ${formatSpan(byUs)}${order}${back}${again}`;
    }
    case 'crash':
      return `crash ${names[action.node]}${action.after === undefined ? '' : ` after ${action.after}`}`;
    case 'restart':
      return `restart ${names[action.node]}${action.diskKept ? ' disk kept' : ''}${formatLife(action)}`;
    case 'boot':
      return `boot ${names[action.node]} ${formatSpan(action.uptimeUs)}`;
    case 'twin':
      return `twin ${names[action.node]}${formatLife(action)}`;
    case 'set':
      return `set ${names[action.node]} ${action.byUs < 0 ? '-' : '+'}${formatSpan(Math.abs(action.byUs))}`;
    case 'rate':
      return `rate ${names[action.node]} ${action.ppm}ppm`;
    case 'answer':
      return `answer ${formatAccess(action, names)}${formatFindings(action, names)}`;
    case 'answer-all':
      return `answer ${names[action.node]} all`;
    case 'effect':
    case 'repeat':
    case 'fail':
      return `${action.kind} ${formatAccess(action, names)}`;
    case 'misdirect':
      return `misdirect ${formatAccess(action, names)} to ${quoteIfNeeded(action.to)}`;
    case 'corrupt':
      return `corrupt ${formatPlace(action, names)} ${quoteIfNeeded(action.key)} byte ${action.byte}`;
    case 'forget':
      return `forget ${formatPlace(action, names)} ${quoteIfNeeded(action.key)}`;
    case 'wipe':
      return `wipe ${formatPlace(action, names)}`;
    case 'restore':
      return `restore ${formatPlace(action, names)} without ${action.changes}`;
    default:
      return `${action.kind} ${names[action.node]}`;
  }
}

function formatLife({ as }: { readonly as?: number }): string {
  return as === undefined ? '' : ` as #${as}`;
}

function formatFindings({ finding, listing }: Extract<StageAction, { kind: 'answer' }>, names: NodeNames): string {
  if (listing !== undefined) return ` listing ${listing.length > 0 ? listing.map(quoteIfNeeded).join(' ') : 'nothing'}`;
  return finding === undefined ? '' : ` finding ${finding ? formatAccess(finding, names) : 'nothing'}`;
}

function formatPlace(place: StoragePlace, names: NodeNames): string {
  return 'node' in place ? `disk ${names[place.node] ?? place.node}` : `unit ${place.unit}`;
}

function formatAccess({ node, access }: AccessRef, names: NodeNames): string {
  return `${names[node] ?? node} #${access}`;
}

/** Actions in which a core takes a step, and may draw. */
const DRAWING: ReadonlySet<StageAction['kind']> = new Set(['act', 'deliver', 'wake', 'answer', 'answer-all', 'fail', 'settle']);
/** A clock that runs slow by this much stands still. */
const RATE_PPM_MAX = 1_000_000;

/** Reads one line. Throws TENURE_BAD_ARGUMENT with what is wrong in it. */
export function parseAction(line: string, names: NodeNames): StageAction {
  const all = splitWords(line);
  const choosing = all.indexOf('choosing');
  const choices = choosing < 0 ? undefined : (all[choosing + 1] ?? '').split(',').map((text) => wholeNumber(text, line));
  if (choosing >= 0) noMoreThan(2, all.slice(choosing), line);
  const [verb, ...words] = choosing < 0 ? all : all.slice(0, choosing);
  const action = parseBare(verb ?? '', words, names, line);
  if (choosing >= 0 && !DRAWING.has(action.kind)) throw bad(line, `nothing is drawn in it, so there is nothing to be 'choosing'`);
  return choices === undefined ? action : ({ ...action, choices } as StageAction);
}

function parseBare(verb: string, words: readonly string[], names: NodeNames, line: string): StageAction {
  const node = (): number => nodeNamed(words[0], names, line);
  const alone = (): number => {
    noMoreThan(1, words, line);
    return node();
  };
  switch (verb) {
    case 'deliver':
    case 'drop':
    case 'duplicate':
      if (verb === 'drop' && words.join(' ') === 'all') return { kind: 'drop-all' };
      return { kind: verb, message: parseMessageRef(words, names, line) };
    case 'delay': {
      const named = words[2]?.startsWith('#') ? 3 : 2;
      return {
        kind: verb,
        message: parseMessageRef(words.slice(0, named), names, line),
        byUs: parseDuration(words.slice(named).join(' ')),
      };
    }
    case 'advance':
      return { kind: verb, byUs: parseDuration(words.join(' ')) };
    case 'settle':
      return parseSettle(words.join(' '));
    case 'crash':
      if (words[1] !== 'after') return { kind: verb, node: alone() };
      noMoreThan(3, words, line);
      return { kind: verb, node: node(), after: wholeNumber(words[2] ?? '', line) };
    case 'start':
    case 'pause':
    case 'resume':
    case 'sleep':
    case 'awake':
    case 'wake':
      return { kind: verb, node: alone() };
    case 'twin':
    case 'restart': {
      const diskKept = verb === 'restart' && words.slice(1, 3).join(' ') === 'disk kept';
      const [as, life] = words.slice(diskKept ? 3 : 1);
      const named = as === 'as' ? { as: ordinalOf(life, line) } : {};
      noMoreThan((diskKept ? 3 : 1) + (as === 'as' ? 2 : 0), words, line);
      return verb === 'twin' ? { kind: verb, node: node(), ...named } : { kind: verb, node: node(), diskKept, ...named };
    }
    case 'boot':
      return { kind: verb, node: node(), uptimeUs: parseDuration(words.slice(1).join(' ')) };
    case 'set': {
      const text = words.slice(1).join(' ');
      const spanUs = parseDuration(text.replace(/^[+-]/, ''));
      return { kind: verb, node: node(), byUs: text.startsWith('-') ? -spanUs : spanUs };
    }
    case 'rate':
      noMoreThan(2, words, line);
      return { kind: verb, node: node(), ppm: parseRate(words[1] ?? '', line) };
    case 'answer':
      if (words[1] !== 'all') return { kind: verb, ...parseAccess(words, names, line), ...parseFindings(words.slice(2), names, line) };
      noMoreThan(2, words, line);
      return { kind: 'answer-all', node: node() };
    case 'misdirect':
      noMoreThan(4, words, line);
      if (words[2] !== 'to' || words[3] === undefined) throw bad(line, `it ends in 'to' and the key that is written instead`);
      return { kind: verb, ...parseAccess(words, names, line), to: words[3] };
    case 'corrupt':
    case 'forget':
    case 'wipe':
    case 'restore':
      return parseDamage(verb, words, names, line);
    case 'effect':
    case 'repeat':
    case 'fail':
      noMoreThan(2, words, line);
      return { kind: verb, ...parseAccess(words, names, line) };
    default:
      if (verb === '') throw bad(line, 'there is nothing in it');
      return { kind: 'act', verb, node: node(), words: words.slice(1) };
  }
}

function parseRate(text: string, line: string): number {
  const [, digits] = /^([+-]?\d+)ppm$/.exec(text) ?? [];
  if (digits === undefined) throw bad(line, 'a rate is a whole number of parts per million, written like 1000ppm');
  if (Math.abs(Number(digits)) >= RATE_PPM_MAX) throw bad(line, `a clock runs fast or slow by less than ${RATE_PPM_MAX}ppm`);
  return Number(digits);
}

function parseSettle(text: string): StageAction {
  const [, span = '', order, back, again] =
    /^(.*?)( out of order)?(?: giving back after (.*?))?(?: asking again after (.*))?$/.exec(text) ?? [];
  return {
    kind: 'settle',
    byUs: parseDuration(span),
    ...(order === undefined ? {} : { outOfOrder: true }),
    ...(back === undefined ? {} : { giveBackUs: parseDuration(back) }),
    ...(again === undefined ? {} : { askAgainUs: parseDuration(again) }),
  };
}

function parseAccess([name, ordinal]: readonly string[], names: NodeNames, line: string): AccessRef {
  return { node: nodeNamed(name, names, line), access: ordinalOf(ordinal, line) };
}

function parseFindings(
  [verb, ...words]: readonly string[],
  names: NodeNames,
  line: string,
): { readonly finding?: AccessRef | null; readonly listing?: readonly string[] } {
  if (verb === undefined) return {};
  const isNothing = words.length === 1 && words[0] === 'nothing';
  if (verb === 'listing' && words.length > 0) return { listing: isNothing ? [] : words };
  if (verb !== 'finding') throw bad(line, `'${verb}' is not understood`);
  noMoreThan(2, words, line);
  return { finding: isNothing ? null : parseAccess(words, names, line) };
}

function parseDamage(kind: Damage['kind'], [where, which, ...words]: readonly string[], names: NodeNames, line: string): Damage {
  if (where !== 'unit' && where !== 'disk') throw bad(line, 'storage is written like unit 0, or disk a');
  const place: StoragePlace =
    where === 'unit' ? { unit: wholeNumber(which ?? '', line) } : { unit: OWN_DISK, node: nodeNamed(which, names, line) };
  const [key, byte, number] = words;
  noMoreThan(kind === 'wipe' ? 0 : kind === 'restore' ? 2 : byte === 'byte' && kind === 'corrupt' ? 3 : 1, words, line);
  if (kind === 'wipe') return { kind, ...place };
  if (kind === 'restore') {
    if (where !== 'unit' || key !== 'without')
      throw bad(line, 'a restore is written like restore unit 0 without 3: so many changes are undone');
    return { kind, unit: place.unit, changes: wholeNumber(byte ?? '', line) };
  }
  if (key === undefined) throw bad(line, 'it names no key');
  return kind === 'forget'
    ? { kind, ...place, key }
    : { kind, ...place, key, byte: byte === undefined ? 0 : wholeNumber(number ?? '', line) };
}

function parseMessageRef(words: readonly string[], names: NodeNames, line: string): MessageRef {
  const [link = '', label, ordinal] = words;
  noMoreThan(3, words, line);
  const [from, to] = link.split(/→|->/);
  if (to === undefined || label === undefined) throw bad(line, 'a message is written like p→a PROPOSE #1');
  return {
    from: nodeNamed(from, names, line),
    to: nodeNamed(to, names, line),
    label,
    ordinal: ordinal === undefined ? 1 : ordinalOf(ordinal, line),
  };
}

/** A word that is passed over would make the line mean something else than it says. */
function noMoreThan(count: number, words: readonly string[], line: string): void {
  if (words.length > count) throw bad(line, `'${words.slice(count).join(' ')}' is not understood`);
}

function nodeNamed(name: string | undefined, names: NodeNames, line: string): number {
  if (name === undefined) throw bad(line, `it names no node; there are ${names.join(', ')}`);
  const node = names.indexOf(name);
  if (node < 0) throw bad(line, `there is no node '${name}'; there are ${names.join(', ')}`);
  return node;
}

function ordinalOf(text: string | undefined, line: string): number {
  if (!text?.startsWith('#')) throw bad(line, 'which one is written like #1');
  return wholeNumber(text.slice(1), line);
}

function wholeNumber(text: string, line: string): number {
  const value = Number(text);
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(value)) throw bad(line, `'${text}' is no whole number`);
  return value;
}

/** Words are split at spaces; a word in single quotes may have spaces. */
function splitWords(line: string): string[] {
  return [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '');
}

function quoteIfNeeded(word: string): string {
  return /^[^\s']+$/.test(word) ? word : `'${word}'`;
}

/** Without spaces, so that it stays one word. */
export function formatSpan(us: number): string {
  return formatDuration(us as SpanUs).replaceAll(' ', '');
}

export function bad(line: string, why: string): TenureError {
  return new TenureError('TENURE_BAD_ARGUMENT', `cannot do '${line}': ${why}`);
}
