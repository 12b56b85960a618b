/**
 * The hash of a state: the sum of the hashes of its parts, under every renumbering of the nodes that are alike. The lowest of them stands for the state.
 * A step changes a sum by a few parts.
 */
import type { Perspective } from '../../check/index.ts';
import { PartHashes } from './hashes.ts';
import type { Judge, PastId } from './judge.ts';
import type { NodeStates } from './node-states.ts';
import type { StorageId, StorageStates } from './storage.ts';

// Where things are in a state.
export const USED = 0;
export const PAST = 1;
export const STORAGE = 2;
export const NODES = 3;

export class StateSums<Message, Command, Event, Config> {
  readonly #nodeStates: NodeStates<Message, Command, Event, Config>;
  readonly #judge: Judge;
  readonly #storage: StorageStates;
  readonly #envelopesAt: number;
  /** Of the state under expansion: nodes, envelopes and storage. */
  readonly #sums: Int32Array;
  /** The same of the state it leads to. */
  readonly #next: Int32Array;
  readonly #pastHashes: PartHashes;
  readonly #isPastHashed: boolean[] = [];
  readonly #storageHashes: PartHashes;
  readonly #isStorageHashed: boolean[] = [];
  /** The hash of the state it leads to. */
  low = 0;
  high = 0;

  constructor(nodeStates: NodeStates<Message, Command, Event, Config>, judge: Judge, storage: StorageStates) {
    this.#nodeStates = nodeStates;
    this.#judge = judge;
    this.#storage = storage;
    this.#envelopesAt = NODES + nodeStates.nodes;
    const { length: renumberings } = nodeStates.renumberings;
    this.#sums = new Int32Array(renumberings * 2);
    this.#next = new Int32Array(renumberings * 2);
    this.#pastHashes = new PartHashes(renumberings);
    this.#storageHashes = new PartHashes(renumberings);
  }

  /** Of a state: kept, so that states it leads to differ from it by a few sums. */
  sum(state: Int32Array, length: number): void {
    this.#next.fill(0);
    this.addStorage(state[STORAGE] as StorageId, 1);
    this.#sums.set(this.#next);
    const { stateHashes, envelopeHashes } = this.#nodeStates;
    sumUp(this.#sums, stateHashes, state, NODES, this.#envelopesAt);
    sumUp(this.#sums, envelopeHashes, state, this.#envelopesAt, length);
  }

  /** The shown state begins as a copy of the summed state. */
  copy(): void {
    this.#next.set(this.#sums);
  }

  clear(): void {
    this.#next.fill(0);
  }

  addState(state: number): void {
    const { stateHashes } = this.#nodeStates;
    this.#add(stateHashes.words, stateHashes.at(state), 1);
  }

  replaceState(before: number, after: number): void {
    const { stateHashes } = this.#nodeStates;
    const { words } = stateHashes;
    const [from, to] = [stateHashes.at(before), stateHashes.at(after)];
    const sums = this.#next;
    for (let i = 0; i < sums.length; i++) sums[i] = ((sums[i] as number) + (words[to + i] as number) - (words[from + i] as number)) | 0;
  }

  /** `sign` is 1 or -1, here and below. */
  addEnvelope(envelope: number, sign: number): void {
    const { envelopeHashes } = this.#nodeStates;
    this.#add(envelopeHashes.words, envelopeHashes.at(envelope), sign);
  }

  addStorage(storage: StorageId, sign: number): void {
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

  #add(words: Int32Array, start: number, sign: number): void {
    const sums = this.#next;
    if (sign > 0) for (let i = 0; i < sums.length; i++) sums[i] = ((sums[i] as number) + (words[start + i] as number)) | 0;
    else for (let i = 0; i < sums.length; i++) sums[i] = ((sums[i] as number) - (words[start + i] as number)) | 0;
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

  /** The renumbering with the lowest hash speaks for the state; parts that are the same in all are mixed in last. */
  finish(next: Int32Array): void {
    const sums = this.#next;
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

/** Adds the hashes of the parts from `start` to `end`. One sum after the other: that keeps each in a register. */
function sumUp(sums: Int32Array, { words, perPart }: PartHashes, parts: Int32Array, start: number, end: number): void {
  for (let i = 0; i < sums.length; i++) {
    let sum = sums[i] as number;
    for (let at = start; at < end; at++) sum = (sum + (words[(parts[at] as number) * perPart + i] as number)) | 0;
    sums[i] = sum;
  }
}

function mix(word: number): number {
  let hash = Math.imul(word ^ (word >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return hash ^ (hash >>> 16);
}
