/** Restarts, clocks and tokens: what a member may do that has forgotten, and whom its clocks can hurt. */
import { describe, expect, it } from 'vitest';
import { deriveTiming } from '../../../src/core/index.ts';
import { Cell, not, ofKind, RTT_US, TERM_US, TIMING, to } from './cell.ts';

const HOUR_US = 3_600_000_000;

describe('a restarted member', () => {
  it('gives no vote before its silence is over, and says when it is', () => {
    const cell = new Cell({ restarted: true, clients: 1 });
    const client = cell.node(3);
    client.acquire();
    cell.run(TIMING.silenceUs - 1);
    expect(client.last('refused').reason).toBe('silent');
    expect(cell.tally()['ACCEPTED']).toBeUndefined();
    expect(cell.tally()['PROMISED']).toBeUndefined();
    expect(cell.node(0).said('ready')).toEqual([]);
    cell.run(1);
    for (const member of [0, 1, 2]) expect(cell.node(member).said('ready')).toHaveLength(1);
    client.acquire();
    cell.settle();
    expect(client.said('granted')).toHaveLength(1);
  });

  it('is silent to itself too', () => {
    const cell = new Cell({ members: 1, restarted: true });
    const member = cell.node(0);
    member.acquire();
    cell.run(TIMING.silenceUs - 1);
    expect(member.said('granted')).toEqual([]);
    expect(member.last('refused').reason).toBe('silent');
  });

  it('answers no question and queues nobody in its silence', () => {
    const cell = new Cell({ restarted: true, clients: 1 });
    cell.node(3).query();
    cell.run(TIMING.attemptUs);
    expect(cell.tally()['ANSWER']).toBeUndefined();
    expect(cell.node(3).last('answered')).toMatchObject({ certain: false, holder: null });
  });

  it('keeps silent by its monotonic clock, whatever its wall clock says', () => {
    const cell = new Cell({ restarted: true, clients: 1 });
    for (const member of [0, 1, 2]) cell.node(member).wallOffsetUs += HOUR_US;
    cell.node(3).acquire();
    cell.run(TERM_US / 2);
    expect(cell.node(3).last('refused').reason).toBe('silent');
  });

  it('cannot help a second holder while the first one lives', () => {
    const cell = new Cell({ clients: 2 });
    const [holder, other] = [cell.node(3), cell.node(4)];
    const lease = holder.acquire();
    cell.settle(not(to(2)));
    expect(holder.holds(lease)).toBe(true);
    cell.drop();
    cell.node(0).restart();
    const next = other.acquire({ waitUs: 10 * TERM_US });
    cell.run(TERM_US - 1, (packet) => packet.from !== 3 && packet.to !== 3);
    expect(
      cell.holders([
        [holder, lease],
        [other, next],
      ]),
    ).toEqual([`3/${lease}`]);
  });

  it('votes again in one round trip when its silence is over', () => {
    const cell = new Cell({ restarted: true, clients: 1 });
    cell.run(TIMING.silenceUs);
    cell.pass(10);
    cell.node(3).acquire();
    cell.settle();
    expect(cell.node(3).last('granted').trips).toBe(1);
  });

  it('lets a proposer whose wall clock is an hour behind catch up', () => {
    const cell = new Cell({ restarted: true, clients: 1 });
    const client = cell.node(3);
    client.wallOffsetUs -= HOUR_US;
    cell.run(TIMING.silenceUs);
    client.acquire();
    cell.settle();
    expect(client.last('granted').trips).toBe(2);
  });

  it('one after the other costs no holder its lease, not even one whose wall clock is an hour behind', () => {
    const cell = new Cell({ clients: 1 });
    const holder = cell.node(3);
    holder.wallOffsetUs -= HOUR_US;
    const lease = holder.acquire({ keep: true });
    cell.run(TERM_US);
    for (const member of [0, 1, 2]) {
      cell.node(member).restart();
      cell.run(3 * TERM_US);
    }
    expect(holder.said('lost')).toEqual([]);
    expect(holder.holds(lease)).toBe(true);
  });

  it('as a client is another owner: answers to its earlier life are not for it', () => {
    const cell = new Cell({ clients: 1 });
    const client = cell.node(3);
    const lease = client.acquire();
    cell.deliver();
    client.restart();
    cell.settle();
    expect(client.said('granted')).toEqual([]);
    expect(client.holds(lease)).toBe(false);
    client.acquire();
    cell.settle();
    expect(client.last('refused')).toMatchObject({ reason: 'held', holder: { owner: client.incarnation - 1 } });
  });
});

