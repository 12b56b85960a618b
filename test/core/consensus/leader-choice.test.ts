/** I4, task Transform: Ω out of ◇S. */
import { describe, expect, it } from 'vitest';
import { Random } from '../../../src/kernel/index.ts';
import { LeaderChoice } from '../../../src/core/index.ts';

const nobody = (): boolean => false;

describe('a leader', () => {
  it('is the first member at first', () => {
    expect(new LeaderChoice(5).leader).toBe(0);
  });

  it('that is suspected makes way for the first that is not', () => {
    const choice = new LeaderChoice(3);
    expect(choice.accuse((member) => member < 2)).toBe(true);
    expect(choice.leader).toBe(2);
    expect(choice.accuse((member) => member < 2)).toBe(false);
  });

  it('that was accused elsewhere makes way, too', () => {
    const [one, other] = [new LeaderChoice(3), new LeaderChoice(3)];
    one.accuse((member) => member === 0);
    expect(other.merge(one.counts)).toBe(true);
    expect(other.leader).toBe(1);
    expect(other.merge(one.counts)).toBe(false);
  });

  it('does not come back only because the others are accused as often', () => {
    const choice = new LeaderChoice(3);
    choice.accuse((member) => member === 0);
    choice.accuse((member) => member === 1);
    expect(choice.leader).toBe(2);
    choice.accuse((member) => member === 2);
    expect(choice.leader).toBe(0);
  });
});

it('once detectors make no more mistakes about one member, all follow one leader for ever, and nothing has to be said any more', () => {
  for (let seed = 1; seed <= 50; seed++) {
    const random = new Random(seed);
    const members = 3 + random.below(4);
    const choices = Array.from({ length: members }, () => new LeaderChoice(members));
    const isCrashed = Array.from({ length: members }, (_, member) => member > 0 && random.below(3) === 0);
    const up = choices.filter((_, member) => !isCrashed[member]);
    const tell = (): boolean => up.map((one) => up.map((other) => one !== other && one.merge(other.counts)).some(Boolean)).some(Boolean);
    // Chaos: anybody suspects anybody but itself, and hears of some of what others say.
    for (let i = 0; i < 40; i++) {
      const self = random.below(members);
      const suspects = Array.from({ length: members }, (_, member) => member !== self && random.below(2) === 0);
      choices[self]?.accuse((member) => suspects[member] === true);
      if (random.below(3) === 0) choices[random.below(members)]?.merge(choices[self]?.counts ?? []);
    }
    // From here on only the crashed are suspected.
    let rounds = 0;
    for (let hasChanged = true; hasChanged; rounds++) {
      hasChanged = up.map((one) => one.accuse((member) => isCrashed[member] === true)).some(Boolean);
      if (tell()) hasChanged = true;
    }
    const leaders = new Set(up.map(({ leader }) => leader));
    expect(leaders.size).toBe(1);
    expect(isCrashed[[...leaders][0] as number]).toBe(false);
    expect(rounds).toBeLessThan(10 * members);
    expect(up.some((one) => one.accuse((member) => isCrashed[member] === true))).toBe(false);
  }
});

it('goes on from a snapshot', () => {
  const one = new LeaderChoice(3);
  one.accuse((member) => member === 0);
  const other = new LeaderChoice(3);
  other.restore(one.snapshot());
  expect(other.counts).toEqual(one.counts);
  expect(other.accuse(nobody)).toBe(false);
});
