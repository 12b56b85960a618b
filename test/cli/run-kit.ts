/** What tests of `tenure run` share: members in processes of their own that can be stopped and killed, stores, and runs of the built command. */
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { spanUs } from '../../src/kernel/index.ts';
import { initParameters, openStore } from '../../src/store/index.ts';
import { ROOT } from '../support/tree.ts';
import { freePort } from '../transport/cell.ts';

const BIN = join(ROOT, 'bin/tenure.js');
const MOMENT_MS = 10;
const CLIENT_SECRET = 'a secret of all clients';
const SECRETS = { secret: 'a secret of members only', clientSecret: CLIENT_SECRET };

export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** One `tenure run` under way. */
export class Run {
  readonly process: ChildProcess;
  readonly ended: Promise<Ended>;

  constructor(args: readonly string[], env: NodeJS.ProcessEnv, input?: string) {
    this.process = spawn(process.execPath, [BIN, 'run', ...args], { env, stdio: ['pipe', 'pipe', 'pipe'] });
    const { stdin, stdout, stderr } = this.process;
    if (input !== undefined) stdin?.end(input);
    const said = { stdout: '', stderr: '' };
    stdout?.on('data', (text: Buffer) => (said.stdout += text.toString()));
    stderr?.on('data', (text: Buffer) => (said.stderr += text.toString()));
    this.ended = new Promise((resolve) => this.process.once('close', (code, signal) => resolve({ code, signal, ...said })));
  }

  get pid(): number {
    return this.process.pid ?? 0;
  }

  /** The switch that guards it: there always is one, or will be in a moment. */
  switchPid(but?: number): Promise<number> {
    return this.#child((words) => /\bswitch(?:\.js|$)/.test(words), but);
  }

  /** The shell that holds the deadline too. */
  lastResortPid(but?: number): Promise<number> {
    return this.#child((words) => words.includes('kill -9'), but);
  }

  async #child(isMeant: (words: string) => boolean, but?: number): Promise<number> {
    for (;;) {
      const found = processes().find(({ pid, parent, words }) => parent === this.pid && pid !== but && isMeant(words));
      if (found) return found.pid;
      await sleep(MOMENT_MS);
    }
  }
}

/** What runs get their leases from, and a folder for what their commands write. */
abstract class RunPlace {
  readonly folder = mkdtempSync(join(tmpdir(), 'tenure-run-'));
  readonly #runs: Run[] = [];

  /** What `tenure run` needs to find it. */
  abstract get env(): NodeJS.ProcessEnv;

  /** With little grace, unless a test wants more: what a busy machine delays is then left to renewals. */
  run(args: readonly string[], { input, env = {} }: { input?: string; env?: NodeJS.ProcessEnv } = {}): Run {
    const run = new Run(['--grace', '100ms', ...args], { ...this.env, ...env }, input);
    this.#runs.push(run);
    return run;
  }

  /** Somebody who has the lease, and keeps it until it is told to let go. */
  async hold(name: string, flags: readonly string[] = []): Promise<{ run: Run; letGo: () => Promise<Ended> }> {
    const run = this.run([...flags, name, '--', 'cat']);
    run.process.stdin?.write('here\n');
    await new Promise((resolve) => run.process.stdout?.once('data', resolve));
    const letGo = (): Promise<Ended> => {
      run.process.stdin?.end();
      return run.ended;
    };
    return { run, letGo };
  }

  /** Of this place's own folder. */
  file(name: string): string {
    return join(this.folder, name);
  }

  /** The lines a command has written so far. */
  lines(name: string): string[] {
    return existsSync(this.file(name)) ? readFileSync(this.file(name), 'utf8').split('\n').slice(0, -1) : [];
  }

  /** Waits until a file has such a line, and answers with it. */
  async line(name: string, pattern: RegExp): Promise<string> {
    for (;;) {
      const found = this.lines(name).find((line) => pattern.test(line));
      if (found !== undefined) return found;
      await sleep(MOMENT_MS);
    }
  }