describe('a holder', () => {
  it('is dead when its wall clock has passed the deadline', () => {
    const cell = new Cell();
    const holder = cell.node(0);
    const lease = holder.acquire();
    cell.settle();
    holder.wallOffsetUs += TERM_US;
    expect(holder.holds(lease)).toBe(false);
  });

  it('is dead when its monotonic clock has, though its wall clock was set back', () => {
    const cell = new Cell();
    const holder = cell.node(0);
    const lease = holder.acquire();
    cell.settle();
    holder.wallOffsetUs -= HOUR_US;
    cell.pass(TERM_US);
    expect(holder.holds(lease)).toBe(false);
  });

  it('is dead after a stall, before any timer ran', () => {
    const cell = new Cell();
    const holder = cell.node(0);
    const lease = holder.acquire({ keep: true });
    cell.settle();
    cell.pass(120 * TERM_US);
    expect(holder.holds(lease)).toBe(false);
    expect(holder.said('lost')).toEqual([]);
    cell.run(0);
    expect(holder.said('lost')).toEqual([{ kind: 'lost', lease }]);
  });

  it('whose machine sleeps is dead, though its wall clock was set back before its last renewal', () => {
    const cell = new Cell({ clients: 1 });
    const holder = cell.node(3);
    const lease = holder.acquire();
    cell.settle();
    holder.wallOffsetUs -= HOUR_US;
    cell.pass(TERM_US / 2);
    holder.renew(lease);
    cell.settle();
    // In its sleep the monotonic clock stands still.
    holder.monoOffsetUs -= 2 * TERM_US;
    cell.pass(2 * TERM_US);
    const next = cell.node(0).acquire();
    cell.settle();
    expect(
      cell.holders([
        [holder, lease],
        [cell.node(0), next],
      ]),
    ).toEqual([`0/${next}`]);
  });

  it.each([0, -HOUR_US])('lives with a wall clock at %i', (wallUs) => {
    const cell = new Cell();
    const holder = cell.node(0);
    holder.wallOffsetUs = wallUs - cell.nowUs;
    const lease = holder.acquire({ keep: true });
    cell.run(3 * TERM_US);
    expect(holder.holds(lease)).toBe(true);
    expect(holder.last('granted').token).toBeGreaterThan(0);
  });

  it('lives with a monotonic clock that counts for a century', () => {
    const cell = new Cell();
    for (const node of cell.nodes) node.monoOffsetUs = 100 * 365 * 24 * HOUR_US;
    const holder = cell.node(0);
    const lease = holder.acquire({ keep: true });
    cell.run(3 * TERM_US);
    expect(holder.holds(lease)).toBe(true);
  });
});

describe('an acceptor', () => {
  it('does not let go of a live vote when its wall clock jumps', () => {
    const cell = new Cell({ clients: 2 });
    const [holder, other] = [cell.node(3), cell.node(4)];
    const lease = holder.acquire();
    cell.settle();
    for (const member of [0, 1, 2]) cell.node(member).wallOffsetUs += HOUR_US;
    const next = other.acquire();
    cell.settle();
    expect(
      cell.holders([
        [holder, lease],
        [other, next],
      ]),
    ).toEqual([`3/${lease}`]);
  });

  it('on the fastest clock keeps its vote longer than a holder on the slowest keeps its lease', () => {
    const cell = new Cell({ clients: 2 });
    const [holder, other] = [cell.node(3), cell.node(4)];
    const rate = TIMING.rateErrorPpm / 1_000_000;
    const lease = holder.acquire();
    cell.settle();
    // What is left on the slow clock when the true time is one instant before the lease's end.
    const trueUs = Math.floor((TERM_US - 1) / (1 - rate));
    cell.pass(trueUs);
    holder.monoOffsetUs -= trueUs - Math.floor(trueUs * (1 - rate));
    holder.wallOffsetUs -= trueUs - Math.floor(trueUs * (1 - rate));
    for (const member of [0, 1, 2]) cell.node(member).monoOffsetUs += Math.floor(trueUs * rate);
    expect(holder.holds(lease)).toBe(true);
    const next = other.acquire();
    cell.settle();
    expect(
      cell.holders([
        [holder, lease],
        [other, next],
      ]),
    ).toEqual([`3/${lease}`]);
  });
});

