/** Ballots beyond belief: nobody adopts, keeps or passes on what is too far ahead of its own wall clock. */
import { describe, expect, it } from 'vitest';
import { encodeFloor } from '../../../src/core/leases/quorum/records.ts';
import {
  AHEAD,
  ANSWER,
  HAS_LEASE,
  LATER,
  LEARN,
  LEARNED,
  LOW,
  PREPARE,
  PROPOSE,
  QuorumCore,
  QuorumMessage,
  REFUSED,
  RELEASE,
  WAIT,
  type QuorumEvent,
} from '../../../src/core/index.ts';
import { ballotTime, incarnation, monoUs, nodeId, wallUs } from '../../../src/kernel/index.ts';
import { ByteReader, quorumCodec } from '../../../src/wire/index.ts';
import { diskCompletion, NO_STORAGE } from '../../support/storage.ts';
import { Cell, R, RTT_US, TERM_US, TIMING, type Node } from './cell.ts';

const DAY_US = 86_400_000_000;
const FAR = 8_500_000_000_000_000;

/** Hands a node a message that nobody in the cell has sent. */
function say(cell: Cell, to: Node, from: Node, kind: number, fields: Partial<QuorumMessage> = {}, mode = 0): void {
  const message = new QuorumMessage();
  Object.assign(message, { kind, owner: from.incarnation, lease: 77, termUs: TERM_US, ...fields });
  message.setMode(mode);
  message.setName(R, 0, R.length);
  to.core.receive(nodeId(from.id), message, cell.step(to));
}

/** The highest ballot anywhere in a snapshot. */
function highest(snapshot: unknown): number {
  if (typeof snapshot === 'number') return Number.isFinite(snapshot) ? snapshot : 0;
  if (typeof snapshot !== 'object' || snapshot === null) return 0;
  return Math.max(0, ...Object.values(snapshot).map((part) => highest(part)));
}

describe('a ballot beyond belief', () => {
  it.each([
    ['PREPARE', PREPARE],
    ['PROPOSE', PROPOSE],
    ['RELEASE', RELEASE],
    ['WAIT', WAIT],
    ['LEARN', LEARN],
  ])('in a %s leaves nothing behind at a member', (_, kind) => {
    const cell = new Cell({ clients: 2 });
    const [member, liar] = [cell.node(0), cell.node(3)];
    for (const ballot of [FAR, member.wall + TIMING.aheadUsMax + 1]) {
      say(cell, member, liar, kind, { ballot: ballotTime(ballot), token: ballot });
      expect(highest(member.core.snapshot())).toBeLessThan(member.wall);
    }
  });

  it('is refused, and the asker is told what time it is at the member', () => {
    const cell = new Cell({ clients: 1 });
    const member = cell.node(0);
    let told: Partial<QuorumMessage> = {};
    const message = new QuorumMessage();
    Object.assign(message, { kind: PROPOSE, owner: 1004, lease: 1, ballot: FAR, token: FAR, termUs: TERM_US });
    message.setName(R, 0, R.length);
    member.core.receive(nodeId(3), message, { ...cell.step(member), send: (_to, answer) => (told = Object.assign({}, answer)) });
    expect(told).toMatchObject({ kind: REFUSED, reason: AHEAD, clock: member.wall });
  });

  it('stops nobody: the next asker has its lease after one round trip, with a token near its clock', () => {
    const cell = new Cell({ clients: 2 });
    for (let member = 0; member < 3; member++) {
      for (const kind of [PREPARE, PROPOSE, RELEASE, WAIT])
        say(cell, cell.node(member), cell.node(3), kind, { ballot: ballotTime(FAR), token: FAR });
    }
    cell.settle();
    const honest = cell.node(4);
    const lease = honest.acquire();
    cell.settle();
    expect(honest.holds(lease)).toBe(true);
    expect(honest.last('granted')).toMatchObject({ trips: 1, token: honest.wall });
  });

  it('in an answer moves no asker’s ballots', () => {
    const cell = new Cell({ clients: 1 });
    const asker = cell.node(3);
    for (const reason of [LOW, AHEAD, 1]) {
      say(cell, asker, cell.node(0), REFUSED, {
        owner: incarnation(asker.incarnation),
        ballot: ballotTime(1),
        clock: ballotTime(FAR),
        reason,
      });
    }
    const lease = asker.acquire();
    cell.settle();
    expect(asker.holds(lease)).toBe(true);
    expect(asker.last('granted').token).toBe(asker.wall);
  });

  it.each([
    ['exclusive', 0, LATER],
    ['shared', 1, 0],
    ['shared', 1, LATER],
    ['slot', 5, 0],
    ['slot', 5, LATER],
  ])('in a release of what is %s leaves no floor that nobody could get above (mode %i, flags %i)', (_, mode, flags) => {
    const cell = new Cell({ clients: 2 });
    const [liar, honest] = [cell.node(3), cell.node(4)];
    for (const member of cell.nodes.slice(0, 3)) {
      say(cell, member, liar, PROPOSE, { ballot: ballotTime(member.wall), token: member.wall }, mode);
      say(cell, member, liar, RELEASE, { ballot: ballotTime(FAR), flags, termUs: 1000 }, mode);
      say(cell, member, liar, RELEASE, { ballot: ballotTime(FAR), lease: 78, flags, termUs: 1000 }, mode);
    }
    cell.drop();
    cell.run(2 * TERM_US);
    const lease = honest.acquire();
    cell.settle();
    expect(honest.holds(lease)).toBe(true);
    expect(honest.last('granted').token).toBeLessThan(honest.wall + TERM_US);
  });

  it('is not brought about by a client that goes to the edge of it', () => {
    const cell = new Cell({ clients: 2 });
    // The first member's clock is a minute ahead of the others'.
    cell.node(0).wallOffsetUs += 60_000_000;
    const edge = cell.node(0).wall + TIMING.aheadUsMax;
    say(cell, cell.node(0), cell.node(3), PROPOSE, { ballot: ballotTime(edge), token: edge, termUs: 1000 });
    cell.settle();
    cell.run(TERM_US * 2);
    const honest = cell.node(4);
    // It hears of other names, and then wants this one.
    honest.query();
    cell.settle();
    const lease = honest.acquire();
    cell.settle();
    expect(honest.holds(lease)).toBe(true);
    expect(honest.last('granted').token).toBeLessThan(cell.node(1).wall + TIMING.aheadUsMax);
  });
});

