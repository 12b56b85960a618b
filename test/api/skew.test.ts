/** Clocks that really differ: members of Flease in processes of their own whose wall clocks are up to 400 ms apart. */
import { spawn, type ChildProcess } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ROOT } from '../support/tree.ts';
import { freePorts } from './real-cell.ts';

const OFFSETS_MS = { a: 0, b: 400, c: 200 };
type Id = keyof typeof OFFSETS_MS;
const IDS: readonly Id[] = ['a', 'b', 'c'];

type Said = { readonly kind: string } & Readonly<Record<string, unknown>>;

/** A process, and what it has said so far. */
class Member {
  readonly said: Said[] = [];
  readonly #child: ChildProcess;
  readonly #news = new EventEmitter<{ news: [] }>();

  constructor(options: object, offsetMs: number) {
    const script = join(ROOT, 'test/api/processes/skewed.mjs');
    const child = spawn(process.execPath, [script, JSON.stringify(options), String(offsetMs)], { stdio: ['pipe', 'pipe', 'inherit'] });
    createInterface({ input: child.stdout }).on('line', (line) => {
      this.said.push(JSON.parse(line) as Said);
      this.#news.emit('news');
    });
    this.#child = child;
    onTestFinished(() => this.kill());
  }

  tell(line: string): void {
    this.#child.stdin?.write(`${line}\n`);
  }

  async until(kind: string): Promise<Said> {
    for (;;) {
      const found = this.said.find((said) => said.kind === kind);
      if (found) return found;
      await once(this.#news, 'news');
    }
  }

  async kill(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const gone = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await gone;
  }
}

async function members(skew: string): Promise<Record<Id, Member>> {
  const ports = await freePorts(IDS.length);
  const addresses = Object.fromEntries(IDS.map((id, i) => [id, `127.0.0.1:${ports[i]}`]));
  const options = { cell: 'skew', members: addresses, maxTerm: '2s', engine: { flease: { algorithm: 4, skew } } };
  const [a, b, c] = IDS.map((self) => new Member({ ...options, self }, OFFSETS_MS[self])) as [Member, Member, Member];
  await Promise.all([a, b, c].map((member) => member.until('ready')));
  return { a, b, c };
}

describe('members of Flease whose clocks are 400 ms apart', { timeout: 60_000 }, () => {
  // The fast clock's holder stops early by the others' clocks, the slow one's late: both are killed in turn.
  it.each([
    ['a', 'b', 'c'],
    ['b', 'a', 'c'],
  ] as const)(
    'with a skew of 500ms, the lease of %s that was killed goes to another, and not before it was over',
    async (holder, ...others) => {
      const cell = await members('500ms');
      cell[holder].tell('acquire');
      const first = await cell[holder].until('granted');
      for (const other of others) cell[other].tell('acquire');
      await cell[holder].until('deadline');
      await cell[holder].kill();
      const deadlines = cell[holder].said.filter(({ kind }) => kind === 'deadline').map(({ untilMs }) => Number(untilMs));
      const next = await Promise.race(others.map((other) => cell[other].until('granted')));
      expect(next['token']).toBeGreaterThan(Number(first['token']));
      expect(next['atMs']).toBeGreaterThanOrEqual(Math.max(...deadlines));
      const both = others.filter((other) => cell[other].said.some(({ kind }) => kind === 'granted'));
      expect(both).toHaveLength(1);
    },
  );

  it('with a skew of 100ms nobody is granted anything, and is told whose clock is off', async () => {
    const cell = await members('100ms');
    // Before it has measured the others' clocks a member cannot know.
    await Promise.all(IDS.map((id) => cell[id].until('warning')));
    for (const id of IDS) {
      cell[id].tell('try');
      const answer = await Promise.race([cell[id].until('refused'), cell[id].until('tried')]);
      expect(answer).toMatchObject({ kind: 'refused', code: 'TENURE_CLOCK_SKEW' });
    }
    const warning = await cell.a.until('warning');
    expect(warning['code']).toBe('TENURE_CLOCK_SKEW');
    expect(warning['message']).toMatch(/b is (?:39|40|41)\dms ahead/);
  });
});
