/**
 * Copies of the application's state, for readers that are too far behind: a member keeps the newest one it was given, in memory, and gives it away in parts. Whoever needs one asks all members, and copies the newest
 * that is told of, part by part.
 */
import { monoAfter, NEVER, spanUs, TenureError, type MonoUs } from '../../kernel/index.ts';
import type { Snapshot } from '../contract.ts';
import { valueBytes, valueText } from '../consensus/values.ts';
import type { LogSnapshot } from './contract.ts';
import type { BroadcastOwnMessage } from './messages.ts';

type FetchMessage = Extract<BroadcastOwnMessage, { readonly kind: 'fetch' }>;
type PartMessage = Extract<BroadcastOwnMessage, { readonly kind: 'part' }>;

const STATE_BYTES_MAX: number = 64 * 1024 * 1024;
const PART_BYTES = 256 * 1024;
/** After so many rounds of asking without an answer there is none. */
const ROUNDS = 3;

export interface StateCopiesGround<S> {
  readonly members: number;
  readonly self: number;
  readonly retryUs: number;
  send(to: number, message: FetchMessage | PartMessage, step: S): void;
  fetched(snapshot: LogSnapshot | null, step: S): void;
}

/** A copy that is being fetched. */
interface Fetching {
  readonly after: number;
  /** Of the one being copied; 0 while it is not known which. */
  position: number;
  from: number;
  bytes: Uint8Array;
  at: number;
  /** Members that have none. */
  readonly without: Set<number>;
  rounds: number;
}

export class StateCopies<S extends { readonly monoUs: MonoUs }> {
  readonly #ground: StateCopiesGround<S>;
  #kept: LogSnapshot | null = null;
  #fetching: Fetching | null = null;
  #retryAt: MonoUs = NEVER;

  constructor(ground: StateCopiesGround<S>) {
    this.#ground = ground;
  }

  get wakeAt(): MonoUs {
    return this.#retryAt;
  }

  offer({ position, bytes }: LogSnapshot): void {
    if (bytes.length > STATE_BYTES_MAX)
      throw new TenureError('TENURE_LIMIT', `a snapshot of ${bytes.length} bytes: ${STATE_BYTES_MAX} are the limit`);
    if (this.#kept === null || position >= this.#kept.position) this.#kept = { position, bytes: bytes.slice() };
  }

  fetch(after: number, step: S): void {
    if (this.#kept && this.#kept.position > after) return this.#ground.fetched(this.#kept, step);
    this.#fetching = { after, position: 0, from: -1, bytes: new Uint8Array(0), at: 0, without: new Set(), rounds: 0 };
    this.#ask(step);
  }

  wake(step: S): void {
    if (step.monoUs < this.#retryAt || !this.#fetching) return;
    if (++this.#fetching.rounds >= ROUNDS) return this.#finish(null, step);
    // Whoever it copies from may be gone: from the beginning, from anybody.
    this.#fetching.position = 0;
    this.#ask(step);
  }

  #ask(step: S): void {
    const { members, self, retryUs } = this.#ground;
    const { after, without } = this.#fetching as Fetching;
    this.#retryAt = monoAfter(step.monoUs, spanUs(retryUs));
    let asked = 0;
    for (let to = 0; to < members; to++) {
      if (to === self || without.has(to)) continue;
      this.#ground.send(to, { kind: 'fetch', after, position: 0, at: 0 }, step);
      asked++;
    }
    if (asked === 0) this.#finish(null, step);
  }

  /** Another asks for a part. Position 0: of whichever is the newest. */
  asked(from: number, { after, position, at }: FetchMessage, step: S): void {
    const kept = this.#kept;
    const isThis = kept !== null && kept.position > after && (position === 0 || position === kept.position);
    const part: PartMessage = isThis
      ? { kind: 'part', position: kept.position, at, size: kept.bytes.length, bytes: kept.bytes.subarray(at, at + PART_BYTES) }
      : { kind: 'part', position: 0, at: 0, size: 0, bytes: new Uint8Array(0) };
    this.#ground.send(from, part, step);
  }

  part(from: number, { position, at, size, bytes }: PartMessage, step: S): void {
    const fetching = this.#fetching;
    if (!fetching) return;
    if (position === 0) {
      fetching.without.add(from);
      const others = this.#ground.members - Number(this.#ground.self < this.#ground.members);
      if (fetching.position === 0 && fetching.without.size >= others) this.#finish(null, step);
      return;
    }
    if (position <= fetching.after || size > STATE_BYTES_MAX) return;
    if (position > fetching.position) Object.assign(fetching, { position, from, bytes: new Uint8Array(size), at: 0 });
    if (from !== fetching.from || position !== fetching.position || at !== fetching.at || at + bytes.length > fetching.bytes.length) return;
    fetching.bytes.set(bytes, at);
    fetching.at += bytes.length;
    fetching.rounds = 0;
    this.#retryAt = monoAfter(step.monoUs, spanUs(this.#ground.retryUs));
    if (fetching.at >= fetching.bytes.length) this.#finish({ position, bytes: fetching.bytes }, step);
    else this.#ground.send(from, { kind: 'fetch', after: fetching.after, position, at: fetching.at }, step);
  }

  #finish(snapshot: LogSnapshot | null, step: S): void {
    this.#fetching = null;
    this.#retryAt = NEVER;
    this.#ground.fetched(snapshot, step);
  }

  snapshot(): Snapshot {
    const { position, bytes } = this.#kept ?? { position: 0, bytes: new Uint8Array(0) };
    const fetching = this.#fetching;
    return {
      kept: this.#kept && [position, valueText(bytes)],
      fetching: fetching && {
        ...fetching,
        bytes: valueText(fetching.bytes),
        without: [...fetching.without].sort((one, other) => one - other),
      },
      retryAt: this.#retryAt,
    };
  }

  restore(snapshot: Snapshot): void {
    const { kept, fetching, retryAt } = snapshot as unknown as StateCopiesSnapshot;
    this.#kept = kept && { position: kept[0], bytes: valueBytes(kept[1]) };
    this.#fetching = fetching && { ...fetching, bytes: valueBytes(fetching.bytes), without: new Set(fetching.without) };
    this.#retryAt = retryAt;
  }
}

interface StateCopiesSnapshot {
  readonly kept: readonly [number, string] | null;
  readonly fetching: (Omit<Fetching, 'bytes' | 'without'> & { readonly bytes: string; readonly without: readonly number[] }) | null;
  readonly retryAt: MonoUs;
}
