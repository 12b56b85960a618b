/**
 * PaxosLease's learner (P6): believes an owner until the owner's own clock ends the lease, by its own clock. What
 * it is told is a hint for people and caches; who must be sure asks a quorum. Members pass on what they are told
 * to learners that are no members.
 */
import { decodeName, encodeName, monoAfter, monoUs, spanUs, type Incarnation, type MonoUs, type NodeId } from '../../../kernel/index.ts';
import type { Snapshot } from '../../contract.ts';
import { DueHeap } from '../quorum/due-heap.ts';
import { stretch } from '../quorum/timing.ts';
import type { RoundStep } from './config.ts';
import { LETS_GO, PASSED_ON, RoundMessage, WATCH, type LeaseValue } from './messages.ts';
import type { RoundTiming } from './timing.ts';

interface Belief {
  readonly id: number;
  readonly name: string;
  holder: Incarnation;
  holderLease: number;
  token: number;
  /** By our own clocks. */
  untilWall: number;
  untilMono: MonoUs;
  /** Its owner lets go: nothing that comes late makes it last longer, nor brings it back. */
  letsGo: boolean;
  /** It has ended here, and is kept only to know what comes late. */
  isOver: boolean;
  /** Until when something about it may still be under way. */
  keptUntil: MonoUs;
}

interface Watcher {
  readonly node: NodeId;
  readonly owner: Incarnation;
  readonly prefix: string;
  until: MonoUs;
}

/** The belief of our own watches is refreshed at the members with this key. */
const REFRESH = 0;

export class RoundLearner {
  readonly #owner: Incarnation;
  readonly #members: readonly NodeId[];
  readonly #isMember: boolean;
  readonly #timing: RoundTiming;
  readonly #prefixes = new Set<string>();
  readonly #beliefs = new Map<string, Belief>();
  readonly #byId = new Map<number, Belief>();
  readonly #watchers = new Map<string, Watcher>();
  readonly #due = new DueHeap();
  readonly #message = new RoundMessage();
  #nextId = 1;
  #refreshAt: MonoUs = monoUs(Infinity);

  constructor(owner: Incarnation, members: readonly NodeId[], isMember: boolean, timing: RoundTiming) {
    this.#owner = owner;
    this.#members = members;
    this.#isMember = isMember;
    this.#timing = timing;
  }

  get wakeAt(): MonoUs {
    return this.#due.nextAt;
  }

  watch(prefix: Uint8Array, step: RoundStep): void {
    this.#prefixes.add(textOfPrefix(prefix));
    this.#refresh(step);
  }

  unwatch(prefix: Uint8Array): void {
    this.#prefixes.delete(textOfPrefix(prefix));
  }

