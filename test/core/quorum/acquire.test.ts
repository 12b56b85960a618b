/** Acquire, renew, release and cancel: what each costs in messages, and what each leaves behind. */
import { describe, expect, it } from 'vitest';
import { PROPOSE, QuorumMessage, renewalPatienceUs } from '../../../src/core/index.ts';
import { ballotTime, incarnation, nodeId } from '../../../src/kernel/index.ts';
import { Cell, not, ofKind, R, RTT_US, TERM_US, TIMING, to, type Packet } from './cell.ts';

describe.each([1, 2, 3, 4, 5])('with %i members', (members) => {
  it('an uncontended acquire takes one round trip', () => {
    const cell = new Cell({ members });
    const holder = cell.node(0);
    const lease = holder.acquire();
    expect(cell.settle()).toBe(2);
    expect(cell.tally()).toEqual({ PROPOSE: members, ACCEPTED: members });
    expect(holder.last('granted')).toMatchObject({ lease, trips: 1, waited: false, deadlineMonoUs: holder.mono + TERM_US });
    expect(holder.remaining(lease)).toBe(TERM_US);
  });

  it('a renewal takes one round trip, and so does the next', () => {
    const cell = new Cell({ members });
    const holder = cell.node(0);
    const lease = holder.acquire();
    cell.settle();
    for (let i = 0; i < 3; i++) {
      cell.pass(TERM_US / 2);
      const mark = cell.sent.length;
      holder.renew(lease);
      expect(cell.settle()).toBe(2);
      expect(cell.tally(mark)).toEqual({ PROPOSE: members, ACCEPTED: members });
      expect(holder.said('renewed')).toHaveLength(i + 1);
      expect(holder.remaining(lease)).toBe(TERM_US);
    }
  });

  it('a kept lease outlives its term many times over, without a prepare', () => {
    const cell = new Cell({ members });
    const holder = cell.node(0);
    const lease = holder.acquire({ keep: true });
    cell.run(10 * TERM_US);
    expect(holder.holds(lease)).toBe(true);
    expect(holder.said('renewed').length).toBeGreaterThanOrEqual(29);
    expect(holder.said('renewal-failed')).toEqual([]);
    expect(cell.tally()['PREPARE']).toBeUndefined();
  });

  it('a released lease can be taken at once by another', () => {
    const cell = new Cell({ members, clients: 1 });
    const [holder, other] = [cell.node(0), cell.node(members)];
    const lease = holder.acquire();
    cell.settle();
    holder.release(lease);
    expect(holder.holds(lease)).toBe(false);
    cell.settle();
    expect(holder.last('released')).toEqual({ kind: 'released', lease, byQuorum: true });
    cell.pass(10);
    const next = other.acquire();
    cell.settle();
    expect(other.last('granted')).toMatchObject({ lease: next, trips: 1 });
  });

  it('a try is told at once who holds it, and the longest it can last', () => {
    const cell = new Cell({ members, clients: 1 });
    const [holder, other] = [cell.node(0), cell.node(members)];
    holder.acquire();
    cell.settle();
    cell.pass(TERM_US / 4);
    const lease = other.acquire();
    cell.settle();
    const refused = other.last('refused');
    expect(refused).toMatchObject({ lease, reason: 'held', holder: { owner: holder.incarnation, token: holder.last('granted').token } });
    // No less than the holder has left, no more than a term stretched twice: on the acceptor's clock and on ours.
    expect(refused.holder?.remainingUsMax).toBeGreaterThanOrEqual(holder.remaining(1));
    expect(refused.holder?.remainingUsMax).toBeLessThanOrEqual(TERM_US * 0.75 * 1.05);
  });

  it('a lease that is left alone ends by itself, and then it can be taken', () => {
    const cell = new Cell({ members, clients: 1 });
    const [holder, other] = [cell.node(0), cell.node(members)];
    const lease = holder.acquire();
    cell.run(TERM_US * 1.1);
    expect(holder.said('lost')).toEqual([{ kind: 'lost', lease }]);
    other.acquire();
    cell.settle();
    expect(other.said('granted')).toHaveLength(1);
  });
});

