/**
 * Turns what a command was told into a connected client of the cell, or into an error that says which members could not be
 * reached, why, and what to do. Exit codes follow from the error: 69 no quorum, 77 not allowed, 78 bad configuration.
 */
import { once } from 'node:events';
import { writeSync } from 'node:fs';
import { isatty } from 'node:tty';
import { connect, type Cell, type ConnectOptions } from '../api/index.ts';
import { parseDuration, quorumOf, TenureError } from '../kernel/index.ts';
import { asAdmin, asClient, findSettings, type CellFlags, type Sourced } from './config.ts';

export interface OpenOptions {
  /** The caller wants it no more; `openCell` throws the signal's reason. */
  readonly signal?: AbortSignal;
  /** Tells people which client this is. */
  readonly name?: string;
  /** How much of the cell must be there: a `majority`, or any one `member`, to look at a cell that is not well. */
  readonly needs?: 'majority' | 'member';
  /** Proves the members' secret instead of the clients'. */
  readonly asAdmin?: boolean;
}

const CONNECT_TIMEOUT = '5s';
/** No timer is longer. */
const TIMEOUT_MS_MAX = 2 ** 31 - 1;
/** A person at a terminal hears after so long why the command waits. */
const PATIENCE_MS = 1000;
const MOMENT_MS = 250;
const STDERR = 2;

/** How long a client tries to connect: as text, and in milliseconds. */
export function connectLimit({ connectTimeout = CONNECT_TIMEOUT }: CellFlags): { text: string; ms: number } {
  return { text: connectTimeout, ms: Math.min(TIMEOUT_MS_MAX, parseDuration(connectTimeout) / 1000) };
}

/** Connects as the flags, the environment or the config file say. Throws `TenureError` with words for people. */
export async function openCell(
  flags: CellFlags,
  { signal, name, needs = 'majority', asAdmin: isAdmin = false }: OpenOptions = {},
  settings?: Sourced,
): Promise<Cell> {
  const { text: limit, ms: limitMs } = connectLimit(flags);
  const found = settings ?? (await findSettings(flags));
  const config = { ...(isAdmin ? asAdmin(found) : asClient(found)), timeout: limit, ...(name === undefined ? {} : { name }) };
  const timeout = AbortSignal.timeout(limitMs);
  const either = signal ? AbortSignal.any([signal, timeout]) : timeout;
  const note = noteOfPatience(`looking for a majority of cell ${config.cell} (${Object.keys(config.members).join(', ')}) …`);
  try {
    const cell = await connect(config, signal ? { signal } : {}).catch((error: unknown) => {
      throw error instanceof TenureError && error.code === 'TENURE_UNREACHABLE' ? inLines(error, config) : error;
    });
    if (needs === 'member') return cell;
    return await cell.ready({ signal: either }).then(
      () => cell,
      async (error: unknown) => {
        const explained = isOver(timeout, signal) ? noMajority(cell, config) : asTold(error, signal);
        await cell.close();
        throw explained;
      },
    );
  } finally {
    note.clear();
  }
}

/** For watchers: a member that comes up after the majority makes a gap, and most come at once. */
export async function aMomentForAll(cell: Cell): Promise<void> {
  if (cell.state === 'ready') return;
  await Promise.race([once(cell, 'state'), new Promise((resolve) => setTimeout(resolve, MOMENT_MS))]);
}

function isOver(timeout: AbortSignal, signal: AbortSignal | undefined): boolean {
  return timeout.aborted && signal?.aborted !== true;
}

function asTold(error: unknown, signal: AbortSignal | undefined): Error {
  const told: unknown = signal?.aborted === true ? signal.reason : error;
  return told instanceof Error ? told : new Error(String(told));
}

/** On a terminal, silence for more than a moment looks like a hang. Straight to the descriptor: a stream of Node's costs a part of the start. */
export function noteOfPatience(text: string): { clear: () => void } {
  if (!isatty(STDERR)) return { clear: () => {} };
  let isShown = false;
  const timer = setTimeout(() => {
    writeSync(STDERR, text);
    isShown = true;
  }, PATIENCE_MS);
  timer.unref();
  return {
    clear: () => {
      clearTimeout(timer);
      if (isShown) writeSync(STDERR, '\r\x1b[2K');
    },
  };
}

/** The same with a line for each member: a user with five members wants to see which. */
function inLines(error: TenureError, { cell, members, timeout }: ConnectOptions): TenureError {
  const heads = Object.entries(members).map(([id, address]) => `${id} (${address}): `);
  const reasons = String(error.details['reasons']);
  // Each part begins with its member's head and goes on to the next one's.
  const starts = heads.map((head) => reasons.indexOf(head)).sort((a, b) => a - b);
  const parts = starts.map((start, index) => reasons.slice(start, starts[index + 1]).replace(/; $/, ''));
  const findings = parts.map((part) => {
    const head = heads.find((one) => part.startsWith(one)) ?? '';
    return `  ${head}${inWords(part.slice(head.length))}`;
  });
  return new TenureError(error.code, `no member of cell ${cell} was reached in ${timeout}\n${findings.join('\n')}`, error.details);
}

function noMajority(cell: Cell, config: ConnectOptions): TenureError {
  const members = cell.members();
  const missing = members.filter(({ stats }) => stats?.connected !== true);
  const findings = missing.map(
    ({ id, stats }) => `  ${id} (${config.members[id]}): ${stats?.lastError ? inWords(stats.lastError) : 'no answer yet'}`,
  );
  const message =
    `cell ${config.cell} has no majority: ${members.length - missing.length} of ${members.length} members answer, ` +
    `${quorumOf(members.length)} are needed\n${findings.join('\n')}`;
  return new TenureError('TENURE_NO_QUORUM', message, { unreached: missing.map(({ id }) => id).join(', ') });
}

/** Messages of the system in words; others as they are. */
export function inWords(message: string): string {
  if (message.includes('ECONNREFUSED')) return 'nobody listens there (ECONNREFUSED); is it started?';
  if (message.includes('ENOTFOUND')) return 'there is no host of this name (ENOTFOUND)';
  if (message.includes('EAI_AGAIN')) return 'the name service does not answer (EAI_AGAIN)';
  if (message.includes('EHOSTUNREACH') || message.includes('ENETUNREACH')) return 'there is no way to this host (EHOSTUNREACH)';
  if (message.includes('ETIMEDOUT')) return 'no answer (ETIMEDOUT); is the host up, and the port open in firewalls?';
  return message;
}