  /** A learner that is no member asks to be told. It asks again now and then; a member forgets one that does not. */
  watched(from: NodeId, message: RoundMessage, step: RoundStep): void {
    const prefix = textOfPrefix(message.name.subarray(message.nameStart, message.nameEnd));
    const until = monoAfter(step.monoUs, this.#timing.waiterUs);
    for (const [key, watcher] of this.#watchers) if (watcher.until <= step.monoUs) this.#watchers.delete(key);
    this.#watchers.set(`${message.owner} ${prefix}`, { node: from, owner: message.owner, prefix, until });
  }

  learn(message: RoundMessage, step: RoundStep): void {
    const name = decodeName(message.name, message.nameStart, message.nameEnd);
    const value = message.value();
    if (name === null || value === null) return;
    if ((message.flags & PASSED_ON) === 0) this.#passOn(name, message, step);
    if ([...this.#prefixes].some((prefix) => name.startsWith(prefix))) this.#believe(name, value, (message.flags & LETS_GO) !== 0, step);
  }

  wake(step: RoundStep): void {
    for (let id = this.#due.take(step.monoUs); id >= 0; id = this.#due.take(step.monoUs)) {
      if (id === REFRESH) {
        if (step.monoUs >= this.#refreshAt) this.#refresh(step);
        continue;
      }
      const belief = this.#byId.get(id);
      if (belief) this.#lookAt(belief, step);
    }
  }

  /** Who it believes has the name, and for how long. */
  hint(name: Uint8Array, step: Pick<RoundStep, 'monoUs' | 'wallUs'>): { owner: Incarnation; token: number; remainingUs: number } | null {
    const belief = this.#beliefs.get(decodeName(name, 0, name.length) ?? '');
    const remainingUs = belief && !belief.isOver ? this.#leftOf(belief, step) : 0;
    return belief && remainingUs > 0 ? { owner: belief.holder, token: belief.token, remainingUs } : null;
  }

  #believe(name: string, value: LeaseValue, letsGo: boolean, step: RoundStep): void {
    const known = this.#beliefs.get(name);
    const isKnown = known !== undefined && known.holder === value.holder && known.holderLease === value.holderLease;
    // What is about an older lease than the one we know of, or about one that was let go, is old news.
    if (known !== undefined && (isKnown ? known.letsGo : value.token < known.token)) return;
    const isAbsolute = this.#timing.clocks === 'absolute';
    const untilWall = isAbsolute ? value.untilUs : Infinity;
    const leftUs = isAbsolute ? value.untilUs - step.wallUs : value.untilUs;
    const untilMono = monoAfter(step.monoUs, spanUs(Math.max(0, leftUs)));
    if (isKnown && !letsGo && known.untilWall === untilWall && isAbsolute) return;
    const wasBelieved = known !== undefined && !known.isOver;
    // A release of a lease we never heard of says nothing to anyone, but what comes late about that lease must not either.
    const isOver = leftUs <= 0 || (letsGo && !(isKnown && wasBelieved));
    const { maxTermUs, skewUs, rateErrorPpm } = this.#timing;
    const keptUntil = letsGo ? monoAfter(step.monoUs, stretch(maxTermUs + skewUs, rateErrorPpm)) : untilMono;
    const id = known?.id ?? this.#nextId++;
    const { holder, holderLease, token } = value;
    const belief: Belief = { id, name, holder, holderLease, token, untilWall, untilMono, letsGo, isOver: false, keptUntil };
    this.#beliefs.set(name, belief);
    this.#byId.set(id, belief);
    if (isOver) {
      belief.isOver = !wasBelieved;
      belief.untilWall = Math.min(belief.untilWall, step.wallUs);
      belief.untilMono = step.monoUs;
      this.#lookAt(belief, step);
      return;
    }
    this.#due.push(untilMono, id);
    const hint = { owner: holder, token, remainingUsMax: this.#leftOf(belief, step) };
    step.emit({ kind: 'learned', name: encodeName(name), holder: hint, meta: value.meta ?? null });
  }

  /** Ends a belief whose time is over, and forgets it when nothing about it can come any more. */
  #lookAt(belief: Belief, step: RoundStep): void {
    const leftUs = belief.isOver ? 0 : this.#leftOf(belief, step);
    if (leftUs > 0) {
      this.#due.push(monoAfter(step.monoUs, spanUs(leftUs)), belief.id);
      return;
    }
    if (!belief.isOver) step.emit({ kind: 'learned', name: encodeName(belief.name), holder: null, meta: null });
    belief.isOver = true;
    if (belief.keptUntil > step.monoUs) {
      this.#due.push(belief.keptUntil, belief.id);
      return;
    }
    this.#beliefs.delete(belief.name);
    this.#byId.delete(belief.id);
  }

  #leftOf(belief: Belief, { monoUs: mono, wallUs: wall }: Pick<RoundStep, 'monoUs' | 'wallUs'>): number {
    return this.#timing.clocks === 'absolute' ? belief.untilWall - wall : belief.untilMono - mono;
  }

  #passOn(name: string, message: RoundMessage, step: RoundStep): void {
    const { owner, flags } = message;
    for (const [key, watcher] of this.#watchers) {
      if (watcher.until <= step.monoUs) {
        this.#watchers.delete(key);
        continue;
      }
      if (!name.startsWith(watcher.prefix)) continue;
      message.owner = watcher.owner;
      message.flags = flags | PASSED_ON;
      step.send(watcher.node, message);
    }
    message.owner = owner;
    message.flags = flags;
  }

  #refresh(step: RoundStep): void {
    if (this.#isMember || this.#prefixes.size === 0) return;
    for (const prefix of this.#prefixes) {
      const message = this.#message;
      message.kind = WATCH;
      message.flags = 0;
      message.owner = this.#owner;
      const bytes = prefix === '' ? new Uint8Array(0) : encodeName(prefix);
      message.setName(bytes, 0, bytes.length);
      for (const member of this.#members) step.send(member, message);
    }
    this.#refreshAt = monoAfter(step.monoUs, this.#timing.refreshUs);
    this.#due.push(this.#refreshAt, REFRESH);
  }

  snapshot(): Snapshot {
    const byName = (a: { name: string }, b: { name: string }): number => (a.name < b.name ? -1 : 1);
    return {
      prefixes: [...this.#prefixes].sort(),
      refreshAt: this.#refreshAt,
      beliefs: [...this.#beliefs.values()].sort(byName).map((belief) => ({ ...belief, id: 0 })),
      watchers: [...this.#watchers.entries()].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, watcher]) => ({ ...watcher })),
    };
  }

  restore(snapshot: Snapshot): void {
    const told = snapshot as unknown as LearnerSnapshot;
    for (const prefix of told.prefixes) this.#prefixes.add(prefix);
    this.#refreshAt = told.refreshAt;
    if (told.refreshAt !== Infinity) this.#due.push(told.refreshAt, REFRESH);
    for (const one of told.beliefs) {
      const belief = { ...one, id: this.#nextId++ };
      this.#beliefs.set(belief.name, belief);
      this.#byId.set(belief.id, belief);
      this.#due.push(belief.isOver ? belief.keptUntil : belief.untilMono, belief.id);
    }
    for (const watcher of told.watchers) this.#watchers.set(`${watcher.owner} ${watcher.prefix}`, { ...watcher });
  }
}

interface LearnerSnapshot {
  readonly prefixes: readonly string[];
  readonly refreshAt: MonoUs;
  /** Their ids are given anew. */
  readonly beliefs: readonly Belief[];
  readonly watchers: readonly Watcher[];
}

/** A prefix may end in the middle of a character: such a one is the prefix of nothing we print. */
function textOfPrefix(prefix: Uint8Array): string {
  return prefix.length === 0 ? '' : (decodeName(prefix, 0, prefix.length) ?? '\uffff');
}
