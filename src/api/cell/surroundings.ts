/** What a cell lives on besides its transport: clocks, chance, and what a member keeps. The testing kit brings its own. */
import type { Keeps, MemberLimits, SuccessionMode } from '../../core/index.ts';
import type { Chooser, HashKey } from '../../kernel/index.ts';
import type { Clocks, Disk } from '../../runtime/index.ts';

export interface Surroundings {
  readonly clocks: Clocks;
  readonly chooser: Chooser;
  /** Of the tables whose keys others choose: nobody else knows it. */
  readonly hashKey: HashKey;
  /** False only for a member that never was before: it has nothing to keep silent about. */
  readonly restarted: boolean;
  /** False for a client that cannot prove the members' secret. */
  readonly mayBootstrap?: boolean;
  /** How a started member takes the place of its earlier life. */
  readonly succession?: SuccessionMode;
  /** Leases are numbered from here on: 1. Tests begin as after billions of leases. */
  readonly firstNumber?: number;
  /** What a member keeps for its clients, at most. Tests come to the limits sooner. */
  readonly limits?: MemberLimits | undefined;
  /** What this member keeps, and where. */
  readonly kept?: Kept | undefined;
}

export interface Kept {
  readonly disk: Disk & { close?(): Promise<void> };
  readonly keeps: Keeps;
  /** Whether an earlier life has left something there. */
  readonly isKept: boolean;
}
