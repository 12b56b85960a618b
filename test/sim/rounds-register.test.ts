/** F1: the lemmas R1–R5 of the round-based register, in every small world to its end and in a sample of large ones, and each of them broken. */
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { deriveSeed } from '../../src/kernel/index.ts';
import { roundsRegisterProtocol } from '../../src/sim/protocols/rounds-register/protocol.ts';
import { exploring, type Exploration, type Exploring } from '../../src/sim/index.ts';
import { exploringOf, kitNamed, roundsRegisterWorld, stageOf, type SomeBounds } from '../support/kits.ts';
import { replaySwapped } from './swapped-core.ts';

const SLOW = 120_000;
const page = readFileSync(new URL('../../docs/research/mutants.md', import.meta.url), 'utf8');
const register = exploringOf('rounds-register');
const swarm = kitNamed('rounds-register');

function explore(bounds: SomeBounds, mutant: string | null = null, which: Exploring = register): Exploration {
  return which.explore({ ...which.usual, ...bounds }, mutant, { maxStates: 5_000_000, isOver: () => false });
}

const CALM: SomeBounds = { crashes: 0, duplicates: 0 };

describe('the round-based register', () => {
  test(
    'keeps R1 to R5 in small worlds seen to their end: with copies and a crash, alone or with two stores, and with three',
    () => {
      for (const bounds of [{ clients: 1 }, { stores: 2 }, CALM]) {
        expect(explore(bounds)).toMatchObject({ exhausted: true, found: null });
      }
    },
    SLOW,
  );

  test(
    'keeps R1 to R5 in large worlds, in which everything happens',
    () => {
      const counts: Record<string, number> = {};
      for (let seed = 1; seed <= 100; seed++) {
        const { violations, sometimes } = swarm.run(seed, null);
        expect({ seed, violations }).toEqual({ seed, violations: [] });
        for (const [name, count] of Object.entries(sometimes)) counts[name] = (counts[name] ?? 0) + count;
      }
      for (const name of ['read-commit', 'write-commit', 'read-abort', 'write-abort', 'read-of-value', 'write-back']) {
        expect({ name, often: (counts[name] ?? 0) > 100 }).toEqual({ name, often: true });
      }
    },
    SLOW,
  );
});

const DEATHS = [
  { mutant: 'read-below', bounds: CALM, lemma: 'R3', steps: 10 },
  { mutant: 'read-not-kept', bounds: CALM, lemma: 'R3', steps: 10 },
  { mutant: 'read-copy-refused', bounds: { crashes: 0 }, lemma: 'R1', steps: 7 },
  { mutant: 'read-copy-blind', bounds: { crashes: 0 }, lemma: 'R4', steps: 14 },
  { mutant: 'write-below', bounds: CALM, lemma: 'R5', steps: 15 },
  { mutant: 'write-copy-refused', bounds: { crashes: 0 }, lemma: 'R2', steps: 12 },
  { mutant: 'write-without-ballot', bounds: CALM, lemma: 'R5', steps: 15 },
  { mutant: 'any-answer', bounds: CALM, lemma: 'R5', steps: 15 },
  { mutant: 'count-messages', bounds: { crashes: 0 }, lemma: 'R3', steps: 10 },
  { mutant: 'nack-is-vote', bounds: CALM, lemma: 'R3', steps: 10 },
  { mutant: 'no-restart-silence', bounds: { duplicates: 0 }, lemma: 'R3', steps: 12 },
];

test('every mutant is broken below, and every lemma by one', () => {
  expect(DEATHS.map(({ mutant }) => mutant)).toEqual(swarm.mutants.map(({ name }) => name));
  expect(new Set(DEATHS.map(({ lemma }) => lemma)).size).toBe(5);
});

test.each(DEATHS)('$mutant breaks in the swarm as the page of mutants says', ({ mutant }) => {
  const row = new RegExp(`\\| (R\\d) \\| \\d+ \\| \`tenure sim rounds-register --replay (\\d+) --mutant ${mutant}\` \\|$`, 'm').exec(page);
  expect(row, `npm run docs:mutants writes a row for ${mutant}`).not.toBeNull();
  const [, lemma, seed] = row as RegExpExecArray;
  expect(swarm.run(Number(seed), mutant).violations[0]?.property).toBe(lemma);
});

test('a core built from the snapshot of another goes on where that one was', () => {
  let all = 0;
  for (let run = 0; run < 10; run++) {
    const { run: result, swaps } = replaySwapped(roundsRegisterProtocol, deriveSeed(5, run), 40);
    expect(result.violations).toEqual([]);
    all += swaps;
  }
  expect(all).toBeGreaterThan(100);
});

describe.each(DEATHS)('with $mutant', ({ mutant, bounds, lemma, steps }) => {
  test(
    `${lemma} is broken by a short script, which the product survives`,
    () => {
      const { found } = explore(bounds, mutant);
      if (!found) throw new Error('nothing was found');
      expect([found.violation.property, found.lines.length]).toEqual([lemma, steps]);
      const product = stageOf('rounds-register').open(found.settings, null);
      product?.startAll();
      for (const { line } of found.lines) {
        try {
          product?.line(line);
        } catch {
          // The product does not send what the mutant sends.
        }
      }
      expect(product?.violations).toEqual([]);
    },
    SLOW,
  );
});

describe('what is left out makes no difference', () => {
  test.each([
    { what: 'that stores are alike', world: { alike: () => 0 } },
    { what: 'messages nobody listens to', world: { isDead: () => false } },
    { what: 'the end, when nobody asks any more', world: { asksNothing: () => false } },
  ] satisfies { what: string; world: Partial<typeof roundsRegisterWorld> }[])(
    'without using $what, more states come to the same',
    ({ world }) => {
      const slower = exploring({ ...roundsRegisterWorld, ...world });
      const bounds = { stores: 2, crashes: 0 };
      const [with_, without] = [explore(bounds), explore(bounds, null, slower)];
      expect(without).toMatchObject({ exhausted: true, found: null });
      expect(without.states).toBeGreaterThan(with_.states);
      expect(explore(bounds, 'any-answer', slower).depth).toBe(explore(bounds, 'any-answer').depth);
    },
    SLOW,
  );
});
