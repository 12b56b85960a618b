/**
 * States of a small world as lists of numbers, and everything that can happen in each. A state is: the used parts of time and of each budget,
 * the past as far as referees remember it, the contents of storage, one number per node, and the messages under way in order of their numbers.
 */
import { invariant, TenureError } from '../../kernel/index.ts';
import { FIRST_OFFER, START_INPUT, WAKE_INPUT, type Envelope, type NodeStates, type NodeState, type StepOutcome } from './node-states.ts';
import type { Judge, PastId } from './judge.ts';
import { Ranks } from './ranks.ts';
import { NODES, PAST, StateSums, STORAGE, USED } from './state-sums.ts';
import { StorageStates, type StorageId } from './storage.ts';
import type { SearchAction } from '../stage/actions.ts';
import type { Offer } from './small-world.ts';

/** The used parts of all budgets in one number: four bits for each, from this bit on. No bound is above 15. */
const LOSSES = 0;
const DUPLICATES = 4;
const CRASHES = 8;
const INSTANTS = 12;
const FAILURES = 16;
const DAMAGES = 20;

function usedUp(used: number, which: number): number {
  return (used >>> which) & 15;
}

/** Messages under way at once. */
const ENVELOPES_MAX = 512;

/** The step is unknown, or it commutes with no other: a crash, a loss, a copy, time, storage. */
const NO_ARRIVAL: Arrival = { node: -1, before: 0, input: 0 };

/** One step of the search: what happens at once. */
export type Move = readonly SearchAction[];

/** A step of one node. */
export interface Arrival {
  /** -1 where it was no such step. */
  node: number;
  /** What the node was before it took the input. */
  before: number;
  input: number;
}

/** Is shown each step out of a state; `next` holds the state it led to. False: that is enough. */
export type Visitor = (move: () => Move, breaks: boolean) => boolean;

export class Universe<Message, Command, Event, Config> {
  readonly #nodeStates: NodeStates<Message, Command, Event, Config>;
  readonly #judge: Judge;
  readonly #envelopesAt: number;
  readonly #woken: number[] = [];
  #firstNodes: readonly number[] = [];
  readonly #sums: StateSums<Message, Command, Event, Config>;
  #foundNode = -1;
  #foundOutcome: StepOutcome | null = null;
  #foundRank = 0;
  readonly #ranks: Ranks;
  /** The step from the expanded state to the shown one. */
  readonly arrival: Arrival = { ...NO_ARRIVAL };
  readonly #storage: StorageStates;
  /** The steps that have led to where the search begins. */
  opening: readonly Move[] = [];
  /** The state that is shown to the visitor. */
  readonly next: Int32Array;
  nextLength = 0;

