/** The stage: actions as text, what it refuses, and that it does nothing by itself. */
import { describe, expect, test } from 'vitest';
import { formatAction, parseAction, type AnyStage, type Settings } from '../../src/sim/index.ts';
import { stageOf } from '../support/kits.ts';

const NAMES = ['a', 'b', 'p'];

function open(protocol: string, settings: Settings = {}, mutant: string | null = null): AnyStage {
  const stage = stageOf(protocol).open(settings, mutant);
  stage.startAll();
  return stage;
}

function play(stage: AnyStage, ...lines: string[]): void {
  for (const line of lines) stage.line(line);
}

test.each([
  'acquire p x 2s',
  "acquire p 'a name' 2s wait 3s keep",
  'deliver p→a PROPOSE #3',
  'drop a→p ACCEPTED #1',
  'duplicate p→b RELEASE #2',
  'crash b',
  'restart b',
  'restart b disk kept',
  'pause p',
  'resume p',
  'sleep a',
  'awake a',
  'advance 1.5s',
  'advance 2m30s',
  'wake p choosing 3,0',
  'set p -2s',
  'set p +250ms',
  'rate a 100000ppm',
  'rate a -20ppm',
  'answer p #1',
  'fail p #2',
  'effect p #2',
  'answer p #1 finding b #2',
  'answer p #1 finding nothing',
  'answer p all',
  'crash p after 2',
  'drop all',
  'settle 20s',
  'settle 20s choosing 7',
  'settle 20s out of order choosing 7',
  'settle 20s out of order giving back after 500ms asking again after 50ms',
  'delay p→a PROPOSE #2 1.5s',
  'settle 20s giving back after 500ms',
  'settle 20s asking again after 50ms',
  'settle 1m30s giving back after 0s asking again after 50ms choosing 7',
])('%s is read and written back as it is', (line) => {
  expect(formatAction(parseAction(line, NAMES), NAMES)).toBe(line);
});

test('an arrow may be typed, and the first of its kind need not be numbered', () => {
  expect(parseAction('deliver p->a PROPOSE', NAMES)).toEqual(parseAction('deliver p→a PROPOSE #1', NAMES));
});

test.each([
  ['deliver p PROPOSE', 'a message is written like'],
  ['crash z', "there is no node 'z'; there are a, b, p"],
  ['answer p 1', 'which one is written like #1'],
  ['delay p→a PROPOSE #1', "cannot use '' as a duration"],
  ['settle 20s in order', "cannot use '20s in order' as a duration"],
  ['', 'there is nothing in it'],
])("'%s' is refused: %s", (line, why) => {
  expect(() => parseAction(line, NAMES)).toThrow(why);
});

