/**
 * What callers of lease engines say in scripts: an actor that does what a line says, and what a command is as a line. Each is the
 * other's inverse: the actor gives its core the command that the line was made of.
 */
import { decodeName, encodeName, NEVER, parseDuration, TenureError } from '../../../kernel/index.ts';
import type { LeaseCommand, LeaseEvent, OwnPace, Snapshot } from '../../../core/index.ts';
import type { Desk, HoldDeadline } from '../../protocol.ts';
import { formatSpan, type Ways } from '../../stage/actions.ts';
import type { Actor } from '../../stage/staging.ts';
import { takesNoMore, unknownVerb } from '../../stage/words.ts';
import type { Said } from '../../tape.ts';
import type { LeaseHolder } from './handle-user.ts';

/** How long a bootstrap waits for members, if nothing is said. */
const BOOTSTRAP_US = 1_000_000;

/** One acquire of this process, while anything of it is left. */
interface ActedLease {
  readonly lease: number;
  readonly name: string;
  readonly termUs: number;
  readonly waitUs: number;
  state: 'asking' | 'holding' | 'letting-go';
  token: number;
  renewals: number;
  /** The core was told to keep renewing it. */
  readonly keep: boolean;
  /** It was asked for and granted while all went well: nothing excuses its loss. */
  safe?: boolean;
  /** When it will be given back, where all goes well. */
  backAt?: number;
  /** It was held before all began to go well: a caller that asks again wants it once more. */
  before?: boolean;
  /** Its metadata when it asked. */
  readonly saying?: string;
  /** It wants to share the name with other readers, or does. */
  shared?: boolean;
  /** How often it wanted to be the only one. */
  upgrades?: number;
  /** How often it was offered. */
  offers?: number;
  /** Its metadata has changed since: to askers, it is a register. */
  speaks?: boolean;
}

export interface LeaseActorSnapshot {
  readonly asked: number;
  readonly leases: readonly ActedLease[];
  readonly reads: readonly (readonly [number, { readonly register: string; readonly token: number }])[];
  readonly questions: readonly (readonly [number, string])[];
}

/** Requests to be the only holder are numbered beside requests that began with nothing. */
const UPGRADE_NUMBERS = 1_000_000;

/** How many words follow the node, at most; `lease N` is not counted. What an acquire takes is read word by word. */
const WORDS_MAX: Readonly<Record<string, number>> = { renew: 2, release: 3, proclaim: 2, paces: Infinity };

/** The lease asked for. */
type Wish = Pick<ActedLease, 'name' | 'termUs' | 'waitUs' | 'keep' | 'saying' | 'shared'>;

/** What the actors of an engine can be told. */
interface Manner {
  readonly verbs: readonly string[];
  readonly releasesLater: boolean;
  /** Names can be shared by readers. */
  readonly shares?: boolean;
}

/** An actor for every lease engine. */
export class LeaseActor implements Actor<LeaseEvent> {
  readonly #core: LeaseHolder;
  readonly #desk: Desk<LeaseCommand>;
  readonly #manner: Manner;
  #asked = 0;
  #leases: ActedLease[] = [];
  /** Questions about what a lease of this process says of itself. */
  #reads = new Map<number, { readonly register: string; readonly token: number }>();
  /** Names that were asked about, by the number of the question. */
  #questions = new Map<number, string>();
  /** Since when all goes well, by the monotonic clock. */
  #settledAt = Infinity;
  #ways: Ways = {};
  /** Refused requests that are to be made again. */
  #again: (ActedLease & { readonly at: number })[] = [];

  constructor(core: LeaseHolder, desk: Desk<LeaseCommand>, manner: Manner) {
    this.#core = core;
    this.#desk = desk;
    this.#manner = manner;
  }

