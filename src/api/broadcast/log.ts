/** One log of a cell, as one process publishes to it and reads it. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { LogEntry } from '../../core/index.ts';
import { checkName, checkOptions, encodeName, TenureError, type OptionTable } from '../../kernel/index.ts';
import type { KeepAlive } from '../../runtime/index.ts';
import { atCaller } from '../call-stacks.ts';
import type { Services } from '../services/services.ts';
import { SIGNAL_ONLY, type SignalOnly } from '../signals.ts';
import { epochGone, positionGone } from './failures.ts';
import { BROADCAST } from './kind.ts';
import { LogMessage } from './log-message.ts';
import type { BroadcastService } from './service.ts';

export interface PublishOptions {
  /** A message that is given up before it was sent is not published; a message that was sent may be. */
  readonly signal?: AbortSignal;
}

/** The state of an application, as the messages up to `position` have made it. */
export interface StateSnapshot {
  readonly position: number;
  readonly state: Uint8Array;
}

export interface ReadOptions {
  /**
   * The position to begin with: 1, the very first message, unless told otherwise. `first`: the oldest message that is kept, whichever that is. `next`: messages that are published from now on.
   * A reader that goes on where it stopped gives the position after the last message it has worked on.
   */
  readonly from?: number | 'first' | 'next';
  /** The epoch of the message before that position. If the members have begun anew since, reading ends with TENURE_POSITION_GONE. */
  readonly epoch?: number;
  /** False: it ends where the log ends now. It waits for more unless told so. */
  readonly follow?: boolean;
  /** Called where messages are kept no more that were to be read: with the newest state that a process has left with `keep`. Reading goes on after it. */
  readonly restore?: (snapshot: StateSnapshot) => void | Promise<void>;
  /** Ends the reading with its reason. */
  readonly signal?: AbortSignal;
}

const PUBLISH_OPTIONS: OptionTable<PublishOptions> = { signal: 'signal' };
const READ_OPTIONS: OptionTable<ReadOptions> = { from: 'any', epoch: 'number', follow: 'boolean', restore: 'function', signal: 'signal' };

/** The name of a log where none is given. */
export const MAIN_LOG = 'main';

export class BroadcastLog {
  readonly name: string;
  readonly #bytes: Uint8Array;
  readonly #services: Services;
  readonly #alive: KeepAlive;

  /** Made by `broadcast` of a cell. Throws TENURE_BAD_NAME. */
  constructor(name: string, services: Services, alive: KeepAlive) {
    checkName(name);
    this.name = name;
    this.#bytes = encodeName(name);
    this.#services = services;
    this.#alive = alive;
  }

