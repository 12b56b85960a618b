/**
 * What a cell needs of an engine: a core that runs, the timing it keeps, what members must agree on, and what it
 * can do. The engines themselves are `engine-quorum.ts` and `engine-rounds.ts`; everything else here knows only this.
 */
import type { Boot, Keeps, LeaseCommand, LeaseEvent, MemberLimits, Sender, SuccessionMode, Timing } from '../../core/index.ts';
import { TenureError, type Chooser, type Duration, type HashKey, type MonoUs, type NodeId, type WallUs } from '../../kernel/index.ts';
import type { ClockNotice, Clocks, Disk, Driver, Link } from '../../runtime/index.ts';
import type { CellConfig } from '../../wire/index.ts';

export interface FleaseOptions {
  /** 2: no renewal. 3: with renewal. 4, which is the default: clocks agree only within `skew`. 2 and 3 need clocks that do not differ. */
  readonly algorithm?: 2 | 3 | 4;
  /** ε of Algorithm 4: how far the wall clocks of any two processes may be apart. */
  readonly skew?: Duration;
}

export interface PaxosLeaseOptions {
  /** `relative`, the default: no wall clock at all. `skewed`: clocks agree within `skew`. `perfect`: they do not differ. */
  readonly clocks?: 'perfect' | 'skewed' | 'relative';
  /** S: how far the wall clocks of any two processes may be apart. Only with `skewed`. */
  readonly skew?: Duration;
}

/** Which protocol grants the leases of a cell. */
export type EngineOptions = 'quorum' | { readonly flease: FleaseOptions } | { readonly paxoslease: PaxosLeaseOptions };

type EngineName = 'quorum' | 'flease' | 'paxoslease';

/** What not every engine can do. */
export interface Abilities {
  /** Whoever waits is served in order, and is told when it stands in line. */
  readonly ordered: boolean;
  /** Leases are renewed, and so may say something else of themselves. */
  readonly renew: boolean;
  /** Leases are given back as of a later time. */
  readonly releaseLater: boolean;
  /** Of any prefix, of one name only, or not at all. */
  readonly watch: 'prefix' | 'name' | 'none';
  readonly list: boolean;
  /** Members say how they stand. Where they do not, only connections are known. */
  readonly status: boolean;
  readonly bootstrap: boolean;
  readonly dataDir: boolean;
}

/** What an engine states in the handshake, besides what all engines do. */
export type EngineConfig = Pick<CellConfig, 'engine' | 'algorithm' | 'clocks' | 'skewUs'>;

/** What the timing of every engine rests on. */
export interface TermOptions {
  readonly maxTermUs: number;
  readonly rateErrorPpm: number;
  /** A usual round trip, where one is known before any was measured. */
  readonly rttUs?: number;
}

export interface Engine {
  readonly name: EngineName;
  /** With its parameters, as `parseEngine` reads it. */
  readonly text: string;
  readonly timing: Timing;
  /** How far clocks may be apart; 0 where that does not matter. */
  readonly skewUs: number;
  readonly config: EngineConfig;
  readonly can: Abilities;
  run(ground: EngineGround): RunningEngine;
}

/** Where a core runs. */
export interface EngineGround {
  readonly memberKeys: readonly number[];
  readonly replication: number;
  readonly boot: Boot;
  readonly keeps: Keeps;
  readonly succession: SuccessionMode;
  readonly link: Link;
  readonly clocks: Clocks;
  readonly chooser: Chooser;
  readonly hashKey: HashKey;
  readonly limits?: MemberLimits | undefined;
  readonly disk: Disk | undefined;
  /** Who a peer has proved to be; undefined for one that is not connected. */
  readonly senderOf: (peer: NodeId) => Sender | undefined;
  readonly onClockNotice: ClockNotice;
  readonly onEvent: (event: LeaseEvent) => void;
  readonly onFailure: (error: TenureError) => void;
}

/** The driver of whichever core it is. */
export type LeaseDriver = Pick<
  Driver<unknown, LeaseCommand, LeaseEvent>,
  'command' | 'receive' | 'start' | 'stop' | 'isStopped' | 'monoUs' | 'clockCounts'
>;

export interface LeaseCore {
  /** How long a lease may still be acted under; 0 when it is not held. */
  remainingUs(lease: number, name: Uint8Array, mono: MonoUs, wall: WallUs): number;
  /** How long this member still votes for nobody. */
  silentForUs(mono: MonoUs): number;
}

export interface RunningEngine {
  readonly driver: LeaseDriver;
  readonly core: LeaseCore;
}

/** What a caller may miss in an engine. Commands have words of their own for what to do instead. */
export type Missing = 'list' | 'watch' | 'watch of a prefix' | 'bootstrap' | 'dataDir' | 'renew' | 'releaseLater';

/** `what` is what it cannot do, `instead` what to do. */
export function unsupported({ name: engine }: Pick<Engine, 'name'>, missing: Missing, what: string, instead: string): TenureError {
  const details = { engine, missing, what };
  return new TenureError('TENURE_UNSUPPORTED', `the engine '${engine}' ${what}: ${instead}, or choose another engine`, details);
}
