/** `tenure run` on a terminal, made by script(1): the command reads it, the keyboard reaches the command, and who waits sees for whom. */
import { spawn, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ROOT } from '../support/tree.ts';
import { MembersApart } from './run-kit.ts';

let cell: MembersApart;
beforeAll(async () => {
  cell = await MembersApart.start(4000);
});
afterAll(() => cell.close());

/** What is typed, what is seen, and the exit code. */
class Terminal {
  seen = '';
  readonly code: Promise<number | null>;
  readonly #process: ChildProcess;

  constructor(command: string, inShell = (run: string): string => `exec ${run}`) {
    const words = inShell(`"${process.execPath}" "${join(ROOT, 'bin/tenure.js')}" run ${command}`);
    const env = { ...cell.env, SHELL: '/bin/sh' };
    this.#process = spawn('script', ['-qec', words, '/dev/null'], { env, stdio: ['pipe', 'pipe', 'inherit'] });
    this.#process.stdout?.on('data', (text: Buffer) => (this.seen += text.toString()));
    this.code = new Promise((resolve) => this.#process.once('close', resolve));
  }

  type(keys: string): void {
    this.#process.stdin?.write(keys);
  }

  async shows(pattern: RegExp): Promise<void> {
    while (!pattern.test(this.seen)) await sleep(10);
  }
}

it('the command reads from the terminal', async () => {
  const terminal = new Terminal(`x -- sh -c 'echo ready; read -r line; echo "got <$line>"; exit 3'`);
  await terminal.shows(/ready/);
  terminal.type('hello\n');
  expect(await terminal.code).toBe(3);
  expect(terminal.seen).toContain('got <hello>');
});

it('Ctrl-C reaches the command, once, and the command decides', async () => {
  const terminal = new Terminal(`x -- sh -c 'trap "echo heard" INT; echo ready; read -r line; read -r line; echo done; exit 4'`);
  await terminal.shows(/ready/);
  terminal.type('\x03');
  await terminal.shows(/heard/);
  terminal.type('a\nb\n');
  expect(await terminal.code).toBe(4);
  expect(terminal.seen.match(/heard/g)).toEqual(['heard']);
});

it('who waits sees who holds the lease, and Ctrl-C ends the waiting', async () => {
  const holder = await cell.hold('waited-for');
  const terminal = new Terminal(`waited-for -- true`);
  await terminal.shows(new RegExp(`waiting for 'waited-for': held by .+ pid ${holder.run.pid}, for at most \\d+ s`));
  terminal.type('\x03');
  expect(await terminal.code).toBe(130);
  await holder.letGo();
});

it('in the background, the command does not take what is typed to the shell', async () => {
  const script = `sh -c "echo ready; cat; echo over"`;
  const terminal = new Terminal(`x -- ${script}`, (run) => `bash -mc '${run} & wait; read -r line; echo "the shell got <$line>"'`);
  await terminal.shows(/ready/);
  terminal.type('hello\n');
  expect(await terminal.code).toBe(0);
  expect(terminal.seen).toMatch(/over[^]*the shell got <hello>/);
});
