/**
 * The messages of this process that have no position yet, in groups as they travel. Members and clients have one each. Messages are numbered from 1 on; whenever nothing is under way, the next group notes where
 * the log ended (`since`) and which number comes next (`base`), so that the log knows them from messages that it has dropped.
 */
import { encodeName, TenureError, type Incarnation } from '../../kernel/index.ts';
import type { Snapshot } from '../contract.ts';
import { valueBytes, valueText } from '../consensus/values.ts';
import { BATCH_BYTES_MAX, MESSAGE_BYTES_MAX } from './config.ts';
import type { Publication } from './contract.ts';
import { groupBytes, publicationBytes } from './group.ts';

interface OwnGroup {
  readonly first: number;
  readonly count: number;
  readonly bytes: Uint8Array;
  /** How many of its first messages have positions. */
  settled: number;
}

/** Room for the header of a group. */
const HEADER_BYTES = 512;

export class OwnMessages {
  readonly #origin: Incarnation;
  readonly #from: Uint8Array;
  readonly #groupBytesMax: number;
  readonly #bytesMax: number;
  #groups: OwnGroup[] = [];
  #next = 1;
  #base = 1;
  #since = 0;
  #bytes = 0;
  /** Publishing was refused for want of room. */
  #isRefusing = false;

  constructor(origin: Incarnation, from: string, { batchBytes, ownBytes }: { readonly batchBytes: number; readonly ownBytes: number }) {
    this.#origin = origin;
    this.#from = encodeName(from);
    this.#groupBytesMax = batchBytes;
    this.#bytesMax = ownBytes;
  }

  /** How many bytes may be published now. */
  get room(): number {
    return Math.max(0, this.#bytesMax - this.#bytes);
  }

  get isIdle(): boolean {
    return this.#groups.length === 0;
  }

  /** The number of the first message without a position; that of the next message if there is none. */
  get first(): number {
    const group = this.#groups[0];
    return group ? group.first + group.settled : this.#next;
  }

  /** How many messages have no position. */
  get size(): number {
    return this.#next - this.first;
  }

  /** Where the log ended when the first of them was published. */
  get since(): number {
    return this.#since;
  }

  get groups(): readonly { readonly bytes: Uint8Array; readonly first: number }[] {
    return this.#groups;
  }

  /** Numbers the messages. `since` is where the log ends, as far as this process knows; all it has published so far and knows the position of is before that. The new groups. */
  publish(messages: readonly Publication[], since: number): Uint8Array[] {
    this.check(messages, 0);
    if (this.isIdle) {
      this.#base = this.#next;
      this.#since = since;
    }
    const groups: Uint8Array[] = [];
    for (let at = 0; at < messages.length;) {
      let size = 0;
      const start = at;
      do size += publicationBytes(messages[at++] as Publication);
      while (at < messages.length && size + publicationBytes(messages[at] as Publication) + HEADER_BYTES <= this.#groupBytesMax);
      groups.push(this.#group(messages.slice(start, at)));
    }
    return groups;
  }

  #group(messages: readonly Publication[]): Uint8Array {
    const first = this.#next;
    const bytes = groupBytes({ origin: this.#origin, since: this.#since, base: this.#base, first }, this.#from, messages);
    this.#groups.push({ first, count: messages.length, bytes, settled: 0 });
    this.#next += messages.length;
    this.#bytes += bytes.length;
    return bytes;
  }

  /** Throws `TENURE_LIMIT` if they may not be published now, beside so many bytes that are about to be. */
  check(messages: readonly Publication[], beside: number): void {
    let size = beside;
    for (const publication of messages) {
      const { name, message } = publication;
      size += publicationBytes(publication);
      if (message.length > MESSAGE_BYTES_MAX || name.length > 255 || publicationBytes(publication) + HEADER_BYTES > BATCH_BYTES_MAX)
        throw new TenureError('TENURE_LIMIT', `a message of ${message.length} bytes: ${MESSAGE_BYTES_MAX} are the limit`);
    }
    if ((this.isIdle && beside === 0) || size <= this.room) return;
    this.#isRefusing = true;
    throw new TenureError('TENURE_LIMIT', `${this.size} messages of this process are under way, and there is no room for ${size} bytes`);
  }

  /** Messages `first` to `last` are settled, unless they were; which of them are so now. */
  conclude(first: number, last: number): { readonly first: number; readonly last: number } | null {
    const from = Math.max(first, this.first);
    // The log has the messages of a process in their order.
    if (first > this.first || last < from || last >= this.#next) return null;
    let settled = 0;
    for (const group of this.#groups) {
      group.settled = Math.min(group.count, last - group.first + 1);
      if (group.settled < group.count) break;
      this.#bytes -= group.bytes.length;
      settled++;
    }
    this.#groups.splice(0, settled);
    return { first: from, last };
  }

  /** True once when there is room again, after publishing was refused. */
  hasRoomAgain(): boolean {
    if (!this.#isRefusing || this.room < this.#bytesMax / 2) return false;
    this.#isRefusing = false;
    return true;
  }

  snapshot(): Snapshot {
    return {
      groups: this.#groups.map(({ first, count, bytes, settled }) => [first, count, valueText(bytes), settled] as const),
      next: this.#next,
      base: this.#base,
      since: this.#since,
      isRefusing: this.#isRefusing,
    };
  }

  restore(snapshot: Snapshot): void {
    const told = snapshot as unknown as OwnSnapshot;
    this.#groups = told.groups.map(([first, count, text, settled]) => ({ first, count, bytes: valueBytes(text), settled }));
    this.#bytes = this.#groups.reduce((sum, { bytes }) => sum + bytes.length, 0);
    this.#next = told.next;
    this.#base = told.base;
    this.#since = told.since;
    this.#isRefusing = told.isRefusing;
  }
}

interface OwnSnapshot {
  readonly groups: readonly (readonly [number, number, string, number])[];
  readonly next: number;
  readonly base: number;
  readonly since: number;
  readonly isRefusing: boolean;
}
