/**
 * Readers in the record of a store that can compare and set (rule 16): a row for each, which it renews and takes out itself. A process that writes the
 * record drops rows that it has watched for their terms. A writer that waits says so in the record, and no reader joins while that is fresh.
 */
import { monoUs, type Incarnation, type MonoUs } from '../../../kernel/index.ts';
import type { Doing, StorageClaim } from './claim.ts';
import { READERS_MAX } from './config.ts';
import type { LeaseRecord, ReaderRow, Uid } from './contents.ts';
import type { CasRules } from './rules.ts';
import type { Sighting, Sightings } from './sightings.ts';

/** What stands in the way of a claim. */
interface Obstacle {
  /** Until when others may have the lease, for all that is known. */
  readonly until: MonoUs;
  /** One of them is seen to live. */
  readonly isAlive: boolean;
  /** A writer that waits is all that there is. */
  readonly byWriter: boolean;
  /** As many readers as the record has room for. */
  readonly isFull: boolean;
}

const NOTHING: Obstacle = { until: monoUs(0), isAlive: false, byWriter: false, isFull: false };

type Asked = Pick<StorageClaim<Doing>, 'name' | 'mode'>;

export class ReaderWatch {
  readonly #owner: Incarnation;
  readonly #sightings: Sightings;
  readonly #rules: CasRules;
  readonly #observationUs: (seen: Sighting) => number;

  constructor(
    { owner, sightings }: { readonly owner: Incarnation; readonly sightings: Sightings },
    rules: CasRules,
    observationUs: (seen: Sighting) => number,
  ) {
    this.#owner = owner;
    this.#sightings = sightings;
    this.#rules = rules;
    this.#observationUs = observationUs;
  }

