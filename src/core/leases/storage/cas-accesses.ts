/** How the record of a name is read and changed where the store can compare and set, and how a process finds its own writes in it. */
import { monoAfter, NEVER, type MonoUs } from '../../../kernel/index.ts';
import type { Version } from '../../contract.ts';
import type { CasDoing } from './cas-config.ts';
import { rowOf } from './cas-readers.ts';
import type { StorageClaim, Start } from './claim.ts';
import type { StorageConfig, StorageStep } from './config.ts';
import type { LeaseRecord, Uid } from './contents.ts';
import { FLOOR_KEY, nameKeyOf } from './keys.ts';
import type { StorageLeases } from './leases.ts';
import type { CasRules } from './rules.ts';

export type CasClaim = StorageClaim<CasDoing>;

/** The record that a write replaces, and the token it writes. */
export interface Replaced {
  readonly base: LeaseRecord | null;
  readonly version: Version | null;
  readonly token: number;
  readonly isGrounded: boolean;
  readonly isBlind: boolean;
}

export class CasAccesses {
  protected readonly config: StorageConfig;
  protected readonly rules: CasRules;
  protected readonly leases: StorageLeases<CasDoing>;

  constructor(config: StorageConfig, rules: CasRules, leases: StorageLeases<CasDoing>) {
    this.config = config;
    this.rules = rules;
    this.leases = leases;
  }

  protected readRecord(claim: CasClaim, kind: 'reading' | 'rereading' | 'reading-own', step: StorageStep): void {
    this.go(claim, { kind, ops: [this.#read(nameKeyOf(claim.name), step)] }, step);
  }

  /** The number of the read. */
  protected readFloor(step: StorageStep): number {
    return this.#read(FLOOR_KEY, step);
  }

  #read(key: string, step: StorageStep): number {
    const op = this.leases.ground.desk.nextOp();
    step.read(this.config.unit, key, op);
    return op;
  }

  protected change(name: string, seen: Version | null, value: Uint8Array, isBlind: boolean, step: StorageStep): number {
    const op = this.leases.ground.desk.nextOp();
    if (isBlind) step.write(this.config.unit, nameKeyOf(name), value, op);
    else step.swap(this.config.unit, nameKeyOf(name), seen, value, op);
    return op;
  }

  /** The own write that the record is of, if it is of one. */
  protected startOf(claim: CasClaim, record: LeaseRecord): Start | undefined {
    const seq = this.seqIn(claim, record);
    return seq === undefined ? undefined : claim.starts.find((start) => start.seq === seq);
  }

  protected seqIn(claim: CasClaim, record: LeaseRecord): number | undefined {
    const mine = this.whoIs(claim);
    if (claim.mode === 'shared') return rowOf(record, mine)?.seq;
    const isMine = record.owner === mine.owner && record.lease === mine.lease && record.isHeld && record.readers === undefined;
    return isMine ? record.seq : undefined;
  }

  /** What a record of ours says of us. */
  protected ownIn(claim: CasClaim, record: LeaseRecord): { readonly seq: number; readonly token: number } {
    return claim.mode === 'shared' ? (rowOf(record, this.whoIs(claim)) ?? record) : record;
  }

  /** A write that never lands. */
  protected forgetStart(claim: CasClaim, next: LeaseRecord): void {
    claim.starts = claim.starts.filter(({ seq }) => seq !== next.seq);
  }

  protected whoIs({ lease }: CasClaim): Pick<Uid, 'owner' | 'lease'> {
    return { owner: this.leases.ground.owner, lease };
  }

  protected go(claim: CasClaim, doing: CasDoing, step: StorageStep): void {
    // A renewal that is not cut at the deadline waits for its write for ever: that is what reviving means.
    const isEndless = !this.rules.endIsFinal && doing.kind === 'renewing';
    const until: MonoUs = isEndless ? NEVER : monoAfter(step.monoUs, this.config.timing.patienceUs);
    if (claim.phase === 'holding') this.leases.pursue(claim, doing, until);
    else this.leases.ground.desk.turn(claim, doing, until);
  }

  protected tellUnreadable({ lease }: CasClaim, key: string, why: 'corrupt' | 'format', step: StorageStep): void {
    step.emit({ kind: 'unreadable', lease, key, why });
  }
}