  close(): void {
    for (const { process: started } of this.#runs) if (started.exitCode === null) started.kill('SIGKILL');
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** A cell of three members, each a process, their silence over. */
export class MembersApart extends RunPlace {
  readonly ids = ['a', 'b', 'c'];
  readonly maxTermMs: number;
  readonly #members: Readonly<Record<string, string>>;
  readonly #running = new Map<string, ChildProcess>();

  private constructor(maxTermMs: number, members: Readonly<Record<string, string>>) {
    super();
    this.maxTermMs = maxTermMs;
    this.#members = members;
    writeFileSync(this.file('secret'), CLIENT_SECRET);
  }

  static async start(maxTermMs: number): Promise<MembersApart> {
    const [a, b, c] = [await freePort(), await freePort(), await freePort()];
    const cell = new MembersApart(maxTermMs, { a: `127.0.0.1:${a}`, b: `127.0.0.1:${b}`, c: `127.0.0.1:${c}` });
    await Promise.all(cell.ids.map((id) => cell.startMember(id)));
    return cell;
  }

  get env(): NodeJS.ProcessEnv {
    const members = Object.entries(this.#members).map(([id, address]) => `${id}=${address}`);
    return { ...process.env, TENURE_CELL: 'run', TENURE_MEMBERS: members.join(','), TENURE_SECRET_FILE: this.file('secret') };
  }

  /** Starts a member, or starts it anew; resolves when its silence is over. */
  async startMember(id: string): Promise<void> {
    const options = { cell: 'run', self: id, members: this.#members, maxTerm: this.maxTermMs, ...SECRETS };
    const member = spawn(process.execPath, [join(ROOT, 'test/api/processes/member.mjs'), JSON.stringify(options)], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    this.#running.set(id, member);
    await new Promise<void>((resolve, reject) => {
      createInterface({ input: member.stdout }).once('line', () => resolve());
      member.once('exit', (code) => reject(new Error(`member ${id} ended with ${code}`)));
    });
  }

  async killMember(id: string): Promise<void> {
    const member = this.#running.get(id);
    const gone = new Promise((resolve) => member?.once('exit', resolve));
    member?.kill('SIGKILL');
    await gone;
  }

  /** Members that stand still: whoever holds something is cut off. */
  signal(signal: 'SIGSTOP' | 'SIGCONT'): void {
    for (const member of this.#running.values()) member.kill(signal);
  }

  override close(): void {
    super.close();
    for (const member of this.#running.values()) member.kill('SIGKILL');
  }
}

/** A store in a directory. */
export class StoreDirectory extends RunPlace {
  readonly url: string;

  private constructor(isPlain: boolean) {
    super();
    mkdirSync(this.file('store'));
    this.url = `file://${this.file('store')}${isPlain ? '?swap=off' : ''}`;
  }

  /** Not synced: a busy disk would make leases wait. */
  static async make(isPlain: boolean, maxTermMs: number, deltaMs: number): Promise<StoreDirectory> {
    const directory = new StoreDirectory(isPlain);
    const store = await openStore(`${directory.url}${isPlain ? '&' : '?'}sync=off`, { create: 'init' });
    await initParameters(store, { maxTermUs: spanUs(maxTermMs * 1000), deltaUs: spanUs(deltaMs * 1000) });
    await store.close();
    return directory;
  }

  get env(): NodeJS.ProcessEnv {
    return { ...process.env, TENURE_STORE: this.url };
  }

  /** It is not there, or there again: whoever holds something is cut off. */
  move(where: 'away' | 'back'): void {
    const [away, there] = [this.file('away'), this.file('store')];
    if (where === 'away') renameSync(there, away);
    else if (existsSync(away)) renameSync(away, there);
  }
}

interface Listed {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
  readonly state: string;
  readonly words: string;
}

function processes(): Listed[] {
  const listed = execFileSync('ps', ['-A', '-o', 'pid=,ppid=,pgid=,stat=,args='], { encoding: 'utf8' });
  return listed.split('\n').flatMap((line) => {
    const [, pid, parent, group, state = '', words = ''] = /^ *(\d+) +(\d+) +(\d+) +(\S+) *(.*)$/.exec(line) ?? [];
    return pid === undefined ? [] : [{ pid: Number(pid), parent: Number(parent), group: Number(group), state, words }];
  });
}

/** Whoever of a group is not dead yet. */
export function livingIn(group: number): Listed[] {
  return processes().filter((listed) => listed.group === group && !listed.state.startsWith('Z'));
}

/** The dead whom nobody has reaped are not. */
export function isThere(pid: number): boolean {
  return processes().some((listed) => listed.pid === pid && !listed.state.startsWith('Z'));
}

/** What a process calls itself once it has loaded. */
export function isCalled(pid: number, name: string): boolean {
  return processes().some((listed) => listed.pid === pid && listed.words === name);
}

export function isStopped(pid: number): boolean {
  return processes().some((listed) => listed.pid === pid && listed.state.startsWith('T'));
}

/** All of a group are stopped. A shell whose child was stopped before it became a command waits for it uninterruptibly, and runs as little. */
export function isGroupStopped(group: number): boolean {
  const living = livingIn(group);
  return living.length > 0 && living.every(({ state }) => /^[TD]/.test(state));
}

export async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await sleep(MOMENT_MS);
}

/**
 * A command that says its group and then writes a line again and again until it is killed, and so does a child of it. Neither
 * listens to anybody: TERM, INT and HUP are ignored. Should they survive the test, they end with its folder. The date of a second file tells when they last did.
 */
export function stubborn(file: string, who: string): string[] {
  const beat = `while echo "${who} beats" >> "${file}"; do : > "${file}.clock"; sleep 0.02; done`;
  return ['sh', '-c', `trap "" TERM INT HUP; echo "${who} $$ $TENURE_DEADLINE" >> "${file}"; ( ${beat} ) & ${beat}`];
}
