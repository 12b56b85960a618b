/** No integer is granted twice, whatever happens to messages, writes and disks. */
import { expect, it } from 'vitest';
import { RoughWorld, type RoughHabits } from './rough-world.ts';

it.each<[string, RoughHabits]>([
  ['members and claimants that crash between any two writes', { crashes: 6, bootstraps: 0, losses: 0 }],
  ['disks that are lost, and whoever bootstraps again', { crashes: 3, bootstraps: 1, losses: 50 }],
])('nothing is granted twice, and everybody is served in the end: %s', (_what, habits) => {
  let grants = 0;
  for (let seed = 1; seed <= 12; seed++) {
    const world = new RoughWorld(seed, habits).run(5000);
    expect([seed, world.twice]).toEqual([seed, []]);
    expect([seed, world.heals()]).toEqual([seed, true]);
    expect([seed, world.twice]).toEqual([seed, []]);
    grants += world.granted.length;
  }
  expect(grants).toBeGreaterThan(250);
});
