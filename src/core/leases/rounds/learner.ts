/**
 * PaxosLease's learner (P6): believes an owner until the owner's own clock ends the lease, by its own clock. Its
 * beliefs are hints for people and caches; a process that must be sure asks a quorum. Members pass news on
 * to learners that are no members.
 */
import {
  encodeName,
  equalBytes,
  monoAfter,
  monoUs,
  spanUs,
  type HashKey,
  type Incarnation,
  type MonoUs,
  type NodeId,
} from '../../../kernel/index.ts';
import type { Snapshot } from '../../contract.ts';
import { DueHeap, type NameTable } from '../../tables/index.ts';
import { Audience, type WatchSnapshot } from '../audience.ts';
import { textOf } from '../snapshots.ts';
import { stretch } from '../timing.ts';
import { WatchedPrefixes, type WatchedPrefix, type WatchedSnapshot } from '../watched-prefixes.ts';
import { Beliefs, type Belief } from './beliefs.ts';
import type { RoundStep } from './config.ts';
import type { RoundHorizon } from './horizon.ts';
import { LETS_GO, NACK, NACK_NO_WATCH, PASSED_ON, RoundMessage, ROUND_WATCH, type LeaseValue } from './messages.ts';
import type { RoundTiming } from './timing.ts';

interface LearnerOptions {
  readonly owner: Incarnation;
  readonly members: readonly NodeId[];
  readonly isMember: boolean;
  readonly timing: RoundTiming;
  readonly names: NameTable;
  readonly horizon: RoundHorizon;
  readonly hashKey: HashKey | undefined;
  readonly watchesMax: number | undefined;
}

/** Our own watches are refreshed at the members with this key. The other keys are names, from 1. */
const REFRESH = 0;

export class RoundLearner {
  readonly #owner: Incarnation;
  readonly #members: readonly NodeId[];
  readonly #isMember: boolean;
  readonly #timing: RoundTiming;
  readonly #horizon: RoundHorizon;
  readonly #watched = new WatchedPrefixes();
  /** Metadata of the holders that publish any, by the id of their name. */
  readonly #said = new Map<number, Uint8Array>();
  readonly #beliefs: Beliefs;
  /** Learners that are no members, and are told by this one. */
  readonly #audience: Audience;
  readonly #due = new DueHeap();
  readonly #message = new RoundMessage();
  #refreshAt: MonoUs = monoUs(Infinity);

  constructor({ owner, members, isMember, timing, names, horizon, hashKey, watchesMax }: LearnerOptions) {
    this.#audience = new Audience({ keepUs: timing.waiterUs, key: hashKey, watchesMax });
    this.#horizon = horizon;
    this.#beliefs = new Beliefs(names);
    this.#owner = owner;
    this.#members = members;
    this.#isMember = isMember;
    this.#timing = timing;
  }

  get wakeAt(): MonoUs {
    return this.#due.nextAt;
  }

  /** How many entries its calendar has. */
  get planned(): number {
    return this.#due.size;
  }

