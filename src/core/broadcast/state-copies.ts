/**
 * Copies of the states of applications, for readers that are too far behind: a member keeps, for each name, the newest copy it was given, in memory, and gives it away in parts. A reader asks all members, and copies the newest
 * that is told of, part by part.
 */
import { monoAfter, NEVER, spanUs, TenureError, type MonoUs } from '../../kernel/index.ts';
import type { Snapshot } from '../contract.ts';
import { valueBytes, valueText } from '../consensus/values.ts';
import type { LogSnapshot } from './contract.ts';
import type { BroadcastOwnMessage } from './messages.ts';

type FetchMessage = Extract<BroadcastOwnMessage, { readonly kind: 'fetch' }>;
type PartMessage = Extract<BroadcastOwnMessage, { readonly kind: 'part' }>;

export const STATE_BYTES_MAX: number = 64 * 1024 * 1024;
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
  readonly name: Uint8Array;
  readonly after: number;
  /** Of the state being copied; 0 while it is not known which. */
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
  /** By their names, as texts. */
  readonly #kept = new Map<string, LogSnapshot>();
  #fetching: Fetching | null = null;
  #retryAt: MonoUs = NEVER;

  constructor(ground: StateCopiesGround<S>) {
    this.#ground = ground;
  }

  get wakeAt(): MonoUs {
    return this.#retryAt;
  }

  offer(name: Uint8Array, { position, bytes }: LogSnapshot): void {
    const key = valueText(name);
    const before = this.#kept.get(key);
    let others = 0;
    for (const [other, kept] of this.#kept) if (other !== key) others += kept.bytes.length;
    if (others + bytes.length > STATE_BYTES_MAX)
      throw new TenureError(
        'TENURE_LIMIT',
        `a snapshot of ${bytes.length} bytes beside ${others} of other names: ${STATE_BYTES_MAX} are the limit`,
      );
    if (before === undefined || position >= before.position) this.#kept.set(key, { position, bytes: bytes.slice() });
  }

  fetch(name: Uint8Array, after: number, step: S): void {
    const kept = this.#kept.get(valueText(name));
    if (kept && kept.position > after) return this.#ground.fetched(kept, step);
    this.#fetching = { name: name.slice(), after, position: 0, from: -1, bytes: new Uint8Array(0), at: 0, without: new Set(), rounds: 0 };
    this.#ask(step);
  }

  wake(step: S): void {
    if (step.monoUs < this.#retryAt || !this.#fetching) return;
    if (++this.#fetching.rounds >= ROUNDS) return this.#finish(null, step);
    // The member that it copies from may be gone: begin anew, from any member.
    this.#fetching.position = 0;
    this.#ask(step);
  }

  #ask(step: S): void {
    const { members, self, retryUs } = this.#ground;
    const { name, after, without } = this.#fetching as Fetching;
    this.#retryAt = monoAfter(step.monoUs, spanUs(retryUs));
    let asked = 0;
    for (let to = 0; to < members; to++) {
      if (to === self || without.has(to)) continue;
      this.#ground.send(to, { kind: 'fetch', name, after, position: 0, at: 0 }, step);
      asked++;
    }
    if (asked === 0) this.#finish(null, step);
  }

  /** Another asks for a part. Position 0: of whichever is the newest. */
  asked(from: number, { name, after, position, at }: FetchMessage, step: S): void {
    const kept = this.#kept.get(valueText(name));
    const isThis = kept !== undefined && kept.position > after && (position === 0 || position === kept.position);
    const part: PartMessage = isThis
      ? { kind: 'part', name, position: kept.position, at, size: kept.bytes.length, bytes: kept.bytes.subarray(at, at + PART_BYTES) }
      : { kind: 'part', name, position: 0, at: 0, size: 0, bytes: new Uint8Array(0) };
    this.#ground.send(from, part, step);
  }

  part(from: number, { name, position, at, size, bytes }: PartMessage, step: S): void {
    const fetching = this.#fetching;
    if (!fetching || valueText(name) !== valueText(fetching.name)) return;
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
    else this.#ground.send(from, { kind: 'fetch', name: fetching.name, after: fetching.after, position, at: fetching.at }, step);
  }

  #finish(snapshot: LogSnapshot | null, step: S): void {
    this.#fetching = null;
    this.#retryAt = NEVER;
    this.#ground.fetched(snapshot, step);
  }

  snapshot(): Snapshot {
    const fetching = this.#fetching;
    return {
      kept: [...this.#kept].map(([name, { position, bytes }]) => [name, position, valueText(bytes)] as const),
      fetching: fetching && {
        ...fetching,
        name: valueText(fetching.name),
        bytes: valueText(fetching.bytes),
        without: [...fetching.without].sort((one, other) => one - other),
      },
      retryAt: this.#retryAt,
    };
  }

  restore(snapshot: Snapshot): void {
    const { kept, fetching, retryAt } = snapshot as unknown as StateCopiesSnapshot;
    this.#kept.clear();
    for (const [name, position, bytes] of kept) this.#kept.set(name, { position, bytes: valueBytes(bytes) });
    this.#fetching = fetching && {
      ...fetching,
      name: valueBytes(fetching.name),
      bytes: valueBytes(fetching.bytes),
      without: new Set(fetching.without),
    };
    this.#retryAt = retryAt;
  }
}

interface StateCopiesSnapshot {
  readonly kept: readonly (readonly [string, number, string])[];
  readonly fetching:
    | (Omit<Fetching, 'name' | 'bytes' | 'without'> & {
        readonly name: string;
        readonly bytes: string;
        readonly without: readonly number[];
      })
    | null;
  readonly retryAt: MonoUs;
}
