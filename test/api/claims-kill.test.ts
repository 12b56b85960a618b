/**
 * A cell of one member, so that everything rests on its disk, killed with -9 at every point between a write and the answer that depends on it. What a client was
 * told is true afterwards, whatever was under way is answered by the next life, and nothing is granted twice.
 */
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test, type TestContext } from 'vitest';
import { connect, type Cell } from '../../src/api/index.ts';
import { freePorts } from './real-cell.ts';
import { runProcess } from './run-process.ts';
import { sized } from '../support/sizes.ts';

const POINTS = [
  'before the write',
  'when it is asked for',
  'while it is flushed',
  'when it is flushed',
  'when the answer is handed over',
  'when the answer has left',
];
const WRITES = sized([1, 4], [1, 2, 4]);

class MortalMember {
  readonly #options: string;
  readonly members: Record<string, string>;
  #child: ChildProcess | null = null;

  constructor(port: number, dataDir: string) {
    this.members = { a: `127.0.0.1:${port}` };
    this.#options = JSON.stringify({ cell: 'test', members: this.members, self: 'a', maxTerm: 1000, dataDir });
  }

  /** Resolves when it is up; or, if it dies before, when it is dead. */
  async start(point: string, which: number, ...more: string[]): Promise<void> {
    const { child, said } = runProcess('claims-member.mjs', this.#options, point, String(which), ...more);
    this.#child = child;
    await said.catch(() => undefined);
  }

  async end(): Promise<void> {
    const child = this.#child;
    if (child === null || child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGKILL');
    await once(child, 'exit');
  }

  async ended(): Promise<void> {
    const child = this.#child;
    if (child && child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  }
}

async function mortalCell({ onTestFinished }: Pick<TestContext, 'onTestFinished'>): Promise<{ member: MortalMember; client: Cell }> {
  const [port = 0] = await freePorts(1);
  const dir = mkdtempSync(join(tmpdir(), 'tenure-'));
  const member = new MortalMember(port, dir);
  onTestFinished(async () => {
    await member.end();
    rmSync(dir, { recursive: true, force: true });
  });
  await member.start('never', 0, 'bootstrap');
  const client = await connect({ cell: 'test', members: member.members });
  onTestFinished(() => client.close());
  return { member, client };
}

describe('a member that is killed', () => {
  test.concurrent.for(POINTS)(
    '%s, has kept what it has said, and its next life answers the rest',
    { timeout: 120_000 },
    async (point, context) => {
      const { member, client } = await mortalCell(context);
      const claims = client.claims('s');
      const granted: number[] = [];
      for (const [round, which] of WRITES.entries()) {
        await member.end();
        await member.start(point, which);
        // Claims one after the other, until one of them has it killed; that one waits.
        let at = round * 100;
        let isDead = false;
        const death = member.ended().then(() => (isDead = true));
        while (!isDead) {
          const from = at++;
          const claim = claims.claim(from, from);
          const isFirst = await Promise.race([claim.then(() => true), death.then(() => false)]);
          if (!isFirst) await member.start('never', 0);
          expect(await claim).toMatchObject({ ok: true });
          granted.push(from);
        }
      }
      await member.end();
      await member.start('never', 0);
      expect(new Set(granted).size).toBe(granted.length);
      expect(granted.length).toBeGreaterThanOrEqual(WRITES.length);
      const again = await Promise.all(granted.map((integer) => claims.claim(integer, integer)));
      expect(again.filter(({ ok }) => ok)).toEqual([]);
    },
  );
});
