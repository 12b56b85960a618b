/** Counters of what must happen at least once. */
import { describe, expect, it } from 'vitest';
import { Sometimes } from '../../src/check/index.ts';

const declared = [
  { name: 'renewed', description: 'a lease was renewed' },
  { name: 'contended', description: 'two asked at once' },
];

describe('sometimes', () => {
  it('names what was never reached, in the order of declaration', () => {
    const sometimes = new Sometimes(declared);
    expect(sometimes.unreached()).toEqual(declared);
    sometimes.bump('renewed');
    expect(sometimes.unreached()).toEqual([declared[1]]);
    expect(sometimes.count('renewed')).toBe(1);
  });

  it('refuses a name that was not declared, and one declared twice', () => {
    const refusal = expect.objectContaining({ code: 'TENURE_BAD_ARGUMENT' });
    expect(() => new Sometimes(declared).bump('renewd')).toThrow(refusal);
    expect(() => new Sometimes(declared).count('toString')).toThrow(refusal);
    expect(() => new Sometimes([...declared, ...declared])).toThrow(refusal);
  });

  it('adds up runs, given as counters or as JSON', () => {
    const sometimes = new Sometimes(declared);
    sometimes.bump('renewed');
    const other = new Sometimes(declared);
    other.bump('renewed');
    other.bump('contended');
    sometimes.merge(other);
    sometimes.merge(JSON.parse(JSON.stringify(other)) as Record<string, number>);
    expect(sometimes.toJSON()).toEqual({ renewed: 3, contended: 2 });
  });

  it('merges all of a run or nothing', () => {
    const sometimes = new Sometimes(declared);
    expect(() => sometimes.merge({ renewed: 1, other: 1 })).toThrow('never declared');
    expect(sometimes.count('renewed')).toBe(0);
  });

  it('writes the same JSON whatever the order of declaration', () => {
    expect(JSON.stringify(new Sometimes(declared))).toBe('{"contended":0,"renewed":0}');
    expect(JSON.stringify(new Sometimes([...declared].reverse()))).toBe('{"contended":0,"renewed":0}');
  });
});
