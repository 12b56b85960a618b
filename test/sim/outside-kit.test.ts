/** A protocol that stands outside this repository: the tutorial's files, compiled against the built package, make a kit that is on no list. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { projectOf } from '../docs/pages.ts';
import { removeProjects, run } from '../support/project.ts';

afterAll(removeProjects);

describe('the tutorial of docs/research/simulator.md', () => {
  let output = '';
  beforeAll(() => {
    output = run(projectOf('docs/research/simulator.md'), 'run.js');
  }, 120_000);

  it('is simulated: the planted bugs are found, and nothing without them', () => {
    expect(output).toMatch(/^as it should be: \d+ events, \d+ loans, 0 of 2000 worlds with a violation, never reached: nothing$/m);
    expect(output).toMatch(/^term-from-answer: \d+ events, \d+ loans, [1-9]\d* of 2000 worlds with a violation/m);
    expect(output).toMatch(/^any-answer: \d+ events, \d+ loans, [1-9]\d* of 2000 worlds with a violation/m);
    expect(output).toMatch(/^one-holder: node \d got the-book while node \d had it$/m);
  });

  it('is shrunk: each bug becomes a short script, which breaks the same and is as it was written when it is run again', () => {
    expect([...output.matchAll(/^stage lender .*mutant=(\S+) breaks=one-holder$/gm)].map(([, mutant]) => mutant)).toEqual([
      'term-from-answer',
      'any-answer',
    ]);
    const runs = [...output.matchAll(/^(\d+) lines; run again: 0 failures, 0 changes$/gm)].map(([, lines]) => Number(lines));
    expect(runs).toHaveLength(2);
    expect(Math.max(...runs)).toBeLessThanOrEqual(10);
  });

  it('is scripted: a script by hand says who holds the book', () => {
    expect(output).toMatch(
      /^expect a holds the-book\n----\n(?:.*\n)*?0s +a HOLDS the-book for 1s on its own clock, token 1\n0s +b→l ask #1/m,
    );
    expect(output).not.toContain('not so:');
  });

  it('is explored: the small world is clean to its end, and the bug of a mutant is in it', () => {
    expect(output).toMatch(/^as it should be: \d{4} states, exhausted, clean$/m);
    expect(output).toMatch(/^any-answer: \d+ states, one-holder$/m);
  });
});
