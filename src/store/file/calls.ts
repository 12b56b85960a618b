/**
 * Calls to the file system. A call that Node.js hands to its threads takes a tenth of a millisecond and more; the system needs a few microseconds of that where
 * it does not wait for a disk. So on a file system of this machine calls are made at once, on the thread of the caller: never calls that wait for the disk by
 * their nature, never for longer than a moment without a turn of the event loop, and not for a while after one of them was slow. Where another machine is
 * behind the file system a call may hang for ever, and everything is handed to the threads.
 */
import * as now from 'node:fs';
import * as later from 'node:fs/promises';
import { setImmediate as eventLoopTurn } from 'node:timers/promises';
import { promisify } from 'node:util';

/** After so much of it the event loop has a turn: timers, sockets and signals of the process wait no longer. */
const AT_A_STRETCH_MS = 2;
/** A call that takes longer has waited for a disk. */
const SLOW_MS = 20;
/** So many times as long as a slow one took, calls are handed to the threads: whatever the disk does, the process stands still for a tenth of the time. */
const PATIENT_TIMES = 10;

const laterOpen = promisify(now.open);
const laterWrite = promisify(now.write);
const laterStat = promisify<number, now.Stats>(now.fstat);
const laterTruncate = promisify(now.ftruncate);
const laterClose = promisify(now.close);
const laterDataSync = promisify(now.fdatasync);
const laterSync = promisify(now.fsync);

/** A file that is open, by its number. The caller that opens it closes it. */
export type OpenFile = number;

export class FileCalls {
  readonly #isOfThisMachine: boolean;
  #stretchMs = 0;
  #patientUntilMs = 0;

  constructor(isOfThisMachine: boolean) {
    this.#isOfThisMachine = isOfThisMachine;
  }

  /** Whether calls are made at once, as things stand. */
  get isAtOnce(): boolean {
    return this.#isOfThisMachine && performance.now() >= this.#patientUntilMs;
  }

  open(path: string, flags: 'r' | 'wx'): Promise<OpenFile> {
    return this.#call(
      () => now.openSync(path, flags, 0o666),
      () => laterOpen(path, flags, 0o666),
    );
  }

  /** All of the bytes, from the beginning of the file on. */
  async write(file: OpenFile, bytes: Uint8Array): Promise<void> {
    for (let at = 0; at < bytes.length;) {
      at += await this.#call(
        () => now.writeSync(file, bytes, at, bytes.length - at, at),
        async () => (await laterWrite(file, bytes, at, bytes.length - at, at)).bytesWritten,
      );
    }
  }

  truncate(file: OpenFile, length: number): Promise<void> {
    return this.#call(
      () => now.ftruncateSync(file, length),
      () => laterTruncate(file, length),
    );
  }

  statOpen(file: OpenFile): Promise<now.Stats> {
    return this.#call(
      () => now.fstatSync(file),
      () => laterStat(file),
    );
  }

  close(file: OpenFile): Promise<void> {
    return this.#call(
      () => now.closeSync(file),
      () => laterClose(file),
    );
  }

  /** The disk is waited for. */
  dataSync(file: OpenFile): Promise<void> {
    return laterDataSync(file);
  }

  sync(file: OpenFile): Promise<void> {
    return laterSync(file);
  }

  readFile(path: string): Promise<Buffer> {
    return this.#call(
      () => now.readFileSync(path),
      () => later.readFile(path),
    );
  }

  readdir(path: string): Promise<string[]> {
    return this.#call(
      () => now.readdirSync(path),
      () => later.readdir(path),
    );
  }

  stat(path: string): Promise<now.Stats> {
    return this.#call(
      () => now.statSync(path),
      () => later.stat(path),
    );
  }

  link(path: string, as: string): Promise<void> {
    return this.#call(
      () => now.linkSync(path, as),
      () => later.link(path, as),
    );
  }

  rename(path: string, to: string): Promise<void> {
    return this.#call(
      () => now.renameSync(path, to),
      () => later.rename(path, to),
    );
  }

  unlink(path: string): Promise<void> {
    return this.#call(
      () => now.unlinkSync(path),
      () => later.unlink(path),
    );
  }

  mkdir(path: string): Promise<void> {
    return this.#call(
      () => now.mkdirSync(path),
      () => later.mkdir(path),
    );
  }

  rmdir(path: string): Promise<void> {
    return this.#call(
      () => now.rmdirSync(path),
      () => later.rmdir(path),
    );
  }

  /** However much is in it. */
  async removeTree(path: string): Promise<void> {
    await later.rm(path, { recursive: true, force: true });
  }

  async #call<Answer>(atOnce: () => Answer, byThread: () => Promise<Answer>): Promise<Answer> {
    if (!this.isAtOnce) return await byThread();
    if (this.#stretchMs >= AT_A_STRETCH_MS) {
      this.#stretchMs = 0;
      await eventLoopTurn();
    }
    const beganMs = performance.now();
    try {
      return atOnce();
    } finally {
      this.#took(performance.now() - beganMs);
    }
  }

  #took(ms: number): void {
    this.#stretchMs += ms;
    if (ms > SLOW_MS) this.#patientUntilMs = performance.now() + PATIENT_TIMES * ms;
  }
}