describe('an acquire', () => {
  it('that may wait and whose votes split gets in line, and the first in line has it without a rest', () => {
    const cell = new Cell({ members: 3, clients: 3 });
    const clients = [cell.node(3), cell.node(4), cell.node(5)];
    clients.forEach((client) => client.acquire({ waitUs: 20 * TERM_US }));
    cell.deliver((packet) => packet.to === packet.from - 3);
    cell.settle();
    expect(cell.tally()['PREPARE']).toBeUndefined();
    expect(clients.flatMap((client) => client.said('granted'))).toHaveLength(1);
    expect(clients.every((client) => client.said('queued').length === 1)).toBe(true);
  });

  it('that does not wait and whose votes split gives back what it got, asks first, and then gets it', () => {
    const cell = new Cell({ members: 3, clients: 3 });
    const clients = [cell.node(3), cell.node(4), cell.node(5)];
    clients.forEach((client) => client.acquire());
    // Each reaches another member first: one vote each.
    cell.deliver((packet) => packet.to === packet.from - 3);
    cell.settle();
    expect(clients.flatMap((client) => client.said('granted'))).toEqual([]);
    expect(cell.tally()['RELEASE']).toBeGreaterThanOrEqual(3);
    cell.run(TERM_US);
    expect(cell.tally()['PREPARE']).toBeGreaterThanOrEqual(3);
    expect(clients.flatMap((client) => client.said('granted'))).toHaveLength(1);
  });

  it('that asks first counts the term from its question', () => {
    const cell = new Cell({ members: 3, clients: 3 });
    const clients = [cell.node(3), cell.node(4), cell.node(5)];
    clients.forEach((client) => client.acquire());
    cell.deliver((packet) => packet.to === packet.from - 3);
    cell.settle();
    while (!cell.flying.some(ofKind('PREPARE'))) cell.run(100, () => false);
    const [asking] = clients.filter(({ id }) => cell.flying.some(({ from }) => from === id));
    if (!asking) throw new Error('nobody asks');
    const askedAt = asking.mono;
    cell.pass(RTT_US);
    cell.settle((packet) => packet.from === asking.id || packet.to === asking.id);
    expect(asking.last('granted').trips).toBe(3);
    expect(asking.last('granted').deadlineMonoUs - TERM_US).toBeLessThanOrEqual(askedAt);
  });

  it('that met others rests for a random while: contenders do not stay in step', () => {
    const rests = new Set<number>();
    for (let seed = 1; seed <= 8; seed++) {
      const cell = new Cell({ members: 3, clients: 3, seed });
      for (const id of [3, 4, 5]) cell.node(id).acquire();
      cell.deliver((packet) => packet.to === packet.from - 3);
      cell.settle();
      for (const id of [3, 4, 5]) rests.add(cell.node(id).core.wakeAt - cell.node(id).mono);
    }
    expect(rests.size).toBeGreaterThan(10);
  });

  it('is not undone by an earlier attempt of the same lease whose messages come late', () => {
    const cell = new Cell({ clients: 2 });
    const [client, other] = [cell.node(3), cell.node(4)];
    const lease = client.acquire({ waitUs: 20 * TERM_US });
    const proposals = cell.drop(ofKind('PROPOSE'));
    cell.run(TIMING.attemptUs, () => false);
    const releases = cell.drop(ofKind('RELEASE'));
    expect([proposals.length, releases.length]).toEqual([3, 3]);
    while (!client.holds(lease)) cell.run(1000);
    for (const packet of [...proposals, ...releases]) cell.hand(packet);
    cell.settle();
    const next = other.acquire();
    cell.settle();
    expect(
      cell.holders([
        [client, lease],
        [other, next],
      ]),
    ).toEqual([`3/${lease}`]);
  });

  it('that reaches no quorum names those it did not reach', () => {
    const cell = new Cell({ clients: 1 });
    const client = cell.node(3);
    client.acquire();
    cell.run(TERM_US, not(to(1, 2)));
    expect(client.last('refused')).toMatchObject({ reason: 'no-quorum', unreached: [1, 2] });
  });

  it('that fails leaves no vote behind', () => {
    const cell = new Cell({ clients: 2 });
    const [client, other] = [cell.node(3), cell.node(4)];
    client.acquire();
    cell.run(
      TERM_US / 2,
      not((packet) => packet.to === 3 && packet.from > 0),
    );
    expect(client.said('refused')).toHaveLength(1);
    cell.pass(10);
    other.acquire();
    cell.settle();
    expect(other.last('granted').trips).toBe(1);
  });

  it('wins with a bare majority, and not with less', () => {
    const cell = new Cell({ members: 5 });
    const holder = cell.node(0);
    const lease = holder.acquire();
    cell.settle(to(0, 1));
    expect(holder.holds(lease)).toBe(false);
    cell.settle(to(0, 2));
    expect(holder.holds(lease)).toBe(true);
  });

  it('counts voters, not messages', () => {
    const cell = new Cell();
    const holder = cell.node(0);
    const lease = holder.acquire();
    cell.deliver(to(1));
    const [vote] = cell.flying.filter(ofKind('ACCEPTED'));
    if (!vote) throw new Error('no vote');
    for (let i = 0; i < 5; i++) cell.hand(vote);
    expect(holder.holds(lease)).toBe(false);
  });

  it('ignores votes of nodes that have none', () => {
    const cell = new Cell({ members: 3, clients: 3 });
    const holder = cell.node(0);
    const lease = holder.acquire();
    cell.deliver(to(1));
    const [vote] = cell.drop(ofKind('ACCEPTED'));
    if (!vote) throw new Error('no vote');
    for (const from of [3, 4, 5]) cell.hand({ ...vote, from });
    expect(holder.holds(lease)).toBe(false);
  });

  it('is dead when its votes come after its deadline, though no timer ran', () => {
    const cell = new Cell();
    const holder = cell.node(0);
    const lease = holder.acquire();
    cell.settle(not(ofKind('ACCEPTED')));
    cell.pass(TIMING.attemptUs);
    cell.deliver(ofKind('ACCEPTED'));
    expect(holder.holds(lease)).toBe(false);
    expect(holder.said('granted')).toEqual([]);
  });

  it('counts the term from its first message, not from the votes', () => {
    const cell = new Cell();
    const holder = cell.node(0);
    const lease = holder.acquire();
    cell.deliver();
    cell.pass(RTT_US);
    cell.settle();
    expect(holder.remaining(lease)).toBe(TERM_US - RTT_US);
  });

  it('of a term shorter than the round trip gets nothing', () => {
    const cell = new Cell();
    const holder = cell.node(0);
    holder.acquire({ termUs: 1000 });
    cell.deliver();
    cell.pass(1000);
    cell.settle();
    expect(holder.said('granted')).toEqual([]);
  });
});

