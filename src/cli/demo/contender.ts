/** One contender of a demo, a process and a client of its own: it lives its habit until its input closes, and reports on its output. */
import { writeSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect, type Cell, type Lease, type Leadership } from '../../api/index.ts';
import { clientConfig } from '../config.ts';
import { configIn, CONTENDERS, historiesIn, TERM_MS, type ContenderId, type Report } from './parts.ts';

/** What holds: a lease, or the lead. */
type Held = Pick<Lease, 'token' | 'valid' | 'signal'>;

/** All contenders live on one machine, by one clock. */
const CLOCK_BOUND = '5ms';
const WRITE_EVERY_MS = 400;
const STDOUT = 1;

export async function contend(id: ContenderId, folder: string): Promise<void> {
  const config = await clientConfig({ config: configIn(folder) });
  const cell = await connect({ ...config, name: id, history: { file: `${historiesIn(folder)}/`, clockBound: CLOCK_BOUND } });
  // Histories are whole only if they are closed; an exit in the middle would look like a crash.
  process.stdin.resume().on('end', () => void cell.close({ timeout: 500 }).finally(() => process.exit()));
  const habit = HABITS[id];
  for (;;) await habit(cell, id);
}

const HABITS: Record<ContenderId, (cell: Cell, id: ContenderId) => Promise<void>> = {
  east: lead,
  west: lead,
  nightly: (cell, id) => workInTurn(cell, id, [2000, 4000], [500, 1500]),
  weekly: (cell, id) => workInTurn(cell, id, [2000, 4000], [1500, 3000]),
  importer: (cell, id) => workInTurn(cell, id, [800, 1200], [400, 800]),
  impatient: tryNow,
  clumsy: crash,
  sleepy: stall,
};

async function workInTurn(cell: Cell, id: ContenderId, work: readonly [number, number], rest: readonly [number, number]): Promise<void> {
  const lease = await waitFor(cell, id);
  await workUnder(lease, between(...work));
  await giveBack(lease);
  await sleep(between(...rest));
}

async function tryNow(cell: Cell, id: ContenderId): Promise<void> {
  const taken = await cell.tryAcquire(CONTENDERS[id].lease, { meta: id });
  if (taken.ok) {
    report({ event: 'holds', token: taken.lease.token });
    await workUnder(taken.lease, 600);
    await giveBack(taken.lease);
  } else {
    report({ event: 'refused' });
  }
  await sleep(between(600, 1200));
}

async function crash(cell: Cell, id: ContenderId): Promise<void> {
  await sleep(between(1500, 3000));
  const lease = await waitFor(cell, id);
  await workUnder(lease, 900);
  report({ event: 'crashes', token: lease.token });
  process.kill(process.pid, 'SIGKILL');
}

async function stall(cell: Cell, id: ContenderId): Promise<void> {
  await sleep(between(500, 1500));
  const lease = await waitFor(cell, id);
  await workUnder(lease, 600);
  const forMs = TERM_MS * 1.6;
  report({ event: 'stalls', token: lease.token, forMs });
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, forMs);
  // It goes on where it was, as any paused program does: nothing has told it yet.
  report({ event: 'writes', token: lease.token });
  await giveBack(lease);
  await sleep(between(5000, 7000));
}

async function lead(cell: Cell, id: ContenderId): Promise<void> {
  report({ event: 'waits' });
  const leadership: Leadership = await cell.elect(CONTENDERS[id].lease).campaign({ value: id });
  report({ event: 'holds', token: leadership.token });
  await workUnder(leadership, between(12_000, 18_000));
  reportEnd(leadership);
  await leadership.resign();
  await sleep(between(500, 1000));
}

async function waitFor(cell: Cell, id: ContenderId): Promise<Lease> {
  report({ event: 'waits' });
  const lease = await cell.acquire(CONTENDERS[id].lease, { meta: id });
  report({ event: 'holds', token: lease.token });
  return lease;
}

/** Writes to what the lease protects, with its token, until the work is done or the lease is about to end. */
async function workUnder({ token, signal }: Held, forMs: number): Promise<void> {
  const endMs = performance.now() + forMs;
  while (!signal.aborted && performance.now() < endMs) {
    report({ event: 'writes', token });
    await sleep(Math.min(WRITE_EVERY_MS, endMs - performance.now()), undefined, { signal }).catch(() => {});
  }
}

async function giveBack(lease: Lease): Promise<void> {
  reportEnd(lease);
  await lease.release();
}

/** Before it is given back: a process that the demo kills as a holder has to hold still. */
function reportEnd({ token, valid, signal }: Held): void {
  report({ event: valid && !signal.aborted ? 'releases' : 'lost', token });
}

function report(event: Report): void {
  try {
    writeSync(STDOUT, `${JSON.stringify(event)}\n`);
  } catch {
    // The demo does not listen any more.
    process.exit();
  }
}

function between(min: number, max: number): number {
  return min + Math.random() * (max - min);
}
