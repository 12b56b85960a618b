/** How a simulated process compares clock rates: it reads the members' clocks often, exactly, and tells its core. */
import { RateWatch, type LeaseCommand } from '../../../core/index.ts';
import type { Desk } from '../../protocol.ts';

export class RateComparing {
  readonly #desk: Desk<LeaseCommand>;
  readonly #members: number;
  readonly #watch: RateWatch;
  readonly #lives = new Map<number, number>();
  #told = '';

  constructor(desk: Desk<LeaseCommand>, members: number, rateErrorPpm: number, windowUs: number) {
    this.#desk = desk;
    this.#members = members;
    this.#watch = new RateWatch({ rateErrorPpm, windowUs });
  }

  look(): void {
    const desk = this.#desk;
    const present: number[] = [];
    for (let member = 0; member < this.#members; member++) {
      const clock = member === desk.node ? null : (desk.clockOf?.(member) ?? null);
      if (clock === null) continue;
      if (this.#lives.get(member) !== clock.life) this.#watch.forget(member);
      this.#lives.set(member, clock.life);
      this.#watch.read(member, { beforeUs: desk.monoUs, afterUs: desk.monoUs, peerUs: clock.monoUs });
      present.push(member);
    }
    const verdict = this.#watch.judge(present);
    const telling = `${verdict.own} ${verdict.off.join()}`;
    if (verdict.own !== 'fine' || telling !== this.#told) desk.command({ kind: 'rate', ...verdict });
    if (telling !== this.#told && verdict.own !== 'fine') desk.sometimes(`clock-${verdict.own}`);
    if (telling !== this.#told && verdict.off.length > 0) desk.sometimes('clock-of-member-off');
    this.#told = telling;
  }
}