describe('a term', () => {
  it('above the longest, or not of whole milliseconds, is refused before anything has changed', () => {
    const cell = new Cell();
    const node = cell.node(0);
    const mark = cell.sent.length;
    for (const termUs of [TERM_US + 1000, 3 * TERM_US, 0, -1000, 1500, Number.NaN]) {
      expect(() => node.acquire({ termUs })).toThrow(expect.objectContaining({ code: 'TENURE_BAD_ARGUMENT' }));
    }
    expect(cell.sent.length).toBe(mark);
    const lease = node.acquire();
    cell.settle();
    expect(() => node.renew(lease, 3 * TERM_US)).toThrow(expect.objectContaining({ code: 'TENURE_BAD_ARGUMENT' }));
    expect(node.remaining(lease)).toBe(TERM_US);
  });

  it('above what the acceptors were told is the longest is refused by them', () => {
    const cell = new Cell({ clients: 1 });
    const acceptor = cell.node(0);
    const message = new QuorumMessage();
    message.kind = PROPOSE;
    message.owner = incarnation(99);
    message.ballot = ballotTime(acceptor.wall);
    message.token = message.ballot;
    message.setName(R, 0, R.length);
    message.termUs = TERM_US + 1000;
    acceptor.core.receive(nodeId(3), message, cell.step(acceptor));
    expect(cell.tally()).toEqual({ REFUSED: 1 });
    message.termUs = TERM_US;
    acceptor.core.receive(nodeId(3), message, cell.step(acceptor));
    expect(cell.tally()).toEqual({ REFUSED: 1, ACCEPTED: 1 });
  });
});

