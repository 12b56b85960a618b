/**
 * The history of this process as a file, in the referees' schema (docs/research/simulator.md): written in the background, a
 * batch at a time. A failure of the disk ends the history and nothing else. A history with a hole would
 * accuse the innocent (a process that released may look as if it still held), so after the first record that is lost
 * there is no other: the referees accuse no process of what a file does not tell.
 */
import { close, mkdirSync, openSync, statSync, write, writeSync } from 'node:fs';
import { join } from 'node:path';
import { formatHeader, formatRecord, HISTORY_VERSION, type HistoryRecord } from '../../check/index.ts';
import { parseDuration, TenureError, type Duration } from '../../kernel/index.ts';
import type { Origin } from './diagnostics.ts';

export interface HistoryOptions {
  /** A file that is not there yet; or a directory, which ends in `/` or is one already: a file for every start. */
  readonly file: string;
  /** How far this machine's wall clock is from the true time at most. Without it, referees need to be told. */
  readonly clockBound?: Duration;
}

/** The bytes that may wait to be written, at most. A disk that is further behind has failed. */
export const HISTORY_QUEUE_BYTES_MAX: number = 8 * 1024 * 1024;
/** A batch leaves after so long, or when it is as large as this. */
const BATCH_MS = 20;
const BATCH_BYTES = 64 * 1024;

/** A record without the fields that are the same in all of them. */
export type HistoryEntry = HistoryRecord extends infer R
  ? R extends HistoryRecord
    ? Omit<R, 'at' | 'node' | 'incarnation'>
    : never
  : never;

/** Where the bytes go. Tests bring a disk that is full. */
export interface HistoryDisk {
  write(bytes: Uint8Array, done: (error: Error | null, written: number) => void): void;
  close(done: (error: Error | null) => void): void;
}

export class HistoryFile {
  readonly path: string;
  readonly #disk: HistoryDisk;
  readonly #origin: Origin;
  readonly #clock: StampClock;
  readonly #onFailure: (error: TenureError) => void;
  #batch: string[] = [];
  #batchBytes = 0;
  #flyingBytes = 0;
  #timer: NodeJS.Timeout | null = null;
  #isOver = false;
  #ended: Promise<void> | null = null;
  #idle: (() => void) | null = null;
  records = 0;
  dropped = 0;

  constructor(path: string, disk: HistoryDisk, origin: Origin, onFailure: (error: TenureError) => void, clock: StampClock = processClock) {
    this.path = path;
    this.#disk = disk;
    this.#origin = origin;
    this.#onFailure = onFailure;
    this.#clock = clock;
  }

