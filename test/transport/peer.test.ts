/** One peer after its handshake, on a connection that the test holds in its hands. */
import { describe, expect, test } from 'vitest';
import { incarnation, nodeId } from '../../src/kernel/index.ts';
import type { PeerInfo } from '../../src/transport/index.ts';
import type { Connection } from '../../src/transport/tcp/connection.ts';
import { Peer } from '../../src/transport/tcp/peer.ts';
import { ByteWriter, PING, PONG } from '../../src/wire/index.ts';

const WALL_US = 1_800_000_000_000_000;
const INFO: PeerInfo = { role: 'member', id: 'b', incarnation: incarnation(2), version: 1, config: {}, services: [], isAdmin: false };

/** What a peer uses of its connection. */
class Line {
  readonly out = new ByteWriter();
  queuedBytes = 0;
  writes = 0;
  heard = true;
  flush(): void {
    this.writes++;
  }
}

function connected(): { peer: Peer; line: Line } {
  const peer = new Peer(nodeId(1), 'b', { message: () => undefined, parted: () => undefined });
  const line = new Line();
  peer.attach(line as unknown as Connection, INFO);
  return { peer, line };
}

function frame(...numbers: number[]): ByteWriter {
  const body = new ByteWriter();
  for (const number of numbers) body.u53(number);
  return body;
}

test('what was measured of a peer is not believed of the process that takes its place', () => {
  const { peer, line } = connected();
  const pong = frame(0, WALL_US, WALL_US, 5);
  peer.frame(PONG, pong.bytes, 0, pong.length);
  expect(peer.stats().rttUs).not.toBeNull();
  peer.gone('lost', null);
  peer.attach(line as unknown as Connection, { ...INFO, incarnation: incarnation(3) });
  expect(peer.stats()).toMatchObject({ rttUs: null, offsetUs: null, clock: null });
});

test('a ping is answered, unless the peer reads nothing of what it is sent', () => {
  const { peer, line } = connected();
  const ping = frame(1);
  expect(peer.frame(PING, ping.bytes, 0, ping.length)).toBe(true);
  expect(line.writes).toBe(1);
  line.queuedBytes = 2 * 1024 * 1024;
  const before = line.out.length;
  expect(peer.frame(PING, ping.bytes, 0, ping.length)).toBe(true);
  expect(line.out.length).toBe(before);
});

describe('a peer is silent', () => {
  test('when nothing has come for so many looks in a row', () => {
    const { peer, line } = connected();
    expect([peer.isSilent(2), peer.isSilent(2), peer.isSilent(2)]).toEqual([false, false, true]);
    line.heard = true;
    expect(peer.isSilent(2)).toBe(false);
  });

  test('counted from its new connection on', () => {
    const { peer, line } = connected();
    for (let look = 0; look < 3; look++) peer.isSilent(9);
    peer.attach(line as unknown as Connection, INFO);
    expect(peer.isSilent(2)).toBe(false);
  });
});
