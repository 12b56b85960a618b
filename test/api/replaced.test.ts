/** A member taken for dead that lives on: whoever still talks to it gets nothing with its votes once its successor votes. Over TCP. */
import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import type { Cell, JoinOptions } from '../../src/api/index.ts';
import { nodeOf } from '../../src/api/cell/cell.ts';
import type { TenureError } from '../../src/kernel/index.ts';
import { RUMOURS } from './notes-service.ts';
import { freePorts, realCell } from './real-cell.ts';

const TRIES = 40;

/** Members a, b and c; another process of c at another port, which has kept its silence; and two clients, one of either c. */
async function successionOfC(more: Partial<JoinOptions> = {}): Promise<{
  readonly old: Cell;
  readonly failure: Promise<TenureError>;
  readonly successor: Cell;
  /** Reaches a and the old c. */
  readonly one: Cell;
  /** Reaches b and the new c. */
  readonly other: Cell;
}> {
  const cell = await realCell();
  const [port = 0, dead = 0] = await freePorts(2);
  const { a = '', b = '', c = '' } = cell.options.members;
  const nowhere = `127.0.0.1:${dead}`;
  const old = cell.members.get('c') as Cell;
  const failure = once(old, 'failure').then(([error]) => error as TenureError);
  const one = await cell.client({ members: { a, b: nowhere, c } });
  await one.acquire('theirs alone').then((lease) => lease.release());
  const successor = await cell.join('c', { members: { a, b, c: `127.0.0.1:${port}` }, ...more });
  await successor.ready();
  const other = await cell.client({ members: { a: nowhere, b, c: `127.0.0.1:${port}` } });
  return { old, failure, successor, one, other };
}

describe.each(['majority', 'strict'] as const)('a member that lives on beside its successor, with succession %s', (succession) => {
  it('votes for nobody: no two clients hold the same lease', async () => {
    const { one, other } = await successionOfC({ succession });
    let both = 0;
    for (let i = 0; i < TRIES; i++) {
      const tries = await Promise.allSettled([one, other].map((client) => client.tryAcquire(`n${i}`)));
      const held = tries.flatMap((tried) => (tried.status === 'fulfilled' && tried.value.ok ? [tried.value.lease] : []));
      if (held.filter(({ valid }) => valid).length > 1) both++;
      await Promise.all(held.map((lease) => lease.release()));
      if (tries[0]?.status === 'rejected') break;
    }
    expect(both).toBe(0);
    const lease = await other.acquire('after all');
    expect(lease.valid).toBe(true);
  });

  it('hears of it, falls silent and says what to do', async () => {
    const { old, failure, successor } = await successionOfC({ succession });
    const error = await failure;
    expect(error).toMatchObject({ code: 'TENURE_REPLACED', details: { id: 'c' } });
    expect(error.message).toMatch(/another process has been started as member c/);
    await expect(old.ready()).rejects.toMatchObject({ code: 'TENURE_REPLACED' });
    expect(successor.silentForMs).toBe(0);
    // So do its other services: nobody would hear them.
    expect(() => nodeOf(old).services.of(RUMOURS)).toThrow(expect.objectContaining({ code: 'TENURE_REPLACED' }));
  });
});

it('a member is started anew in its own place as before', async () => {
  const cell = await realCell();
  await cell.members.get('c')?.close();
  const again = await cell.join('c');
  await again.ready();
  expect(await again.status()).toMatchObject([{ reached: true }, { reached: true }, { reached: true, silentForMs: 0 }]);
});
