/**
 * Turns what a command was told into a connected client of the cell, or into an error that says which members could not be
 * reached, why, and what to do. Exit codes follow from the error: 69 no quorum, 77 not allowed, 78 bad configuration.
 */
import { connect as dial } from 'node:net';
import { connect, type Cell, type ConnectOptions } from '../api/index.ts';
import { parseDuration, quorumOf, TenureError } from '../kernel/index.ts';
import { parseAddress } from '../transport/index.ts';
import { clientConfig, type CellFlags } from './config.ts';

export interface OpenOptions {
  /** The caller wants it no more; what it throws is the signal's reason. */
  readonly signal?: AbortSignal;
  /** Tells people which client this is. */
  readonly name?: string;
  /** How much of the cell must be there: a `majority`, or any one `member`, to look at a cell that is not well. */
  readonly needs?: 'majority' | 'member';
}

const CONNECT_TIMEOUT = '5s';
/** A person at a terminal hears after so long what is waited for. */
const PATIENCE_MS = 1000;
const PROBE_MS = 1000;

/** Connects as the flags, the environment or the config file say. Throws `TenureError` with words for people. */
export async function openCell(flags: CellFlags, { signal, name, needs = 'majority' }: OpenOptions = {}): Promise<Cell> {
  const config = { ...(await clientConfig(flags)), ...(name === undefined ? {} : { name }) };
  const timeoutMs = parseDuration(flags.connectTimeout ?? CONNECT_TIMEOUT) / 1000;
  const timeout = AbortSignal.timeout(timeoutMs);
  const either = signal ? AbortSignal.any([signal, timeout]) : timeout;
  const note = noteOfPatience(config);
  try {
    const cell = await connect(config, { signal: either }).catch(async (error: unknown) => {
      throw isOver(timeout, signal) ? await nobodyReached(config, timeoutMs) : asTold(error, signal);
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

function isOver(timeout: AbortSignal, signal: AbortSignal | undefined): boolean {
  return timeout.aborted && signal?.aborted !== true;
}

function asTold(error: unknown, signal: AbortSignal | undefined): Error {
  const told: unknown = signal?.aborted === true ? signal.reason : error;
  return told instanceof Error ? told : new Error(String(told));
}

/** On a terminal, silence for more than a moment looks like a hang. */
function noteOfPatience({ cell, members }: ConnectOptions): { clear: () => void } {
  const { stderr } = process;
  if (!stderr.isTTY) return { clear: () => {} };
  let isShown = false;
  const timer = setTimeout(() => {
    stderr.write(`looking for a majority of cell ${cell} (${Object.keys(members).join(', ')}) …`);
    isShown = true;
  }, PATIENCE_MS);
  timer.unref();
  return {
    clear: () => {
      clearTimeout(timer);
      if (isShown) stderr.write('\r\x1b[2K');
    },
  };
}

/** `connect` does not say why it got nowhere, so each address is knocked at. */
async function nobodyReached(config: ConnectOptions, timeoutMs: number): Promise<TenureError> {
  const members = Object.entries(config.members);
  const findings = await Promise.all(members.map(async ([id, address]) => `  ${id} at ${address}: ${await knock(address)}`));
  return new TenureError(
    'TENURE_NO_QUORUM',
    `no member of cell ${config.cell} was reached in ${timeoutMs / 1000} s\n${findings.join('\n')}`,
    { unreached: members.map(([id]) => id).join(', ') },
  );
}

function noMajority(cell: Cell, config: ConnectOptions): TenureError {
  const members = cell.members();
  const missing = members.filter(({ stats }) => stats?.connected !== true);
  const findings = missing.map(
    ({ id, stats }) => `  ${id} at ${config.members[id]}: ${stats?.lastError ? inWords(stats.lastError) : 'no answer yet'}`,
  );
  const message =
    `cell ${config.cell} has no majority: ${members.length - missing.length} of ${members.length} members are reached, ` +
    `${quorumOf(members.length)} are needed\n${findings.join('\n')}`;
  return new TenureError('TENURE_NO_QUORUM', message, { unreached: missing.map(({ id }) => id).join(', ') });
}

function knock(address: string): Promise<string> {
  return new Promise((resolve) => {
    const { host, port } = parseAddress(address);
    const socket = dial({ host, port, timeout: PROBE_MS });
    const end = (finding: string): void => {
      socket.destroy();
      resolve(finding);
    };
    socket.once('connect', () => end('somebody listens there, but did not let us in; its log says why'));
    socket.once('timeout', () => end('no answer; is the host up, and the port open in firewalls?'));
    socket.once('error', (error) => end(inWords(error.message)));
  });
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