describe('a renewal', () => {
  it('that fails leaves the old deadline standing and releases nothing', () => {
    const cell = new Cell({ clients: 1 });
    const [holder, other] = [cell.node(3), cell.node(0)];
    const lease = holder.acquire();
    cell.settle();
    cell.pass(TERM_US / 2);
    const mark = cell.sent.length;
    holder.renew(lease);
    cell.drop();
    cell.run(TIMING.attemptUs, () => false);
    expect(holder.said('renewal-failed').length).toBeGreaterThan(0);
    expect(cell.tally(mark)['RELEASE']).toBeUndefined();
    expect(holder.holds(lease)).toBe(true);
    other.acquire();
    cell.settle((packet) => packet.from !== 3 && packet.to !== 3);
    expect(other.said('granted')).toEqual([]);
  });

  it('whose votes come late extends from when it began, and asks those again that have not voted', () => {
    const cell = new Cell({ members: 3, clients: 1 });
    const holder = cell.node(3);
    const lease = holder.acquire();
    cell.settle();
    cell.pass(TERM_US / 2);
    const startedAt = holder.mono;
    holder.renew(lease);
    cell.deliver();
    const votes = cell.drop(ofKind('ACCEPTED'));
    expect(votes).toHaveLength(3);
    cell.hand(votes[0] as Packet);
    const mark = cell.sent.length;
    cell.run(TIMING.attemptUs + TIMING.retryUs, () => false);
    expect(holder.said('renewal-failed')).toHaveLength(1);
    expect(cell.sent.slice(mark).map(({ kind, to: voter }) => [kind, voter])).toEqual([
      ['PROPOSE', 1],
      ['PROPOSE', 2],
    ]);
    cell.hand(votes[1] as Packet);
    expect(holder.said('renewed')).toHaveLength(1);
    expect(holder.remaining(lease)).toBe(startedAt + TERM_US - holder.mono);
  });

  it('never extends from the votes of an earlier one', () => {
    const cell = new Cell({ members: 3, clients: 1 });
    const holder = cell.node(3);
    const lease = holder.acquire();
    cell.settle();
    const { deadlineMonoUs } = holder.last('granted');
    cell.pass(TERM_US / 2);
    holder.renew(lease);
    cell.deliver();
    const votes = cell.drop(ofKind('ACCEPTED'));
    expect(votes).toHaveLength(3);
    cell.run(TIMING.attemptUs, () => false);
    expect(holder.said('renewal-failed')).toHaveLength(1);
    // Another one, for which the voters are asked anew.
    holder.renew(lease, TERM_US / 2);
    for (const vote of votes) cell.hand(vote);
    expect(holder.said('renewed')).toEqual([]);
    expect(holder.remaining(lease)).toBe(deadlineMonoUs - holder.mono);
  });

  it('asks again after twice as long each time, and so that three fit before the end', () => {
    const longestUs = renewalPatienceUs(TIMING, TERM_US, 100);
    expect([0, 1, 2].map((unanswered) => renewalPatienceUs(TIMING, TERM_US, unanswered))).toEqual(
      [1, 2, 4].map((times) => times * TIMING.attemptUs),
    );
    expect(3 * longestUs).toBeLessThan(TERM_US * (1 - 1 / 3 - 1 / 10) + 3);
  });

  it('does not extend with less than a quorum', () => {
    const cell = new Cell({ members: 5, clients: 1 });
    const holder = cell.node(5);
    const lease = holder.acquire();
    cell.settle();
    cell.pass(TERM_US / 2);
    holder.renew(lease);
    cell.settle((packet) => [0, 1].includes(packet.to) || [0, 1].includes(packet.from));
    expect(holder.said('renewed')).toEqual([]);
    expect(holder.remaining(lease)).toBe(TERM_US / 2);
    cell.settle((packet) => packet.to === 2 || packet.from === 2);
    expect(holder.remaining(lease)).toBe(TERM_US);
  });

  it('goes on being tried until the lease is lost, and then says so', () => {
    const cell = new Cell({ clients: 1 });
    const holder = cell.node(3);
    const lease = holder.acquire({ keep: true });
    cell.settle();
    const { deadlineMonoUs } = holder.last('granted');
    cell.run(TERM_US * 1.05, () => false);
    expect(holder.said('renewal-failed').length).toBeGreaterThanOrEqual(3);
    expect(holder.said('lost')).toEqual([{ kind: 'lost', lease }]);
    expect(holder.mono).toBeGreaterThanOrEqual(deadlineMonoUs);
  });

  it('for a shorter term shortens neither the lease nor the votes', () => {
    const cell = new Cell();
    const [holder, other] = [cell.node(0), cell.node(1)];
    const lease = holder.acquire();
    cell.settle();
    holder.renew(lease, TERM_US / 4);
    cell.settle();
    expect(holder.remaining(lease)).toBe(TERM_US);
    cell.pass(TERM_US / 2);
    other.acquire();
    cell.settle();
    expect(other.last('refused').reason).toBe('held');
  });

  it('is not blocked by promises to contenders', () => {
    const cell = new Cell({ clients: 1 });
    const [holder, other] = [cell.node(0), cell.node(3)];
    const lease = holder.acquire({ keep: true });
    cell.settle();
    other.acquire({ waitUs: 10 * TERM_US });
    cell.run(5 * TERM_US);
    expect(holder.holds(lease)).toBe(true);
    expect(holder.said('renewal-failed')).toEqual([]);
  });

  it('of a lease that is not held fails', () => {
    const cell = new Cell();
    const holder = cell.node(0);
    holder.renew(7);
    expect(holder.events).toEqual([{ kind: 'renewal-failed', lease: 7 }]);
    expect(cell.sent).toEqual([]);
  });

  it('that is under way does not bring a released lease back', () => {
    const cell = new Cell({ clients: 1 });
    const [holder, other] = [cell.node(3), cell.node(0)];
    const lease = holder.acquire();
    cell.settle();
    holder.renew(lease);
    holder.release(lease);
    // The release overtakes the renewal.
    cell.deliver(ofKind('RELEASE'));
    cell.settle();
    expect(holder.holds(lease)).toBe(false);
    expect(holder.said('renewed')).toEqual([]);
    cell.pass(10);
    other.acquire();
    cell.settle();
    expect(other.last('granted').trips).toBe(1);
  });

  it('asked for while the release is under way fails', () => {
    const cell = new Cell();
    const holder = cell.node(0);
    const lease = holder.acquire();
    cell.settle();
    holder.release(lease);
    holder.renew(lease);
    cell.settle();
    expect(holder.said('renewal-failed')).toHaveLength(1);
    expect(holder.said('released')).toHaveLength(1);
    expect(holder.holds(lease)).toBe(false);
  });
});

