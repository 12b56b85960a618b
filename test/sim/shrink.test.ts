/** Shrinking: a seed that breaks something becomes a short script in which the same thing breaks, the same every time. */
import { describe, expect, it } from 'vitest';
import { deriveSeed } from '../../src/kernel/index.ts';
import { runScript, type Shrunk } from '../../src/sim/index.ts';
import { reduceList } from '../../src/sim/shrink/ddmin.ts';
import { milderPlans } from '../../src/sim/shrink/milder.ts';
import { drawFaults, noFaults } from '../../src/sim/faults.ts';
import { SeededChooser } from '../../src/kernel/index.ts';
import { sized } from '../support/sizes.ts';
import { asText, failingSeed, PATIENT, shrinkerOf, soon } from '../support/shrinking.ts';

function shrink(protocol: string, mutant: string | null, property: string, watch = PATIENT): Shrunk {
  return shrinkerOf(protocol).shrink(failingSeed(protocol, mutant, property), mutant, watch) as Shrunk;
}

describe('a failing seed', { timeout: 120_000 }, () => {
  it('of the toy becomes a script of at most 15 steps, the same every time', () => {
    const shrunk = shrink('toy', null, 'exclusion');
    expect(shrunk.script?.lines.length).toBeLessThanOrEqual(15);
    expect(shrunk.script?.violation.property).toBe('exclusion');
    expect(shrink('toy', null, 'exclusion')).toEqual(shrunk);
    expect(runScript(asText('toy', null, shrunk)).failures).toEqual([]);
  });

  it.each([
    ['nack-counts', 'exclusion'],
    ['flag-not-clock', 'deadline'],
  ])('of the quorum engine without %s becomes a script that breaks %s, and leaves the product whole', (mutant, property) => {
    const shrunk = shrink('quorum', mutant, property, sized(soon(600), PATIENT));
    expect(shrunk.script?.lines.length).toBeLessThanOrEqual(15);
    const { failures, changes } = runScript(asText('quorum', mutant, shrunk));
    expect({ failures, changes }).toEqual({ failures: [], changes: [] });
  });

  it('that breaks nothing is not shrunk', () => {
    expect(shrinkerOf('quorum').shrink(deriveSeed(1, 0), null, PATIENT)).toBeNull();
  });

  it('that misses progress becomes a script at whose end all goes well', () => {
    const [protocol, mutant] = ['paxoslease', 'majority-empty-ignored'];
    const shrunk = shrink(protocol, mutant, 'liveness');
    expect(shrunk.script?.lines.length).toBeLessThanOrEqual(15);
    expect(shrunk.script?.lines.at(-1)).toMatch(/^settle /);
    const { failures, changes } = runScript(asText(protocol, mutant, shrunk));
    expect({ failures, changes }).toEqual({ failures: [], changes: [] });
  });

  it('that misses progress only while users of one process come and go becomes a script, too', () => {
    const [mutant, seed] = ['own-handles-confused', 4597600164221029];
    const shrunk = shrinkerOf('quorum').shrink(seed, mutant, soon(sized(300, 500))) as Shrunk;
    expect(shrunk.script?.lines.at(-1)).toMatch(/^settle /);
    expect(runScript(asText('quorum', mutant, shrunk)).failures).toEqual([]);
  });

  it('of which nobody would read the script has none until there is time for a shorter one', () => {
    const seed = 604908772561250;
    const shrunk = shrinkerOf('quorum').shrink(seed, 'release-by-owner', soon(100)) as Shrunk;
    expect(shrunk.script).toBeNull();
    expect(shrunk.story.length).toBeGreaterThan(500);
  });

  it('is not made smaller by what breaks the product as well', () => {
    // Without disks that are kept, no floor is: then tokens fall with all rules in force.
    const shrunk = shrinkerOf('quorum').shrink(
      failingSeed('quorum', 'floor-not-kept', 'fencing'),
      'floor-not-kept',
      soon(sized(500, 1500)),
    ) as Shrunk;
    const { failures } = runScript(asText('quorum', 'floor-not-kept', shrunk));
    expect(failures).toEqual([]);
  });

  it('of a process that lives on beside its successor becomes a script with a twin', () => {
    const [mutant, seed] = ['own-vote-skips-silence', 700000601845];
    const shrunk = shrinkerOf('quorum').shrink(seed, mutant, soon(250)) as Shrunk;
    expect(shrunk.script?.lines.filter((line) => line.startsWith('twin '))).toHaveLength(1);
    const { failures, changes } = runScript(asText('quorum', mutant, shrunk));
    expect({ failures, changes }).toEqual({ failures: [], changes: [] });
  });

  it.each([60, 100, 150])('becomes a script that can be run after %i tries', (tries) => {
    const [mutant, seed] = ['owner-is-node', 489618173663379];
    const shrunk = shrinkerOf('quorum').shrink(seed, mutant, soon(tries)) as Shrunk;
    expect(runScript(asText('quorum', mutant, shrunk)).failures).toEqual([]);
  });

  it('is given back as it is when there is no time', () => {
    const seed = failingSeed('toy', null, 'exclusion');
    const shrunk = shrinkerOf('toy').shrink(seed, null, { ...PATIENT, outOfTime: () => true }) as Shrunk;
    expect(shrunk.events).toBe(shrunk.eventsBefore);
    expect(shrunk.violation.property).toBe('exclusion');
  });

  it.each([0, 40, 120])('is tried no more when %i tries have used up the time, and what is best by then is given', (triesMax) => {
    const seed = failingSeed('quorum', 'nack-counts', 'exclusion');
    let tries = 0;
    const watch = { tried: (): void => void tries++, outOfTime: (share = 1): boolean => tries >= triesMax * share };
    const shrunk = shrinkerOf('quorum').shrink(seed, 'nack-counts', watch) as Shrunk;
    expect(tries).toBe(triesMax);
    expect(shrunk.script?.violation.property ?? shrunk.violation.property).toBe('exclusion');
    expect(shrunk.script === null).toBe(shrunk.story.length > 0);
  });
});

describe('a list is reduced', () => {
  const numbers = Array.from({ length: 100 }, (_, i) => i);

  it('to the items that are needed, in their order', () => {
    const needed = [3, 41, 42, 97];
    expect(reduceList(numbers, (list) => needed.every((one) => list.includes(one)))).toEqual(needed);
  });

  it('to nothing where nothing is needed', () => {
    expect(reduceList(numbers, () => true)).toEqual([]);
  });

  it('until no single item can go', () => {
    const passes = (list: readonly number[]): boolean => list.length >= 7 || list.length === 3;
    const kept = reduceList(numbers, passes);
    expect(kept.every((_, i) => !passes(kept.toSpliced(i, 1)))).toBe(true);
  });
});

describe('a milder plan', () => {
  it('lacks one kind of fault and has the others', () => {
    const plan = drawFaults(new SeededChooser(5), { termUs: 1_000_000, ratePpmMax: 1000, offsetUsMax: 1000 });
    for (const { faults } of milderPlans(plan)) expect(faults).not.toEqual(plan);
    expect(milderPlans(plan).length).toBeGreaterThan(3);
  });

  it('of a calm world on machines that just came up does not exist', () => {
    expect(milderPlans({ ...noFaults(), uptimeUsMax: 0 })).toEqual([]);
  });
});
