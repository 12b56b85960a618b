/** What a process tells the history of its claims, in the world as on a stage. */
import type { IntervalCommand, IntervalEvent } from '../../../core/index.ts';
import type { Desk } from '../../protocol.ts';

/** A claim that is not cleared. */
export interface MadeClaim {
  readonly claim: number;
  readonly space: string;
  isAnswered: boolean;
}

export class Claimer {
  readonly #desk: Desk<IntervalCommand>;
  readonly made: Map<number, MadeClaim> = new Map();
  count = 0;

  constructor(desk: Desk<IntervalCommand>) {
    this.#desk = desk;
  }

  /** Claims that are not answered. */
  get unanswered(): number {
    let count = 0;
    for (const { isAnswered } of this.made.values()) if (!isAnswered) count++;
    return count;
  }

  claim(space: string, from: number, to: number): number {
    const claim = this.#begin(space);
    this.#desk.record({ kind: 'claimed', space, claim, from, to });
    this.#desk.command({ kind: 'claim', claim, space, from, to });
    return claim;
  }

  next(space: string, size: number): number {
    const claim = this.#begin(space);
    this.#desk.record({ kind: 'claimed', space, claim, size });
    this.#desk.command({ kind: 'next', claim, space, size });
    return claim;
  }

  callOff(claim: number): void {
    const made = this.made.get(claim);
    if (made && !made.isAnswered) {
      made.isAnswered = true;
      this.#desk.record({ kind: 'recalled', space: made.space, claim });
    }
    this.#desk.command({ kind: 'call-off', claim });
  }

  /** False if the event is not about a claim, or about a claim that was called off meanwhile. */
  hear(event: IntervalEvent): boolean {
    if (!('claim' in event)) return false;
    const { claim } = event;
    const made = this.made.get(claim);
    if (!made) return false;
    const { space } = made;
    switch (event.kind) {
      case 'granted':
        this.#desk.record({ kind: 'allotted', space, claim, from: event.from, to: event.to });
        break;
      case 'refused':
        this.#desk.record({ kind: 'denied', space, claim, why: event.why });
        break;
      case 'cleared':
        this.made.delete(claim);
        if (event.everywhere) this.#desk.record({ kind: 'cleared', space, claim });
        return true;
    }
    made.isAnswered = true;
    return true;
  }

  #begin(space: string): number {
    const claim = ++this.count;
    this.made.set(claim, { claim, space, isAnswered: false });
    return claim;
  }
}
