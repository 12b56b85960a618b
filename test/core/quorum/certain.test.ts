/** What is told for certain was so at some instant between the question and its answer, however members were asked at different instants. */
import { describe, expect, test } from 'vitest';
import { stretch } from '../../../src/core/index.ts';
import { Cell, name, not, ofKind, TERM_US, TIMING, to, type Node, type Packet } from './cell.ts';

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

  test('is not nobody by two of four voters: a successor of one of them may have voted, and neither need know of it', () => {
    const cell = new Cell({ members: 4, clients: 1 });
    const asker = cell.node(4);
    asker.query();
    ask(cell, 4, 0);
    ask(cell, 4, 1);
    expect(asker.said('answered')).toEqual([]);
    ask(cell, 4, 2);
    expect(asker.last('answered')).toMatchObject({ certain: true, holder: null });
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

describe('a vote that was read back from a disk', () => {
  const CELL = { clients: 2, keeps: 'votes' } as const;
  const restart = (...members: Node[]): void => {
    for (const member of members) {
      member.diskHangs = false;
      member.restart();
    }
  };

  test('is not certain: that its lease was given back may never have reached the disk', () => {
    const cell = new Cell(CELL);
    const [holder, asker, ...forgetful] = [cell.node(3), cell.node(4), cell.node(0), cell.node(1)];
    const lease = holder.acquire();
    cell.settle();
    for (const member of forgetful) member.diskHangs = true;
    holder.release(lease);
    cell.settle();
    expect(holder.last('released').byQuorum).toBe(true);
    restart(...forgetful);
    asker.query();
    asker.list();
    cell.settle();
    cell.run(TERM_US / 4);
    expect(asker.last('answered').certain).toBe(false);
    expect(asker.last('listed').leases).toMatchObject([{ certain: false }]);
    // It runs out like every other.
    cell.run(2 * TERM_US);
    asker.query();
    cell.settle();
    expect(asker.last('answered')).toMatchObject({ certain: true, holder: null });
  });

  test('is certain again when it was renewed, of the questions that began after that', () => {
    const cell = new Cell(CELL);
    const [holder, asker] = [cell.node(3), cell.node(4)];
    const lease = holder.acquire();
    cell.settle();
    restart(cell.node(0), cell.node(1));
    cell.pass(TERM_US / 2);
    asker.query();
    cell.pass(1_000);
    holder.renew(lease);
    cell.settle(not(ofKind('QUERY')));
    cell.pass(1_000);
    ask(cell, 4, 0);
    ask(cell, 4, 1);
    expect(asker.said('answered')).toEqual([]);
    cell.drop();
    asker.query();
    ask(cell, 4, 0);
    ask(cell, 4, 1);
    expect(asker.last('answered')).toMatchObject({ certain: true, holder: { token: holder.last('granted').token } });
  });
});

describe('what a member said in a life before', () => {
  /** Client 3 holds by the votes of 0 and 1, and client 4 has asked. Member 0 answers, and then another process takes its place. */
  function succeeded(asks: 'query' | 'list'): Cell {
    const cell = new Cell({ clients: 2, succession: 'majority' });
    cell.settle();
    cell.node(3).acquire();
    cell.settle(not(to(2)));
    cell.drop();
    cell.pass(1_000);
    cell.node(4)[asks]();
    ask(cell, 4, 0);
    cell.node(0).restart();
    cell.settle(ofKind('NOTE', 'NOTED'));
    return cell;
  }

  test('does not make an answer certain', () => {
    const cell = succeeded('query');
    ask(cell, 4, 1);
    expect(cell.node(4).said('answered')).toEqual([]);
    ask(cell, 4, 2);
    cell.run(TIMING.attemptUs, ofKind('nothing'));
    expect(cell.node(4).last('answered').certain).toBe(false);
  });

  test('does not make a list certain', () => {
    const cell = succeeded('list');
    cell.node(2).down = true;
    ask(cell, 4, 1);
    cell.run(4 * TIMING.attemptUs, ofKind('nothing'));
    expect(cell.node(4).last('listed').certain).toBe(false);
  });

  test('does not make a lease on a list certain', () => {
    const cell = succeeded('list');
    ask(cell, 4, 1);
    ask(cell, 4, 2);
    cell.run(4 * TIMING.attemptUs, ofKind('nothing'));
    expect(cell.node(4).last('listed')).toMatchObject({ certain: true, leases: [{ certain: false }] });
  });
});

describe('an answer', () => {
  test('that comes too late is not counted', () => {
    const cell = new Cell({ clients: 1 });
    cell.node(3).query();
    ask(cell, 3, 0);
    cell.pass(TIMING.attemptUs);
    ask(cell, 3, 1);
    expect(cell.node(3).said('answered')).toMatchObject([{ certain: false }]);
  });

  test('is not steady if another try of the same process has taken the vote over since', () => {
    const cell = new Cell({ clients: 2 });
    const [trying, asker] = [cell.node(3), cell.node(4)];
    trying.acquire({ waitUs: TERM_US });
    cell.deliver(ofKind('PROPOSE'));
    // No answer comes back, so it tries again.
    for (let turn = 0; cell.sent.filter(({ kind }) => kind === 'PROPOSE').length < 6; turn++) {
      expect(turn).toBeLessThan(100);
      cell.drop();
      cell.run(TIMING.attemptUs / 2, ofKind('nothing'));
    }
    asker.query();
    cell.pass(1_000);
    cell.deliver(ofKind('PROPOSE'));
    cell.pass(1_000);
    ask(cell, 4, 0);
    ask(cell, 4, 1);
    expect(asker.said('answered')).toEqual([]);
  });
});

describe('nobody is certain', () => {
  test('not when the asker slept: its monotonic clock stood still while a vote ran out', () => {
    const { cell } = renewedAtTheLastMoment();
    const asker = cell.node(4);
    cell.pass(2_000);
    asker.query();
    ask(cell, 4, 2);
    cell.deliver(to(2));
    cell.deliver(ofKind('ACCEPTED'));
    cell.pass(RUN_OUT_US - 2_000);
    asker.monoOffsetUs -= RUN_OUT_US - 2_000;
    cell.pass(1_000);
    ask(cell, 4, 0);
    for (const { certain } of asker.said('answered')) expect(certain).toBe(false);
  });

  test('not by a member whose silence ended since the question began', () => {
    const cell = new Cell({ clients: 2 });
    const [holder, asker] = [cell.node(3), cell.node(4)];
    const lease = holder.acquire();
    cell.settle(not(to(2)));
    cell.drop();
    cell.node(0).restart();
    // The holder goes on by the vote of 1, and that of 2 which is on its way.
    cell.run(TIMING.silenceUs - 20_000, not(to(0, 2)));
    cell.drop();
    const again = holder.acquire();
    expect([holder.holds(lease), again]).toEqual([false, 2]);
    cell.drop();
    asker.query();
    ask(cell, 4, 2);
    cell.run(25_000, not(ofKind('QUERY', 'PROPOSE', 'RELEASE')));
    ask(cell, 4, 0);
    for (const { certain } of asker.said('answered')) expect(certain).toBe(false);
    asker.query();
    cell.settle(not(ofKind('PROPOSE')));
    expect(asker.last('answered')).toMatchObject({ certain: true, holder: null });
  });

  test('not by a member whose clock was off, and whose silence after that ended since the question began', () => {
    const cell = new Cell({ clients: 1 });
    const asker = cell.node(3);
    for (const own of ['fast', 'fine'] as const) cell.node(0).command({ kind: 'rate', own, off: [] });
    cell.pass(TIMING.silenceUs - 5_000);
    asker.query();
    cell.pass(10_000);
    ask(cell, 3, 0);
    ask(cell, 3, 1);
    expect(asker.said('answered')).toEqual([]);
    ask(cell, 3, 2);
    expect(asker.last('answered')).toMatchObject({ certain: true, holder: null });
  });

  test('though split votes of several tries are there, if none of them can be a quorum', () => {
    const cell = new Cell({ clients: 3 });
    cell.node(3).acquire();
    cell.deliver(to(0));
    cell.drop();
    cell.node(4).acquire();
    cell.deliver(to(1));
    cell.drop(ofKind('PROPOSE', 'ACCEPTED', 'REFUSED'));
    cell.node(5).query();
    cell.settle(ofKind('QUERY', 'ANSWER'));
    expect(cell.node(5).last('answered')).toMatchObject({ certain: true, holder: null });
  });
});

describe('a list', () => {
  test.each(['dead', 'replaced'])('is not certain if a vote under its prefix ran out since it began, and its row is %s', (gone) => {
    const { cell } = renewedAtTheLastMoment();
    const asker = cell.node(4);
    cell.pass(2_000);
    asker.list();
    ask(cell, 4, 2);
    cell.pass(RUN_OUT_US - 2_000);
    if (gone === 'replaced') {
      const other = cell.node(1).acquire();
      cell.deliver((packet) => packet.kind === 'PROPOSE' && packet.from === 1 && packet.to === 0);
      cell.node(1).cancel(other);
      cell.deliver((packet) => packet.kind === 'RELEASE' && packet.to === 0);
    }
    ask(cell, 4, 0);
    expect(asker.said('listed')).toEqual([]);
    cell.node(1).down = true;
    cell.run(4 * TIMING.attemptUs, ofKind('nothing'));
    expect(asker.last('listed')).toMatchObject({ certain: false, leases: [] });
  });

  test('does not hear members whose clocks are off', () => {
    const cell = new Cell({ clients: 1 });
    const asker = cell.node(3);
    cell.node(2).down = true;
    asker.command({ kind: 'rate', own: 'fine', off: [0] });
    asker.list();
    cell.run(4 * TIMING.attemptUs);
    expect(asker.last('listed').certain).toBe(false);
  });

  test('is certain if only votes under other prefixes ran out', () => {
    const { cell } = renewedAtTheLastMoment();
    cell.pass(2_000);
    cell.node(4).list('other/');
    ask(cell, 4, 2);
    cell.pass(RUN_OUT_US - 2_000);
    ask(cell, 4, 0);
    expect(cell.node(4).last('listed')).toMatchObject({ certain: true, leases: [] });
  });

  test('is not sure of a lease that began while it went on, and is the next time', () => {
    const cell = new Cell({ clients: 2 });
    cell.node(4).list();
    cell.pass(1_000);
    cell.node(3).acquire();
    cell.deliver(ofKind('PROPOSE'));
    cell.pass(1_000);
    for (const member of [0, 1, 2]) ask(cell, 4, member);
    expect(cell.node(4).last('listed')).toMatchObject({ certain: true, leases: [{ certain: false }] });
    cell.node(4).list();
    cell.settle();
    expect(cell.node(4).last('listed')).toMatchObject({ certain: true, leases: [{ certain: true }] });
  });

  test.each([1_000, 0])(
    'does not put two sendings of one page together that are %i us apart: what was lost of one is not made up for',
    (gapUs) => {
      const cell = new Cell({ clients: 2 });
      for (const of of ['a', 'b']) cell.node(3).acquire({ name: name(of) });
      cell.settle();
      cell.pass(1_000);
      cell.node(4).list();
      cell.drop(to(2));
      const requests = cell.drop(ofKind('LIST'));
      for (const request of requests) cell.hand(request);
      // Of the first sending everything but 'a' arrives; the second has 'c' as well, and only that arrives.
      const first = cell.drop();
      cell.pass(gapUs);
      cell.node(3).acquire({ name: name('c') });
      cell.deliver(ofKind('PROPOSE'));
      cell.drop();
      for (const request of requests) cell.hand(request);
      const second = cell.drop();
      const bears =
        (of: string) =>
        ({ kind, bytes }: Packet): boolean =>
          kind === 'LISTED' && bytes.at(-3) === of.charCodeAt(0);
      expect([first.filter(bears('a')).length, second.filter(bears('c')).length]).toEqual([2, 2]);
      for (const packet of first) if (!bears('a')(packet)) cell.hand(packet);
      for (const packet of second) if (bears('c')(packet)) cell.hand(packet);
      expect(cell.node(4).said('listed')).toEqual([]);
      cell.run(TERM_US / 10);
      expect(
        cell
          .node(4)
          .last('listed')
          .leases.map((lease) => new TextDecoder().decode(lease.name))
          .sort(),
      ).toEqual(['a', 'b', 'c']);
    },
  );

  test('does not take the end of a sending for that of a later one', () => {
    const cell = new Cell({ clients: 2 });
    cell.node(3).acquire({ name: name('a') });
    cell.settle();
    cell.pass(1_000);
    cell.node(4).list();
    cell.drop(to(2));
    const requests = cell.drop(ofKind('LIST'));
    for (const request of requests) cell.hand(request);
    const first = cell.drop();
    cell.pass(1_000);
    cell.node(3).acquire({ name: name('b') });
    cell.settle();
    for (const request of requests) cell.hand(request);
    // Of the second sending only 'b' arrives; then the end of the first, which had one name as well.
    const second = cell.drop();
    for (const packet of second) if (packet.kind === 'LISTED' && packet.bytes.at(-3) === 'b'.charCodeAt(0)) cell.hand(packet);
    for (const packet of first) if (packet.kind === 'PAGED') cell.hand(packet);
    cell.node(2).down = true;
    cell.run(4 * TIMING.attemptUs);
    expect(cell.node(4).last('listed').leases).toHaveLength(2);
  });

  test('waits for nobody once enough have told, and all that they told is certain', () => {
    const cell = new Cell({ clients: 2 });
    cell.node(3).acquire();
    cell.settle();
    cell.pass(1_000);
    cell.node(2).down = true;
    cell.node(4).list();
    cell.settle();
    expect(cell.node(4).last('listed')).toMatchObject({ certain: true, leases: [{ certain: true }] });
  });

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