  /**
   * Publishes a message, text or bytes. Resolves with its position once that is decided: a majority of the members has the message, on disk if they have data directories. A message whose answer is lost is
   * asked for again, and delivered once.
   */
  async publish(message: Uint8Array | string, options: PublishOptions = {}): Promise<number> {
    const { signal } = checkOptions('publish', options, PUBLISH_OPTIONS);
    const bytes = bytesOf(message);
    // At once where that can be: messages are in the log in the order of these calls.
    const service = this.#services.running(BROADCAST) ?? (await this.#reach(signal));
    try {
      return await service.publish(this.#bytes, bytes, signal);
    } catch (error) {
      throw atCaller(error);
    }
  }

  /** All messages, in the one order that all readers see, from the first on. The same as `read()`. */
  [Symbol.asyncIterator](): AsyncGenerator<LogMessage, void, undefined> {
    return this.read();
  }

  /** Messages in the one order that all readers see, each once. Throws TENURE_POSITION_GONE. */
  async *read(options: ReadOptions = {}): AsyncGenerator<LogMessage, void, undefined> {
    const { from = 1, epoch = null, follow = true, signal } = checkOptions('read', options, READ_OPTIONS);
    checkFrom(from);
    const service = await this.#reach(signal);
    const end = follow && from !== 'next' ? 0 : await service.lastPosition();
    const last = follow ? Infinity : end;
    let at = from === 'next' ? end : from === 'first' ? 0 : from - 1;
    // Where it ends is a position of any log: all are looked at.
    const reader = service.open({
      name: follow ? this.#bytes : null,
      after: at,
      epoch,
      made: (entry, ofEpoch) => this.#made(entry, ofEpoch),
      epochGone: (before, now) => epochGone(this.name, at + 1, before, now),
    });
    try {
      while (at < last) {
        const page = await this.#alive.during(reader.page(signal));
        if ('first' in page) {
          at = from === 'first' ? page.first - 1 : await this.#restore(service, at, page.first, options);
          reader.moveTo(at);
          continue;
        }
        for (const one of page) {
          at = typeof one === 'number' ? one : one.position;
          if (at > last) return;
          if (typeof one !== 'number') yield one;
        }
        // A log that is read from memory is never waited for: others have their turn, too.
        await nextTurn();
      }
    } finally {
      service.shut(reader);
    }
  }

  /**
   * Leaves the state of the application with this member, for readers that are too far behind (`restore`). The last that was left for this log replaces those before. Members only; a member that starts again has none.
   * Throws TENURE_LIMIT if it is too large.
   */
  async keep({ position, state }: StateSnapshot): Promise<void> {
    if (!(state instanceof Uint8Array)) throw new TenureError('TENURE_BAD_ARGUMENT', 'a state is bytes (a Uint8Array)');
    checkPosition(position);
    const service = await this.#reach(undefined);
    service.keep(this.#bytes, { position, bytes: state });
  }

  /** Waits until the log can be used here: this member takes its part again and has the log; for a client, a majority of the members does. Throws TENURE_NOT_BEGUN if that can never be. */
  async ready(options: SignalOnly = {}): Promise<void> {
    const { signal } = checkOptions('ready', options, SIGNAL_ONLY);
    const service = await this.#reach(signal);
    try {
      await service.ready(signal);
    } catch (error) {
      throw atCaller(error);
    }
  }

  #reach(signal: AbortSignal | undefined): Promise<BroadcastService> {
    return this.#services.reach(BROADCAST, signal);
  }

  /** Of a message of another log only the position. */
  #made({ position, from, name, message }: LogEntry, epoch: number): LogMessage | number {
    return equals(name, this.#bytes) ? new LogMessage(position, from, message.slice(), epoch) : position;
  }

  /** The position after which reading goes on. */
  async #restore(service: BroadcastService, at: number, first: number, { restore }: ReadOptions): Promise<number> {
    // An older state would lead to messages that are gone.
    const snapshot = restore && (await this.#alive.during(service.fetch(this.#bytes, Math.max(at, first - 2))));
    if (!snapshot) throw positionGone(this.name, at + 1, first);
    await restore({ position: snapshot.position, state: snapshot.bytes.slice() });
    return snapshot.position;
  }
}

function equals(one: Uint8Array, other: Uint8Array): boolean {
  return one.length === other.length && one.every((byte, at) => byte === other[at]);
}

function bytesOf(message: Uint8Array | string): Uint8Array {
  if (typeof message === 'string') return Buffer.from(message);
  // It leaves at the end of this turn, and the caller may use its bytes again before. Node copies small buffers into a slab that many share.
  if (message instanceof Uint8Array) return Buffer.from(message);
  throw new TenureError('TENURE_BAD_ARGUMENT', 'a message is text or bytes (a Uint8Array)');
}

function checkFrom(from: unknown): void {
  if (from !== 'first' && from !== 'next') checkPosition(from, " or 'first' or 'next'");
}

function checkPosition(position: unknown, orElse = ''): void {
  if (Number.isSafeInteger(position) && (position as number) >= 1) return;
  throw new TenureError(
    'TENURE_BAD_ARGUMENT',
    `a position${orElse} is needed, and positions are whole numbers from 1 on; not ${String(position)}`,
  );
}