  /** One record, stamped now. Cheap: nothing is written before this turn of the event loop is over. */
  append(entry: HistoryEntry): void {
    if (this.#isOver) {
      this.dropped++;
      return;
    }
    const { node, incarnation } = this.#origin;
    const line = `${formatRecord({ at: this.#clock.now(), node, incarnation, ...entry })}\n`;
    if (this.#batchBytes + this.#flyingBytes + line.length > HISTORY_QUEUE_BYTES_MAX) {
      this.dropped++;
      this.#fail(`the disk is ${HISTORY_QUEUE_BYTES_MAX} bytes behind`);
      return;
    }
    this.#batch.push(line);
    this.#batchBytes += line.length;
    if (this.#flyingBytes > 0) return;
    if (this.#batchBytes >= BATCH_BYTES) this.#fly();
    else if (this.#timer === null) {
      this.#timer = setTimeout(() => this.#fly(), BATCH_MS);
      this.#timer.unref();
    }
  }

  /** Writes waiting records and closes the file. */
  close(): Promise<void> {
    this.#ended ??= this.#end();
    return this.#ended;
  }

  async #end(): Promise<void> {
    if (!this.#isOver) {
      if (this.#flyingBytes === 0) this.#fly();
      while (this.#flyingBytes > 0) await new Promise<void>((resolve) => (this.#idle = resolve));
    }
    this.#isOver = true;
    await new Promise<void>((resolve) => {
      this.#disk.close(() => resolve());
    });
  }

  #fly(): void {
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = null;
    if (this.#batch.length === 0 || this.#isOver) return;
    const count = this.#batch.length;
    const bytes = Buffer.from(this.#batch.join(''));
    this.#batch = [];
    this.#batchBytes = 0;
    this.#flyingBytes = bytes.length;
    this.#write(bytes, count);
  }

  #write(bytes: Uint8Array, count: number): void {
    this.#disk.write(bytes, (error, written) => {
      if (!error && written > 0 && written < bytes.length) {
        this.#write(bytes.subarray(written), count);
        return;
      }
      this.#flyingBytes = 0;
      if (error || written === 0) {
        this.dropped += count;
        this.#fail(error ? error.message : 'nothing could be written');
      } else {
        this.records += count;
        if (this.#batch.length > 0) this.#fly();
      }
      if (this.#flyingBytes === 0) this.#idle?.();
    });
  }

  #fail(why: string): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.dropped += this.#batch.length;
    this.#batch = [];
    this.#batchBytes = 0;
    this.#onFailure(
      new TenureError('TENURE_HISTORY_FAILED', `the history ${this.path} ends here: ${why}. Leases are not affected`, {
        file: this.path,
        why,
      }),
    );
  }
}

/** Opens the file and writes its header. Throws `TENURE_BAD_ARGUMENT` if it is there already or cannot be made. */
export function openHistory(history: string | HistoryOptions, origin: Origin, onFailure: (error: TenureError) => void): HistoryFile {
  const { file, clockBound } = typeof history === 'string' ? { file: history, clockBound: undefined } : history;
  const bound = clockBound === undefined ? {} : { clockBoundUs: parseDuration(clockBound) };
  let path = file;
  let fd: number;
  try {
    if (/[/\\]$/.test(file)) mkdirSync(file, { recursive: true });
    if (statSync(file, { throwIfNoEntry: false })?.isDirectory()) {
      path = join(file, `${origin.node.replace(/[^\w.-]/g, '_')}-${origin.incarnation}.jsonl`);
    }
    fd = openSync(path, 'wx');
    writeSync(fd, `${formatHeader({ 'tenure-history': HISTORY_VERSION, clock: 'wall', ...bound })}\n`);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new TenureError(
      'TENURE_BAD_ARGUMENT',
      `cannot begin the history ${path}: ${why}; name a file that is not there yet, or a directory`,
      { file: path },
    );
  }
  const disk: HistoryDisk = {
    write: (bytes, done) => write(fd, bytes, done),
    close: (done) => close(fd, done),
  };
  return new HistoryFile(path, disk, origin, onFailure);
}

/** Beyond this difference, stamps are brought into line with the wall clock. */
const LINE_US = 2000;
/** Clocks that were read further apart than this say nothing of each other. */
const APART_US = 100;
/** How much slower stamps run while they are ahead of a wall clock that was set back. */
const SLOWER = 0.9;

/**
 * The wall clock with the grain of the monotonic one, for stamps: never back, because records come in the order of
 * time. Where the wall clock jumps ahead (or the machine slept) stamps jump too; where it is set back, they run a
 * tenth slower until it has caught up.
 */
export class StampClock {
  readonly #mono: () => number;
  readonly #wall: () => number;
  #lastMono: number;
  #at: number;

  /** Both in microseconds. */
  constructor(mono: () => number, wall: () => number, startUs: number = wall()) {
    this.#mono = mono;
    this.#wall = wall;
    this.#lastMono = mono();
    this.#at = startUs;
  }

  now(): number {
    const beforeUs = this.#mono();
    const wall = this.#wall();
    const mono = this.#mono();
    const elapsedUs = Math.max(0, mono - this.#lastMono);
    this.#lastMono = mono;
    // Stopped between the two clocks: they cannot be compared.
    if (mono - beforeUs > APART_US) {
      this.#at += elapsedUs;
      return Math.floor(this.#at);
    }
    const aheadUs = this.#at + elapsedUs - wall;
    if (aheadUs < -LINE_US) this.#at = wall;
    else this.#at += aheadUs > LINE_US ? elapsedUs * SLOWER : elapsedUs;
    return Math.floor(this.#at);
  }
}

/** One clock for all histories of this process: they agree to the microsecond. */
const processClock = new StampClock(
  () => performance.now() * 1000,
  () => Date.now() * 1000,
  (performance.timeOrigin + performance.now()) * 1000,
);