  act(verb: string, words: readonly string[]): void {
    const [name = ''] = words;
    const { verbs } = this.#manner;
    if (!verbs.some((one) => one.startsWith(`${verb} `))) throw unknownVerb(verb, verbs);
    const unread = verb === 'acquire' ? [] : plainWords(words).slice(WORDS_MAX[verb] ?? 1);
    takesNoMore(verb, unread);
    switch (verb) {
      case 'acquire':
        this.#acquire(words);
        return;
      case 'renew': {
        const lease = this.#find(verb, words);
        const termUs = words[1] === undefined || words[1] === 'lease' ? lease.termUs : parseDuration(words[1]);
        this.#desk.command({ kind: 'renew', lease: lease.lease, name: encodeName(lease.name), termUs });
        lease.renewals++;
        return;
      }
      case 'release':
        this.#giveBack(words);
        return;
      case 'hand-over': {
        const lease = this.#find(verb, words);
        lease.offers = (lease.offers ?? 0) + 1;
        this.#desk.command({ kind: 'hand-over', lease: lease.lease, name: encodeName(lease.name), to: null });
        return;
      }
      case 'upgrade': {
        const lease = this.#find(verb, words);
        lease.upgrades = (lease.upgrades ?? 0) + 1;
        this.#desk.requested(lease.name, upgradeOf(lease), 'exclusive');
        this.#desk.command({ kind: 'upgrade', lease: lease.lease, name: encodeName(lease.name), waitUs: 0 });
        return;
      }
      case 'cancel':
        this.#desk.command({ kind: 'cancel', lease: this.#find(verb, words).lease });
        return;
      case 'use': {
        const lease = this.#find(verb, words);
        const { monoUs, wallUs } = this.#desk;
        // What any application does: it asks whether the lease is valid, and acts.
        if (this.#core.remainingUs(lease.lease, encodeName(lease.name), monoUs, wallUs) > 0) this.#desk.used(lease.name, lease.token);
        return;
      }
      case 'query':
        this.#query(name);
        return;
      case 'proclaim':
        this.#proclaim(words);
        return;
      case 'bootstrap':
        this.#desk.command({ kind: 'bootstrap', lease: ++this.#asked, waitUs: name === '' ? BOOTSTRAP_US : parseDuration(name) });
        return;
      case 'watch':
        this.#desk.command({ kind: 'watch', prefix: name === '' ? new Uint8Array(0) : encodeName(name) });
        return;
      case 'retime':
        this.#desk.command({ kind: 'retime', rttUs: parseDuration(name) });
        return;
      case 'paces':
        this.#desk.command({ kind: 'rate', own: paceOf(name), off: words.slice(1).map(Number) });
        return;
      case 'look':
        this.#look(name);
        return;
      default:
        throw unknownVerb(verb, verbs);
    }
  }

  #giveBack(words: readonly string[]): void {
    const lease = this.#find('release', words);
    const [, later, span = ''] = plainWords(words);
    if (later !== undefined && !(later === 'in' && this.#manner.releasesLater))
      throw new TenureError(
        'TENURE_BAD_ARGUMENT',
        `release does not take '${later}'${later === 'in' ? ': this engine gives back at once' : ''}`,
      );
    this.#release(lease, later === undefined ? 0 : parseDuration(span));
  }

  #release(lease: ActedLease, inUs = 0): void {
    lease.state = 'letting-go';
    this.#desk.command({ kind: 'release', lease: lease.lease, name: encodeName(lease.name), inUs });
  }

  /** What the learner of this node believes at this instant. */
  #look(name: string): void {
    const { monoUs, wallUs } = this.#desk;
    const token = this.#core.believed?.(encodeName(name), monoUs, wallUs) ?? 0;
    if (token > 0) this.#desk.record({ kind: 'believed', resource: name, token });
  }