describe('a release', () => {
  it('leaves after the holder has stopped, and is repeated until a quorum has answered', () => {
    const cell = new Cell({ clients: 1 });
    const holder = cell.node(3);
    const lease = holder.acquire();
    cell.settle();
    holder.release(lease);
    expect(holder.events.map(({ kind }) => kind)).toEqual(['granted', 'stopped']);
    cell.drop();
    cell.run(TIMING.resendUs);
    expect(holder.last('released').byQuorum).toBe(true);
  });

  it('that nobody answers is over with the term', () => {
    const cell = new Cell({ clients: 1 });
    const holder = cell.node(3);
    const lease = holder.acquire();
    cell.settle();
    holder.release(lease);
    cell.run(TERM_US, () => false);
    expect(holder.last('released')).toEqual({ kind: 'released', lease, byQuorum: false });
  });

  it('asked for twice is one release', () => {
    const cell = new Cell();
    const holder = cell.node(0);
    const lease = holder.acquire();
    cell.settle();
    holder.release(lease);
    holder.release(lease);
    cell.settle();
    expect(holder.said('released')).toHaveLength(1);
    expect(cell.tally()['RELEASE']).toBe(3);
  });

  it('that comes late does not take the next lease of the same process away', () => {
    const cell = new Cell({ clients: 1 });
    const holder = cell.node(3);
    const first = holder.acquire();
    cell.settle();
    holder.release(first);
    const releases = cell.flying.filter(ofKind('RELEASE'));
    cell.settle();
    const second = holder.acquire();
    cell.settle();
    for (const release of releases) cell.hand(release);
    cell.node(0).acquire();
    cell.settle();
    expect(cell.node(0).last('refused').reason).toBe('held');
    expect(holder.holds(second)).toBe(true);
  });
});

