/** The picture of a demo fits into any window, and what one can press is in it. */
import { describe, expect, it } from 'vitest';
import { sceneLines, type Scene } from '../../src/cli/demo/demo-screen.ts';
import type { Palette } from '../../src/cli/terminal.ts';

const same = (text: string): string => text;
const PLAIN: Palette = { bold: same, dim: same, red: same, green: same, yellow: same };

const scene: Scene = {
  nowMs: 60_000,
  elapsedMs: 59_000,
  termMs: 3000,
  members: [
    { id: 'a', address: '127.0.0.1:4601', state: 'votes', silentForMs: 0, roundTripMs: 0.42 },
    { id: 'b', address: '127.0.0.1:4602', state: 'silent', silentForMs: 1500, roundTripMs: 1 },
    { id: 'c', address: '127.0.0.1:4603', state: 'down', silentForMs: 0, roundTripMs: null },
  ],
  leases: [
    { name: 'leader', held: { who: 'east', token: 1_763_000_017_361_000, untilMs: 61_500 }, inLine: ['west'], isChosen: true },
    { name: 'jobs/report', held: null, inLine: [], isChosen: false },
  ],
  isCertain: true,
  contenders: [
    { id: 'east', doing: 'holds' },
    { id: 'west', doing: 'is paused' },
  ],
  store: { grants: 1, writes: 2, refused: 0, turnedAway: 0 },
  log: Array.from({ length: 50 }, (_, index) => ({
    atMs: index * 1000,
    event: 'granted',
    who: 'east',
    lease: 'leader',
    token: index,
    text: `happening ${index} ${'of which there is much to say '.repeat(5)}`,
    tone: 'routine' as const,
  })),
  hint: 'press k: something happens that takes a whole long sentence to explain, and then another one',
  commands: ['export TENURE_CONFIG=x', 'tenure holder leader', 'tenure watch'],
};

describe('a picture of the demo', () => {
  it.each([
    [80, 24],
    [100, 30],
    [200, 60],
    [40, 12],
    [20, 5],
  ])('fits into %i columns and %i rows', (columns, rows) => {
    const lines = sceneLines(scene, columns, rows, PLAIN);
    expect(lines.length).toBeLessThanOrEqual(rows);
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThan(columns);
  });

  it.each([
    [80, 24],
    [40, 12],
  ])('says in %i columns and %i rows how to quit', (columns, rows) => {
    expect(sceneLines(scene, columns, rows, PLAIN).join('\n')).toContain('q quit');
  });

  it('shows how long each lease lasts, and the newest happenings', () => {
    const picture = sceneLines(scene, 100, 30, PLAIN).join('\n');
    expect(picture).toMatch(/▸ leader +east +█{9}░{9} 1\.5s +…17361000 +west/);
    expect(picture).toMatch(/jobs\/report +free/);
    expect(picture).toContain('happening 49');
  });

  it('guesses nothing while there is no majority to ask', () => {
    const picture = sceneLines({ ...scene, isCertain: false }, 100, 30, PLAIN).join('\n');
    expect(picture).toContain('nobody can tell');
    expect(picture).not.toContain('free');
  });
});
