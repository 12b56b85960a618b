/** What a script may not get away with: words that nobody reads, settings that mean nothing, names that say something else. */
import { describe, expect, it } from 'vitest';
import { runScript } from '../../src/sim/index.ts';
import { polish } from '../../src/sim/shrink/polish.ts';
import type { Beat } from '../../src/sim/shrink/play.ts';
import { asDone, linesOf } from '../../src/sim/shrink/distinguishing.ts';
import { differences } from '../../src/sim/script/differences.ts';
import type { StageAction } from '../../src/sim/stage/index.ts';
import { stageOf } from '../support/kits.ts';

describe('a line', () => {
  it.each([
    ['register', 'read p k twice', "'twice'"],
    ['register', 'write p k one two', "'two'"],
    ['register', 'read p k unit 0 now', "'now'"],
    ['register', 'read p', 'needs a key'],
    ['register', 'write p k', 'needs a key and a text'],
    ['register', 'read p unit 0', "not '0'"],
    ['register', 'read p k unit', 'units are numbered'],
    ['rounds-register', 'read p 1 2', "'2'"],
    ['rounds-register', 'read p 0x1', 'a whole number'],
    ['toy', 'acquire a x', "'x'"],
    ['toy', 'rate a ppm', 'parts per million'],
    ['toy', 'rate a 1e3ppm', 'parts per million'],
    ['toy', 'rate a -1000000ppm', 'less than 1000000ppm'],
    ['toy', 'advance 1s choosing 3', 'nothing is drawn'],
    ['toy', 'acquire', 'it names no node'],
    ['toy', 'expect', 'expect what'],
    ['toy', 'expect nobody holds not the-lease', 'expect what'],
    ['toy', 'maybe frobnicate a', "'frobnicate' is nothing"],
    ['toy', 'maybe delivr a→b ask #1', 'no node'],
    ['toy', 'maybe maybe acquire a', 'no node'],
    ['toy', 'maybe expect a holds the-lease', "'expect' is nothing"],
    ['quorum', 'acquire p x 1s keep keep', 'said twice'],
  ])('of a %s stage that is not understood fails the script: %s', (protocol, line, why) => {
    const { failures } = runScript(`stage ${protocol}\nstart\n${line}\n`);
    expect(failures).toEqual([expect.stringMatching(new RegExp(`^line 3: .*${why}`))]);
  });

  it.each([
    ['sleep a\nresume a\nacquire a', 'a is asleep'],
    ['sleep a\ncrash a\nrestart a', 'its machine is asleep'],
    ["twin a\nsleep a\nacquire a'", "a' is asleep"],
    ['sleep a\ntwin a', 'its machine is asleep'],
    ['sleep a\nsettle 1s', 'a is asleep'],
    ['pause a\nsleep a\nawake a\nacquire a', 'a is paused'],
  ])('lets nobody act on a machine that sleeps: %j', (lines, why) => {
    const { failures } = runScript(`stage toy\nstart\n${lines}\n`);
    expect(failures).toEqual([expect.stringMatching(new RegExp(`^line ${2 + lines.split('\n').length}: .*${why}`))]);
  });

  it('that can be read and not be done may be passed over', () => {
    expect(runScript('stage toy\nstart\nmaybe deliver a→b ask #1\nmaybe wake a\nmaybe start b\n').failures).toEqual([]);
  });

  it('that is refused leaves nothing behind', () => {
    const { text } = runScript("stage quorum\nstart\nmaybe acquire p '' 1s\nacquire p x 1s\nsettle 1s\n");
    expect(text).toContain('(#4 lease 1, ballot @0)');
  });

  it('that could not be done is said to be so once', () => {
    expect(runScript('stage toy\nstart\nwake a\n').text).toMatch(/^cannot do 'wake a at 0s': /m);
  });
});

describe('the first line', () => {
  it.each([
    ['quorum rate=', /^line 1: rate is a whole number of parts per million/],
    ['flease rate=-5ppm', /^line 1: rate is a whole number/],
    ['quorum fencing=maybe', /^line 1: fencing is one of yes, no, not 'maybe'/],
    ['flease fencing=maybe', /^line 1: fencing is one of/],
    ['quorum new=perhaps', /^line 1: new is one of/],
    ['quorum order=2', /^line 1: order is one of/],
    ['quorum keeps=votes,floor,nothing,votes', /^line 1: keeps is one word for all 3 members or one for each, not 4/],
    ['quorum mutant=count-messages mutant=nack-counts', /^line 1: 'mutant' is said twice/],
    ['quorum breaks=order breaks=fencing', /^line 1: 'breaks' is said twice/],
  ])('is read to its last word: stage %s', (settings, why) => {
    expect(() => runScript(`stage ${settings}\nstart\n`)).toThrow(why);
  });
});

