/** When a command is told to stop and when it is killed, and whom a group's signal reaches. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { planFor } from '../../src/cli/run/plan.ts';
import { ProcessGroup } from '../../src/cli/run/process-group.ts';
import type { TenureError } from '../../src/kernel/index.ts';

const TERMS_MS = fc.integer({ min: 100, max: 86_400_000 });

function refusalOf(termMs: number, graceMs: number): TenureError | null {
  try {
    planFor(termMs, graceMs);
    return null;
  } catch (error) {
    return error as TenureError;
  }
}

describe('the plan of an ending', () => {
  it('gives five seconds of grace to a term of fifteen, and kills three quarters of a second before the end', () => {
    expect(planFor(15_000, undefined)).toMatchObject({ graceMs: 5000, killBeforeMs: 750, guardsBeforeMs: 562.5 });
  });

  it('kills before the lease ends, the guards after us, and leaves half the term to renewals', () => {
    fc.assert(
      fc.property(TERMS_MS, (termMs) => {
        const { graceMs, killBeforeMs, guardsBeforeMs } = planFor(termMs, undefined);
        expect(guardsBeforeMs).toBeGreaterThan(0);
        expect(killBeforeMs).toBeGreaterThan(guardsBeforeMs);
        expect(graceMs).toBeGreaterThanOrEqual(0);
        expect(termMs - killBeforeMs - graceMs).toBeGreaterThanOrEqual(termMs / 2);
      }),
    );
  });

  it('shortens the usual grace, but refuses one that was asked for and does not fit', () => {
    expect(planFor(2000, undefined).graceMs).toBe(850);
    expect(planFor(2000, 850).graceMs).toBe(850);
    expect(refusalOf(2000, 851)).toMatchObject({ code: 'TENURE_BAD_ARGUMENT' });
  });

  it('names a term into which the grace fits, and none shorter does', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 60_000 }), (graceMs) => {
        const refused = refusalOf(100, Math.max(31, graceMs));
        const [, seconds = '', unit = ''] = /a term of at least (?:\d+m )?([\d.]+)(ms|s)$/.exec(refused?.message ?? '') ?? [];
        const minutes = Number(/at least (\d+)m /.exec(refused?.message ?? '')?.[1] ?? 0);
        const termMs = minutes * 60_000 + Number(seconds) * (unit === 's' ? 1000 : 1);
        expect(refusalOf(Math.round(termMs), Math.max(31, graceMs))).toBeNull();
        expect(refusalOf(Math.round(termMs) - 1, Math.max(31, graceMs))).not.toBeNull();
      }),
    );
  });
});

describe('a process group', () => {
  it('is signalled as one, and known to be gone afterwards', async () => {
    const leader = spawn('sh', ['-c', 'sleep 1000 & sleep 1000'], { detached: true, stdio: 'ignore' });
    const group = new ProcessGroup(leader.pid ?? 0);
    expect(group.isAlive).toBe(true);
    const ended = once(leader, 'exit');
    expect(group.signal('SIGKILL')).toBe(true);
    await ended;
    while (group.isAlive) await new Promise((resolve) => setImmediate(resolve));
    expect(group.signal('SIGKILL') && group.isAlive).toBe(false);
  });

  it('lives on in those whom its leader left behind', async () => {
    const leader = spawn('sh', ['-c', 'sleep 1000 &'], { detached: true, stdio: 'ignore' });
    const group = new ProcessGroup(leader.pid ?? 0);
    await once(leader, 'exit');
    expect(group.isAlive).toBe(true);
    group.signal('SIGKILL');
    while (group.isAlive) await new Promise((resolve) => setImmediate(resolve));
  });

  it('is left alone if its number went to somebody else', async () => {
    const stranger = spawn('sleep', ['1000'], { detached: true, stdio: 'ignore' });
    await once(stranger, 'spawn');
    const { born } = new ProcessGroup(stranger.pid ?? 0);
    const earlier = new ProcessGroup(stranger.pid ?? 0, String(Number(born) - 1));
    expect(earlier.signal('SIGKILL')).toBe(false);
    expect(earlier.isAlive).toBe(false);
    expect(new ProcessGroup(stranger.pid ?? 0, born).isAlive).toBe(true);
    stranger.kill('SIGKILL');
  });
});
