/** Whose clock is off: what is certain, what is not, and who is believed. */
import { describe, expect, it } from 'vitest';
import { RateWatch, type ClockReading } from '../../src/core/index.ts';

const SECOND_US = 1_000_000;
const WINDOW_US = 5 * SECOND_US;

/** Reads clocks once a second of true time; each runs at its own rate, and answers take their time. */
class Machines {
  readonly watch = new RateWatch({ rateErrorPpm: 100_000, windowUs: WINDOW_US });
  readonly rates: Map<number, number>;
  ownRate = 1;
  #ownUs = 0;
  readonly #peersUs = new Map<number, number>();

  constructor(rates: Readonly<Record<number, number>>) {
    this.rates = new Map(Object.entries(rates).map(([member, rate]) => [Number(member), rate]));
  }

  run(seconds: number, tripUs = 1000): this {
    for (let second = 0; second < seconds; second++) {
      this.#ownUs += SECOND_US * this.ownRate;
      for (const [member, rate] of this.rates) {
        const peerUs = (this.#peersUs.get(member) ?? member * 7e9) + SECOND_US * rate;
        this.#peersUs.set(member, peerUs);
        this.watch.read(member, this.reading(peerUs, tripUs));
      }
    }
    return this;
  }

  reading(peerUs: number, tripUs: number): ClockReading {
    return { beforeUs: this.#ownUs - tripUs / 2, afterUs: this.#ownUs + tripUs / 2, peerUs };
  }

  /** Ours stands still for so long, and nothing is read. */
  pause(seconds: number): void {
    for (const [member, rate] of this.rates) this.#peersUs.set(member, (this.#peersUs.get(member) ?? 0) + seconds * SECOND_US * rate);
  }

  verdict(present: Iterable<number> = this.rates.keys()): unknown {
    return this.watch.judge(present);
  }
}

describe('a clock against another', () => {
  it.each([
    [1, 'alike'],
    [1.2, 'alike'],
    [1.25, 'faster'],
    [3, 'faster'],
    [0.83, 'alike'],
    [0.8, 'slower'],
    [0.1, 'slower'],
  ])('that runs at %d times ours is %s: both may be off by a tenth', (rate, pace) => {
    const machines = new Machines({ 0: rate });
    machines.run(5);
    expect(machines.watch.paceOf(0)).toBe('unknown');
    expect(machines.run(10).watch.paceOf(0)).toBe(pace);
  });

  it.each([1.25, 1.5, 0.8])('is not judged by answers that take longer than the difference: at %d times ours', (rate) => {
    expect(new Machines({ 0: rate }).run(60, 40 * SECOND_US).watch.paceOf(0)).toBe('alike');
  });

  it('is judged again when it runs otherwise, within a window', () => {
    const machines = new Machines({ 0: 1 }).run(20);
    machines.rates.set(0, 1.5);
    expect(machines.run(3).watch.paceOf(0)).toBe('faster');
    machines.rates.set(0, 1);
    expect(machines.run(7).watch.paceOf(0)).toBe('alike');
  });

  it('is seen at once when it jumps by more than the bound is in a window', () => {
    const machines = new Machines({ 0: 1 }).run(20);
    machines.pause(2);
    expect(machines.run(1).watch.paceOf(0)).toBe('faster');
  });

  it('that shows less than before is another, and not known', () => {
    const machines = new Machines({ 0: 1.5 }).run(20);
    const { beforeUs, afterUs } = machines.reading(0, 1000);
    machines.watch.read(0, { beforeUs: beforeUs + SECOND_US, afterUs: afterUs + SECOND_US, peerUs: 5 });
    expect(machines.watch.paceOf(0)).toBe('unknown');
  });

  it('is not judged by an answer that came twice, or before it was asked for', () => {
    const machines = new Machines({ 0: 1 }).run(20);
    const { beforeUs } = machines.reading(0, 1000);
    machines.watch.read(0, { beforeUs, afterUs: beforeUs + 9 * SECOND_US, peerUs: 1e12 });
    machines.watch.read(0, { beforeUs: beforeUs + SECOND_US, afterUs: beforeUs, peerUs: 1e12 });
    expect(machines.watch.paceOf(0)).toBe('alike');
  });

  it('is judged by what was read before a pause of ours that every clock saw', () => {
    const machines = new Machines({ 0: 1, 1: 1 }).run(20);
    machines.ownRate = 60;
    machines.rates.set(0, 60).set(1, 60);
    expect(machines.run(1).verdict()).toEqual({ own: 'fine', off: [] });
  });
});

describe('who is off', () => {
  it.each([
    ['nobody', { 0: 1, 1: 1 }, { own: 'fine', off: [] }],
    ['the one that is alone', { 0: 1, 1: 1.5 }, { own: 'fine', off: [1] }],
    ['the one that is alone', { 0: 0.5, 1: 1, 2: 1, 3: 1 }, { own: 'fine', off: [0] }],
    ['two that are fewer', { 0: 0.5, 1: 1, 2: 1, 3: 1.5 }, { own: 'fine', off: [0, 3] }],
    ['we, if most run faster', { 0: 1.5, 1: 1.5 }, { own: 'slow', off: [] }],
    ['we, if most run slower', { 0: 0.5, 1: 0.5, 2: 1 }, { own: 'fast', off: [] }],
    ['we, if there is nobody else to ask', { 0: 1.5 }, { own: 'slow', off: [] }],
    ['we, if there are as many on both sides', { 0: 1, 1: 1.5, 2: 1.5 }, { own: 'slow', off: [] }],
    ['we, if nobody agrees with anybody', { 0: 0.5, 1: 1.5 }, { own: 'slow', off: [] }],
  ])('%s: %j', (_, rates, verdict) => {
    expect(new Machines(rates).run(20).verdict()).toEqual(verdict);
  });

  it('is not asked of those that are not there', () => {
    const machines = new Machines({ 0: 1.5, 1: 1.5, 2: 1 }).run(20);
    expect(machines.verdict()).toEqual({ own: 'slow', off: [] });
    expect(machines.verdict([2])).toEqual({ own: 'fine', off: [] });
  });

  it('was found out, and says nothing against us when the others have gone', () => {
    const machines = new Machines({ 0: 1, 1: 1.5 }).run(20);
    expect(machines.verdict()).toEqual({ own: 'fine', off: [1] });
    expect(machines.verdict([1])).toEqual({ own: 'fine', off: [1] });
    machines.rates.set(1, 1);
    expect(machines.run(20).verdict([1])).toEqual({ own: 'fine', off: [] });
    machines.rates.set(1, 1.5);
    expect(machines.run(20).verdict([1])).toEqual({ own: 'slow', off: [] });
  });

  it('stays we until a clock agrees with ours again', () => {
    const machines = new Machines({ 0: 1.5, 1: 1.5 }).run(20);
    expect(machines.verdict()).toEqual({ own: 'slow', off: [] });
    expect(machines.verdict([])).toEqual({ own: 'slow', off: [] });
    machines.watch.forget(0);
    expect(machines.verdict([0])).toEqual({ own: 'slow', off: [] });
    machines.rates.set(0, 1).set(1, 1);
    expect(machines.run(20).verdict()).toEqual({ own: 'fine', off: [] });
  });
});
