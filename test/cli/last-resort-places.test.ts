/**
 * The last resort where something is not as usual: no timeout(1), one that is never over, another user. Its own PATH leads to the usual
 * places, so what it is started with is changed behind its back.
 */
import type * as processes from 'node:child_process';
import type { SpawnOptions } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { lastResort } from '../../src/cli/run/last-resort.ts';
import { FIRED, type Order } from '../../src/cli/run/orders.ts';
import { folder, Program, Subject } from './program-kit.ts';
import { until } from './run-kit.ts';

const place = vi.hoisted((): { changes: SpawnOptions } => ({ changes: {} }));
vi.mock('node:child_process', async (importOriginal) => {
  const real = await importOriginal<typeof processes>();
  const spawn = (file: string, args: readonly string[], options: SpawnOptions) => real.spawn(file, args, { ...options, ...place.changes });
  return { ...real, spawn };
});

const NOBODY = 65_534;
/** The kernel does not let go of whoever is frozen in one of these (version 1), not even to die. */
const FREEZERS = '/sys/fs/cgroup/freezer';

function lastResortWith(changes: SpawnOptions, order: Order): Program {
  place.changes = changes;
  const started = lastResort(order)?.start(order, 1);
  place.changes = {};
  if (!started) throw new Error('there is no last resort here');
  return new Program(started);
}

/** With lines of which only the last gives it time. */
function tellLate(program: Program, subject: Subject): void {
  const lineOf = (order: Order): string => `${lastResort(order)?.line(order)}\n`;
  program.process.stdin?.write(lineOf(subject.order({ number: 2, killAtMonoMs: 0 })) + lineOf(subject.order({ number: 3 })));
}

describe.runIf(process.platform === 'linux')('the last resort', () => {
  it('reads all that it was told before it judges, also what it was told too late', async () => {
    const programs = join(folder, 'patient');
    mkdirSync(programs);
    // It waits for a line for as long as that takes: how busy the machine is does not matter.
    writeFileSync(join(programs, 'timeout'), '#!/bin/sh\nshift 3\nexec "$@"\n', { mode: 0o755 });
    const subject = await Subject.start();
    const program = lastResortWith({ env: { PATH: `${programs}:/usr/bin:/bin` } }, subject.order({ killAtMonoMs: 0 }));
    tellLate(program, subject);
    await program.answers(3);
    expect([subject.isThere, program.acts]).toEqual([true, false]);
    program.process.stdin?.end();
    expect(await program.ended).toBe(FIRED);
    expect(subject.isThere).toBe(false);
  });

  it('knows the end of its input only where there is no timeout(1)', async () => {
    const programs = join(folder, 'without');
    mkdirSync(programs);
    symlinkSync('/bin/sleep', join(programs, 'sleep'));
    const subject = await Subject.start();
    const program = lastResortWith({ env: { PATH: programs } }, subject.order({ killAtMonoMs: 0 }));
    tellLate(program, subject);
    await program.answers(3);
    expect([subject.isThere, program.acts]).toEqual([true, false]);
    program.process.stdin?.end();
    expect(await program.ended).toBe(FIRED);
    expect(subject.isThere).toBe(false);
  });

  it.runIf(process.getuid?.() === 0)('cannot kill a process of another user', async () => {
    const subject = await Subject.start();
    const program = lastResortWith({ uid: NOBODY, gid: NOBODY }, subject.order());
    await program.answers(1);
    program.process.stdin?.end();
    expect(await program.ended).toBe(FIRED);
    expect([subject.isThere, program.acts]).toEqual([true, true]);
  });

  it.runIf(process.getuid?.() === 0 && existsSync(join(FREEZERS, 'cgroup.procs')))(
    'cannot end what is in the hands of the kernel, which does nothing of its own any more',
    async () => {
      const subject = await Subject.start();
      const freezer = mkdtempSync(join(FREEZERS, 'tenure-test-'));
      const turn = (state: 'FROZEN' | 'THAWED'): void => writeFileSync(join(freezer, 'freezer.state'), state);
      onTestFinished(async () => {
        turn('THAWED');
        await until(() => !subject.isThere);
        rmdirSync(freezer);
      });
      writeFileSync(join(freezer, 'cgroup.procs'), String(subject.group.id));
      turn('FROZEN');
      subject.group.signal('SIGTERM');
      const program = lastResortWith({}, subject.order());
      program.process.stdin?.end();
      expect(await program.ended).toBe(FIRED);
      expect(subject.isThere).toBe(true);
      turn('THAWED');
      await until(() => !subject.isThere);
      expect(subject.told).toEqual(['ready']);
    },
  );
});
