/** I5, reliable broadcast: all or none. */
import { describe, expect, it } from 'vitest';
import { Random } from '../../../src/kernel/index.ts';
import { ReliableBroadcast } from '../../../src/core/index.ts';

interface Copy {
  readonly from: number;
  readonly to: number;
  readonly number: number;
  readonly text: string;
}

class Group {
  readonly delivered: string[][];
  readonly modules: ReliableBroadcast<string, null>[];
  readonly underWay: Copy[] = [];
  readonly isCrashed: boolean[];
  /** So many more messages leave a member before it crashes. */
  readonly sendsLeft: number[];

  constructor(members: number, relays: boolean) {
    this.delivered = Array.from({ length: members }, () => []);
    this.isCrashed = Array.from({ length: members }, () => false);
    this.sendsLeft = Array.from({ length: members }, () => Infinity);
    this.modules = Array.from(
      { length: members },
      (_, self) =>
        new ReliableBroadcast<string, null>({
          members,
          self,
          relays,
          send: (to, number, text) => this.#send(self, to, number, text),
          deliver: (_number, text) => {
            if (!this.isCrashed[self]) this.delivered[self]?.push(text);
          },
        }),
    );
  }

  #send(from: number, to: number, number: number, text: string): void {
    if (this.isCrashed[from]) return;
    if (this.sendsLeft[from] === 0) {
      this.isCrashed[from] = true;
      return;
    }
    this.sendsLeft[from] = (this.sendsLeft[from] as number) - 1;
    this.underWay.push({ from, to, number, text });
  }

  /** Everything arrives, in some order, some of it twice. */
  settle(random: Random): void {
    while (this.underWay.length > 0) {
      const [copy] = this.underWay.splice(random.below(this.underWay.length), 1) as [Copy];
      for (let copies = 1 + random.below(2); copies > 0; copies--)
        if (!this.isCrashed[copy.to]) this.modules[copy.to]?.receive(copy.from, copy.number, copy.text, null);
    }
  }
}

/** Runs in which the origin, and perhaps another, crashes half-way; in how many somebody who stayed up was left out. */
function leftOut(relays: boolean): { runs: number; leftOut: number; none: number } {
  const count = { runs: 0, leftOut: 0, none: 0 };
  for (let seed = 1; seed <= 300; seed++) {
    const random = new Random(seed);
    const members = 3 + random.below(3);
    const group = new Group(members, relays);
    group.sendsLeft[0] = random.below(members);
    if (random.below(2) === 0) group.sendsLeft[1] = random.below(members);
    group.modules[0]?.broadcast(1, 'm', null);
    group.settle(random);
    const got = group.delivered.filter((_, member) => !group.isCrashed[member]).map((texts) => texts.join());
    count.runs++;
    if (new Set(got).size > 1) count.leftOut++;
    if (got.every((texts) => texts === '')) count.none++;
    for (const texts of got) expect(['', 'm']).toContain(texts);
  }
  return count;
}

describe('all or none', () => {
  it('of those that stay up, whoever crashes half-way', () => {
    const { leftOut: violations, none } = leftOut(true);
    expect(violations).toBe(0);
    expect(none).toBeGreaterThan(0);
  });

  it('is what relaying is for', () => {
    expect(leftOut(false).leftOut).toBeGreaterThan(20);
  });
});

it('delivers a message once, however often it comes, and is silent the second time', () => {
  const group = new Group(3, true);
  group.modules[1]?.receive(0, 5, 'm', null);
  expect(group.underWay.map(({ to }) => to)).toEqual([2]);
  group.modules[1]?.receive(2, 5, 'm', null);
  group.modules[1]?.broadcast(5, 'another', null);
  expect(group.delivered[1]).toEqual(['m']);
  expect(group.underWay).toHaveLength(1);
});

it('forgets old numbers and delivers none of them again', () => {
  const group = new Group(3, true);
  const module = group.modules[0] as ReliableBroadcast<string, null>;
  for (let number = 1; number <= 10; number++) module.broadcast(number, `m${number}`, null);
  module.forgetUpTo(9);
  expect(module.snapshot()).toEqual({ floor: 9, delivered: [10] });
  module.receive(1, 3, 'm3', null);
  expect(group.delivered[0]).toHaveLength(10);
  module.note(11);
  expect(module.hasDelivered(11)).toBe(true);
});
