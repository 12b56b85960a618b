/**
 * One socket with frames on it. Frames written within a turn leave in one write; while a write is under way
 * the next one gathers, so at most two buffers exist however slowly the other side reads. The rota decides when frames that
 * came in are worked on, and nothing more is read while some of them wait. The `owner`, which changes when the handshake
 * is done, decides what the other side may say and what frames mean.
 */
import type { Socket } from 'node:net';
import { beginFrame, ByteWriter, endFrame, FrameSplitter, writeGoodbye, type Farewell, type FrameSink } from '../../wire/index.ts';
import type { DownReason } from '../contract.ts';
import type { Rota, Waiting } from './rota.ts';

const BUFFER_BYTES = 1024;
/** A buffer that a burst made larger than this is let go once so many writes in a row would have fitted into less. */
const KEPT_BYTES_MAX = 256 * 1024;
const SMALL_WRITES_MAX = 256;

export interface Owner extends FrameSink {
  /** Called once, unless the owner itself ended the connection. */
  gone(why: DownReason, error: Error | null): void;
}

export interface ConnectionOptions {
  readonly rota: Rota;
  /** Of the largest frame. */
  readonly bytesMax: number;
  /** How long a farewell may take to leave. */
  readonly lingerMs: number;
}

const DEAF: Owner = { frame: () => false, gone() {} };

export class Connection implements Waiting {
  readonly socket: Socket;
  readonly remote: string;
  readonly splitter: FrameSplitter;
  owner: Owner = DEAF;
  /** In the transport's list of connections to be flushed at the end of the turn. */
  dirty = false;
  /** Something came since this was last set to false. */
  heard = true;
  writes = 0;
  #gathering = new ByteWriter(BUFFER_BYTES);
  #flying = new ByteWriter(BUFFER_BYTES);
  #inFlight = false;
  /** Writes in a row that a kept buffer would have taken. */
  #smallWrites = 0;
  #frameAt = -1;
  #over = false;
  readonly #lingerMs: number;
  readonly #rota: Rota;
  /** The last turn in which frames of it were worked on, and how many more may be. */
  #turn = -1;
  #framesLeft = 0;
  /** Bytes that have come and were not worked on yet, from `#restAt` on. */
  #rest: Uint8Array | null = null;
  #restAt = 0;

  constructor(socket: Socket, remote: string, { rota, bytesMax, lingerMs }: ConnectionOptions) {
    this.socket = socket;
    this.remote = remote;
    this.#rota = rota;
    this.splitter = new FrameSplitter(bytesMax);
    this.#lingerMs = lingerMs;
    socket.setNoDelay(true);
    socket.on('data', this.#received);
    let failure: Error | null = null;
    socket.on('error', (error) => (failure = error));
    socket.on('end', () => this.#lost(failure));
    socket.on('close', () => this.#lost(failure));
  }

  get over(): boolean {
    return this.#over;
  }

  get queuedBytes(): number {
    return this.#gathering.length + (this.#inFlight ? this.#flying.length : 0);
  }

  /** A frame left open by an encoder that threw is taken back. */
  begin(kind: number): ByteWriter {
    const out = this.out;
    this.#frameAt = beginFrame(out, kind);
    return out;
  }

  end(bytesMax: number): void {
    const start = this.#frameAt;
    this.#frameAt = -1;
    if (start >= 0) endFrame(this.#gathering, start, bytesMax);
  }

  /** For frames that are written whole; `flush` follows. */
  get out(): ByteWriter {
    if (this.#frameAt >= 0) {
      this.#gathering.length = this.#frameAt;
      this.#frameAt = -1;
    }
    return this.#gathering;
  }

  flush(): void {
    if (this.#inFlight || this.#over) return;
    const out = this.out;
    if (out.length === 0) return;
    this.#gathering = this.#flying;
    this.#flying = out;
    this.#inFlight = true;
    this.writes++;
    this.socket.write(Buffer.from(out.bytes.buffer, 0, out.length), this.#written);
  }

  /** Says why, sends queued bytes and closes. The owner hears nothing more. */
  leave(why: Farewell): void {
    if (this.#over) return;
    writeGoodbye(this.out, why);
    this.finish();
  }

  /** Closes once queued bytes have been sent. */
  finish(): void {
    if (this.#over) return;
    this.#over = true;
    const out = this.out;
    this.socket.write(Buffer.from(out.bytes.buffer, 0, out.length));
    this.socket.destroySoon();
    // A peer that does not read cannot keep us.
    const timer = setTimeout(() => this.socket.destroy(), this.#lingerMs);
    timer.unref();
    this.socket.once('close', () => clearTimeout(timer));
  }

  /** Closes at once; the owner hears nothing more. */
  drop(): void {
    this.#over = true;
    this.socket.destroy();
  }

  readonly #written = (): void => {
    this.#inFlight = false;
    const written = this.#flying;
    // Where much is sent all the time a large one is kept, though small writes come between: growing it again would copy everything several times.
    this.#smallWrites = written.length < KEPT_BYTES_MAX ? this.#smallWrites + 1 : 0;
    if (written.bytes.length > KEPT_BYTES_MAX && this.#smallWrites > SMALL_WRITES_MAX) this.#flying = new ByteWriter(BUFFER_BYTES);
    else written.reset();
    if (!this.dirty) this.flush();
  };

  readonly #received = (chunk: Uint8Array): void => this.#work(chunk, 0);

  goOn(): void {
    const rest = this.#rest;
    if (rest !== null) this.#work(rest, this.#restAt);
  }

  #work(chunk: Uint8Array, start: number): void {
    if (this.#over) return;
    this.heard = true;
    if (this.#turn !== this.#rota.turn) {
      this.#turn = this.#rota.turn;
      this.#framesLeft = this.#rota.share;
      this.#rota.begin();
    }
    let error: Error | null;
    let why: DownReason = 'bad-frame';
    try {
      error = this.splitter.push(chunk, this, start);
    } catch (thrown) {
      error = thrown instanceof Error ? thrown : new Error(String(thrown));
      why = 'failed';
    }
    if (this.#over) return;
    if (error === null) {
      this.#keep(chunk, this.splitter.at);
      return;
    }
    // Its further bytes are not even read.
    this.socket.pause();
    this.leave('badFrame');
    this.owner.gone(why, error);
  }

  /** The rest of the chunk waits for the next turn, and nothing more is read until then. */
  #keep(chunk: Uint8Array, at: number): void {
    const hadRest = this.#rest !== null;
    const hasRest = at < chunk.length;
    this.#rest = hasRest ? chunk : null;
    this.#restAt = at;
    if (hasRest) this.#rota.wait(this);
    if (hasRest && !hadRest) this.socket.pause();
    else if (hadRest && !hasRest) this.socket.resume();
  }

  frame(kind: number, bytes: Uint8Array, start: number, end: number): boolean {
    this.#framesLeft--;
    return this.owner.frame(kind, bytes, start, end) && !this.#over && this.#framesLeft > 0;
  }

  #lost(error: Error | null): void {
    if (this.#over) return;
    this.drop();
    this.owner.gone('lost', error);
  }
}