  constructor(nodeStates: NodeStates<Message, Command, Event, Config>, judge: Judge) {
    this.#nodeStates = nodeStates;
    this.#judge = judge;
    const { bounds, world } = nodeStates;
    this.#storage = new StorageStates({ hasDamage: (bounds.damages ?? 0) > 0, isAtomic: world.hasAtomicUnits === true });
    this.#envelopesAt = NODES + nodeStates.nodes;
    this.next = new Int32Array(this.#envelopesAt + ENVELOPES_MAX);
    this.#sums = new StateSums(nodeStates, judge, this.#storage);
    this.#ranks = new Ranks(nodeStates.envelopeHashes, nodeStates.renumberings.length);
  }

  /** The hash of the state that is shown, the same for states that differ only in the numbers of nodes that are alike. */
  get low(): number {
    return this.#sums.low;
  }

  get high(): number {
    return this.#sums.high;
  }

  /** Room for one state. */
  newState(): Int32Array {
    return new Int32Array(this.next.length);
  }

  /** Every node has started; nothing else has happened. Is left in `next`. */
  begin(): void {
    const nodeStates = this.#nodeStates;
    this.next.fill(0);
    this.next[PAST] = this.#judge.nothing;
    this.nextLength = this.#envelopesAt;
    this.#sums.clear();
    for (let node = 0; node < nodeStates.nodes; node++) {
      this.next[NODES + node] = nodeStates.down(node, 0);
      this.#sums.addState(this.next[NODES + node] as number);
    }
    for (let node = 0; node < nodeStates.nodes; node++) this.#take(node, START_INPUT);
    this.#open();
    this.#firstNodes = [...this.next.subarray(NODES, this.#envelopesAt)];
    this.#sums.finish(this.next);
  }

  /** Takes the steps before the search begins: each act with all its consequences at once, every message in its turn. */
  #open(): void {
    const nodeStates = this.#nodeStates;
    const { world, bounds } = nodeStates;
    const opening: Move[] = [];
    for (const act of world.opening?.(bounds) ?? []) {
      if (act === 'advance') {
        this.#advance();
        opening.push(this.#advanced());
        continue;
      }
      const { node, offer } = act;
      const { offers } = nodeStates.prospects(this.next[NODES + node] as number, this.instantOf(this.next));
      const at = offers.findIndex((one) => one.join(' ') === offer.join(' '));
      invariant(at >= 0, `the opening of this world is not offered: ${offer.join(' ')}`);
      this.#take(node, FIRST_OFFER - at);
      opening.push([actOf(node, offer)]);
      while (this.nextLength > this.#envelopesAt) {
        const message = this.next[this.#envelopesAt] as number;
        this.#removeAt(this.#envelopesAt);
        this.#take((nodeStates.envelopes[message] as Envelope).to, message);
        opening.push(deliveryOf(message, false));
      }
    }
    this.opening = opening;
  }

  #advanced(): Move {
    const woken = this.#woken.map((node) => ({ kind: 'wake', node }) as const);
    return [{ kind: 'advance', byUs: this.#nodeStates.world.tickUs }, ...woken];
  }

  instantOf(state: Int32Array): number {
    return usedUp(state[USED] as number, INSTANTS);
  }

  /**
   * Shows every step out of a state; if it is said how the state was found, only steps that are not as well taken before that
   * (`commutesBack`). `arrival` is then the step that is shown.
   */
  expand(state: Int32Array, length: number, visit: Visitor, found: Arrival = NO_ARRIVAL): void {
    const nodeStates = this.#nodeStates;
    const { bounds } = nodeStates;
    const used = state[USED] as number;
    this.#foundNode = found.node;
    if (found.node >= 0) {
      this.#foundOutcome = nodeStates.outcome(found.before, found.input, this.instantOf(state));
      this.#foundRank = this.#ranks.of(found.input);
    }
    this.arrival.node = -1;
    this.#sums.sum(state, length);
    for (let i = this.#envelopesAt; i < length; i++) {
      const envelope = state[i] as number;
      if (i > this.#envelopesAt && envelope === state[i - 1]) continue;
      const { to, repeats } = nodeStates.envelopes[envelope] as Envelope;
      if (this.#isUp(state, to)) {
        if (!this.#isVain(state, to, envelope) && !this.#commutesBack(state, to, envelope)) {
          this.#copy(state, length);
          if (!repeats) this.#removeAt(i);
          this.#arrive(to, state[NODES + to] as number, envelope);
          const isClean = this.#take(to, envelope);
          if (!this.#show(() => deliveryOf(envelope, repeats), !isClean, visit)) return;
        }
        this.arrival.node = -1;
        if (usedUp(used, DUPLICATES) < bounds.duplicates && !repeats) {
          this.#copy(state, length);
          this.#use(DUPLICATES);
          const isStillClean = this.#take(to, envelope);
          if (!this.#show(() => deliveryOf(envelope, true), !isStillClean, visit)) return;
        }
      }
      if (usedUp(used, LOSSES) < bounds.losses) {
        this.#copy(state, length);
        this.#use(LOSSES);
        this.#removeAt(i);
        if (!this.#show(() => [{ kind: 'drop', message: envelope }], false, visit)) return;
      }
    }
    const isBeginning = this.#isBeginning(state, length);
    const first = isBeginning ? nodeStates.world.firstToAct(bounds) : null;
    for (let node = 0; node < nodeStates.nodes; node++) {
      if (first !== null && node !== first) continue;
      if (!this.#expandNode(state, length, node, visit)) return;
    }
    this.arrival.node = -1;
    if (!this.#expandStorage(state, length, visit)) return;
    if (usedUp(used, INSTANTS) < bounds.instants && !isBeginning) {
      this.#copy(state, length);
      const isClean = this.#advance();
      const move = this.#advanced();
      this.#show(() => move, !isClean, visit);
    }
  }

  #expandNode(state: Int32Array, length: number, node: number, visit: Visitor): boolean {
    const nodeStates = this.#nodeStates;
    const id = state[NODES + node] as number;
    const { snapshot, life } = nodeStates.states[id] as NodeState;
    if (snapshot === null) return true;
    const instant = this.instantOf(state);
    const { offers, mayCrash } = nodeStates.prospects(id, instant);
    if (
      !nodeStates.world.wakesPromptly(nodeStates.bounds, node) &&
      nodeStates.wantsWaking(id, instant) &&
      !this.#commutesBack(state, node, WAKE_INPUT)
    ) {
      this.#copy(state, length);
      this.#arrive(node, id, WAKE_INPUT);
      const isClean = this.#take(node, WAKE_INPUT);
      if (!this.#show(() => [{ kind: 'wake', node }], !isClean, visit)) return false;
    }
    for (let offer = 0; offer < offers.length; offer++) {
      if (this.#commutesBack(state, node, FIRST_OFFER - offer)) continue;
      this.#copy(state, length);
      this.#arrive(node, id, FIRST_OFFER - offer);
      const isClean = this.#take(node, FIRST_OFFER - offer);
      if (!this.#show(() => [actOf(node, offers[offer] as Offer)], !isClean, visit)) return false;
    }
    this.arrival.node = -1;
    if (mayCrash && usedUp(state[USED] as number, CRASHES) < nodeStates.bounds.crashes) {
      this.#copy(state, length);
      const incarnation = nodeStates.incarnationOf(nodeStates.states[id] as NodeState);
      const past = this.#judge.crashed(state[PAST] as PastId, instant, node, incarnation);
      this.#use(CRASHES);
      this.next[PAST] = past;
      this.#store(this.#storage.crashed(state[STORAGE] as StorageId, node, incarnation));
      this.#become(node, nodeStates.down(node, life + 1));
      const isClean = past >= 0 && this.#take(node, START_INPUT);
      const move = (): Move => [
        { kind: 'crash', node },
        { kind: 'restart', node, diskKept: false },
      ];
      if (!this.#show(move, !isClean, visit)) return false;
    }
    return true;
  }

  /** An access takes effect, is answered, or fails; a record is damaged. */
  #expandStorage(state: Int32Array, length: number, visit: Visitor): boolean {
    const { bounds } = this.#nodeStates;
    const used = state[USED] as number;
    const mayFail = usedUp(used, FAILURES) < (bounds.failures ?? 0);
    const mayDamage = usedUp(used, DAMAGES) < (bounds.damages ?? 0);
    for (const { action, completion, next } of this.#storage.moves(state[STORAGE] as StorageId)) {
      const isOrderly = action.kind === 'effect' || action.kind === 'answer';
      if (!isOrderly && !(action.kind === 'fail' ? mayFail : mayDamage)) continue;
      this.#copy(state, length);
      this.#store(next);
      if (!isOrderly) this.#use(action.kind === 'fail' ? FAILURES : DAMAGES);
      const isTold = completion !== null && 'node' in action;
      const isClean = !isTold || this.#take(action.node, this.#nodeStates.completion(completion));
      if (!this.#show(() => [action], !isClean, visit)) return false;
    }
    return true;
  }

  // ── Steps that are as well taken earlier ───────────────────────────────────────────────────────────

  #arrive(node: number, before: number, input: number): void {
    this.arrival.node = node;
    this.arrival.before = before;
    this.arrival.input = input;
  }

  /**
   * This step could have been taken before the step by which the state was found, with the same result, and ranks below it. Then
   * the next state is found the other way round, too: by this step first.
   */
  #commutesBack(state: Int32Array, node: number, input: number): boolean {
    const outcome = this.#foundOutcome;
    if (this.#foundNode < 0 || outcome === null || this.#foundNode === node || outcome.sent.includes(input)) return false;
    if (this.#ranks.of(input) >= this.#foundRank) return false;
    // The order in which two nodes tell the history something may matter to the referees.
    return outcome.toldId === 0 || this.#nodeStates.outcome(state[NODES + node] as number, input, this.instantOf(state)).toldId === 0;
  }

  /** No node has done anything yet. Then time need not pass: only spans matter, so the first act may as well be at instant 0. */
  #isBeginning(state: Int32Array, length: number): boolean {
    return (
      this.opening.length === 0 && length === this.#envelopesAt && this.#firstNodes.every((first, node) => state[NODES + node] === first)
    );
  }

  /**
   * Nothing comes of this delivery but that the message is gone. Whatever happens without it can happen with it, too: messages may never come. So the
   * delivery need not be taken, and its result is no state of its own.
   */
  #isVain(state: Int32Array, to: number, envelope: number): boolean {
    const nodeStates = this.#nodeStates;
    if (nodeStates.world.leavesOutVain !== true) return false;
    const before = state[NODES + to] as number;
    const { state: after, sent, askedId, toldId } = nodeStates.outcome(before, envelope, this.instantOf(state));
    return after === before && sent.length === 0 && askedId === 0 && toldId === 0;
  }

  // ── Making the next state ──────────────────────────────────────────────────────────────────────────

  #copy(state: Int32Array, length: number): void {
    for (let i = 0; i < length; i++) this.next[i] = state[i] as number;
    this.nextLength = length;
    this.#sums.copy();
  }

  /** One node takes one input; false if a promise was broken. */
  #take(node: number, input: number): boolean {
    const nodeStates = this.#nodeStates;
    const { next } = this;
    const instant = this.instantOf(next);
    const before = next[NODES + node] as number;
    const outcome: StepOutcome = nodeStates.outcome(before, input, instant);
    this.#become(node, outcome.state);
    this.#dropDead(node);
    for (const envelope of outcome.sent) {
      const { to } = nodeStates.envelopes[envelope] as Envelope;
      if (!this.#isDead(envelope, to)) this.#insert(envelope);
    }
    const incarnation = nodeStates.incarnationOf(nodeStates.states[before] as NodeState);
    if (outcome.askedId !== 0)
      this.#store(this.#storage.ask(next[STORAGE] as StorageId, node, incarnation, outcome.asked, outcome.askedId));
    if (outcome.toldId === 0) return true;
    const past = this.#judge.reported(next[PAST] as PastId, instant, node, incarnation, outcome.told, outcome.toldId);
    next[PAST] = past;
    return past >= 0;
  }

  /** Time goes by one instant; nodes that are woken promptly are woken. */
  #advance(): boolean {
    const nodeStates = this.#nodeStates;
    this.#use(INSTANTS);
    const instant = this.instantOf(this.next);
    this.#woken.length = 0;
    this.next[PAST] = this.#judge.closePassed(this.next[PAST] as PastId, instant);
    if (this.next[PAST] < 0) return false;
    for (let node = 0; node < nodeStates.nodes; node++) {
      this.#become(node, nodeStates.tidied(this.next[NODES + node] as number, instant));
      if (!nodeStates.world.wakesPromptly(nodeStates.bounds, node)) continue;
      // A wake may plan the next one for the same instant, but not for ever.
      for (let times = 0; times < 4 && nodeStates.wantsWaking(this.next[NODES + node] as number, instant); times++) {
        this.#woken.push(node);
        if (!this.#take(node, WAKE_INPUT)) return false;
      }
    }
    return true;
  }

  #use(budget: number): void {
    this.next[USED] = (this.next[USED] as number) + (1 << budget);
  }

  #store(storage: StorageId): void {
    this.#sums.addStorage(this.next[STORAGE] as StorageId, -1);
    this.next[STORAGE] = storage;
    this.#sums.addStorage(storage, 1);
  }

  #become(node: number, state: number): void {
    const before = this.next[NODES + node] as number;
    if (before === state) return;
    this.next[NODES + node] = state;
    this.#sums.replaceState(before, state);
  }

  #insert(envelope: number): void {
    const { next } = this;
    // Written beyond its end, a state would lose a message without a word.
    if (this.nextLength === next.length) {
      throw new TenureError(
        'TENURE_BAD_ARGUMENT',
        `more than ${ENVELOPES_MAX} messages are under way at once in this world: choose a smaller one`,
      );
    }
    if ((this.#nodeStates.envelopes[envelope] as Envelope).repeats && this.#isUnderWay(envelope)) return;
    let at = this.nextLength++;
    while (at > this.#envelopesAt && (next[at - 1] as number) > envelope) {
      next[at] = next[at - 1] as number;
      at--;
    }
    next[at] = envelope;
    this.#sums.addEnvelope(envelope, 1);
  }

  #isUnderWay(envelope: number): boolean {
    for (let i = this.#envelopesAt; i < this.nextLength; i++) if (this.next[i] === envelope) return true;
    return false;
  }

  #removeAt(index: number): void {
    const { next } = this;
    this.#sums.addEnvelope(next[index] as number, -1);
    this.nextLength--;
    for (let i = index; i < this.nextLength; i++) next[i] = next[i + 1] as number;
  }

  /** A node has changed state: drops the messages that it ignores from now on. */
  #dropDead(node: number): void {
    const nodeStates = this.#nodeStates;
    for (let i = this.nextLength - 1; i >= this.#envelopesAt; i--) {
      const envelope = this.next[i] as number;
      if ((nodeStates.envelopes[envelope] as Envelope).to === node && this.#isDead(envelope, node)) this.#removeAt(i);
    }
  }

  /** A node that only asks, and will ask nothing more, ignores every message. */
  #isDead(envelope: number, to: number): boolean {
    const nodeStates = this.#nodeStates;
    const state = this.next[NODES + to] as number;
    if (nodeStates.isDead(envelope, state)) return true;
    return !nodeStates.world.wakesPromptly(nodeStates.bounds, to) && nodeStates.prospects(state, this.instantOf(this.next)).asksNothing;
  }

  /** Once no node asks for anything any more, the states of the answering nodes and all messages make no difference. */
  #forget(): void {
    const nodeStates = this.#nodeStates;
    const instant = this.instantOf(this.next);
    // Asking nodes have the highest numbers, and mostly one of them still asks.
    for (let node = nodeStates.nodes - 1; node >= 0; node--)
      if (!nodeStates.prospects(this.next[NODES + node] as number, instant).asksNothing) return;
    while (this.nextLength > this.#envelopesAt) this.#removeAt(this.nextLength - 1);
    for (let node = 0; node < nodeStates.nodes; node++)
      if (nodeStates.world.wakesPromptly(nodeStates.bounds, node)) this.#become(node, nodeStates.down(node, 0));
  }

  #isUp(state: Int32Array, node: number): boolean {
    return (this.#nodeStates.states[state[NODES + node] as number] as NodeState).snapshot !== null;
  }

  #show(move: () => Move, breaks: boolean, visit: Visitor): boolean {
    if (!breaks) this.#forget();
    this.#sums.finish(this.next);
    return visit(move, breaks);
  }
}

/** Of the message, or of a copy of it. */
function deliveryOf(message: number, isCopied: boolean): Move {
  return isCopied
    ? [
        { kind: 'duplicate', message },
        { kind: 'deliver', message },
      ]
    : [{ kind: 'deliver', message }];
}

function actOf(node: number, [verb, ...words]: Offer): SearchAction {
  return { kind: 'act', node, verb, words };
}