describe('on a stage', () => {
  test('a majority of votes is a lease, and nothing is delivered that was not told to be', () => {
    const stage = open('quorum');
    play(stage, 'acquire p x 2s', 'deliver p→a PROPOSE', 'deliver p→b PROPOSE', 'deliver a→p ACCEPTED');
    const notes = stage.line('deliver b→p ACCEPTED');
    expect(notes.map(({ text }) => text)).toContain('p is told: granted (lease 1)');
    expect(stage.underWay).toHaveLength(1);
  });

  test('time stands still until it is moved, and wakes nobody', () => {
    const stage = open('quorum');
    play(stage, 'acquire p x 2s');
    expect(() => stage.line('wake p')).toThrow('it does not want to be woken yet');
    play(stage, 'advance 2s');
    expect(stage.wakesInUs(stage.names.indexOf('p'))).toBeLessThanOrEqual(0);
    expect(stage.underWay).toHaveLength(3);
    play(stage, 'wake p');
    expect(stage.underWay.length).toBeGreaterThan(3);
  });

  test('what cannot be done is refused with the reason', () => {
    const stage = open('quorum');
    play(stage, 'acquire p x 2s', 'crash a', 'pause b');
    expect(() => stage.line('deliver p→a PROPOSE')).toThrow('a is down');
    expect(() => stage.line('deliver p→b PROPOSE')).toThrow('b is paused');
    expect(() => stage.line('deliver p→c PROPOSE #2')).toThrow('only 1 of them were sent');
    expect(() => stage.line('start b')).toThrow('it is up');
    expect(() => stage.line('release q x')).toThrow('this node has asked for no');
    expect(() => stage.line('dance p')).toThrow("'dance' is nothing");
    play(stage, 'restart a', 'resume b', 'deliver p→b PROPOSE', 'deliver p→a PROPOSE');
    expect(stage.describe({ from: 0, to: 3, label: 'REFUSED', ordinal: 1 })).toContain('silent');
  });

  test('a copy is delivered like the original', () => {
    const stage = open('quorum', {}, 'count-messages');
    play(stage, 'acquire p x 2s', 'deliver p→a PROPOSE', 'duplicate a→p ACCEPTED', 'deliver a→p ACCEPTED');
    expect(stage.line('deliver a→p ACCEPTED').map(({ text }) => text)).toContain('p is told: granted (lease 1)');
  });

  test('referees see a wall clock that is set, a machine that sleeps and clocks that drift', () => {
    const stage = open('quorum', {}, 'holder-ignores-wall-clock');
    play(stage, 'acquire p x 2s', 'deliver p→a PROPOSE', 'deliver p→b PROPOSE', 'deliver a→p ACCEPTED', 'deliver b→p ACCEPTED');
    play(stage, 'sleep p', 'advance 3s', 'awake p', 'acquire q x 2s', 'deliver q→a PROPOSE', 'deliver q→b PROPOSE');
    play(stage, 'deliver a→q ACCEPTED', 'deliver b→q ACCEPTED');
    expect(stage.violations[0]?.property).toBe('exclusion');
  });

  test('a crash in the middle of a step lets only its first effects out', () => {
    const stage = open('quorum');
    play(stage, 'crash p after 2', 'acquire p x 2s');
    expect(stage.underWay.map(({ to }) => stage.names[to])).toEqual(['a', 'b']);
    expect(stage.isUp(stage.names.indexOf('p'))).toBe(false);
    // The vote is out, and a has crashed before it could do anything else.
    play(stage, 'crash a after 0', 'deliver p→a PROPOSE');
    expect(stage.underWay).toHaveLength(1);
  });

  test('a read finds what a regular register allows, and nothing else', () => {
    const stage = open('register');
    play(stage, 'write p k old', 'answer p #1', 'write p k new', 'read q k', 'read q k', 'effect p #2');
    const found = (line: string): unknown => stage.line(line).find(({ kind }) => kind === 'recorded')?.record;
    expect(() => stage.line('answer q #1 finding nothing')).toThrow('no regular register answers that');
    expect(found('answer q #1 finding p #1')).toMatchObject({ value: 'old' });
    expect(found('answer q #2 finding p #2')).toMatchObject({ value: 'new' });
    play(stage, 'answer p #2', 'read q k');
    expect(() => stage.line('answer q #3 finding p #1')).toThrow('no regular register answers that');
    expect(stage.violations).toEqual([]);
  });

  test('a vote that was on its way to the disk is not there after a crash', () => {
    const stage = open('quorum', { keeps: 'votes' });
    const written = (): string[] => stage.line('restart a disk kept').flatMap(({ kind, text }) => (kind === 'asked' ? [text] : []));
    play(stage, 'answer a all', 'acquire p x 2s', 'deliver p→a PROPOSE', 'crash a');
    expect(written()).toEqual(['a #5: read head of its disk', 'a #6: read floor of its disk']);
    expect(stage.line('answer a all').some(({ text }) => text.includes('vote/0'))).toBe(false);
    play(stage, 'deliver p→b PROPOSE');
    expect(() => stage.line('answer a #2')).toThrow('there is no such access under way');
  });

  test('where all goes well a waiting request is granted, and one that is not is missed', () => {
    const stage = open('quorum');
    play(stage, 'acquire p x 1s wait 60s', 'acquire q x 1s wait 60s keep', 'settle 10s');
    expect(stage.holdersOf('x')).toEqual([stage.names.indexOf('q')]);
    expect(stage.nowUs).toBe(10_000_000);
    expect(stage.violations).toEqual([]);
    // Nobody can be granted anything within less than a round trip.
    play(stage, 'crash q', 'restart q', 'acquire q y 1s', 'settle 1us');
    expect(stage.violations.map(({ property }) => property)).toEqual(['liveness']);
  });

  const grantsOf = (stage: AnyStage, line: string): string[] =>
    stage.line(line).flatMap(({ record }) => (record?.kind === 'granted' ? [stage.names[Number(record.node)] ?? ''] : []));

  test('where everybody gives back, everybody has their turn', () => {
    const stage = open('quorum', { proposers: '3' });
    play(stage, 'acquire p x 1s wait 60s keep', 'acquire q x 1s wait 60s keep', 'acquire r x 1s wait 60s keep');
    expect(grantsOf(stage, 'settle 10s giving back after 100ms').toSorted()).toEqual(['p', 'q', 'r']);
    expect(stage.holdersOf('x')).toEqual([]);
    expect(stage.violations).toEqual([]);
  });

  test('who is refused and asks again is granted it in the end, and asks no more', () => {
    const stage = open('quorum');
    play(stage, 'acquire p x 1s', 'acquire q x 1s');
    expect(grantsOf(stage, 'settle 10s giving back after 100ms asking again after 50ms').toSorted()).toEqual(['p', 'q']);
    expect(stage.violations).toEqual([]);
  });

  test('who held it when all began to go well wants it once more, and gives it back again', () => {
    const stage = open('quorum');
    play(stage, 'acquire p x 1s keep');
    for (const node of ['a', 'b', 'c']) play(stage, `deliver p→${node} PROPOSE`, `deliver ${node}→p ACCEPTED`);
    expect(stage.holdersOf('x')).toEqual([3]);
    expect(grantsOf(stage, 'settle 10s giving back after 100ms asking again after 50ms')).toEqual(['p']);
    expect(stage.holdersOf('x')).toEqual([]);
  });

  test('one that starves beside others is missed where all give back, and only there', () => {
    const lines = ['acquire p x 1s keep', 'acquire q x 1s'] as const;
    // By the end nobody has given anything back.
    const fair = open('quorum');
    play(fair, ...lines, 'settle 2s giving back after 5s asking again after 50ms');
    expect(fair.violations.map(({ property, message }) => `${property}: ${message}`)).toEqual([
      'liveness: node 4#5 asks for "x" since 0s; all went well for 2s, and others were granted it, but it never was',
    ]);
    const unfair = open('quorum');
    play(unfair, ...lines, 'settle 2s asking again after 50ms');
    expect(unfair.holdersOf('x')).toEqual([3]);
    expect(unfair.violations).toEqual([]);
  });

  test('a delayed message arrives when it was said to, and is not dropped with all others', () => {
    const stage = open('quorum');
    play(stage, 'acquire p x 1s', 'delay p→a PROPOSE 20ms', 'delay p→b PROPOSE #1 30ms', 'drop all');
    expect(stage.underWay.map(({ to }) => stage.names[to])).toEqual(['a', 'b']);
    // A quorum has answered half of the round trip of 2 ms after the second of them.
    const granted = stage.line('settle 10s').find(({ record }) => record?.kind === 'granted');
    expect(granted?.atUs).toBe(31_000);
  });

  test('out of order, what was sent later may arrive sooner, by dice', () => {
    const outcomes = (how: string): string[] =>
      Array.from({ length: 8 }, (_, die) => {
        const stage = open('quorum');
        play(stage, 'acquire p x 1s', 'acquire q x 1s');
        return grantsOf(stage, `settle 10s${how} choosing ${die}`)[0] ?? 'nobody';
      });
    // p was first; q is, too, where the order of messages is another. All dice give the same outcome every time.
    expect(new Set(outcomes(''))).toEqual(new Set(['p']));
    expect(new Set(outcomes(' out of order'))).toEqual(new Set(['p', 'q']));
    expect(outcomes(' out of order')).toEqual(outcomes(' out of order'));
  });

  test('who acts again and again at one instant makes no progress', () => {
    const stage = open('quorum', {}, 'silence-by-wall-clock');
    const notes = (play(stage, 'crash a', 'restart a', 'set a -1s'), stage.line('settle 10s'));
    expect(notes.find(({ kind }) => kind === 'settled')?.text).toMatch(/^time stands still: .* timers fire$/);
    expect(stage.violations.map(({ property }) => property)).toEqual(['liveness']);
  });

  test('where there is nothing to give back, nobody does', () => {
    expect(() => open('register').line('settle 1s giving back after 1s')).toThrow('nothing to give back');
    expect(() => open('toy').line('settle 1s asking again after 1s')).toThrow('nothing to give back or to ask for again');
  });

  test('all can go well only with everybody there', () => {
    const stage = open('quorum');
    play(stage, 'crash a');
    expect(() => stage.line('settle 1s')).toThrow('a is down');
    play(stage, 'restart a', 'pause b');
    expect(() => stage.line('settle 1s')).toThrow('b is paused');
    play(stage, 'resume b', 'twin p');
    expect(() => stage.line('settle 1s')).toThrow("p' is still there");
  });

  test('storage answers when told, and a restart forgets what the disk had', () => {
    const stage = open('register');
    play(stage, 'write p k hello', 'answer p #1', 'read q k');
    const [note] = stage.line('answer q #1').filter(({ kind }) => kind === 'recorded');
    expect(note?.record).toMatchObject({ kind: 'responded', value: 'hello' });
  });
});
