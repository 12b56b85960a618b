/**
 * The one-shot act by which a cell's disks begin: the process that is told to asks every member whether its disk is blank. A blank disk stores that it is ready. When all are, all
 * are asked once more, so that they are all blank at one instant; then they are told to begin. A member that misses this learns it later from a member that has begun: its disk says that it was ready.
 * A member whose disk is in use, or that does not answer, makes the act end with nothing begun, and it may be tried again.
 */
import { NEVER, nodeId, quorumOf, VoterSet, type MonoUs, type NodeId } from '../../kernel/index.ts';
import type { Snapshot } from '../contract.ts';
import type { IntervalStep } from './config.ts';
import type { DiskMessage, FoundedAnswer } from './messages.ts';

const AGAIN_TRIPS = 4;

export class Foundation {
  readonly #members: number;
  /** The number of all acts of this process; rounds and generations tell them apart. */
  readonly #founding: number;
  #round = 0;
  #phase: 'idle' | 'asking' | 'beginning' = 'idle';
  #endsAt: MonoUs = NEVER;
  #againAt: MonoUs = NEVER;
  /** The generation in which all begin. */
  #start = 0;
  /** By member, as they said in the first round. */
  #disks: number[] = [];
  #ready = new VoterSet();
  #inUse = new VoterSet();
  #begun = new VoterSet();

  constructor(members: number, founding: number) {
    this.#members = members;
    this.#founding = founding;
  }

  get wakeAt(): MonoUs {
    return this.#againAt < this.#endsAt ? this.#againAt : this.#endsAt;
  }

  begin(waitUs: number, rttUs: number, step: IntervalStep): void {
    this.#ready = new VoterSet();
    this.#inUse = new VoterSet();
    this.#begun = new VoterSet();
    this.#disks = Array.from({ length: this.#members }, () => 0);
    this.#phase = 'asking';
    // Odd rounds are the first of an act.
    this.#round += this.#round % 2 === 0 ? 1 : 2;
    this.#endsAt = (step.monoUs + waitUs) as MonoUs;
    this.#send(rttUs, step);
  }

  heard(from: NodeId, message: Extract<DiskMessage, { kind: 'founded' | 'begun' }>, rttUs: number, step: IntervalStep): void {
    if (message.founding !== this.#founding || this.#phase === 'idle' || from >= this.#members) return;
    if (message.kind === 'begun') {
      if (this.#phase !== 'beginning' || message.start !== this.#start) return;
      this.#begun.add(from);
      if (this.#begun.size >= quorumOf(this.#members)) this.#end(true, step);
      return;
    }
    if (this.#phase !== 'asking' || message.round !== this.#round) return;
    if (!message.isReady) this.#inUse.add(from);
    else if (this.#isSameDisk(from, message)) this.#ready.add(from);
    if (this.#inUse.size > 0) this.#end(false, step);
    else if (this.#ready.size === this.#members) this.#goOn(rttUs, step);
  }

  /** In the second round a disk says that it is the disk of the first; a disk that was replaced since says another number. */
  #isSameDisk(from: NodeId, { disk, start }: FoundedAnswer): boolean {
    if (this.#round % 2 === 0) return this.#disks[from] === disk;
    this.#disks[from] = disk;
    this.#start = Math.max(this.#start, start);
    return true;
  }

  #goOn(rttUs: number, step: IntervalStep): void {
    if (this.#round % 2 === 1) {
      this.#round++;
      this.#start++;
      this.#ready = new VoterSet();
    } else {
      this.#phase = 'beginning';
    }
    this.#send(rttUs, step);
  }

  wake(rttUs: number, step: IntervalStep): void {
    if (this.#phase === 'idle') return;
    if (step.monoUs >= this.#endsAt) this.#end(this.#begun.size > 0, step);
    else if (step.monoUs >= this.#againAt) this.#send(rttUs, step);
  }

  #send(rttUs: number, step: IntervalStep): void {
    this.#againAt = (step.monoUs + AGAIN_TRIPS * rttUs) as MonoUs;
    const isAsking = this.#phase === 'asking';
    const heard = isAsking ? this.#ready : this.#begun;
    const founding = this.#founding;
    const start = this.#round % 2 === 0 ? this.#start : 0;
    const disks = this.#disks;
    for (let member = 0; member < this.#members; member++) {
      if (heard.has(member)) continue;
      step.send(
        nodeId(member),
        isAsking ? { kind: 'found', founding, round: this.#round, start } : { kind: 'begin', founding, start, disks },
      );
    }
  }

  #end(begun: boolean, step: IntervalStep): void {
    const absent: number[] = [];
    for (let member = 0; member < this.#members; member++) if (!this.#ready.has(member) && !this.#inUse.has(member)) absent.push(member);
    this.#phase = 'idle';
    this.#endsAt = NEVER;
    this.#againAt = NEVER;
    step.emit({ kind: 'bootstrapped', begun, absent, inUse: this.#inUse.toArray() });
  }

  snapshot(): Snapshot {
    return {
      phase: this.#phase,
      round: this.#round,
      start: this.#start,
      disks: [...this.#disks],
      endsAt: this.#endsAt,
      againAt: this.#againAt,
      ready: this.#ready.toArray(),
      inUse: this.#inUse.toArray(),
      begun: this.#begun.toArray(),
    };
  }

  restore(snapshot: Snapshot): void {
    const told = snapshot as unknown as FoundationSnapshot;
    this.#phase = told.phase;
    this.#round = told.round;
    this.#start = told.start;
    this.#disks = [...told.disks];
    this.#endsAt = told.endsAt;
    this.#againAt = told.againAt;
    for (const member of told.ready) this.#ready.add(member);
    for (const member of told.inUse) this.#inUse.add(member);
    for (const member of told.begun) this.#begun.add(member);
  }
}

interface FoundationSnapshot {
  readonly phase: 'idle' | 'asking' | 'beginning';
  readonly round: number;
  readonly start: number;
  readonly disks: readonly number[];
  readonly endsAt: MonoUs;
  readonly againAt: MonoUs;
  readonly ready: readonly number[];
  readonly inUse: readonly number[];
  readonly begun: readonly number[];
}
