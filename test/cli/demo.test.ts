/** `tenure demo` as a stranger meets it: on a terminal made by script(1), in a pipe, with its ports taken, and killed. */
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { ROOT } from '../support/tree.ts';
import { tenure } from './tenure.ts';

const BIN = join(ROOT, 'bin/tenure.js');
const MOMENT_MS = 20;

/** A demo, with a folder for temporary files of its own: whatever it leaves behind is found by that. */
class Demo {
  seen = '';
  readonly code: Promise<number | null>;
  readonly process: ChildProcess;
  readonly #folder: string;

  constructor(command: readonly string[], env: Readonly<Record<string, string>> = {}) {
    this.#folder = mkdtempSync(join(tmpdir(), 'tenure-test-'));
    const [program = '', ...args] = command;
    this.process = spawn(program, args, { env: { ...process.env, ...env, TMPDIR: this.#folder }, stdio: ['pipe', 'pipe', 'inherit'] });
    this.process.stdout?.on('data', (text: Buffer) => (this.seen += text.toString()));
    this.code = new Promise((resolve) => this.process.once('close', resolve));
    onTestFinished(() => {
      this.process.kill('SIGTERM');
      rmSync(this.#folder, { recursive: true, force: true });
    });
  }

  static told(...args: readonly string[]): Demo {
    return new Demo([process.execPath, BIN, 'demo', ...args]);
  }

  static onTerminal(env: Readonly<Record<string, string>> = {}): Demo {
    const words = `stty cols 100 rows 30; exec "${process.execPath}" "${BIN}" demo`;
    return new Demo(['script', '-qec', words, '/dev/null'], { TERM: 'xterm', SHELL: '/bin/sh', ...env });
  }

  async shows(pattern: RegExp): Promise<RegExpExecArray> {
    for (;;) {
      const found = pattern.exec(this.seen);
      if (found) return found;
      await sleep(MOMENT_MS);
    }
  }

  type(keys: string): void {
    this.process.stdin?.write(keys);
  }

  /** Processes that name its folder, and files in it. */
  left(): string[] {
    const listed = execFileSync('ps', ['-A', '-o', 'pid=,args='], { encoding: 'utf8' }).split('\n');
    const running = listed.filter((line) => line.includes(this.#folder));
    return [...running, ...readdirSync(this.#folder)];
  }
}

it('without a terminal it tells a story and exits 0', async () => {
  const demo = Demo.told('--for', '6s');
  await demo.shows(/three members vote/);
  expect(demo.left().length, 'members, a keeper, a folder').toBeGreaterThanOrEqual(5);
  expect(await demo.code).toBe(0);
  expect(demo.seen).toMatch(/ s {2}(?:east|west) leads\n/);
  expect(demo.seen).toMatch(/(?:east|west) was killed \(-9\) while it holds leader/);
  expect(demo.seen).toContain('never two holders at once');
  expect(demo.seen, 'no colours, no cursor').not.toContain('\x1b');
  expect(demo.left()).toEqual([]);
});

it('takes other ports where its own are taken, and prints JSON lines', async () => {
  const server = createServer().listen(4601, '127.0.0.1');
  server.on('error', () => {});
  // Whether it is ours or another's: it is taken.
  await Promise.race([once(server, 'listening'), once(server, 'error')]);
  onTestFinished(() => void server.close());
  const demo = Demo.told('--for', '3s', '--json');
  expect(await demo.code).toBe(0);
  const lines = demo.seen.trim().split('\n');
  const events = lines.map((line) => JSON.parse(line) as { event: string; text?: string; violations?: unknown });
  expect(events[0]?.event).toBe('ready');
  expect(events[0]?.text).not.toContain(':4601');
  expect(events.at(-1)).toMatchObject({ event: 'end', violations: [] });
});

it('on a terminal, keys kill and restart, the commands it prints work, and q gives the terminal back', async () => {
  const demo = Demo.onTerminal();
  await demo.shows(/(?:east|west) leads/);
  const [, config = ''] = await demo.shows(/TENURE_CONFIG=(\S+?tenure\.yaml)/);
  const held = tenure(['run', 'mine', '--', 'sh', '-c', `"${process.execPath}" "${BIN}" holder mine`], '', { TENURE_CONFIG: config });
  expect(held).toMatchObject({ code: 0, stdout: expect.stringContaining('held') as string });
  demo.type('2');
  await demo.shows(/member b was killed/);
  await demo.shows(/press 2 to start it/);
  demo.type('2');
  await demo.shows(/member b votes again/);
  // Between two leaders there is nobody to kill.
  while (!/was killed \(-9\) while it holds leader/.test(demo.seen)) {
    demo.type('k');
    await sleep(200);
  }
  demo.type('q');
  expect(await demo.code).toBe(0);
  const end = demo.seen.lastIndexOf('\x1b[?25h\x1b[?1049l');
  expect(end).toBeGreaterThan(demo.seen.lastIndexOf('\x1b[?1049h'));
  expect(demo.seen.slice(end)).toContain('All processes are ended');
  expect(demo.left()).toEqual([]);
});

it('Ctrl-C ends it as well, and NO_COLOR keeps it plain', async () => {
  const demo = Demo.onTerminal({ NO_COLOR: '1' });
  await demo.shows(/LEASE/);
  demo.type('\x03');
  expect(await demo.code).toBe(0);
  // oxlint-disable-next-line no-control-regex -- colours are control characters
  expect(demo.seen).not.toMatch(/\x1b\[\d+m/);
  expect(demo.left()).toEqual([]);
});

it('nothing outlives a demo that is killed', async () => {
  const demo = Demo.told('--for', '60s');
  await demo.shows(/stands still/);
  demo.process.kill('SIGKILL');
  await demo.code;
  await expect.poll(() => demo.left(), { timeout: 30_000 }).toEqual([]);
});

it('nothing outlives a demo whose reader leaves', async () => {
  const demo = Demo.told('--for', '60s');
  await demo.shows(/three members vote/);
  demo.process.stdout?.destroy();
  await expect.poll(() => demo.left(), { timeout: 30_000 }).toEqual([]);
});