  /** Notes the record as seen now. */
  inTheWay({ name, mode }: Asked, record: LeaseRecord | null, now: MonoUs): Obstacle {
    if (record === null || !record.isHeld) this.#sightings.forget(name);
    if (record === null) return NOTHING;
    const isShared = record.readers !== undefined;
    const isAlive = record.isHeld && this.#sightings.note(name, record, now) && (record.owner !== this.#owner || isShared);
    this.note(name, record, now);
    if (mode === 'shared' && (isShared || !record.isHeld)) return this.#ofReader(name, record, now);
    if (!record.isHeld) return NOTHING;
    if (!isShared) return { ...NOTHING, until: this.#sightings.freeAt(name, this.#observationUs), isAlive };
    return this.#rules.writersWaitForReaders ? { ...NOTHING, until: this.heldUntil(name, record), isAlive } : NOTHING;
  }

  /** A process that reads already does not wait for a writer that waits for it: each would wait for the other for ever. */
  #ofReader(name: string, record: LeaseRecord, now: MonoUs): Obstacle {
    const living = this.living(name, record, now);
    if (living.length >= READERS_MAX)
      return { ...NOTHING, until: monoUs(Math.min(...living.map((row) => this.#freeAt(name, row)))), isFull: true };
    if (living.some(({ owner }) => owner === this.#owner)) return NOTHING;
    return { ...NOTHING, until: this.wantedUntil(name, record), byWriter: true };
  }

  /** The record after a write of this claim: readers beside readers, a writer alone. */
  composed(
    claim: StorageClaim<Doing>,
    mine: ReaderRow,
    { base, isGrounded }: { readonly base: LeaseRecord | null; readonly isGrounded: boolean },
    now: MonoUs,
  ): LeaseRecord {
    const { name, meta, data: bytes, mode } = claim;
    if (mode === 'shared') {
      const others = base === null ? [] : this.living(name, base, now);
      const keepsWanted = base !== null && now < this.wantedUntil(name, base);
      return withReader(base, mine, others, { meta, isGrounded, keepsWanted });
    }
    const { owner, lease, seq, token, termUs } = mine;
    const data = bytes === null ? base?.data : { owner, lease, seq, token, bytes };
    // Field by field: spreading several objects costs more than the rest of a write.
    const record = { owner, lease, seq, token, termUs, meta, isHeld: true, isGrounded };
    return data === undefined ? record : { ...record, data };
  }

  /** The record was seen just now: every row that is new in it is watched from here on. */
  note(name: string, { readers = [], wanted }: LeaseRecord, now: MonoUs): void {
    for (const row of readers) this.#sightings.note(rowKeyOf(name, row), row, now);
    if (wanted) this.#sightings.note(wantedKeyOf(name), wanted, now);
  }

  /** Readers that may hold. They are noted before. */
  living(name: string, { readers = [] }: LeaseRecord, now: MonoUs): readonly ReaderRow[] {
    return readers.filter((row) => now < this.#freeAt(name, row));
  }

  /** Until when readers may hold, for all that is known. */
  heldUntil(name: string, { readers = [] }: LeaseRecord): MonoUs {
    return monoUs(Math.max(0, ...readers.map((row) => this.#freeAt(name, row))));
  }

  /** Until when readers leave the name to a writer that waits; 0 if none does. */
  wantedUntil(name: string, { wanted }: LeaseRecord): MonoUs {
    if (!wanted || !this.#rules.writersArePreferred) return monoUs(0);
    return this.#sightings.freeAt(wantedKeyOf(name), this.#observationUs);
  }

  /** Whether a writer has to say anew that it waits: the record says so of no writer, or it said so a while ago. */
  isWantStale(name: string, { wanted }: LeaseRecord, by: Pick<Uid, 'owner' | 'lease'>, now: MonoUs): boolean {
    const seen = this.#sightings.of(wantedKeyOf(name));
    if (!wanted || !seen) return true;
    const isOwn = wanted.owner === by.owner && wanted.lease === by.lease;
    return isOwn ? now - seen.since >= wanted.termUs / 2 : now >= this.wantedUntil(name, { wanted } as LeaseRecord);
  }

  #freeAt(name: string, row: ReaderRow): MonoUs {
    const { rowsAreWatched } = this.#rules;
    return this.#sightings.freeAt(rowKeyOf(name, row), (seen) => (rowsAreWatched ? this.#observationUs(seen) : seen.termUs / 8));
  }
}

/** Names have no control characters. */
function rowKeyOf(name: string, { owner, lease }: Pick<Uid, 'owner' | 'lease'>): string {
  return `${name}\n${owner}.${lease}`;
}

function wantedKeyOf(name: string): string {
  return `${name}\n`;
}

export function rowOf({ readers = [] }: LeaseRecord, { owner, lease }: Pick<Uid, 'owner' | 'lease'>): ReaderRow | undefined {
  return readers.find((row) => row.owner === owner && row.lease === lease);
}

/** What a reader writes: itself last, beside the living readers. */
function withReader(
  base: LeaseRecord | null,
  mine: ReaderRow,
  others: readonly ReaderRow[],
  more: Pick<LeaseRecord, 'meta' | 'isGrounded'> & { readonly keepsWanted: boolean },
): LeaseRecord {
  const { owner, lease, seq, token, termUs } = mine;
  const { meta, isGrounded, keepsWanted } = more;
  return {
    owner,
    lease,
    seq,
    token: Math.max(token, base?.token ?? 0),
    termUs,
    meta,
    isHeld: true,
    isGrounded,
    mode: 'shared',
    readers: [...others.filter((row) => row.owner !== owner || row.lease !== lease), mine],
    ...(base?.wanted && keepsWanted ? { wanted: base.wanted } : {}),
    ...(base?.data ? { data: base.data } : {}),
  };
}

/** What a reader that goes leaves behind. The token stays; after the last the name is free. */
export function withoutReader(base: LeaseRecord, { owner, lease }: Pick<Uid, 'owner' | 'lease'>): LeaseRecord {
  const readers = (base.readers ?? []).filter((row) => row.owner !== owner || row.lease !== lease);
  const last = readers.at(-1);
  const { mode: _mode, readers: _readers, ...rest } = base;
  if (last === undefined) return { ...rest, isHeld: false, meta: null };
  const { owner: by, lease: of, seq, termUs } = last;
  return { ...rest, owner: by, lease: of, seq, termUs, mode: 'shared', readers };
}
