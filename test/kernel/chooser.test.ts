/** Choosers: drawn from a seed, or walked one after the other with none left out and none twice. */
import { describe, expect, it } from 'vitest';
import * as fc from 'fast-check';
import { EnumeratingChooser, SeededChooser } from '../../src/kernel/index.ts';
import type { Chooser } from '../../src/kernel/index.ts';

function walkAll(run: (chooser: Chooser) => number[]): number[][] {
  const all = new EnumeratingChooser();
  const walked: number[][] = [];
  do walked.push(run(all));
  while (all.next());
  return walked;
}

/** A program whose next bound depends on all choices so far: a tree given by what it asks at each path, 0 for a leaf. */
function boundAt(path: readonly number[], salt: number): number {
  if (path.length >= 5) return 0;
  return path.reduce((sum, choice) => Math.imul(sum ^ (choice + 1), 0x9e3779b1) >>> 7, salt) % 4;
}

function pathsOf(salt: number, path: readonly number[] = []): number[][] {
  const bound = boundAt(path, salt);
  if (bound === 0) return [[...path]];
  return Array.from({ length: bound }, (_, choice) => pathsOf(salt, [...path, choice])).flat();
}

function choices(seed: number): number[] {
  const chooser = new SeededChooser(seed);
  return Array.from({ length: 20 }, () => chooser.below(1000));
}

describe('an enumeration', () => {
  it('of a fixed number of choices counts like a clock', () => {
    expect(walkAll((chooser) => [chooser.below(2), chooser.below(3)])).toEqual([
      [0, 0],
      [0, 1],
      [0, 2],
      [1, 0],
      [1, 1],
      [1, 2],
    ]);
  });

  it('visits each sequence exactly once where bounds and depth depend on earlier choices', () => {
    fc.assert(
      fc.property(fc.nat({ max: 1e6 }), (salt) => {
        const walked = walkAll((chooser) => {
          const path: number[] = [];
          for (let bound = boundAt(path, salt); bound > 0; bound = boundAt(path, salt)) path.push(chooser.below(bound));
          return path;
        });
        expect(walked).toEqual(pathsOf(salt));
      }),
    );
  });

  it('of a run without choices is one run', () => {
    expect(walkAll(() => [])).toEqual([[]]);
  });

  it('does not branch where there is only one choice', () => {
    expect(walkAll((chooser) => [chooser.below(1), chooser.below(2), chooser.below(1)])).toEqual([
      [0, 0, 0],
      [0, 1, 0],
    ]);
  });

  it('notices a run that asks another question the second time', () => {
    let runs = 0;
    expect(() => walkAll((chooser) => [chooser.below(runs++ === 0 ? 3 : 2), chooser.below(2)])).toThrow(
      'depth 0 changed from 3 to 2: the run is not deterministic',
    );
  });

  it('notices a run that ends before the choice it was started for', () => {
    let runs = 0;
    expect(() => walkAll((chooser) => (runs++ === 0 ? [chooser.below(2), chooser.below(2)] : [chooser.below(2)]))).toThrow(
      'ended after 1 choices and was to take 2: the run is not deterministic',
    );
  });

  it.each([0, -1, 1.5, NaN])('refuses the bound %d', (bound) => {
    expect(() => new EnumeratingChooser().below(bound)).toThrow('positive safe integer');
  });
});

describe('a seeded chooser', () => {
  it('makes the same choices from the same seed, and others from another', () => {
    expect(choices(9)).toEqual(choices(9));
    expect(choices(9)).not.toEqual(choices(10));
  });
});
