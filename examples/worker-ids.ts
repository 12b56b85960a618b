/**
 * Worker ids for time-ordered ids (time, worker, sequence). Two processes must never have the same worker id in the same millisecond of these ids,
 * and ids are stamped by wall clocks. So a worker id that was given back rests for a quarantine: as long as two wall clocks may be apart. Within
 * one process the time of ids never goes back.
 */
import { connect, type Cell, type Lease } from 'tenure';
import { threeMembers } from './three-members.js';

const WORKERS = 1024;
/** The last user's clock may be ahead by as much as the next one's is behind. With NTP, tens of milliseconds each. */
const CLOCK_ERROR_MS = 250;
const QUARANTINE_MS = 2 * CLOCK_ERROR_MS;

class IdSource {
  readonly #lease: Lease;
  #lastMs = 0;
  #sequence = 0;

  constructor(lease: Lease) {
    this.#lease = lease;
  }

  /** 41 bits of time, 10 of the worker, 12 of a sequence. Throws rather than use a worker id that may be another's. */
  next(): bigint {
    if (!this.#lease.valid) throw new Error('this worker id is not ours any more: acquire another');
    const nowMs = Math.max(Date.now(), this.#lastMs);
    this.#sequence = nowMs === this.#lastMs ? this.#sequence + 1 : 0;
    if (this.#sequence > 4095) throw new Error('4096 ids in one millisecond: wait for the next');
    this.#lastMs = nowMs;
    return (BigInt(nowMs) << 22n) | (BigInt(this.#lease.slot ?? 0) << 12n) | BigInt(this.#sequence);
  }
}

async function openIds(cell: Cell): Promise<IdSource> {
  return new IdSource(await cell.acquire('worker-ids', { slots: WORKERS, quarantine: QUARANTINE_MS }));
}

const { options, close } = await threeMembers();
const cell = await connect(options);
const [one, other] = [await openIds(cell), await openIds(cell)];
const ids = [one.next(), other.next(), one.next(), other.next()];
console.log(new Set(ids).size === ids.length ? 'four ids, all different' : 'an id came twice');
await cell.close();
await close();
