/** One socket with frames on it: what leaves when, and that nobody who does not read can keep it open. */
import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Connection } from '../../src/transport/tcp/connection.ts';
import { Rota } from '../../src/transport/tcp/rota.ts';

const LINGER_MS = 100;

/** A socket whose other side reads when the test says so. */
class SlowSocket extends EventEmitter {
  readonly written: Uint8Array[] = [];
  readonly #done: (() => void)[] = [];
  destroyed = false;

  setNoDelay(): void {}
  pause(): void {}
  destroySoon(): void {}

  write(bytes: Uint8Array, done?: () => void): void {
    // The bytes themselves, as a socket keeps them until they are sent.
    this.written.push(bytes);
    if (done) this.#done.push(done);
  }

  read(): void {
    this.#done.shift()?.();
  }

  destroy(): void {
    this.destroyed = true;
    this.emit('close');
  }
}

function connected(): { socket: SlowSocket; connection: Connection } {
  const socket = new SlowSocket();
  return {
    socket,
    connection: new Connection(socket as unknown as Socket, 'nowhere', {
      rota: new Rota(() => undefined),
      bytesMax: 1024,
      lingerMs: LINGER_MS,
    }),
  };
}

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test('what is being sent is not written over, and what gathers meanwhile leaves together after it', () => {
  const { socket, connection } = connected();
  connection.out.u8(1);
  connection.flush();
  for (const byte of [2, 3]) {
    connection.out.u8(byte);
    connection.flush();
  }
  expect(socket.written.map((bytes) => [...bytes])).toEqual([[1]]);
  socket.read();
  expect(socket.written.map((bytes) => [...bytes])).toEqual([[1], [2, 3]]);
});

test('what is queued counts, whether it is under way or not', () => {
  const { socket, connection } = connected();
  connection.out.u8(1);
  connection.flush();
  connection.out.u8(2);
  expect(connection.queuedBytes).toBe(2);
  socket.read();
  expect(connection.queuedBytes).toBe(1);
});

test('whoever does not read what it is told last is cut off after a while', () => {
  const { socket, connection } = connected();
  connection.leave('closing');
  expect(socket.destroyed).toBe(false);
  vi.advanceTimersByTime(LINGER_MS - 1);
  expect(socket.destroyed).toBe(false);
  vi.advanceTimersByTime(1);
  expect(socket.destroyed).toBe(true);
});

test('a connection that is lost is told to its owner once', () => {
  const { socket, connection } = connected();
  const gone: string[] = [];
  connection.owner = { frame: () => true, gone: (why) => void gone.push(why) };
  socket.emit('end');
  socket.emit('close');
  expect(gone).toEqual(['lost']);
  expect(socket.destroyed).toBe(true);
});
