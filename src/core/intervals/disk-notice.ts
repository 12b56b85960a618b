/**
 * A disk in use that took the place of a lost one is made known to all other members, also to those that did not help it to join: one of them may have noted a number that a disk took which
 * was lost again before it was used. Whoever heard of that disk would count this one no more. Then this disk takes a number above it, once so many others have noted
 * that number that the next disk of this member hears of it.
 */
import { NEVER, nodeId, VoterSet, type MonoUs } from '../../kernel/index.ts';
import type { Snapshot } from '../contract.ts';
import type { IntervalStep } from './config.ts';

const AGAIN_TRIPS = 4;
const DOUBLINGS_MAX = 8;

export class DiskNotice {
  readonly #self: number;
  readonly #members: number;
  /** The number that others are to note; 0 if they need not. */
  #generation = 0;
  #noted = new VoterSet();
  #againAt: MonoUs = NEVER;
  #sends = 0;

  constructor(self: number, members: number) {
    this.#self = self;
    this.#members = members;
  }

  /** Nobody is left to be told. */
  get isOver(): boolean {
    return this.#generation === 0;
  }

  get wakeAt(): MonoUs {
    return this.#againAt;
  }

  begin(generation: number, rttUs: number, step: IntervalStep): void {
    this.#generation = generation;
    this.#noted = new VoterSet();
    this.#sends = 0;
    this.#send(rttUs, step);
  }

  /** A member has noted a number. How many have noted the one at hand; 0 if it is another. */
  noted(from: number, generation: number): number {
    if (this.#generation === 0 || generation !== this.#generation) return 0;
    this.#noted.add(from);
    const count = this.#noted.size;
    if (count === this.#members - 1) this.end();
    return count;
  }

  /** A member knows of a disk with this number: above it, if the one at hand is not. */
  outnumbered(told: number, rttUs: number, step: IntervalStep): void {
    if (this.#generation > 0 && told > this.#generation) this.begin(told + 1, rttUs, step);
  }

  /** A member can be reached again. */
  reached(member: number, step: IntervalStep): void {
    if (this.#generation > 0 && member !== this.#self && !this.#noted.has(member)) this.#sendTo(member, step);
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
    return { generation: this.#generation, noted: this.#noted.toArray(), againAt: this.#againAt, sends: this.#sends };
  }

  restore(snapshot: Snapshot): void {
    const told = snapshot as unknown as NoticeSnapshot;
    this.#generation = told.generation;
    this.#againAt = told.againAt;
    this.#sends = told.sends;
    for (const member of told.noted) this.#noted.add(member);
  }
}

interface NoticeSnapshot {
  readonly generation: number;
  readonly noted: readonly number[];
  readonly againAt: MonoUs;
  readonly sends: number;
}
