/**
 * A caller's request for a name, or hold on it, and the accesses under way for it. Plain data: a snapshot is a
 * copy. The store's answer to an access is found by its number; answers that a claim no longer waits for are not heard.
 */
import { monoUs, NEVER, NO_BALLOT, wallUs, type BallotTime, type LeaseMode, type MonoUs, type WallUs } from '../../../kernel/index.ts';
import type { Snapshot, Version } from '../../contract.ts';
import type { LeaseRecord } from './contents.ts';

/** What is under way for a claim: the protocols have their own. `ops` are the accesses whose answers it waits for. */
export interface Doing {
  readonly kind: string;
  readonly ops: readonly number[];
}

/**
 * `queued`: behind another request of this process for the name. `contending`: the paper's Try. `holding`: Hold, and Renew if a
 * renewal is under way. `releasing`: its holder has stopped. `asking`: it is no request for the lease at all.
 */
export type StorageClaimPhase = 'queued' | 'contending' | 'holding' | 'releasing' | 'asking';

/** When an own write left, and for which term. */
export interface Start {
  readonly seq: number;
  readonly mono: MonoUs;
  readonly wall: WallUs;
  readonly termUs: number;
  /** The proclaim that it carries; 0 if none. */
  readonly carried: number;
  /** Its token was known to be above the tokens of erased records. */
  readonly isGrounded: boolean;
}

export interface StorageClaim<Does extends Doing> {
  readonly lease: number;
  readonly name: string;
  readonly wants: 'lease' | 'holder' | 'erasure' | 'data';
  readonly mode: LeaseMode;
  readonly waits: boolean;
  readonly waitUntil: MonoUs;
  termUs: number;
  /** It is renewed until it is released. */
  keep: boolean;
  meta: Uint8Array | null;
  /** What the next write stores under the lease (S9); null if it leaves that as it is. */
  data: Uint8Array | null;
  phase: StorageClaimPhase;
  doing: Does;
  /** When to look at it again. */
  at: MonoUs;
  /** Its caller wants it no more and was told so. */
  isCalledOff: boolean;
  hasWaited: boolean;
  /** Writes that left for it. */
  trips: number;
  /** Accesses in a row that failed or were not answered. */
  failures: number;
  token: BallotTime;
  deadlineMono: MonoUs;
  deadlineWall: WallUs;
  /** The last own write that was confirmed while the lease was valid: what a release names (rule 15). */
  confirmed: number;
  /** It was lost: no caller waits to hear of its release. */
  isQuiet: boolean;
  /** The number of the last proclaim that no write has carried to its end; 0 if none waits. */
  proclaiming: number;
  /** Compare and set only: own writes that may be in the record, and the record as this process knows it. */
  starts: readonly Start[];
  mine: KnownRecord | null;
  /** Compare and set only: a write left for it on a record that it had read itself. */
  hasTried: boolean;
}

export interface KnownRecord {
  readonly record: LeaseRecord;
  readonly version: Version | null;
}

export type WantedClaim = Pick<
  StorageClaim<Doing>,
  'lease' | 'name' | 'wants' | 'mode' | 'waits' | 'waitUntil' | 'termUs' | 'keep' | 'meta'
>;

/** Written out: V8 takes a hundred times as long for a literal of so many fields that begins with a spread. */
export function newClaim<Does extends Doing>(wanted: WantedClaim, phase: StorageClaimPhase, doing: Does): StorageClaim<Does> {
  const { lease, name, wants, mode, waits, waitUntil, termUs, keep, meta } = wanted;
  return {
    lease,
    name,
    wants,
    mode,
    waits,
    waitUntil,
    termUs,
    keep,
    meta,
    data: null,
    phase,
    doing,
    at: NEVER,
    isCalledOff: false,
    hasWaited: false,
    trips: 0,
    failures: 0,
    token: NO_BALLOT,
    deadlineMono: monoUs(0),
    deadlineWall: wallUs(0),
    confirmed: 0,
    isQuiet: false,
    proclaiming: 0,
    starts: [],
    mine: null,
    hasTried: false,
  };
}

/** Bytes in plain data are a list in an object of their own. */
export function toPlain(value: unknown): Snapshot {
  if (value instanceof Uint8Array) return { bytes: [...value] };
  if (Array.isArray(value)) return value.map(toPlain);
  if (typeof value !== 'object' || value === null) return value as Snapshot;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, toPlain(one)]));
}

export function fromPlain(value: Snapshot): unknown {
  if (Array.isArray(value)) return value.map(fromPlain);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value);
  if (entries.length === 1 && entries[0]?.[0] === 'bytes') return Uint8Array.from(entries[0][1] as number[]);
  return Object.fromEntries(entries.map(([key, one]) => [key, fromPlain(one)]));
}
