/** What a node of a cell is given: which it is, its transport, clocks, chance, and what a member keeps. The testing kit brings its own. */
import type { Keeps, MemberLimits, SuccessionMode, View } from '../../core/index.ts';
import type { Chooser, HashKey, Incarnation } from '../../kernel/index.ts';
import type { Clocks, Disk, DiskSection } from '../../runtime/index.ts';
import type { Transport } from '../../transport/index.ts';
import type { StartView } from '../engines/engine.ts';
import type { EngineOptions } from '../engines/index.ts';
import type { Observer } from '../observing/observer.ts';
import type { ServiceKind } from '../services/service.ts';
import type { Membership } from './membership.ts';

export interface NodeOptions {
  readonly transport: Transport;
  readonly memberIds: readonly string[];
  /** Its number among the members; a client's number is above all of theirs; -1 for a member that is none yet. */
  readonly self: number;
  readonly incarnation: Incarnation;
  readonly surroundings: CellSurroundings;
  readonly observer?: Observer;
  readonly membership: Membership;
  /** The view that this node begins in, where its engine has any; a client, and a member that is none yet, hear of it. */
  readonly start?: StartView | undefined;
  /** Stores a view: when it resolves, no later start of this member is told an older one. */
  readonly onView?: ((view: View) => Promise<void>) | undefined;
  /** Of a member that is none yet: by which id it will be one, and with which engine. */
  readonly joining?: { readonly id: string; readonly engine: EngineOptions } | undefined;
  /** The services that it can have beside leases, if the transport states them. */
  readonly services?: readonly ServiceKind[];
}

export interface CellSurroundings {
  readonly clocks: Clocks;
  readonly chooser: Chooser;
  /** Of the tables whose keys others choose: no other process knows it. */
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
  /** The part of a service beside leases. */
  section?(name: string): DiskSection;
}
