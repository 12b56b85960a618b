/**
 * In which epoch a member is, and the consensus of that epoch. An epoch begins once it is on the disk, and once the accesses of the last epoch's consensus are answered: their answers would be taken for the
 * next one's.
 */
import type { Boot, Completion, Snapshot } from '../contract.ts';
import { FIRST_EPOCH, type EpochAct } from './epoch-acts.ts';
import { EpochConsensus, type BroadcastStep, type EpochConsensusOptions } from './epoch-consensus.ts';
import type { EpochRecord, LogLedger } from './log-ledger.ts';
import type { MessageLog } from './log.ts';
import type { OwnDisk } from './own-disk.ts';

/** An epoch that is about to begin. */
interface Beginning {
  readonly epoch: number;
  /** The instance after which it begins, and the position; -1 for a member that joins without a memory of it. */
  readonly start: number;
  readonly position: number;
  /** By which it begins; null if by none. */
  readonly act: EpochAct | null;
  isStored: boolean;
}

export interface EpochLifeGround extends Pick<EpochConsensusOptions, 'config' | 'boot' | 'rules' | 'heard'> {
  readonly log: MessageLog;
  readonly ledger: LogLedger<OwnDisk> | null;
  readonly disk: OwnDisk;
  /** Whatever was under way in the last epoch is over. */
  ended(): void;
  /** An epoch has begun by this act, after this position. */
  begun(epoch: number, position: number, act: EpochAct, step: BroadcastStep): void;
}

export class EpochLife {
  readonly #ground: EpochLifeGround;
  #consensus: EpochConsensus | null = null;
  /** Of an epoch that is over; its accesses are waited for. */
  #former: EpochConsensus | null = null;
  #beginning: Beginning | null = null;

  constructor(ground: EpochLifeGround) {
    this.#ground = ground;
  }

  /** Null if it is in no epoch, or about to begin one. */
  get consensus(): EpochConsensus | null {
    return this.#consensus;
  }

  /** 0 is none. */
  get epoch(): number {
    return this.#consensus?.epoch ?? 0;
  }

  /** The epoch it is in, or about to begin. */
  get next(): number {
    return this.#beginning?.epoch ?? this.epoch;
  }

  get isBeginning(): boolean {
    return this.#beginning !== null;
  }

  /** The first epoch of a brand-new group. */
  found(step: BroadcastStep): void {
    // A member that votes before its epoch is on the disk has forgotten its votes after a crash.
    this.#beginning = { epoch: FIRST_EPOCH, start: 0, position: 0, act: null, isStored: this.#ground.ledger === null };
    this.#write(FIRST_EPOCH, 0, step);
    this.#mayBegin(step);
  }

  /** Others are in this epoch: this member has no memory of it. */
  join(epoch: number, step: BroadcastStep): void {
    this.#write(epoch, 0, step);
    this.#end();
    this.#beginning = { epoch, start: -1, position: -1, act: null, isStored: true };
    this.#mayBegin(step);
  }

  begin(beginning: Pick<Beginning, 'epoch' | 'start' | 'position'>, act: EpochAct, step: BroadcastStep): void {
    if (this.#beginning?.epoch === beginning.epoch) return;
    this.#beginning = { ...beginning, act, isStored: this.#ground.ledger === null };
    this.#write(beginning.epoch, beginning.start, step);
    this.#mayBegin(step);
  }

  /** An earlier life was in this epoch, and its disk is here. */
  recover({ epoch, start }: EpochRecord, step: BroadcastStep): void {
    this.#start(epoch, start, { ...this.#ground.boot, restarted: true, diskKept: true }, step);
  }

  stored(epoch: number, step: BroadcastStep): void {
    if (this.#beginning?.epoch !== epoch) return;
    this.#beginning.isStored = true;
    this.#mayBegin(step);
  }

  completed(completion: Completion, step: BroadcastStep): void {
    if (this.#former?.discard(completion)) this.#mayBegin(step);
    else this.#consensus?.completed(completion, step);
  }

  #write(epoch: number, start: number, step: BroadcastStep): void {
    this.#ground.ledger?.writeEpoch(epoch, start, this.#ground.disk.of(step));
  }

  #end(): void {
    if (this.#consensus && this.#consensus.underWay > 0) this.#former = this.#consensus;
    this.#consensus = null;
    this.#ground.ended();
  }

  #mayBegin(step: BroadcastStep): void {
    if (this.#former?.underWay === 0) this.#former = null;
    const beginning = this.#beginning;
    if (!beginning?.isStored) return;
    if (this.#consensus) this.#end();
    if (this.#former) return;
    this.#beginning = null;
    const { epoch, start, position, act } = beginning;
    const isJoining = start < 0;
    this.#start(epoch, Math.max(0, start), { ...this.#ground.boot, restarted: isJoining, diskKept: false }, step);
    if (act) this.#ground.begun(epoch, position, act, step);
  }

  #start(epoch: number, start: number, boot: Boot, step: BroadcastStep): void {
    const { config, rules, heard, log, ledger } = this.#ground;
    const decided = Math.max(start, log.instance);
    const logged = ledger?.upTo ?? log.instance;
    this.#consensus = new EpochConsensus({ config, epoch, decided, logged, boot, rules, heard });
    this.#consensus.start(step);
  }

  snapshot(): Snapshot {
    return {
      consensus: this.#consensus && [this.#consensus.epoch, this.#consensus.snapshot()],
      beginning: this.#beginning && { ...this.#beginning, act: this.#beginning.act && { ...this.#beginning.act } },
    };
  }

  /** Log and ledger are restored already. Accesses of an epoch that is over are not: no caller waits for them. */
  restore(snapshot: Snapshot): void {
    const told = snapshot as unknown as { consensus: readonly [number, Snapshot] | null; beginning: Beginning | null };
    const { config, boot, rules, heard, log, ledger } = this.#ground;
    this.#former = null;
    this.#beginning = told.beginning && { ...told.beginning };
    this.#consensus = null;
    if (!told.consensus) return;
    const [epoch, inner] = told.consensus;
    this.#consensus = new EpochConsensus({
      config,
      epoch,
      decided: log.instance,
      logged: ledger?.upTo ?? log.instance,
      boot,
      rules,
      heard,
    });
    this.#consensus.restore(inner);
  }
}
