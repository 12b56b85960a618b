/**
 * What a person at a terminal sees while `tenure run` waits for its lease: after two seconds, the holder. Elsewhere
 * nothing is written. Writes go straight to the descriptor, because a stream of Node's would make it non-blocking for the command too.
 */
import { writeSync } from 'node:fs';
import { isatty } from 'node:tty';
import type { LeaseClient } from '../../api/index.ts';
import { whoHas } from '../who-has.ts';

const PATIENCE_MS = 2000;
const STDERR = 2;

export class WaitingNote {
  #timer: NodeJS.Timeout | undefined;
  #isShown = false;
  #isOver = false;

  constructor(client: LeaseClient, name: string) {
    if (isatty(STDERR)) this.#after(client, name);
  }

  clear(): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
    if (this.#isShown) writeSync(STDERR, '\r\x1b[2K');
  }

  #after(client: LeaseClient, name: string): void {
    this.#timer = setTimeout(() => void this.#show(client, name), PATIENCE_MS);
    this.#timer.unref();
  }

  async #show(client: LeaseClient, name: string): Promise<void> {
    const note = await whoHas(client, name).catch(() => null);
    if (this.#isOver) return;
    if (note !== null) {
      this.#isShown = true;
      writeSync(STDERR, `\r\x1b[2Ktenure: waiting for '${name}': ${note}`);
    }
    this.#after(client, name);
  }
}
