/** What a dialler leaves behind when its transport is closed. */
import { createServer, type Socket } from 'node:net';
import { once } from 'node:events';
import { afterEach, expect, it, vi } from 'vitest';
import { Witness } from '../../src/transport/conformance.ts';
import { TcpCell } from './cell.ts';

afterEach(() => void vi.useRealTimers());

it('a transport that is closed in the middle of a handshake greets no more', async () => {
  const cell = await TcpCell.of('a');
  const silent = createServer().listen(cell.port('a'), '127.0.0.1');
  await once(silent, 'listening');
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const client = new Witness(cell.transport('client', 'visitor'));
  const accepted = once(silent, 'connection') as Promise<[Socket]>;
  await client.transport.open(client);
  const [socket] = await accepted;
  socket.on('error', () => {}).resume();
  const ended = once(socket, 'close');
  await client.transport.close();
  await ended;
  expect(vi.getTimerCount()).toBe(0);
  silent.close();
});
