/**
 * States of a small world as lists of numbers, and everything that can happen in each. A state is: the used parts of time and of each budget,
 * the past as far as referees remember it, the contents of storage, one number per node, and the messages under way in order of their numbers.
 */
import { TenureError } from '../../kernel/index.ts';
import type { Perspective } from '../../check/index.ts';
import type { Envelope, NodeStates, NodeState, StepOutcome } from './node-states.ts';
import { FIRST_OFFER, START_INPUT, WAKE_INPUT } from './node-states.ts';
import type { Judge, PastId } from './judge.ts';
import { PartHashes } from './hashes.ts';
import { StorageStates, type StorageId } from './storage.ts';
import type { SearchAction } from '../stage/actions.ts';
import type { Offer } from './small-world.ts';

// Where things are in a state.
const USED = 0;
const PAST = 1;
const STORAGE = 2;
const NODES = 3;

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

/** Is shown each step out of a state; `next` holds what it led to. False: that is enough. */
export type Visitor = (move: () => Move, breaks: boolean) => boolean;

export class Universe<Message, Command, Event, Config> {
  readonly #nodeStates: NodeStates<Message, Command, Event, Config>;
  readonly #judge: Judge;
  readonly #envelopesAt: number;
  readonly #woken: number[] = [];
  #firstNodes: readonly number[] = [];
  /** The hash of the state under expansion, for each renumbering, nothing but nodes and envelopes. */
  readonly #sums: Uint32Array;
  /** The same of the state it leads to. */
  readonly #nextSums: Uint32Array;
  #foundNode = -1;
  #foundOutcome: StepOutcome | null = null;
  #foundRank = 0;
  readonly #ranks: number[] = [];
  /** The step from the expanded state to the shown one. */
  readonly arrival: Arrival = { ...NO_ARRIVAL };
  readonly #pastHashes: PartHashes;
  readonly #isPastHashed: boolean[] = [];
  readonly #storage: StorageStates;
  readonly #storageHashes: PartHashes;
  readonly #isStorageHashed: boolean[] = [];
  /** The state that is shown to the visitor. */
  readonly next: Int32Array;
  nextLength = 0;
  /** Its hash, the same for states that differ only in the numbers of nodes that are alike. */
  low = 0;
  high = 0;

