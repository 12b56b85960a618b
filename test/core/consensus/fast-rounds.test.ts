/** I7, the FAST round of FastCT: leases, ABORT, NACK, and what a recovered member may not do. Leases are granted by the tests. */
import { describe, expect, it } from 'vitest';
import { Group, LATENCY_US, TIMEOUT_US, type Member } from './group.ts';

const SETTLED_US = 20 * LATENCY_US;

/** Only these members get the lease of whatever instance they ask for. */
function group(leased: readonly number[], more: ConstructorParameters<typeof Group>[0] = {}): Group {
  const made = new Group({ mode: { kind: 'fast' }, ...more });
  made.heard = (member, event) => {
    if (event.kind !== 'wantsLease') return;
    const { instance } = event;
    made.plan(2 * LATENCY_US, () => {
      if (!member.isUp) return;
      member.do((step) => member.core.command({ kind: 'leased', instance, granted: leased.includes(member.self) }, step));
    });
  };
  return made;
}

function decisionOf(member: Member): unknown {
  return member.events.find(({ kind }) => kind === 'decided');
}

it('the leader that has the lease decides its own value in three steps and two for the lease', () => {
  const made = group([0], { keeps: 'crash-stop' });
  for (const member of made.members) member.propose(1, `of ${member.self}`);
  made.run(5 * LATENCY_US);
  expect(made.decided(1)).toEqual(['of 0', 'of 0', 'of 0']);
  expect(decisionOf(made.member(2))).toMatchObject({ round: 0, isFast: true });
});

it('costs one flush, at all members at once', () => {
  const made = group([0]);
  made.run(SETTLED_US);
  const before = made.writes;
  for (const member of made.members) member.propose(1, 'v');
  made.run(2 * LATENCY_US + LATENCY_US + 150);
  expect(made.writes - before).toBe(3);
  made.run(2 * LATENCY_US);
  expect(made.decided(1)).toEqual(['v', 'v', 'v']);
});

it('without the lease the leader aborts the FAST round, and a NORMAL one decides', () => {
  const made = group([]);
  for (const member of made.members) member.propose(1, `of ${member.self}`);
  made.run(SETTLED_US);
  expect(made.count('abort')).toBeGreaterThan(0);
  expect(new Set(made.decided(1)).size).toBe(1);
  expect(decisionOf(made.member(1))).toMatchObject({ round: 3, isFast: false });
});

it('a leader with nothing to propose takes the value of one that has', () => {
  const made = group([0]);
  made.member(2).propose(1, 'of 2');
  made.run(SETTLED_US);
  expect(made.decided(1)).toEqual(['of 2', 'of 2', 'of 2']);
  expect(decisionOf(made.member(2))).toMatchObject({ isFast: true });
});

describe('two that trust themselves', () => {
  /** Member 1 hears of nobody and leads itself. */
  function split(leased: readonly number[]): Group {
    const made = group(leased);
    made.loses = (from, to) => from === 1 || to === 1;
    made.run(2 * TIMEOUT_US);
    expect([made.member(0).core.leader, made.member(1).core.leader]).toEqual([0, 1]);
    made.member(1).propose(1, 'of 1');
    made.run(3 * LATENCY_US);
    return made;
  }

  it('the one without the lease proposes nothing in FAST', () => {
    const made = split([0]);
    expect(made.sent.filter(({ from, message }) => from === 1 && message.kind === 'newestimate')).toEqual([]);
  });

  it('the one with the lease is told by those who follow another, and a NORMAL round takes what it had proposed', () => {
    const made = split([1]);
    made.loses = (_from, _to, { kind }) => kind === 'heartbeat';
    made.member(0).propose(1, 'of 0');
    made.member(2).propose(1, 'of 2');
    made.run(30 * SETTLED_US);
    expect(made.count('nack')).toBeGreaterThan(0);
    // Its FAST proposal was adopted by itself alone; a majority with it has to take that.
    expect(new Set(made.decided(1)).size).toBe(1);
  });
});

it('a member that waits for one that does not lead is told to wait no more', () => {
  const made = group([1]);
  // Member 2 has heard that 0 was accused, and follows 1; member 1 has not.
  const accused = { kind: 'heartbeat', life: 1, decided: 0, votesFrom: 1, counts: [1, 0, 0] } as never;
  made.loses = (_from, _to, { kind }) => kind === 'heartbeat';
  made.member(2).do((step) => made.member(2).core.receive(made.member(0).self, accused, step));
  expect(made.member(2).core.leader).toBe(1);
  made.member(2).propose(1, 'of 2');
  made.run(3 * LATENCY_US);
  expect(made.sent.filter(({ to, message }) => to === 2 && message.kind === 'abort')).toHaveLength(1);
});

it('a recovered member with a record of the instance is never FAST in it again', () => {
  const made = group([0]);
  made.loses = (_from, _to, { kind }) => kind === 'ack';
  for (const member of made.members) member.propose(1, `of ${member.self}`);
  made.run(5 * LATENCY_US);
  const leader = made.member(0);
  leader.crash();
  made.sent.length = 0;
  leader.restart(true);
  made.loses = () => false;
  made.run(30 * SETTLED_US);
  const again = made.sent.filter(({ from, message }) => from === 0 && message.kind === 'newestimate' && message.round < 3);
  expect(again).toEqual([]);
  expect(made.decided(1)).toEqual(['of 0', 'of 0', 'of 0']);
});
