/** What a core for Δ-leases on plain registers is built with, and what is under way for one of its claims. */
import type { BallotTime, MonoUs, WallUs } from '../../../kernel/index.ts';
import type { StorageConfig } from './config.ts';
import type { Found, NameRecord, Statement, SyncedData } from './contents.ts';

/** Figure 5's renewal reads before it writes and after; the renewal of section 7.1 only writes. */
export type RenewalKind = 'eventual-nd' | 'nd';

export interface DeltaConfig extends StorageConfig {
  /** `eventual-nd` unless told otherwise: if an assumption ever breaks, two holders do not renew for ever. */
  readonly renewal?: RenewalKind;
  /** `literal`: the paper's single register, with fixed delays. Unsafe where a write lands late. */
  readonly variant?: 'product' | 'literal';
}

/** When the deciding read left. */
export interface WhenRead {
  readonly readMono: MonoUs;
  readonly readWall: WallUs;
}

/** A write under way or done, and when it left. */
interface Writing {
  readonly seq: number;
  readonly token: BallotTime;
  readonly writeMono: MonoUs;
  readonly writeWall: WallUs;
  /** The proclaim that it carries; 0 if none. */
  readonly carried: number;
}

export interface BothRegisters {
  readonly x: Found<NameRecord>;
  readonly y: Found<Statement>;
}

interface Ops {
  readonly ops: readonly number[];
}

export type DeltaDoing =
  | ({ readonly kind: 'idle' | 'resting' } & Ops)
  | ({ readonly kind: 'reading'; readonly opX: number } & WhenRead & BothRegisters & Ops)
  | ({ readonly kind: 'writing' } & WhenRead & Writing & Ops)
  | ({ readonly kind: 'pausing' } & Writing & Ops)
  | ({ readonly kind: 'reading-back'; readonly opX: number } & WhenRead & BothRegisters & Writing & Ops)
  /** The holder has stopped, but a renewal's write is not answered yet: the release names its uid. */
  | ({ readonly kind: 'awaiting-write'; readonly seq: number } & Ops)
  /** The release is under way. */
  | ({ readonly kind: 'stating' } & Ops)
  /** A question: `first` is the result of the first of two looks. */
  | ({ readonly kind: 'looking'; readonly opX: number; readonly first: BothRegisters | null } & WhenRead & BothRegisters & Ops)
  | ({ readonly kind: 'look-pausing'; readonly first: BothRegisters } & Ops)
  /** Data of a holder is under way to its register, or is read. */
  | ({ readonly kind: 'storing'; readonly data: SyncedData; readonly number: number } & Ops)
  | ({ readonly kind: 'fetching' } & Ops);

export type DoingOf<Kind extends DeltaDoing['kind']> = Extract<DeltaDoing, { kind: Kind }>;
