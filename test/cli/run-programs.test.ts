/** The two programs that guard a command of `tenure run`, each alone: what it obeys, when it kills, and whom it leaves alone. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, vi } from 'vitest';
import { lastResort } from '../../src/cli/run/last-resort.ts';
import { FIRED, machineMonoMs, type Order } from '../../src/cli/run/orders.ts';
import { ROOT } from '../support/tree.ts';
import { folder, LATER_MS, Program, Subject } from './program-kit.ts';
import { until } from './run-kit.ts';

const switchOf = (order: Order): Program =>
  new Program(
    spawn(process.execPath, [join(ROOT, 'dist/command/switch.js'), JSON.stringify(order)], { stdio: ['pipe', 'pipe', 'inherit'] }),
  );

describe('the switch', () => {
  it.each(['killAtMonoMs', 'killAtWallMs'] as const)('kills when %s has come, whatever the other clock says', async (which) => {
    const subject = await Subject.start();
    const program = switchOf(subject.order({ [which]: 0 }));
    expect(await program.ended).toBe(FIRED);
    expect(subject.isThere).toBe(false);
  });

  it('gives the command its grace when its input ends', async () => {
    const subject = await Subject.start();
    const program = switchOf(subject.order());
    program.process.stdin?.end();
    expect(await program.ended).toBe(FIRED);
    expect(subject.told).toEqual(['ready', 'told']);
    expect([subject.isThere, program.acts]).toEqual([false, true]);
  });

  it('reads what it was told while it was loading, or stopped, before it judges', async () => {
    const subject = await Subject.start();
    const program = switchOf(subject.order({ killAtMonoMs: 0 }));
    const tell = (order: Order): void => void program.process.stdin?.write(`${JSON.stringify(order)}\n`);
    tell(subject.order({ number: 2 }));
    await program.answers(2);
    const thirdMs = machineMonoMs() + 5000;
    tell(subject.order({ number: 3, killAtMonoMs: thirdMs }));
    await program.answers(3);
    program.process.kill('SIGSTOP');
    tell(subject.order({ number: 4 }));
    while (machineMonoMs() < thirdMs + 100) await sleep(50);
    program.process.kill('SIGCONT');
    await program.answers(4);
    tell(subject.order({ number: 5 }));
    await program.answers(5);
    expect([subject.told, subject.isThere, program.acts]).toEqual([['ready'], true, false]);
  });

  it('does not tell again what was told', async () => {
    const subject = await Subject.start();
    const program = switchOf(subject.order({ isTold: true, killAtMonoMs: machineMonoMs() + 1000 }));
    program.process.stdin?.end();
    expect(await program.ended).toBe(FIRED);
    expect(subject.told).toEqual(['ready']);
  });

  it('leaves when its input has ended and nobody is there', async () => {
    const subject = await Subject.start();
    const program = switchOf(subject.order({ graceMs: LATER_MS }));
    await program.answers(1);
    subject.group.signal('SIGKILL');
    program.process.stdin?.end();
    expect(await program.ended).toBe(0);
  });

  it('leaves whoever left the group its grace when its input has ended and the leader is gone', async () => {
    // One process, and a child of ours: when it has ended, its group is nobody's, whoever looks after orphans here.
    const leader = spawn('sleep', ['1000'], { detached: true, stdio: 'ignore' });
    const ended = once(leader, 'exit');
    leader.kill('SIGKILL');
    await ended;
    const stray = await Subject.start();
    // To the switch a cgroup is a folder with these files.
    const cgroup = join(folder, 'cgroup');
    const events = join(cgroup, 'cgroup.events');
    mkdirSync(cgroup);
    writeFileSync(events, 'populated 1\n');
    writeFileSync(join(cgroup, 'cgroup.procs'), `${stray.group.id}\n`);
    const program = switchOf(stray.order({ group: leader.pid ?? 0, born: 'long ago', cgroup, graceMs: LATER_MS }));
    program.process.stdin?.end();
    await until(() => stray.told.includes('told') || program.process.exitCode !== null);
    expect([stray.told, program.process.exitCode]).toEqual([['ready', 'told'], null]);
    const closed = once(program.process, 'close');
    writeFileSync(events, 'populated 0\n');
    expect(await program.ended).toBe(0);
    // It told somebody to stop, and killed nobody: `tenure run` has to hear of that, too.
    await closed;
    expect([stray.isThere, program.acts]).toEqual([true, true]);
  });

  it('obeys the last order, and answers each', async () => {
    const subject = await Subject.start();
    const program = switchOf(subject.order({ killAtMonoMs: machineMonoMs() + 5000 }));
    await program.answers(1);
    program.process.stdin?.write(`${JSON.stringify(subject.order({ number: 2 }))}\n`);
    await program.answers(2);
    program.process.stdin?.write(`${JSON.stringify(subject.order({ number: 3, killAtMonoMs: 0 }))}\n`);
    expect(await program.ended).toBe(FIRED);
    expect(subject.isThere).toBe(false);
  });

  it('does not end by a signal that is meant for the command', async () => {
    const subject = await Subject.start();
    const program = switchOf(subject.order());
    await program.answers(1);
    for (const signal of ['SIGHUP', 'SIGINT', 'SIGQUIT', 'SIGTERM', 'SIGUSR1', 'SIGUSR2'] as const) program.process.kill(signal);
    program.process.stdin?.write(`${JSON.stringify(subject.order({ number: 2 }))}\n`);
    await program.answers(2);
    expect(program.process.signalCode).toBe(null);
  });
});

describe.runIf(process.platform === 'linux')('the last resort', () => {
  /** With the clock of the shell; `start` 2 is one without setpriv. */
  const programOf = (order: Order, start = 1): Program => {
    const started = lastResort(order)?.start(order, start);
    if (!started) throw new Error('there is no last resort here');
    return new Program(started);
  };
  const lineOf = (order: Order): string => `${lastResort(order)?.line(order)}\n`;

  it.each([1, 2])('kills when its input ends, at start %d', async (start) => {
    const subject = await Subject.start();
    const program = programOf(subject.order(), start);
    program.process.stdin?.end();
    expect(await program.ended).toBe(FIRED);
    expect([subject.isThere, program.acts]).toEqual([false, true]);
    expect(subject.told).toEqual(['ready']);
  });

  it('kills also if nobody hears it any more', async () => {
    const subject = await Subject.start();
    const program = programOf(subject.order());
    program.process.stdout?.destroy();
    program.process.stdin?.end();
    expect(await program.ended).toBe(FIRED);
    expect(subject.isThere).toBe(false);
  });

  it('kills at its time though its input is open', async () => {
    const subject = await Subject.start();
    const program = programOf(subject.order({ killAtMonoMs: machineMonoMs() + 300 }));
    expect(await program.ended).toBe(FIRED);
    expect(subject.isThere).toBe(false);
  });

  it('goes by the last time it was told, and answers', async () => {
    const subject = await Subject.start();
    const firstMs = machineMonoMs() + 5000;
    const program = programOf(subject.order({ killAtMonoMs: firstMs }));
    await program.answers(1);
    program.process.stdin?.write(lineOf(subject.order({ number: 2 })));
    await program.answers(2);
    program.process.stdin?.write('until');
    program.process.stdin?.write(' 3');
    while (machineMonoMs() < firstMs + 500) await sleep(50);
    expect([subject.isThere, program.process.exitCode]).toEqual([true, null]);
    program.process.stdin?.write(` 0\n`);
    expect(await program.ended).toBe(FIRED);
  });

  it('reads what it was told while it was stopped before it judges', async () => {
    const subject = await Subject.start();
    const firstMs = machineMonoMs() + 5000;
    const program = programOf(subject.order({ killAtMonoMs: firstMs }));
    await program.answers(1);
    program.process.kill('SIGSTOP');
    program.process.stdin?.write(lineOf(subject.order({ number: 2 })));
    while (machineMonoMs() < firstMs + 500) await sleep(50);
    program.process.kill('SIGCONT');
    await program.answers(2);
    expect([subject.isThere, program.process.exitCode]).toEqual([true, null]);
  });

  it('drops lines that are no orders', async () => {
    const subject = await Subject.start();
    const program = programOf(subject.order());
    program.process.stdin?.write(`7 0\n\n0\n${lineOf(subject.order({ number: 2 }))}`);
    await program.answers(2);
    expect(subject.isThere).toBe(true);
  });

  it('goes when it is told to, and leaves the command alone', async () => {
    const subject = await Subject.start();
    const program = programOf(subject.order());
    program.process.stdin?.end(lastResort(subject.order())?.farewell ?? '');
    expect(await program.ended).toBe(0);
    expect(subject.isThere).toBe(true);
  });

  it('leaves a group alone whose number went to somebody else', async () => {
    const subject = await Subject.start();
    const program = programOf(subject.order({ born: String(Number(subject.group.born) - 1) }));
    program.process.stdin?.end();
    expect(await program.ended).toBe(FIRED);
    expect(subject.isThere).toBe(true);
  });

  it('has its clock also where PATH leads elsewhere', async () => {
    writeFileSync(join(folder, 'timeout'), '#!/bin/sh\nexit 127\n', { mode: 0o755 });
    const subject = await Subject.start();
    vi.stubEnv('PATH', folder);
    const program = programOf(subject.order({ killAtMonoMs: machineMonoMs() + 300 }));
    vi.unstubAllEnvs();
    expect(await program.ended).toBe(FIRED);
    expect(subject.isThere).toBe(false);
  });

  it('is nowhere where a group has no birthday', () => {
    expect(lastResort({ born: null })).toBe(null);
  });
});