describe('fencing tokens', () => {
  it('rise from lease to lease', () => {
    const cell = new Cell({ clients: 2 });
    const tokens: number[] = [];
    for (let i = 0; i < 20; i++) {
      const client = cell.node(3 + (i % 2));
      const lease = client.acquire();
      cell.settle();
      tokens.push(client.last('granted').token);
      client.release(lease);
      cell.settle();
    }
    expect(tokens).toEqual([...new Set(tokens)].sort((a, b) => a - b));
  });

  it('rise for a proposer whose wall clock is an hour behind', () => {
    const cell = new Cell({ clients: 2 });
    const [first, second] = [cell.node(3), cell.node(4)];
    second.wallOffsetUs -= HOUR_US;
    const lease = first.acquire();
    cell.settle();
    first.release(lease);
    cell.settle();
    second.acquire();
    cell.settle();
    expect(second.last('granted')).toMatchObject({ trips: 2 });
    expect(second.last('granted').token).toBeGreaterThan(first.last('granted').token);
  });

  it('rise when the lease before was left to run out and its rows were swept', () => {
    const cell = new Cell({ clients: 2 });
    const [first, second] = [cell.node(3), cell.node(4)];
    second.wallOffsetUs -= HOUR_US;
    first.acquire();
    cell.run(10 * TERM_US);
    second.acquire();
    cell.settle();
    expect(second.last('granted').token).toBeGreaterThan(first.last('granted').token);
  });

  it('stay the same through renewals', () => {
    const cell = new Cell({ clients: 1 });
    const client = cell.node(3);
    client.acquire({ keep: true });
    cell.run(5 * TERM_US);
    cell.node(0).query();
    cell.settle();
    expect(cell.node(0).last('answered').holder?.token).toBe(client.last('granted').token);
  });

  it('rise across a restart of all members, for clocks that agree within the silence', () => {
    const cell = new Cell({ clients: 2 });
    const [first, second] = [cell.node(3), cell.node(4)];
    second.wallOffsetUs -= TERM_US / 2;
    first.acquire();
    cell.settle();
    for (const member of [0, 1, 2]) cell.node(member).restart();
    cell.run(TIMING.silenceUs);
    second.acquire({ waitUs: TERM_US });
    cell.run(TERM_US);
    expect(second.last('granted').token).toBeGreaterThan(first.last('granted').token);
  });

  it('rise for one process though its last lease is not looked at yet, and its only member has forgotten how high the name went', () => {
    const cell = new Cell({ members: 1, clients: 2, timing: deriveTiming({ maxTermUs: TERM_US, rateErrorPpm: 0, rttUs: RTT_US }) });
    const [member, client, ahead] = [cell.node(0), cell.node(1), cell.node(2)];
    ahead.wallOffsetUs += 13 * HOUR_US;
    const lease = ahead.acquire();
    cell.settle();
    ahead.release(lease);
    cell.settle();
    client.acquire();
    cell.settle();
    member.restart();
    cell.run(TERM_US);
    expect(client.said('lost')).toEqual([]);
    client.acquire();
    cell.settle();
    const [first = 0, second = 0] = client.said('granted').map(({ token }) => token);
    expect(second).toBeGreaterThan(first);
  });
});

describe('answers', () => {
  it('carry the ballot they answer: those to an earlier attempt do not count for the next', () => {
    const cell = new Cell({ clients: 1 });
    const client = cell.node(3);
    const lease = client.acquire({ waitUs: 10 * TERM_US });
    cell.deliver();
    const votes = cell.drop(ofKind('ACCEPTED'));
    cell.run(TIMING.attemptUs, () => false);
    cell.drop();
    cell.run(40 * TIMING.backOffUs, () => false);
    expect(cell.flying.filter(ofKind('PROPOSE')).length).toBeGreaterThan(0);
    for (const vote of votes) cell.hand(vote);
    expect(client.holds(lease)).toBe(false);
    expect(client.said('granted')).toEqual([]);
  });
});
