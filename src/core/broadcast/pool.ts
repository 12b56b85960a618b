/**
 * A leader's groups for batches, in the order in which they came, each waiting or proposed in an instance. A group stays until the log has its messages: a group that was proposed in vain waits again. The groups of
 * one process follow one another from what the log has of it: a group that leaves a gap, or that the log cannot tell from an old one, is not kept, and its process sends again.
 */
import type { Incarnation } from '../../kernel/index.ts';
import type { Snapshot } from '../contract.ts';
import { valueBytes, valueText } from '../consensus/values.ts';
import { GroupCursor } from './group.ts';

interface PooledGroup {
  readonly origin: Incarnation;
  readonly since: number;
  readonly base: number;
  readonly first: number;
  readonly last: number;
  readonly bytes: Uint8Array;
  /** The instance that it is proposed in; 0 if it waits. */
  instance: number;
}

/** What the pool asks the log. */
export interface PoolLog {
  lastOf(origin: Incarnation): number | null;
  hasForgotten(origin: Incarnation, since: number): boolean;
}

export class Pool {
  readonly #bytesMax: number;
  readonly #log: PoolLog;
  #groups: PooledGroup[] = [];
  /** The last message of each process that is here. */
  readonly #lasts = new Map<Incarnation, number>();
  #bytes = 0;
  #waitingBytes = 0;
  readonly #cursor = new GroupCursor();

  constructor(bytesMax: number, log: PoolLog) {
    this.#bytesMax = bytesMax;
    this.#log = log;
  }

  /** How many bytes wait for a batch. */
  get waitingBytes(): number {
    return this.#waitingBytes;
  }

  /** Takes a group that is the caller's no more, unless it is here, delivered, after a gap, or too much. */
  add(bytes: Uint8Array): void {
    const cursor = this.#cursor.open(bytes);
    if (!cursor.nextGroup() || this.#bytes + bytes.length > this.#bytesMax) return;
    const { origin, since, base, first, last } = cursor;
    const group: PooledGroup = { origin, since, base, first, last, bytes, instance: 0 };
    if (!this.#follows(group)) return;
    this.#groups.push(group);
    this.#lasts.set(origin, last);
    this.#bytes += bytes.length;
    this.#waitingBytes += bytes.length;
  }

  /** Whether the group has messages that come right after its process's messages here, or in the log; or was sent when nothing else was under way. */
  #follows({ origin, since, base, first, last }: PooledGroup): boolean {
    const here = this.#lasts.get(origin);
    if (here === undefined && this.#log.hasForgotten(origin, since)) return false;
    const known = here ?? this.#log.lastOf(origin) ?? base - 1;
    return last > known && (first <= known + 1 || first === base);
  }

  /** A batch of waiting groups, for this instance; null if there are none. It has at least one group, and otherwise no more than so many bytes. */
  take(instance: number, bytesMax: number): Uint8Array | null {
    if (this.#waitingBytes === 0) return null;
    const taken: PooledGroup[] = [];
    let size = 0;
    for (const group of this.#groups) {
      if (group.instance !== 0) continue;
      if (taken.length > 0 && size + group.bytes.length > bytesMax) break;
      group.instance = instance;
      size += group.bytes.length;
      taken.push(group);
    }
    this.#waitingBytes -= size;
    if (taken.length === 1) return (taken[0] as PooledGroup).bytes;
    const batch = new Uint8Array(size);
    let at = 0;
    for (const { bytes } of taken) {
      batch.set(bytes, at);
      at += bytes.length;
    }
    return batch;
  }

  /** The log has this instance: groups that are in the log leave the pool; groups that were proposed there in vain wait again. */
  endUpTo(instance: number): void {
    for (const group of this.#groups) if (group.instance <= instance) group.instance = 0;
    this.#sift(() => true);
  }

  /** Another member leads now: other publishers send their groups to that member. */
  dropOthers(self: Incarnation): void {
    this.#sift(({ origin }) => origin === self);
  }

  /** Nothing of this process can be delivered any more. */
  drop(gone: Incarnation): void {
    this.#sift(({ origin }) => origin !== gone);
  }

  /** Keeps the groups that may stay and follow one another. */
  #sift(mayStay: (group: PooledGroup) => boolean): void {
    if (this.#groups.length === 0) return;
    this.#lasts.clear();
    this.#bytes = 0;
    this.#waitingBytes = 0;
    let kept = 0;
    for (const group of this.#groups) {
      if (!mayStay(group) || !this.#follows(group)) continue;
      this.#groups[kept++] = group;
      this.#lasts.set(group.origin, group.last);
      this.#bytes += group.bytes.length;
      if (group.instance === 0) this.#waitingBytes += group.bytes.length;
    }
    this.#groups.length = kept;
  }

  snapshot(): Snapshot {
    return this.#groups.map(({ bytes, instance }) => [valueText(bytes), instance] as const);
  }

  /** The log is restored already. */
  restore(snapshot: Snapshot): void {
    this.#groups = [];
    this.#lasts.clear();
    this.#bytes = 0;
    this.#waitingBytes = 0;
    for (const [text, instance] of snapshot as readonly (readonly [string, number])[]) {
      this.add(valueBytes(text));
      const group = this.#groups.at(-1);
      if (!group || instance === 0) continue;
      group.instance = instance;
      this.#waitingBytes -= group.bytes.length;
    }
  }
}
