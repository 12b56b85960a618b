/** At the very instant: on which side of a deadline a microsecond falls, and what a record that is used again may not carry over. */
import { describe, expect, test } from 'vitest';
import { HAS_LEASE, type QuorumMessage, RENEWS, REASONS, renewalPatienceUs, stretch } from '../../../src/core/index.ts';
import { ByteReader, quorumCodec } from '../../../src/wire/index.ts';
import { Cell, name, ofKind, R, TERM_US, TIMING, to, type Packet } from './cell.ts';

function read({ bytes }: Packet): QuorumMessage {
  const input = new ByteReader();
  input.reset(bytes, 0, bytes.length);
  const message = quorumCodec().decode(input);
  if (!message) throw new Error('no message of this codec');
  return message;
}

describe('a vote', () => {
  test('stands until the last microsecond of its stretched term, and not in the next', () => {
    const cell = new Cell({ clients: 2 });
    cell.node(3).acquire();
    cell.settle();
    cell.pass(stretch(TERM_US, TIMING.rateErrorPpm) - 1);
    cell.node(4).acquire();
    cell.settle();
    expect(cell.node(4).last('refused').reason).toBe('held');
    cell.pass(1);
    cell.node(4).acquire();
    cell.settle();
    expect(cell.node(4).said('granted').length).toBe(1);
  });
});

describe('a lease is not handed out', () => {
  test('at the instant at which the wall clock says that it is over', () => {
    const cell = new Cell({ clients: 1 });
    const client = cell.node(3);
    client.acquire();
    cell.deliver(ofKind('PROPOSE'));
    client.wallOffsetUs += TERM_US;
    cell.deliver(ofKind('ACCEPTED'));
    expect(client.said('granted')).toEqual([]);
  });

  test('at the instant at which its attempt is over', () => {
    const cell = new Cell({ clients: 1 });
    const client = cell.node(3);
    client.acquire();
    cell.deliver(ofKind('PROPOSE'));
    cell.pass(TIMING.attemptUs);
    cell.deliver(ofKind('ACCEPTED'));
    expect(client.said('granted')).toEqual([]);
  });
});

describe('a renewal', () => {
  const held = (): { cell: Cell; lease: number } => {
    const cell = new Cell({ clients: 1 });
    const lease = cell.node(3).acquire();
    cell.settle();
    cell.pass(1000);
    return { cell, lease };
  };

  test('that is answered late lasts from when it began, and one that is answered at the instant at which it is over does not last', () => {
    for (const [lateUs, isRenewed] of [
      [renewalPatienceUs(TIMING, TERM_US), true],
      [TERM_US - 1001, true],
      [TERM_US - 1000, false],
    ] as const) {
      const { cell, lease } = held();
      const holder = cell.node(3);
      holder.renew(lease);
      cell.deliver(ofKind('PROPOSE'));
      cell.pass(lateUs);
      cell.deliver(ofKind('ACCEPTED'));
      expect(holder.said('renewed').length).toBe(isRenewed ? 1 : 0);
      expect(holder.remaining(lease)).toBe(isRenewed ? TERM_US - lateUs : 0);
    }
  });

  test('does not fail because one of three voters refuses', () => {
    const { cell, lease } = held();
    const holder = cell.node(3);
    cell.node(0).restart();
    holder.renew(lease);
    cell.deliver(to(0));
    cell.deliver(ofKind('REFUSED'));
    expect(holder.said('renewal-failed')).toEqual([]);
    cell.settle();
    expect(holder.said('renewed').length).toBe(1);
  });

  test('does not bring back a lease that its holder slept through', () => {
    const { cell, lease } = held();
    const holder = cell.node(3);
    // The machine slept: its monotonic clock stood still, everyone else's went on.
    const sleptUs = 2 * TERM_US;
    cell.pass(sleptUs);
    holder.monoOffsetUs -= sleptUs;
    holder.renew(lease);
    cell.settle();
    expect(holder.said('renewed')).toEqual([]);
    expect(holder.last('lost').lease).toBe(lease);
    expect(holder.holds(lease)).toBe(false);
  });
});

describe('a record that is used again', () => {
  test('does not say of an acquire that it renews', () => {
    const cell = new Cell({ clients: 1 });
    const client = cell.node(3);
    const lease = client.acquire();
    cell.settle();
    client.renew(lease);
    client.acquire({ name: name('other') });
    const flags = cell.flying.filter(ofKind('PROPOSE')).map((packet) => read(packet).flags & RENEWS);
    expect(flags).toEqual([RENEWS, RENEWS, RENEWS, 0, 0, 0]);
  });

  test('does not tell learners what another lease says of itself', () => {
    const cell = new Cell({ clients: 2 });
    const [client, learner] = [cell.node(3), cell.node(4)];
    learner.command({ kind: 'watch', prefix: new Uint8Array(0) });
    cell.settle();
    const plain = client.acquire();
    cell.settle();
    client.acquire({ name: name('other'), meta: name('of the other') });
    client.renew(plain);
    cell.settle();
    client.release(plain);
    cell.settle();
    const told = learner.said('learned').filter((event) => Buffer.from(event.name).equals(R));
    expect(told.length).toBeGreaterThan(1);
    expect(told.filter(({ meta }) => meta !== null && meta.length > 0)).toEqual([]);
  });

  test('tells nothing of the lease of a name that was asked about before', () => {
    const cell = new Cell({ clients: 3 });
    const [holder, refused, late] = [cell.node(3), cell.node(4), cell.node(5)];
    holder.acquire();
    cell.settle();
    refused.acquire();
    cell.deliver(ofKind('PROPOSE'));
    // Its wall clock is behind, and a token of this name was higher: it is refused, and nobody holds the name.
    const gone = holder.acquire({ name: name('gone') });
    cell.settle();
    holder.release(gone, name('gone'));
    cell.settle();
    late.wallOffsetUs -= TERM_US;
    late.acquire({ name: name('gone') });
    cell.deliver(ofKind('PROPOSE'));
    const refusals = cell.flying.filter(ofKind('REFUSED')).map(read);
    const low = refusals.filter(({ reason }) => REASONS[reason] === 'low');
    expect(low.length).toBeGreaterThan(0);
    expect(low.map(({ flags, remainingUs }) => [flags & HAS_LEASE, remainingUs])).toEqual(low.map(() => [0, 0]));
  });
});