  watch(prefix: Uint8Array, step: RoundStep): void {
    const watched = this.#watched.watch(prefix);
    if (this.#isMember) return;
    this.#announce(watched, step);
    if (this.#refreshAt === Infinity) this.#planRefresh(step);
  }

  unwatch(prefix: Uint8Array): void {
    this.#watched.unwatch(prefix);
  }

  /** A member has no room for one of the prefixes. */
  refused(from: NodeId, message: RoundMessage, step: RoundStep): void {
    const ended = this.#watched.refuse(message.lease, from, this.#members);
    if (ended) step.emit({ kind: 'watch-refused', prefix: ended.prefix });
  }

  /** The result of a question to a quorum: watchers of the name must hear of its end as well, though its owner may never say a word again. */
  found(name: Uint8Array, value: LeaseValue, step: RoundStep): void {
    if (this.#watched.hasPrefixOf(name, 0, name.length)) this.#believe(name, value, false, step);
  }

  /** A learner that is no member asks to be told. It asks again now and then; a member forgets a learner that does not. */
  watched(from: NodeId, message: RoundMessage, step: RoundStep): void {
    const { owner, lease, ballot, name, nameStart, nameEnd } = message;
    if (this.#audience.keep(from, owner, name, nameStart, nameEnd, step.monoUs)) return;
    const reply = this.#message;
    reply.kind = NACK;
    reply.flags = 0;
    reply.reason = NACK_NO_WATCH;
    reply.owner = owner;
    reply.lease = lease;
    reply.ballot = ballot;
    reply.above = ballot;
    step.send(from, reply);
  }

  learn(message: RoundMessage, step: RoundStep): void {
    const { name, nameStart, nameEnd } = message;
    const value = message.value();
    if (value === null || !this.#horizon.believes(value, step)) return;
    if ((message.flags & PASSED_ON) === 0) this.#passOn(message, step);
    if (this.#watched.hasPrefixOf(name, nameStart, nameEnd))
      this.#believe(name.slice(nameStart, nameEnd), value, (message.flags & LETS_GO) !== 0, step);
  }

  wake(step: RoundStep): void {
    for (let key = this.#due.take(step.monoUs); key >= 0; key = this.#due.take(step.monoUs)) {
      if (key !== REFRESH) this.#lookAt(key - 1, step);
      else if (step.monoUs >= this.#refreshAt) this.#refresh(step);
    }
  }

  /** The believed holder of the name, and for how long. */
  hint(name: Uint8Array, step: Pick<RoundStep, 'monoUs' | 'wallUs'>): { owner: Incarnation; token: number; remainingUs: number } | null {
    const belief = this.#beliefs.get(this.#beliefs.find(name));
    const remainingUs = belief && !belief.isOver ? this.#leftOf(belief, step) : 0;
    return belief && remainingUs > 0 ? { owner: belief.holder, token: belief.token, remainingUs } : null;
  }

  #believe(name: Uint8Array, value: LeaseValue, letsGo: boolean, step: RoundStep): void {
    const known = this.#beliefs.get(this.#beliefs.find(name));
    const isKnown = known !== null && known.holder === value.holder && known.holderLease === value.holderLease;
    // Words about an older lease than the known one, or about a lease that was let go, are old news; so are words that a slow member passes on.
    if (known !== null && (isKnown ? known.letsGo || value.ownBallot <= known.ballot : value.token < known.token)) return;
    const isAbsolute = this.#timing.clocks === 'absolute';
    const { maxTermUs, skewUs, rateErrorPpm } = this.#timing;
    // No lease lasts longer, whatever is told.
    const leftUs = Math.min(isAbsolute ? value.untilUs - step.wallUs : value.untilUs, stretch(maxTermUs + skewUs, rateErrorPpm));
    const untilWall = isAbsolute ? step.wallUs + leftUs : Infinity;
    const untilMono = monoAfter(step.monoUs, spanUs(Math.max(0, leftUs)));
    const wasBelieved = known !== null && !known.isOver;
    // A release of a lease that we never heard of is news to no watcher, but later words about that lease must not be news either.
    const isOver = leftUs <= 0 || (letsGo && !(isKnown && wasBelieved));
    const keptUntil = letsGo ? monoAfter(step.monoUs, stretch(maxTermUs + skewUs, rateErrorPpm)) : untilMono;
    const { holder, holderLease, token, ownBallot: ballot } = value;
    const belief: Belief = { holder, holderLease, token, ballot, untilWall, untilMono, letsGo, isOver: false, keptUntil };
    if (isOver) {
      belief.isOver = !wasBelieved;
      belief.untilWall = Math.min(belief.untilWall, step.wallUs);
      belief.untilMono = step.monoUs;
      this.#lookAt(this.#beliefs.put(name, belief), step);
      return;
    }
    const id = this.#beliefs.put(name, belief);
    const isNews = !isKnown || !wasBelieved || !isSame(this.#said.get(id), value.meta);
    this.#say(id, value.meta);
    // One entry is enough: when it comes up, it plans the next.
    if (known === null || known.isOver || untilMono < known.untilMono) this.#plan(id, untilMono);
    if (!isNews) return;
    const hint = { owner: holder, token, remainingUsMax: this.#leftOf(belief, step) };
    step.emit({ kind: 'learned', name, holder: hint, meta: value.meta ?? null });
  }

  /** Ends a belief whose time is over, and forgets it when nothing about it can come any more. */
  #lookAt(id: number, step: RoundStep): void {
    const belief = this.#beliefs.get(id);
    if (belief === null) return;
    const leftUs = belief.isOver ? 0 : this.#leftOf(belief, step);
    if (leftUs > 0) {
      this.#plan(id, monoAfter(step.monoUs, spanUs(leftUs)));
      return;
    }
    const name = this.#beliefs.nameOf(id);
    if (!belief.isOver) step.emit({ kind: 'learned', name, holder: null, meta: null });
    this.#say(id, undefined);
    if (belief.keptUntil > step.monoUs) {
      this.#beliefs.put(name, { ...belief, isOver: true });
      this.#plan(id, belief.keptUntil);
    } else {
      this.#beliefs.delete(id);
    }
  }

  #say(id: number, meta: Uint8Array | undefined): void {
    if (meta === undefined) this.#said.delete(id);
    else this.#said.set(id, meta);
  }

  /** An entry of an earlier lease on the name plans for the next one: of a name that comes and goes they would pile up. */
  #plan(id: number, at: MonoUs): void {
    this.#due.push(at, id + 1);
    if (!this.#due.isOvergrown(this.#beliefs.count, this.#beliefs.names)) return;
    this.#due.clear();
    if (this.#refreshAt !== Infinity) this.#due.push(this.#refreshAt, REFRESH);
    for (const other of this.#beliefs.ids()) this.#enter(other, this.#beliefs.get(other) as Belief);
  }

  #enter(id: number, belief: Belief): void {
    this.#due.push(belief.isOver ? belief.keptUntil : belief.untilMono, id + 1);
  }

  #leftOf(belief: Belief, { monoUs: mono, wallUs: wall }: Pick<RoundStep, 'monoUs' | 'wallUs'>): number {
    return this.#timing.clocks === 'absolute' ? belief.untilWall - wall : belief.untilMono - mono;
  }

  #passOn(message: RoundMessage, step: RoundStep): void {
    const { owner, flags, name, nameStart, nameEnd } = message;
    message.flags = flags | PASSED_ON;
    for (const watcher of this.#audience.of(name, nameStart, nameEnd, step.monoUs)) {
      message.owner = watcher.owner;
      step.send(watcher.node, message);
    }
    message.owner = owner;
    message.flags = flags;
  }

  #refresh(step: RoundStep): void {
    this.#refreshAt = monoUs(Infinity);
    if (this.#isMember || this.#watched.size === 0) return;
    for (const watched of this.#watched.all()) this.#announce(watched, step);
    this.#planRefresh(step);
  }

  #planRefresh(step: RoundStep): void {
    this.#refreshAt = monoAfter(step.monoUs, this.#timing.refreshUs);
    this.#due.push(this.#refreshAt, REFRESH);
  }

  #announce({ prefix, number, refusedBy }: WatchedPrefix, step: RoundStep): void {
    refusedBy.clear();
    const message = this.#message;
    message.kind = ROUND_WATCH;
    message.flags = 0;
    message.owner = this.#owner;
    message.lease = number;
    message.setName(prefix, 0, prefix.length);
    for (const member of this.#members) step.send(member, message);
  }

  snapshot(): Snapshot {
    return {
      watched: this.#watched.snapshot(),
      refreshAt: this.#refreshAt,
      beliefs: this.#beliefs
        .ids()
        .map((id) => ({
          name: textOf(this.#beliefs.nameOf(id)),
          said: [...(this.#said.get(id) ?? [])],
          ...(this.#beliefs.get(id) as Belief),
        }))
        .sort((a, b) => (a.name < b.name ? -1 : 1)),
      audience: this.#audience.snapshot(),
    };
  }

  restore(snapshot: Snapshot): void {
    const told = snapshot as unknown as LearnerSnapshot;
    this.#watched.restore(told.watched);
    this.#refreshAt = told.refreshAt;
    if (told.refreshAt !== Infinity) this.#due.push(told.refreshAt, REFRESH);
    for (const { name, said, ...belief } of told.beliefs) {
      const id = this.#beliefs.put(encodeName(name), belief);
      this.#say(id, said.length > 0 ? Uint8Array.from(said) : undefined);
      this.#enter(id, belief);
    }
    this.#audience.restore(told.audience);
  }
}

interface LearnerSnapshot {
  readonly watched: WatchedSnapshot;
  readonly refreshAt: MonoUs;
  readonly beliefs: readonly (Belief & { readonly name: string; readonly said: readonly number[] })[];
  readonly audience: readonly WatchSnapshot[];
}

function isSame(a: Uint8Array | undefined, b: Uint8Array | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  return equalBytes(a, 0, a.length, b, 0, b.length);
}
