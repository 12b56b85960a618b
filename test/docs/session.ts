/**
 * A shell in which the commands of a page are run one after the other, as a reader would: in a folder of its own, with `tenure`
 * on the path. What it starts in the background goes on until the session is ended.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BIN } from '../cli/served-cell.ts';

export interface Shown {
  readonly command: string;
  readonly output: string;
}

/** The commands of a block, and what the page says they print. */
export function shownIn(block: string): Shown[] {
  return block
    .split(/^\$ /m)
    .slice(1)
    .map((part) => {
      const end = part.indexOf('\n');
      return { command: part.slice(0, end), output: part.slice(end + 1) };
    });
}

export class Session {
  readonly folder: string = mkdtempSync(join(tmpdir(), 'tenure-console-'));
  #shell: ChildProcess | null = null;

  /** Runs all commands and answers with what each printed, errors included. */
  async run(commands: readonly string[], env: Readonly<Record<string, string>>): Promise<string[]> {
    const bin = join(this.folder, '.bin');
    const work = join(this.folder, 'work');
    for (const folder of [bin, work]) mkdirSync(folder);
    writeFileSync(join(bin, 'tenure'), `#!/bin/sh\nexec '${process.execPath}' '${BIN}' "$@"\n`, { mode: 0o755 });
    // Output goes to a file: what is left running in the background would keep a pipe open.
    const file = join(this.folder, '.output');
    const output = openSync(file, 'w');
    const script = commands.map((command, i) => `{ ${command}\n} 2>&1\n__code=$?; printf '\\n@@${i}@@\\n'; (exit $__code)`).join('\n');
    this.#shell = spawn('bash', ['-c', script], {
      cwd: work,
      env: { ...process.env, NO_COLOR: '1', ...env, PATH: `${bin}:${process.env['PATH'] ?? ''}` },
      stdio: ['ignore', output, output],
      detached: true,
    });
    await once(this.#shell, 'exit');
    closeSync(output);
    const parts = readFileSync(file, 'utf8').split(/\n@@\d+@@\n/);
    return commands.map((_, i) => parts[i] ?? '');
  }

  /** Ends whatever it has left running. */
  end(): void {
    try {
      if (this.#shell?.pid !== undefined) process.kill(-this.#shell.pid, 'SIGKILL');
    } catch {
      // Nothing was left.
    }
    rmSync(this.folder, { recursive: true, force: true });
  }
}