describe('a token', () => {
  it('stays above the one before it though a release of an older lease comes late', () => {
    const cell = new Cell({ clients: 2 });
    const [first, late] = [cell.node(3), cell.node(4)];
    const old = first.acquire();
    cell.settle();
    first.release(old);
    const copies = cell.flying.filter(ofKind('RELEASE'));
    cell.settle();
    cell.pass(TERM_US / 2);
    const next = first.acquire();
    cell.settle();
    first.release(next);
    cell.settle();
    for (const copy of copies) cell.hand(copy);
    // Between the two: its wall clock lags, but not behind the first.
    late.wallOffsetUs -= TERM_US / 4;
    late.acquire();
    cell.settle();
    expect(late.last('granted').token).toBeGreaterThan(first.last('granted').token);
  });
});

describe('cancel', () => {
  it('means that no lease comes of it, whatever votes come late', () => {
    const cell = new Cell({ clients: 1 });
    const client = cell.node(3);
    const lease = client.acquire();
    cell.deliver();
    client.cancel(lease);
    cell.settle();
    expect(client.events).toMatchObject([{ kind: 'refused', lease, reason: 'cancelled' }]);
    expect(client.holds(lease)).toBe(false);
  });

  it('gives back the votes that are still to be given: a late proposal finds no room', () => {
    const cell = new Cell({ clients: 1 });
    const [client, other] = [cell.node(3), cell.node(0)];
    const lease = client.acquire();
    client.cancel(lease);
    cell.deliver(ofKind('RELEASE'));
    cell.settle();
    expect(client.said('granted')).toEqual([]);
    cell.pass(10);
    other.acquire();
    cell.settle();
    expect(other.last('granted').trips).toBe(1);
  });

  it('takes a waiter out of the queues', () => {
    const cell = new Cell({ clients: 2 });
    const [holder, client, other] = [cell.node(0), cell.node(3), cell.node(4)];
    const held = holder.acquire();
    cell.settle();
    const lease = client.acquire({ waitUs: 10 * TERM_US });
    cell.settle();
    client.cancel(lease);
    cell.settle();
    holder.release(held);
    cell.settle();
    expect(client.said('granted')).toEqual([]);
    cell.pass(10);
    other.acquire();
    cell.settle();
    expect(other.last('granted').trips).toBe(1);
  });

  it('of what is not under way does nothing', () => {
    const cell = new Cell();
    cell.node(0).cancel(9);
    expect(cell.node(0).events).toEqual([]);
  });
});