describe('a lease that is held', () => {
  it.each([false, true])(
    'is renewed at a voter that knows nothing of it and was driven to the edge of belief (by bundles: %s)',
    (bundles) => {
      const cell = new Cell({ clients: 2, bundles });
      const [holder, liar] = [cell.node(3), cell.node(4)];
      const lease = holder.acquire({ keep: true });
      cell.settle(({ from, to }) => from !== 2 && to !== 2);
      cell.drop();
      say(cell, cell.node(2), liar, RELEASE, { ballot: ballotTime(liar.wall + 0.9 * DAY_US) });
      cell.drop();
      // From here on the voter is needed.
      cell.node(1).down = true;
      cell.run(5 * TERM_US);
      expect(holder.said('lost')).toEqual([]);
      expect(holder.holds(lease)).toBe(true);
    },
  );
});

describe('tries of one request', () => {
  /** Ballots of the proposals that a node has sent for its requests, in order. */
  function ballotsOf(cell: Cell, node: Node): number[] {
    const [codec, reader] = [quorumCodec(), new ByteReader()];
    const sent = cell.sent.filter(({ from, to, kind }) => from === node.id && to === 0 && kind === 'PROPOSE');
    return sent.map(({ bytes }) => {
      reader.reset(bytes, 0, bytes.length);
      return codec.decode(reader)?.ballot ?? 0;
    });
  }

  function isRising(numbers: readonly number[]): boolean {
    return numbers.every((number, i) => i === 0 || number > (numbers[i - 1] ?? 0));
  }

  it('have each a ballot of their own, also where they had to go to the edge of belief', () => {
    const cell = new Cell({ clients: 2 });
    const edge = cell.node(0).wall + TIMING.aheadUsMax - 10 * TERM_US;
    for (const member of [0, 1, 2]) say(cell, cell.node(member), cell.node(3), RELEASE, { ballot: ballotTime(edge) });
    cell.drop();
    const honest = cell.node(4);
    honest.acquire();
    // One refusal as too low is heard of each try, no vote ever.
    for (let i = 0; i < 200; i++) {
      cell.settle(({ kind }) => kind !== 'ACCEPTED' && kind !== 'IN_LINE' && kind !== 'FREE');
      cell.drop();
      cell.pass(RTT_US);
      honest.wake();
    }
    const ballots = ballotsOf(cell, honest);
    expect(ballots.filter((ballot) => ballot > edge).length).toBeGreaterThan(2);
    expect(isRising(ballots)).toBe(true);
  });
});