describe('a script', () => {
  it('reads what it wrote, in any alphabet', () => {
    const { failures, text } = runScript('stage register\nstart\nwrite p k größer→\nanswer p all\nread q k\nanswer q all\n');
    expect(failures).toEqual([]);
    expect(text).toContain('q read 0/k: größer→\n');
  });

  it('may have spaces after a rule', () => {
    const { text } = runScript('stage toy\nstart\nacquire a\n');
    expect(runScript(text.replaceAll('----', '----  '))).toMatchObject({ failures: [], changes: [] });
  });

  it("shows Flease's ballots by how far they are from the first", () => {
    const { text } = runScript('stage flease\nset q -2s\nstart\nacquire p x 1s\nacquire p y 1s\nacquire q x 1s\n');
    expect(text).toMatch(/p→a,b,c READ #1 \(#4 lease 1, ballot \+0\)/);
    expect(text).toMatch(/p→a,b,c READ #2 \(#4 lease 2, ballot \+1\)/);
    expect(text).toMatch(/q→a,b,c READ #1 \(#5 lease 1, ballot -\d+\)/);
  });

  it('does not call the register by the name of a client', () => {
    const { text } = runScript('stage rounds-register clients=3\nstart\nread r 1\ndeliver all\nwrite r 7\ndeliver all\n');
    expect(text).toContain('r is committed: it read nothing\n');
    expect(text).toContain('r is committed: it has written\n');
  });

  it('says what breaks with all rules in force, beside what breaks without one', () => {
    const restarts = ['a', 'b', 'c'].flatMap((member) => [`crash ${member}`, `restart ${member}`]);
    const wakes = ['a', 'b', 'c'].map((member) => `wake ${member}`);
    const lines = ['set p +100s', 'acquire p x 1s', 'deliver all', ...restarts, 'advance 1s', ...wakes, 'acquire q x 1s', 'deliver all'];
    const source = ['stage quorum term=1s mutant=owner-is-node breaks=fencing', 'start', ...lines].join('\n');
    expect(runScript(source).product).toMatchObject({ property: 'fencing' });
    expect(runScript('stage toy\nstart\n').product).toBeNull();
  });
});

describe('differences', () => {
  it('of two long lists take no table of all their pairs', () => {
    const list = (word: string): string[] => Array.from({ length: 40_000 }, (_, i) => `${word} ${i}`);
    const told = differences(['first', ...list('before'), 'last'], ['first', ...list('after'), 'last']);
    expect([told[0], told[1], told[40_001], told.at(-1)]).toEqual(['  first', '- before 0', '+ after 0', '  last']);
    expect(told).toHaveLength(80_002);
    expect(differences(list('same'), list('same'))).toEqual([]);
  });
});

describe('a shrunk script', () => {
  it('calls a process that lives on beside its successor by its own name', () => {
    const toy = stageOf('toy');
    const actions: StageAction[] = [
      { kind: 'act', node: 0, verb: 'acquire', words: [] },
      { kind: 'twin', node: 0 },
      { kind: 'act', node: 3, verb: 'use', words: [] },
    ];
    expect(linesOf(toy.open({}, null), asDone(actions))).toEqual(['acquire a', 'twin a', "use a'"]);
  });

  it('has no clock that runs further off than the one in the run', () => {
    let kept: readonly Beat[] = [{ id: 0, atUs: 0, action: { kind: 'rate', node: 0, ppm: -17_391 } }];
    const ppmOf = ([beat]: readonly Beat[]): number => (beat?.action.kind === 'rate' ? beat.action.ppm : 0);
    polish(kept, {}, { defaults: {}, spares: [] }, (changed) => {
      const passes = ppmOf(changed) <= -10_000;
      if (passes) kept = changed;
      return passes;
    });
    expect(ppmOf(kept)).toBe(-10_000);
  });
});

describe('a wall clock', () => {
  const set = (id: number, node: number, byUs: number): Beat => ({ id, atUs: 0, action: { kind: 'set', node, byUs } });
  const setsAfterPolish = (beats: readonly Beat[], clocks: readonly number[]): string[] => {
    let kept = beats;
    polish(beats, {}, { defaults: {}, spares: [] }, (changed) => {
      const sums = clocks.map((_, node) => actionsOf(changed).reduce((sum, one) => sum + (one.node === node ? one.byUs : 0), 0));
      const passes = sums.every((sum, node) => sum === clocks[node]);
      if (passes) kept = changed;
      return passes;
    });
    return actionsOf(kept).map(({ node, byUs }) => `${node} ${byUs}`);
  };
  const actionsOf = (beats: readonly Beat[]): Extract<StageAction, { kind: 'set' }>[] =>
    beats.flatMap(({ action }) => (action.kind === 'set' ? [action] : []));

  it('that a shrunk script sets again and again is set once', () => {
    const beats = [set(0, 0, -1_000_000), set(1, 1, -500_000), set(2, 0, 3_000_000), set(3, 1, 2_000_000), set(4, 1, -1_500_000)];
    expect(setsAfterPolish(beats, [2_000_000, 0])).toEqual(['0 2000000']);
  });
});