  constructor(nodeStates: NodeStates<Message, Command, Event, Config>, judge: Judge) {
    this.#nodeStates = nodeStates;
    this.#judge = judge;
    const { bounds, world } = nodeStates;
    this.#storage = new StorageStates({ hasDamage: (bounds.damages ?? 0) > 0, isAtomic: world.hasAtomicUnits === true });
    this.#envelopesAt = NODES + nodeStates.nodes;
    this.next = new Int32Array(this.#envelopesAt + ENVELOPES_MAX);
    this.#sums = new Uint32Array(nodeStates.renumberings.length * 2);
    this.#nextSums = new Uint32Array(nodeStates.renumberings.length * 2);
    this.#pastHashes = new PartHashes(nodeStates.renumberings.length);
    this.#storageHashes = new PartHashes(nodeStates.renumberings.length);
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
    this.#nextSums.fill(0);
    for (let node = 0; node < nodeStates.nodes; node++) {
      this.next[NODES + node] = nodeStates.down(node, 0);
      this.#addState(this.next[NODES + node] as number, 1);
    }
    for (let node = 0; node < nodeStates.nodes; node++) this.#take(node, START_INPUT);
    this.#firstNodes = [...this.next.subarray(NODES, this.#envelopesAt)];
    this.#finish();
  }

  instantOf(state: Int32Array): number {
    return usedUp(state[USED] as number, INSTANTS);
  }

  /**
   * Shows every step out of a state; if it is said how the state was found, only those that are not as well taken before that
   * (`commutesBack`). `arrival` is then the step that is shown.
   */
  expand(state: Int32Array, length: number, visit: Visitor, found: Arrival = NO_ARRIVAL): void {
    const nodeStates = this.#nodeStates;
    const { bounds } = nodeStates;
    const used = state[USED] as number;
    this.#foundNode = found.node;
    if (found.node >= 0) {
      this.#foundOutcome = nodeStates.outcome(found.before, found.input, this.instantOf(state));
      this.#foundRank = this.#rankOf(found.input);
    }
    this.arrival.node = -1;
    this.#sum(state, length);
    for (let i = this.#envelopesAt; i < length; i++) {
      const envelope = state[i] as number;
      if (i > this.#envelopesAt && envelope === state[i - 1]) continue;
      const { to } = nodeStates.envelopes[envelope] as Envelope;
      if (this.#isUp(state, to)) {
        if (!this.#commutesBack(state, to, envelope)) {
          this.#copy(state, length);
          this.#removeAt(i);
          this.#arrive(to, state[NODES + to] as number, envelope);
          const isClean = this.#take(to, envelope);
          if (!this.#show(() => [{ kind: 'deliver', message: envelope }], !isClean, visit)) return;
        }
        this.arrival.node = -1;
        if (usedUp(used, DUPLICATES) < bounds.duplicates) {
          this.#copy(state, length);
          this.#use(DUPLICATES);
          const isStillClean = this.#take(to, envelope);
          const copied = (kind: 'duplicate' | 'deliver'): SearchAction => ({ kind, message: envelope });
          if (!this.#show(() => [copied('duplicate'), copied('deliver')], !isStillClean, visit)) return;
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
      const woken = this.#woken.map((node) => ({ kind: 'wake', node }) as const);
      this.#show(() => [{ kind: 'advance', byUs: nodeStates.world.tickUs }, ...woken], !isClean, visit);
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
      nodeStates.wantsWaking(id, instant) &&
      !nodeStates.world.wakesPromptly(nodeStates.bounds, node) &&
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
   * This step could have been taken before the one by which the state was found, came to the same, and ranks below it. Then
   * what it leads to is found from the state it would have led to, by the other step.
   */
  #commutesBack(state: Int32Array, node: number, input: number): boolean {
    const outcome = this.#foundOutcome;
    if (this.#foundNode < 0 || outcome === null || this.#foundNode === node || outcome.sent.includes(input)) return false;
    if (this.#rankOf(input) >= this.#foundRank) return false;
    // The order in which two nodes tell the history something may matter to the referees.
    return outcome.toldId === 0 || this.#nodeStates.outcome(state[NODES + node] as number, input, this.instantOf(state)).toldId === 0;
  }

  /** The same for steps that differ only in the numbers of nodes that are alike: of a message, the lowest of its hashes. */
  #rankOf(input: number): number {
    if (input < 0) return input;
    const known = this.#ranks[input];
    if (known !== undefined) return known;
    const { words } = this.#nodeStates.envelopeHashes;
    const at = this.#nodeStates.envelopeHashes.at(input);
    let rank = Infinity;
    for (let i = 0; i < this.#sums.length; i += 2) rank = Math.min(rank, words[at + i] as number);
    this.#ranks[input] = rank;
    return rank;
  }

  /** No node has done anything yet. Then time need not pass: only spans matter, so the first act may as well be at instant 0. */
  #isBeginning(state: Int32Array, length: number): boolean {
    return length === this.#envelopesAt && this.#firstNodes.every((first, node) => state[NODES + node] === first);
  }

  // ── Making the next state ──────────────────────────────────────────────────────────────────────────

  #copy(state: Int32Array, length: number): void {
    for (let i = 0; i < length; i++) this.next[i] = state[i] as number;
    this.nextLength = length;
    this.#nextSums.set(this.#sums);
  }

  /** One node takes one input; false if a promise was broken. */
  #take(node: number, input: number): boolean {
    const nodeStates = this.#nodeStates;
    const { next } = this;
    const instant = this.instantOf(next);
    const before = next[NODES + node] as number;
    const outcome: StepOutcome = nodeStates.outcome(before, input, instant);
    this.#become(node, nodeStates.prospects(outcome.state, instant).tidied);
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
      this.#become(node, nodeStates.prospects(this.next[NODES + node] as number, instant).tidied);
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
    this.#addStorage(this.next[STORAGE] as StorageId, -1);
    this.next[STORAGE] = storage;
    this.#addStorage(storage, 1);
  }

  #become(node: number, state: number): void {
    this.#addState(this.next[NODES + node] as number, -1);
    this.next[NODES + node] = state;
    this.#addState(state, 1);
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
    let at = this.nextLength++;
    while (at > this.#envelopesAt && (next[at - 1] as number) > envelope) {
      next[at] = next[at - 1] as number;
      at--;
    }
    next[at] = envelope;
    this.#addEnvelope(envelope, 1);
  }

  #removeAt(index: number): void {
    const { next } = this;
    this.#addEnvelope(next[index] as number, -1);
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
    this.#finish();
    return visit(move, breaks);
  }

  // ── Hashes ─────────────────────────────────────────────────────────────────────────────────────────

  #sum(state: Int32Array, length: number): void {
    this.#nextSums.fill(0);
    this.#addStorage(state[STORAGE] as StorageId, 1);
    for (let i = NODES; i < this.#envelopesAt; i++) this.#addState(state[i] as number, 1);
    for (let i = this.#envelopesAt; i < length; i++) this.#addEnvelope(state[i] as number, 1);
    this.#sums.set(this.#nextSums);
  }

  #addState(state: number, sign: number): void {
    const { stateHashes } = this.#nodeStates;
    this.#add(stateHashes.words, stateHashes.at(state), sign);
  }

  #addEnvelope(envelope: number, sign: number): void {
    const { envelopeHashes } = this.#nodeStates;
    this.#add(envelopeHashes.words, envelopeHashes.at(envelope), sign);
  }

  #addStorage(storage: StorageId, sign: number): void {
    // Worlds without storage have one state of it, which adds nothing.
    if (storage === 0) return;
    const hashes = this.#storageHashes;
    if (this.#isStorageHashed[storage] !== true) {
      hashes.set(storage, (i) => this.#storage.renamed(storage, this.#namesOf(i)));
      this.#isStorageHashed[storage] = true;
    }
    this.#add(hashes.words, hashes.at(storage), sign);
  }

  /** What nodes and their lives are called under a renumbering. */
  #namesOf(renumbering: number): Omit<Perspective, 'now'> {
    const nodeStates = this.#nodeStates;
    const to = nodeStates.renumberings[renumbering] as readonly number[];
    return { node: (node) => to[Number(node)] ?? node, incarnation: (life) => nodeStates.renamedLife(life, to) };
  }

  #add(words: Uint32Array, start: number, sign: number): void {
    const sums = this.#nextSums;
    for (let i = 0; i < sums.length; i++) sums[i] = (sums[i] as number) + sign * (words[start + i] as number);
  }

  /** Where the words of a past begin; of one in which a promise was broken nothing is kept, so any will do. */
  #pastAt(past: PastId): number {
    const known = Math.max(past, this.#judge.nothing);
    if (this.#isPastHashed[known] !== true) {
      const renamed = this.#judge.renamings(known);
      this.#pastHashes.set(known, (i) => renamed(this.#namesOf(i)));
      this.#isPastHashed[known] = true;
    }
    return this.#pastHashes.at(known);
  }

  /** Of all renumberings the one with the lowest hash speaks for the state; what is the same in all is mixed in last. */
  #finish(): void {
    const sums = this.#nextSums;
    const { next } = this;
    const start = this.#pastAt(next[PAST] as PastId);
    const { words } = this.#pastHashes;
    let high = Infinity;
    let low = Infinity;
    for (let i = 0; i < sums.length; i += 2) {
      const itsHigh = ((sums[i] as number) ^ (words[start + i] as number)) >>> 0;
      const itsLow = ((sums[i + 1] as number) + (words[start + i + 1] as number)) >>> 0;
      if (itsHigh > high || (itsHigh === high && itsLow >= low)) continue;
      high = itsHigh;
      low = itsLow;
    }
    const used = next[USED] as number;
    high = Math.imul(high ^ mix(used + 0x51ed), 0x9e3779b1);
    low = Math.imul(low, 0x85ebca77) ^ mix(used + 0x1b87);
    // Each word depends on both, so that either alone spreads well.
    this.high = mix(high ^ Math.imul(low, 0xc2b2ae35)) >>> 0;
    this.low = mix(low ^ Math.imul(this.high, 0x27d4eb2f)) >>> 0;
  }
}

function actOf(node: number, [verb, ...words]: Offer): SearchAction {
  return { kind: 'act', node, verb, words };
}

function mix(word: number): number {
  let hash = Math.imul(word ^ (word >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return hash ^ (hash >>> 16);
}