describe('a clock that is off by more than anyone believes', () => {
  it('if it is a client’s, fails its requests at once, whether they wait or not', () => {
    const cell = new Cell({ clients: 1 });
    const client = cell.node(3);
    client.wallOffsetUs += 2 * DAY_US;
    client.acquire();
    client.acquire({ waitUs: TERM_US * 10 });
    cell.settle();
    expect(client.said('refused').map(({ reason }) => reason)).toEqual(['ahead', 'ahead']);
  });

  it('if it is a client’s and behind, does not matter while ballots are near', () => {
    const cell = new Cell({ clients: 2 });
    cell.node(3).wallOffsetUs -= DAY_US / 2;
    const lease = cell.node(4).acquire();
    cell.settle();
    cell.node(4).release(lease);
    cell.settle();
    const next = cell.node(3).acquire();
    cell.settle();
    expect(cell.node(3).holds(next)).toBe(true);
  });

  it.each([
    ['ahead', 2 * DAY_US],
    ['behind', -2 * DAY_US],
  ])('if it is one member’s and %s, leaves that member out and nobody else', (_, offUs) => {
    const cell = new Cell({ clients: 1 });
    cell.node(0).wallOffsetUs += offUs;
    cell.node(0).restart();
    cell.run(TERM_US * 3);
    const lease = cell.node(3).acquire({ keep: true });
    cell.run(TERM_US * 3);
    expect(cell.node(3).holds(lease)).toBe(true);
  });

  it('if most members’ are, is told to whoever asks', () => {
    const cell = new Cell({ clients: 1 });
    for (const member of [0, 1]) {
      cell.node(member).wallOffsetUs += 3 * DAY_US;
      cell.node(member).restart();
    }
    cell.run(TERM_US * 3);
    cell.node(3).acquire({ waitUs: TERM_US });
    cell.settle();
    expect(cell.node(3).last('refused').reason).toBe('ahead');
  });

  it('is all right again once it is set', () => {
    const cell = new Cell({ clients: 1 });
    const client = cell.node(3);
    client.wallOffsetUs += 2 * DAY_US;
    client.acquire();
    cell.settle();
    client.wallOffsetUs -= 2 * DAY_US;
    const lease = client.acquire();
    cell.settle();
    expect(client.holds(lease)).toBe(true);
    expect(client.last('granted').token).toBe(client.wall);
  });
});

describe('what answers tell of a lease', () => {
  it('lasts no longer than the longest term', () => {
    const cell = new Cell({ clients: 1 });
    const learner = cell.node(3);
    learner.command({ kind: 'watch', prefix: new Uint8Array(0) });
    say(cell, learner, cell.node(0), LEARNED, {
      owner: incarnation(learner.incarnation),
      flags: HAS_LEASE,
      holder: incarnation(5),
      token: learner.wall,
      ballot: ballotTime(learner.wall),
      remainingUs: DAY_US,
    });
    expect(learner.hint()?.remainingUsMax).toBeLessThanOrEqual(TIMING.silenceUs);
  });

  it.each([
    ['token', { token: FAR }],
    ['ballot', { ballot: ballotTime(FAR) }],
  ])('is not believed if its %s is beyond belief', (_, far) => {
    const cell = new Cell({ clients: 1 });
    const asker = cell.node(3);
    asker.command({ kind: 'watch', prefix: new Uint8Array(0) });
    const question = asker.query();
    const near = { token: asker.wall, ballot: ballotTime(asker.wall), remainingUs: 1000, holder: incarnation(5), flags: HAS_LEASE };
    const owner = incarnation(asker.incarnation);
    for (const kind of [LEARNED, ANSWER])
      for (const member of [0, 1]) say(cell, asker, cell.node(member), kind, { ...near, ...far, owner, lease: question });
    expect(asker.hint()).toBe(null);
    expect(asker.said('answered')).toEqual([]);
  });
});

describe('a data directory', () => {
  it('whose floor is beyond belief is not gone by, and its member says so', () => {
    const events: QuorumEvent[] = [];
    const reads: number[] = [];
    const step = {
      monoUs: monoUs(1_000_000),
      wallUs: wallUs(1_800_000_000_000_000),
      choose: () => 0,
      send: () => {},
      ...NO_STORAGE,
      read: (_unit: number, _key: string, op: number) => void reads.push(op),
      emit: (event: QuorumEvent) => void events.push(event),
    };
    const boot = { self: nodeId(0), incarnation: incarnation(1), restarted: true, diskKept: true };
    const core = new QuorumCore({ memberKeys: [1, 2, 3], timing: TIMING, keeps: 'floor' }, boot);
    core.start(step);
    const [, floor] = reads;
    core.completed(diskCompletion(floor ?? 0, true, encodeFloor(ballotTime(FAR))), step);
    expect(events).toEqual([{ kind: 'disk-failed', why: 'ahead' }]);
    expect(core.silentForUs(step.monoUs)).toBe(Infinity);
  });
});
