/** What is told for certain was so at some instant between the question and its answer, however members were asked at different instants. */
import { describe, expect, test } from 'vitest';
import { stretch } from '../../../src/core/index.ts';
import { Cell, not, ofKind, TERM_US, TIMING, to, type Packet } from './cell.ts';

const between =
  (from: number, addressee: number) =>
  (packet: Packet): boolean =>
    packet.from === from && packet.to === addressee;

/** Asks one member, and hears its answer. */
function ask(cell: Cell, asker: number, member: number): void {
  cell.deliver((packet) => ['QUERY', 'LIST'].includes(packet.kind) && between(asker, member)(packet));
  cell.deliver((packet) => ['ANSWER', 'LISTED', 'PAGED'].includes(packet.kind) && between(member, asker)(packet));
}

/** Client 3 has a vote of member 0 for its first try, and of member 1 for its second: the first was too low for the others. */
function twoTries(): Cell {
  const cell = new Cell({ clients: 3 });
  const ahead = cell.node(5);
  ahead.wallOffsetUs += TERM_US;
  const lease = ahead.acquire();
  cell.settle(not(to(0)));
  ahead.release(lease);
  cell.settle(not(to(0)));
  cell.drop();
  cell.node(3).acquire();
  cell.deliver(ofKind('PROPOSE'));
  cell.deliver(ofKind('REFUSED', 'ACCEPTED'));
  cell.deliver((packet) => packet.kind === 'PROPOSE' && packet.to === 1);
  return cell;
}

/** Client 3 holds by votes of 0 and 1; the renewal has reached 1, not 0, and is on the way to 2. Its vote at 0 is about to run out. */
function renewedAtTheLastMoment(): { cell: Cell; lease: number } {
  const cell = new Cell({ clients: 2 });
  const lease = cell.node(3).acquire();
  cell.settle(not(to(2)));
  cell.drop();
  cell.pass(TERM_US - 9_000);
  cell.node(3).renew(lease);
  cell.deliver(to(1));
  cell.deliver(ofKind('ACCEPTED'));
  cell.drop(to(0));
  return { cell, lease };
}

/** When the vote at 0 has run out, in microseconds after the renewal was sent. */
const RUN_OUT_US = stretch(TERM_US, TIMING.rateErrorPpm) - TERM_US + 9_000;

describe('a certain answer', () => {
  test('does not put votes for two tries of one process together to a token that was never granted', () => {
    const cell = twoTries();
    cell.node(4).query();
    ask(cell, 4, 0);
    ask(cell, 4, 1);
    for (const { certain } of cell.node(4).said('answered')) expect(certain).toBe(false);
    // The second try wins, and whoever asks now is told its token.
    cell.deliver(not(ofKind('QUERY')));
    cell.settle(not(ofKind('QUERY')));
    const { token } = cell.node(3).last('granted');
    cell.drop();
    cell.node(4).query();
    cell.settle();
    expect(cell.node(4).last('answered')).toMatchObject({ certain: true, holder: { token } });
  });

  test('is not nobody while one process holds the lease before, during and after', () => {
    const { cell, lease } = renewedAtTheLastMoment();
    const [holder, asker] = [cell.node(3), cell.node(4)];
    cell.pass(2_000);
    asker.query();
    ask(cell, 4, 2);
    expect(holder.holds(lease)).toBe(true);
    cell.deliver(to(2));
    cell.deliver(ofKind('ACCEPTED'));
    expect(holder.said('renewed').length).toBe(1);
    cell.pass(RUN_OUT_US - 2_000);
    expect(holder.holds(lease)).toBe(true);
    ask(cell, 4, 0);
    for (const { certain } of asker.said('answered')) expect(certain).toBe(false);
    ask(cell, 4, 1);
    expect(asker.last('answered')).toMatchObject({ certain: false, holder: { token: holder.last('granted').token } });
    // What ran out before the question says nothing against it.
    cell.pass(1_000);
    asker.query();
    cell.settle();
    expect(asker.last('answered')).toMatchObject({ certain: true, holder: { token: holder.last('granted').token } });
  });

  test('does not name a process whose votes were never there at the same instant', () => {
    const cell = new Cell({ clients: 2 });
    const [trying, asker] = [cell.node(3), cell.node(4)];
    const lease = trying.acquire();
    cell.deliver(to(0));
    cell.drop(ofKind('ACCEPTED'));
    trying.cancel(lease);
    cell.pass(1_000);
    asker.query();
    cell.pass(1_000);
    ask(cell, 4, 0);
    cell.deliver(between(3, 0));
    cell.pass(1_000);
    cell.deliver((packet) => packet.kind === 'PROPOSE' && packet.to === 1);
    cell.pass(1_000);
    ask(cell, 4, 1);
    for (const { certain } of asker.said('answered')) expect(certain).toBe(false);
    ask(cell, 4, 2);
    expect(asker.last('answered').certain).toBe(false);
    cell.settle();
    asker.query();
    cell.settle();
    expect(asker.last('answered')).toMatchObject({ certain: true, holder: null });
  });
});

describe('a list', () => {
  test('has a lease that is held throughout, though it was told to last less long than the list took', () => {
    const cell = new Cell({ clients: 2 });
    const lease = cell.node(3).acquire({ termUs: 20_000, keep: true });
    cell.settle();
    cell.node(2).down = true;
    cell.run(TERM_US);
    cell.node(4).list();
    cell.run(3 * TIMING.attemptUs);
    expect(cell.node(3).holds(lease)).toBe(true);
    expect(cell.node(4).last('listed')).toMatchObject({
      certain: true,
      leases: [{ certain: true, holder: { token: cell.node(3).last('granted').token } }],
    });
  });
});
