/** How what applications tell becomes a history: holds end by their holders' clocks, in worlds and on stages alike. */
import { describe, expect, test } from 'vitest';
import { monoUs, wallUs } from '../../src/kernel/index.ts';
import { ExclusionReferee, type HistoryRecord } from '../../src/check/index.ts';
import { Chronicle } from '../../src/sim/chronicle.ts';
import { runScript } from '../../src/sim/index.ts';

/** A chronicle whose clocks are set by hand, and what it wrote. */
function chronicle(wallsGoBack: boolean): {
  readonly clocks: { mono: number; wall: number };
  readonly written: HistoryRecord[];
  readonly it: Chronicle;
} {
  const clocks = { mono: 0, wall: 0 };
  const written: HistoryRecord[] = [];
  const told = { now: () => 0, monoOf: () => monoUs(clocks.mono), wallOf: () => wallUs(clocks.wall), wallsGoBack };
  return { clocks, written, it: new Chronicle([new ExclusionReferee()], told, (record) => void written.push(record)) };
}

const GRANTED = { kind: 'granted', resource: 'x', request: 1, token: 7, deadline: { monoUs: monoUs(100), wallUs: wallUs(100) } } as const;

describe('a hold that is over by the wall clock alone', () => {
  test('is over, where wall clocks go forward', () => {
    const { clocks, written, it } = chronicle(false);
    it.report(3, 1, GRANTED);
    clocks.wall = 100;
    expect(it.holdersOf('x')).toEqual([]);
    expect(written.at(-1)).toMatchObject({ kind: 'ended', node: 3, token: 7, reason: 'deadline' });
  });

  test('is not over where wall clocks are set back, until its holder says so or its monotonic clock does', () => {
    const { clocks, written, it } = chronicle(true);
    it.report(3, 1, GRANTED);
    clocks.wall = 100;
    expect(it.holdersOf('x')).toEqual([3]);
    clocks.wall = 40;
    it.report(3, 1, { kind: 'used', resource: 'x', token: 7 });
    expect(written.map(({ kind }) => kind)).toEqual(['granted', 'used']);
    expect(written.at(-1)).toMatchObject({ remainingUs: 60 });
    clocks.mono = 100;
    expect(it.holdersOf('x')).toEqual([]);
    expect(written.at(-1)).toMatchObject({ kind: 'ended', reason: 'deadline' });
  });

  const lines = ['acquire p x 3s', 'deliver all', 'set p +4s', 'expect p holds x', 'set p -4s', 'use p x', 'expect p holds x'];

  test('is not over on a stage on which wall clocks are set back: its holder uses it when the clock shows less again', () => {
    const { failures, text } = runScript(`stage quorum back=yes\nstart\n${lines.join('\n')}\n`);
    expect(failures).toEqual([]);
    expect(text).toContain('p uses x, 3s before its deadline');
  });

  test('is over on a stage that says nothing of it', () => {
    const { failures } = runScript(`stage quorum\nstart\n${lines.slice(0, 4).join('\n')}\n`);
    expect(failures).toEqual(['line 6: x is held by nobody']);
  });
});
