/**
 * A disk in use that took the place of a lost one is made known to all other members, also to members that did not help it to join: such a member may have noted a number that a disk took
 * which was lost again before it was used. A process that heard of that disk would count this one no more. Then this disk takes a number above it, once so many others have noted that
 * number that the next disk of this member hears of it. A note on a disk that its member has lost since does not count: the member may not know it any more.
 */
import { NEVER, nodeId, type MonoUs } from '../../kernel/index.ts';
import type { Snapshot } from '../contract.ts';
import type { IntervalStep } from './config.ts';

const AGAIN_TRIPS = 4;
const DOUBLINGS_MAX = 8;

export class DiskNotice {
  readonly #self: number;
  readonly #members: number;
  /** The number that others are to note; 0 if they need not. */
  #generation = 0;
  /** The generation of the disk on which each has noted it; 0 if none. */
  readonly #noted: number[];
  /** The newest generation of each member's disk that was heard of. */
  readonly #newest: number[];
  #againAt: MonoUs = NEVER;
  #sends = 0;

  constructor(self: number, members: number) {
    this.#self = self;
    this.#members = members;
    this.#noted = Array.from({ length: members }, () => 0);
    this.#newest = [...this.#noted];
  }

  /** No member is left to be told. */
  get isOver(): boolean {
    return this.#generation === 0;
  }

  get wakeAt(): MonoUs {
    return this.#againAt;
  }

  begin(generation: number, rttUs: number, step: IntervalStep): void {
    this.#generation = generation;
    this.#noted.fill(0);
    this.#sends = 0;
    this.#send(rttUs, step);
  }

  /** A member that knows of these disks has noted a number; this one knows of `known`. How many have noted the number at hand; 0 if `generation` is another. */
  noted(from: number, generation: number, told: readonly number[], known: readonly number[]): number {
    if (this.#generation === 0 || generation !== this.#generation) return 0;
    for (let member = 0; member < this.#members; member++)
      this.#newest[member] = Math.max(this.#newest[member] as number, told[member] ?? 0, known[member] ?? 0);
    this.#noted[from] = Math.max(this.#noted[from] as number, told[from] ?? 0);
    const count = this.#noted.filter((_, member) => this.#hasNoted(member)).length;
    if (count === this.#members - 1) this.end();
    return count;
  }

  #hasNoted(member: number): boolean {
    const disk = this.#noted[member] as number;
    return disk > 0 && disk >= (this.#newest[member] as number);
  }

  /** A member knows of a disk with this number: if it is higher, this disk takes a number above it. */
  outnumbered(told: number, rttUs: number, step: IntervalStep): void {
    if (this.#generation > 0 && told > this.#generation) this.begin(told + 1, rttUs, step);
  }

  /** A member can be reached again. */
  reached(member: number, step: IntervalStep): void {
    if (this.#generation > 0 && member !== this.#self && !this.#hasNoted(member)) this.#sendTo(member, step);
  }

  wake(rttUs: number, step: IntervalStep): void {
    if (step.monoUs >= this.#againAt) this.#send(rttUs, step);
  }

  end(): void {
    this.#generation = 0;
    this.#againAt = NEVER;
  }

  #send(rttUs: number, step: IntervalStep): void {
    this.#againAt = (step.monoUs + AGAIN_TRIPS * (1 << Math.min(this.#sends++, DOUBLINGS_MAX)) * rttUs) as MonoUs;
    for (let member = 0; member < this.#members; member++) this.reached(member, step);
  }

  #sendTo(member: number, step: IntervalStep): void {
    step.send(nodeId(member), { kind: 'note', generation: this.#generation });
  }

  snapshot(): Snapshot {
    return { generation: this.#generation, noted: [...this.#noted], newest: [...this.#newest], againAt: this.#againAt, sends: this.#sends };
  }

  restore(snapshot: Snapshot): void {
    const told = snapshot as unknown as NoticeSnapshot;
    this.#generation = told.generation;
    this.#againAt = told.againAt;
    this.#sends = told.sends;
    for (const [member, disk] of told.noted.entries()) this.#noted[member] = disk;
    for (const [member, disk] of told.newest.entries()) this.#newest[member] = disk;
  }
}

interface NoticeSnapshot {
  readonly generation: number;
  readonly noted: readonly number[];
  readonly newest: readonly number[];
  readonly againAt: MonoUs;
  readonly sends: number;
}