  #acquire([name, term, ...options]: readonly string[]): void {
    if (name === undefined || term === undefined) throw new TenureError('TENURE_BAD_ARGUMENT', 'acquire needs a name and a term');
    const said = new Map<string, string>();
    for (let at = 0; at < options.length; at++) {
      const option = options[at] as string;
      if (said.has(option)) throw new TenureError('TENURE_BAD_ARGUMENT', `'${option}' is said twice`);
      if (option === 'keep' || (option === 'shared' && this.#manner.shares)) said.set(option, '');
      else if (option === 'wait' || option === 'saying') said.set(option, options[++at] ?? '');
      else throw new TenureError('TENURE_BAD_ARGUMENT', `acquire takes 'wait SPAN', 'keep' and 'saying TEXT', not '${option}'`);
    }
    const wait = said.get('wait');
    const waitUs = wait === undefined ? 0 : parseDuration(wait);
    const saying = said.get('saying');
    this.#ask({
      name,
      termUs: parseDuration(term),
      waitUs,
      keep: said.has('keep'),
      ...(said.has('shared') && { shared: true }),
      ...(saying !== undefined && { saying }),
    });
  }

  #ask({ name, termUs, waitUs, keep, saying, shared }: Wish): void {
    // A name that is none is refused before anything is written down of it.
    const bytes = encodeName(name);
    const meta = saying === undefined ? {} : { meta: encodeName(saying) };
    const lease = ++this.#asked;
    this.#leases.push({
      lease,
      name,
      termUs,
      waitUs,
      state: 'asking',
      token: 0,
      renewals: 0,
      keep,
      ...(saying === undefined ? {} : { saying }),
      ...(shared === true && { shared }),
    });
    this.#desk.requested(name, lease);
    const mode = shared === true ? ({ mode: 'shared' } as const) : {};
    this.#desk.command({ kind: 'acquire', lease, name: bytes, termUs, waitUs, keep, ...meta, ...mode });
  }

  /** A holder changes its metadata, and later questions to a quorum read it: a register, whose first value came with the acquire. */
  #proclaim(words: readonly string[]): void {
    const lease = this.#find('proclaim', words);
    const value = words[1] === 'lease' ? undefined : words[1];
    if (value === undefined) throw new TenureError('TENURE_BAD_ARGUMENT', 'proclaim needs a name and a text');
    if (lease.state === 'asking') throw new TenureError('TENURE_BAD_ARGUMENT', `cannot proclaim: this node does not hold '${lease.name}'`);
    const number = ++this.#asked;
    if (lease.speaks !== true && lease.saying !== undefined) {
      const register = registerOf(lease, this.#desk);
      this.#desk.record({ kind: 'invoked', register, op: lease.lease, action: 'write', value: lease.saying });
      this.#desk.record({ kind: 'responded', register, op: lease.lease });
    }
    lease.speaks = true;
    this.#desk.record({ kind: 'invoked', register: registerOf(lease, this.#desk), op: number, action: 'write', value });
    this.#desk.command({ kind: 'proclaim', lease: lease.lease, name: encodeName(lease.name), meta: encodeName(value), number });
  }

  #query(name: string): void {
    const number = ++this.#asked;
    const lease = this.#leases.find((one) => one.name === name && one.speaks === true);
    if (lease) {
      this.#reads.set(number, { register: registerOf(lease, this.#desk), token: lease.token });
      this.#desk.record({ kind: 'invoked', register: registerOf(lease, this.#desk), op: number, action: 'read' });
    }
    this.#questions.set(number, name);
    this.#desk.record({ kind: 'queried', query: number, scope: 'name', resource: name });
    this.#desk.command({ kind: 'query', lease: number, name: encodeName(name) });
  }

  #answered({ lease, certain, holder, meta }: Extract<LeaseEvent, { kind: 'answered' }>): void {
    const resource = this.#questions.get(lease);
    this.#questions.delete(lease);
    const named = holder && { holder: holder.owner, token: holder.token };
    if (resource !== undefined) this.#desk.record({ kind: 'answered', query: lease, resource, certain: certain ? 'yes' : 'no', ...named });
    const read = this.#reads.get(lease);
    this.#reads.delete(lease);
    if (!read || !certain || holder?.token !== read.token) return;
    const value = meta ? decodeName(meta, 0, meta.length) : null;
    this.#desk.record({ kind: 'responded', register: read.register, op: lease, value });
  }

  settling(ways: Ways): void {
    this.#settledAt = this.#desk.monoUs;
    this.#ways = ways;
    this.#again = [];
    for (const lease of this.#leases) {
      delete lease.safe;
      delete lease.backAt;
      lease.before = lease.state !== 'asking';
      if (lease.state === 'holding') this.#giveBackLater(lease);
    }
  }

  get wakeAt(): number {
    if (!this.#desk.healed) return NEVER;
    return Math.min(NEVER, ...this.#leases.map(({ backAt }) => backAt ?? NEVER), ...this.#again.map(({ at }) => at));
  }

  wake(): void {
    const { monoUs } = this.#desk;
    for (const lease of this.#leases) {
      if ((lease.backAt ?? NEVER) > monoUs) continue;
      delete lease.backAt;
      this.#release(lease);
    }
    const due = this.#again.filter(({ at }) => at <= monoUs);
    this.#again = this.#again.filter(({ at }) => at > monoUs);
    for (const wish of due) this.#ask(wish);
  }

  #giveBackLater(lease: ActedLease): void {
    if (this.#ways.giveBackUs !== undefined) lease.backAt = this.#desk.monoUs + this.#ways.giveBackUs;
  }

  #askAgainLater(lease: ActedLease): void {
    if (this.#ways.askAgainUs !== undefined) this.#again.push({ ...lease, at: this.#desk.monoUs + this.#ways.askAgainUs });
  }

  #judgeLoss({ name, safe, state }: ActedLease, how: string): void {
    if (this.#desk.healed && safe === true && state === 'holding')
      this.#desk.failLiveness(`${how} "${name}", which it was renewing, though all went well`);
  }

  event(event: LeaseEvent): void {
    if (!('lease' in event)) return;
    const desk = this.#desk;
    if (event.kind === 'answered') this.#answered(event);
    const lease = this.#leases.find((one) => one.lease === event.lease);
    if (!lease) return;
    switch (event.kind) {
      case 'granted':
        lease.state = 'holding';
        lease.token = event.token;
        if (desk.healed) this.#giveBackLater(lease);
        if (desk.healed && lease.keep && event.deadlineMonoUs - lease.termUs >= this.#settledAt) lease.safe = true;
        desk.granted(lease.name, lease.lease, event.token, endsOf(event), lease.shared === true ? 'shared' : 'exclusive');
        return;
      case 'queued':
        desk.record({ kind: 'queued', resource: lease.name, request: lease.lease });
        return;
      case 'proclaimed':
        desk.record({ kind: 'responded', register: registerOf(lease, this.#desk), op: event.number });
        return;
      case 'renewed':
      case 'shortened':
        desk.renewed(lease.name, lease.token, endsOf(event));
        return;
      case 'refused':
        desk.abandoned(lease.name, lease.lease);
        if (desk.healed) this.#askAgainLater(lease);
        this.#forget(lease);
        return;
      case 'lost':
        this.#judgeLoss(lease, 'lost');
        desk.ended(lease.name, lease.token, 'lost');
        if (desk.healed && lease.before === true) this.#askAgainLater(lease);
        this.#forget(lease);
        return;
      case 'upgraded':
        desk.ended(lease.name, lease.token, 'released');
        delete lease.shared;
        lease.token = event.token;
        desk.granted(lease.name, upgradeOf(lease), event.token, endsOf(event), 'exclusive');
        return;
      case 'upgrade-refused':
        desk.abandoned(lease.name, upgradeOf(lease));
        return;
      case 'handed-over':
        lease.state = 'letting-go';
        return;
      case 'stopped':
        this.#judgeLoss(lease, 'was made to stop using');
        desk.ended(lease.name, lease.token, 'released');
        return;
      case 'released':
        this.#judgeLoss(lease, 'gave back');
        if (lease.token > 0) desk.ended(lease.name, lease.token, 'released');
        else desk.abandoned(lease.name, lease.lease);
        if (desk.healed && lease.before === true) this.#askAgainLater(lease);
        this.#forget(lease);
        return;
      default:
        return;
    }
  }

  /** The lease that a line of another actor is about. */
  leaseOf(verb: string, words: readonly string[]): Pick<ActedLease, 'lease' | 'name' | 'token'> {
    return this.#find(verb, words);
  }

  #find(verb: string, words: readonly string[]): ActedLease {
    const at = words.indexOf('lease', 1);
    const found =
      at < 0 ? this.#leases.findLast(({ name }) => name === words[0]) : this.#leases.find(({ lease }) => String(lease) === words[at + 1]);
    if (!found)
      throw new TenureError(
        'TENURE_BAD_ARGUMENT',
        `cannot ${verb}: this node has asked for no '${words.join(' ')}' that is still under way or held`,
      );
    return found;
  }

  #forget(lease: ActedLease): void {
    this.#leases = this.#leases.filter((one) => one !== lease);
  }

  snapshot(): Snapshot {
    return {
      asked: this.#asked,
      leases: this.#leases.map((lease) => ({ ...lease })),
      reads: [...this.#reads],
      questions: [...this.#questions],
    };
  }

  restore(snapshot: Snapshot): void {
    const { asked, leases, reads, questions } = snapshot as unknown as LeaseActorSnapshot;
    this.#asked = asked;
    this.#reads = new Map(reads);
    this.#questions = new Map(questions);
    this.#leases = leases.map((lease) => ({ ...lease }));
  }
}

function upgradeOf({ lease, upgrades = 0 }: ActedLease): number {
  return UPGRADE_NUMBERS * upgrades + lease;
}

/** Without `lease N`. */
function plainWords(words: readonly string[]): readonly string[] {
  const at = words.indexOf('lease', 1);
  return at < 0 ? words : words.toSpliced(at, 2);
}

/** What a holder says of itself under one grant. Where clocks are beyond their bounds, two owners may have had the same token. */
function registerOf({ name, token }: ActedLease, { incarnation }: { readonly incarnation: number }): string {
  return `${name} ${token} of #${incarnation}`;
}

function endsOf({
  deadlineMonoUs,
  deadlineWallUs,
}: Extract<LeaseEvent, { kind: 'granted' | 'renewed' | 'shortened' | 'upgraded' }>): HoldDeadline {
  return { monoUs: deadlineMonoUs, wallUs: deadlineWallUs };
}

function paceOf(word: string): OwnPace {
  if (word === 'fine' || word === 'fast' || word === 'slow') return word;
  throw new TenureError('TENURE_BAD_ARGUMENT', `a clock runs fine, fast or slow, not '${word}'`);
}

/** What a command is as a line of a script, without its node; null where the story can do without. */
export function sayLease(command: LeaseCommand): Said | null {
  switch (command.kind) {
    case 'acquire': {
      const { lease, name, termUs, waitUs, keep, meta, mode } = command;
      const wait = waitUs > 0 ? ['wait', formatSpan(waitUs)] : [];
      const saying = meta ? ['saying', nameText(meta)] : [];
      const words = [...(keep ? ['keep'] : []), ...(mode === 'shared' ? ['shared'] : [])];
      return { verb: 'acquire', words: [nameText(name), formatSpan(termUs), ...wait, ...words, ...saying], asks: lease };
    }
    case 'renew':
      return { verb: 'renew', words: [nameText(command.name), formatSpan(command.termUs)], about: command.lease };
    case 'release': {
      const later = (command.inUs ?? 0) === 0 ? [] : ['in', formatSpan(command.inUs ?? 0)];
      return { verb: 'release', words: [nameText(command.name), ...later], about: command.lease };
    }
    case 'cancel':
      // The lease's number follows; the name is for people only.
      return { verb: 'cancel', words: ['-'], about: command.lease };
    case 'query':
      return { verb: 'query', words: [nameText(command.name)], asks: command.lease };
    case 'watch':
      return { verb: 'watch', words: command.prefix.length > 0 ? [nameText(command.prefix)] : [] };
    case 'retime':
      return { verb: 'retime', words: [formatSpan(command.rttUs)] };
    case 'rate':
      return { verb: 'paces', words: [command.own, ...command.off.map(String)] };
    case 'proclaim': {
      const { name, meta, lease, number } = command;
      return { verb: 'proclaim', words: [nameText(name), nameText(meta)], about: lease, asks: number };
    }
    case 'bootstrap':
      return { verb: 'bootstrap', words: command.waitUs > 0 ? [formatSpan(command.waitUs)] : [], asks: command.lease };
    case 'hand-over':
      return { verb: 'hand-over', words: [nameText(command.name)], about: command.lease };
    case 'lapse':
    case 'line':
    case 'upgrade':
    case 'cancel-upgrade':
    case 'downgrade':
    case 'unwatch':
    case 'list':
    case 'unlist':
    case 'status':
    case 'greet':
    case 'enter-view':
    case 'hear-view':
    case 'view-stored':
      break;
  }
  return null;
}

export function nameText(name: Uint8Array): string {
  return decodeName(name, 0, name.length) ?? '?';
}
