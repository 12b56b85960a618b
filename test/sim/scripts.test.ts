/**
 * The scripts of test/scripts: each does what it says, and says what it does. `UPDATE_SCRIPTS=1` writes what came of
 * them into the files; the diff is for review.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runScript } from '../../src/sim/index.ts';
import { stageOf } from '../support/kits.ts';
import { ROOT } from '../support/tree.ts';

const FOLDER = join(ROOT, 'test', 'scripts');
const files = readdirSync(FOLDER, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.txt'));

describe('the scripts', () => {
  it.each(files.toSorted())('%s', (file) => {
    const path = join(FOLDER, file);
    const { failures, changes, text } = runScript(readFileSync(path, 'utf8'));
    expect(failures).toEqual([]);
    if (process.env['UPDATE_SCRIPTS'] === '1') {
      if (changes.length > 0) writeFileSync(path, text);
      return;
    }
    expect(changes).toEqual([]);
    // Up to date means that writing it again would change nothing.
    expect(text).toBe(readFileSync(path, 'utf8'));
  });
});

const BREAKS = 'stage toy term=1s breaks=exclusion\nstart\nacquire a\ndeliver all a b\n';

describe('a script', () => {
  it('that is rewritten is up to date', () => {
    const written = runScript(
      `# a comment\n${BREAKS}\n\n# another\nacquire b  # and one more\n# the end\n`.replace(' breaks=exclusion', ''),
    );
    const again = runScript(written.text);
    expect(again.failures).toEqual([]);
    expect(again.changes).toEqual([]);
    expect(again.text).toBe(written.text);
    expect(written.text).toContain('acquire b  # and one more');
    expect(written.text).toMatch(/# the end\n----\n/);
  });

  it('shows what is not as written', () => {
    const { text } = runScript(BREAKS.replace(' breaks=exclusion', ''));
    const { changes } = runScript(text.replace('a HOLDS the-lease', 'c HOLDS the-lease'));
    expect(changes.filter((line) => /^ *[-+] /.test(line))).toEqual([
      expect.stringMatching(/- 0s +c HOLDS the-lease/),
      expect.stringMatching(/\+ 0s +a HOLDS the-lease/),
    ]);
  });

  it('fails when what should break does not', () => {
    expect(runScript(BREAKS).failures).toEqual(['exclusion should break, but nothing broke']);
  });

  it('fails when something breaks that should not', () => {
    const twice = 'stage toy term=1s\nstart\nacquire a\ndeliver all a b\ncrash b\nrestart b\nacquire c\ndeliver all b c\n';
    expect(runScript(twice).failures).toEqual([expect.stringMatching(/^exclusion broke: /)]);
  });

  it('fails when an expectation is not met, and names its line', () => {
    const { failures } = runScript(`${BREAKS.replace(' breaks=exclusion', '')}expect b holds the-lease\nexpect nobody holds the-lease\n`);
    expect(failures).toEqual(['line 5: the-lease is held by a', 'line 6: the-lease is held by a']);
  });

  it('knows that a hold has ended by its own clock', () => {
    const { failures } = runScript(`${BREAKS.replace(' breaks=exclusion', '')}advance 1s\nexpect nobody holds the-lease\n`);
    expect(failures).toEqual([]);
  });

  it('can have a process live on beside its successor', () => {
    const held = `${BREAKS.replace(' breaks=exclusion', '')}twin a\nuse a'\nexpect a holds the-lease\n`;
    const { failures, text } = runScript(`${held}crash a'\nexpect nobody holds the-lease\n`);
    expect(failures).toEqual([]);
    expect(text).toMatch(/a uses the-lease/);
    expect(runScript(`${held}twin a'\n`).failures).toEqual([expect.stringMatching(/it has been replaced already/)]);
  });

  it('may say which incarnation a process is, and keeps to it when it is written again', () => {
    const source =
      'stage quorum\nstart\ncrash a\nrestart a disk kept as #20\ntwin p as #9\nacquire p x 1s\ncrash p\nrestart p\nacquire p x 1s\n';
    const { failures, text } = runScript(source);
    expect(failures).toEqual([]);
    expect(text).toMatch(/PROPOSE #1 \(#9 lease 1/);
    expect(text).toMatch(/PROPOSE #2 \(#14 lease 1/);
    const quorum = stageOf('quorum');
    const stage = quorum.open({}, null);
    for (const line of ['restart a disk kept as #20', 'restart a as #20', 'twin p as #9'])
      expect(stage.format(stage.parse(line))).toBe(line);
  });

  it('fails when an action cannot be done', () => {
    const { failures } = runScript('stage toy\nstart\ndeliver a→b ask #1\n');
    expect(failures).toEqual([expect.stringMatching(/^line 3: .*only 0 of them were sent/)]);
  });

  it.each([
    ['crash a\nrestart a disk kep', "'disk kep'"],
    ['crash a aftr 1', "'aftr 1'"],
    ['crash a\nrestart a disk kept as 9', 'written like #1'],
    ['twin a disk kept', "'disk kept'"],
    ['crash a\nrestart a as #2', 'there was a #2 before'],
    ['twin a as #2', 'there was a #2 before'],
    ['crash a\nrestart a as #0', 'nobody is #0'],
    ['advance 10s\nwake p soon', "'soon'"],
    ['deliver p→a PROPOSE #1 twice', "'twice'"],
    ['deliver p→a PROPOSE choosing 1 2', "'2'"],
    ['rate a', 'parts per million'],
    ['deliver all zz', "no node 'zz'"],
    ['expect nobody holds y at all', 'expect what'],
    ['stage quorum acceptors=5', 'begins a script'],
    ['acquire q x 2s wiat 3s', "'wiat'"],
    ['release p x soon', "'soon'"],
    ['release p x at 2s', "does not take 'at'"],
    ['use p x twice', "'twice'"],
    ['look a x', "'look' is nothing"],
    ['answer a all now', "'now'"],
  ])('fails when a line says more than is understood, and is not done without it: %j', (lines, why) => {
    const { failures } = runScript(`stage quorum\nstart\nacquire p x 2s\n${lines}\n`);
    expect(failures).toEqual([expect.stringMatching(new RegExp(`^line ${3 + lines.split('\n').length}: .*${why}`))]);
  });

  it('gives a lease back as of a later time, which is not the end of its term', () => {
    const source =
      'stage paxoslease\nstart\nacquire p x 3s\ndeliver all\nrelease p x in 500ms\nadvance 499ms\nexpect p holds x\nadvance 1ms\n';
    expect(runScript(`${source}expect nobody holds x\n`).failures).toEqual([]);
    expect(runScript(source.replace('in 500ms', 'in soon')).failures[0]).toMatch(/^line 5: /);
  });

  it('tells what a learner believes, and judges it only where clocks are compared', () => {
    const source = (settings: string): string =>
      `stage paxoslease ${settings}\nstart\nrate a -500000ppm\nset a -1s\nwatch a\nacquire p x 1s\ndeliver all\nadvance 1s\nacquire q x 1s\ndeliver all p q b c\nlook a x\n`;
    const relative = runScript(source('clocks=relative'));
    expect(relative.text).toMatch(/a believes that x is held, token @0\n/);
    expect(relative.failures).toEqual([]);
    expect(runScript(source('clocks=absolute skew=0s')).failures).toEqual([expect.stringMatching(/^belief broke: /)]);
  });

  it.each([
    ['stage flease algorithm=5\n', /^line 1: algorithm is one of 2, 3, 4, not '5'/],
    ['stage paxoslease clocks=perfect\n', /^line 1: clocks is one of absolute, relative, not 'perfect'/],
    ['stage paxoslease-skewed heard=maybe\n', /^line 1: heard is one of yes, no, not 'maybe'/],
    ['stage quorumm\n', /^line 1: .*PROTOCOL is one of/],
    ['# why\n\nstage quorum acceptors=3 acceptors=5\n', /^line 3: .*'acceptors' is said twice/],
    ['stage quorum toString=1\n', /^line 1: 'toString=1' is no setting/],
    ['stage quorum term=1s=2s\n', /^line 1: 'term=1s=2s' is no setting/],
    ['stage quorum acceptors=99\n', /^line 1: acceptors is a whole number/],
    ['stage quorum mutant=none\n', /^line 1: quorum has no mutant/],
    ['', /^line 1: a script begins with/],
  ])('that has no stage is not run, and the line is named: %j', (source, why) => {
    expect(() => runScript(source)).toThrow(why);
  });

  it('that names a mutant fails when the product breaks as well', () => {
    // Wall clocks far beyond the bound that tokens need (rule 18): what breaks has nothing to do with the rule that is taken out.
    const restarts = ['a', 'b', 'c'].flatMap((member) => [`crash ${member}`, `restart ${member}`]);
    const wakes = ['a', 'b', 'c'].map((member) => `wake ${member}`);
    const source = [
      'stage quorum term=1s mutant=owner-is-node breaks=fencing',
      'start',
      'set p +100s',
      'acquire p x 1s',
      'deliver all',
      ...restarts,
      'advance 1s',
      ...wakes,
      'set q +10ms',
      'acquire q x 1s',
      'deliver all',
    ];
    expect(runScript(source.join('\n')).failures).toEqual([expect.stringMatching(/^with all rules in force fencing breaks, too: /)]);
  });

  it.each([
    ['', /a script begins with 'stage PROTOCOL/],
    ['acquire a', /a script begins with 'stage PROTOCOL/],
    ['stage nothing', /where PROTOCOL is one of/],
    ['stage quorum mutant=nonsense', /has no mutant 'nonsense'/],
    ['stage quorum colour=blue', /is no setting of this stage/],
    ['----', /there is no action above/],
  ])('%j is refused', (source, why) => {
    expect(() => runScript(source)).toThrow(why);
  });
});
