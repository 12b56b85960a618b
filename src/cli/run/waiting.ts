/**
 * What a person at a terminal sees while `tenure run` waits for its lease: after two seconds, who holds it. Elsewhere
 * nothing is written. Writes go straight to the descriptor, because a stream of Node's would make it non-blocking for the command too.
 */
import { writeSync } from 'node:fs';
import { isatty } from 'node:tty';
import type { Cell, LeaseClient } from '../../api/index.ts';
import { quorumInMs } from '../../api/cell/refusals.ts';
import { holderText } from '../terminal.ts';

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

/** Members of a cell that has just started grant nothing yet: nobody holds anything, and nobody can. */
async function silence(client: LeaseClient): Promise<string | null> {
  if (!('status' in client)) return null;
  const standings = await (client as Cell).status();
  const leftMs = quorumInMs(standings.map(({ silentForMs }) => silentForMs));
  return leftMs === null ? null : `members have just started and keep silent, for another ${Math.ceil(leftMs / 1000)} s`;
}

/** In words for people. */
export async function whoHas(client: LeaseClient, name: string): Promise<string> {
  const { holder, certain, meta } = await client.holder(name);
  if (!holder) return certain ? 'its holder has just left' : ((await silence(client)) ?? 'too few members answer to tell who holds it');
  return `held by ${holderText(meta, holder)}, for at most ${Math.ceil(holder.remainingMsMax / 1000)} s unless it is renewed`;
}
