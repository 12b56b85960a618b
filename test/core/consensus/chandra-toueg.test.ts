/** I6, the consensus of [CT96], and what 8.7 adds: crash-recovery, windows, lost memory. */
import { describe, expect, it } from 'vitest';
import { incarnation, nodeId, TenureError } from '../../../src/kernel/index.ts';
import { ConsensusCore } from '../../../src/core/index.ts';
import { CONFIG, Group, LATENCY_US, TIMEOUT_US } from './group.ts';

const SETTLED_US = 20 * LATENCY_US;

describe('an instance', () => {
  it('decides one of the proposed values, the same everywhere', () => {
    const group = new Group();
    for (const member of group.members) member.propose(1, `of ${member.self}`);
    group.run(SETTLED_US);
    expect(new Set(group.decided(1))).toEqual(new Set(['of 0']));
  });

  it('takes estimate, newestimate, ack and decide: four steps', () => {
    const group = new Group({ keeps: 'crash-stop' });
    for (const member of group.members) member.propose(1, 'v');
    group.run(4 * LATENCY_US - 1);
    expect(group.decided(1)).toEqual(['v', undefined, undefined]);
    group.run(1);
    expect(group.decided(1)).toEqual(['v', 'v', 'v']);
  });

  it('takes three steps with the shortcut: the first coordinator asks nobody', () => {
    const group = new Group({ keeps: 'crash-stop', mode: { kind: 'chandra-toueg', shortcut: true } });
    for (const member of group.members) member.propose(1, `of ${member.self}`);
    group.run(3 * LATENCY_US);
    expect(group.decided(1)).toEqual(['of 0', 'of 0', 'of 0']);
  });

  it('is decided though only one member has something to propose, whoever it is', () => {
    for (const lone of [0, 1, 2]) {
      const group = new Group();
      group.member(lone).propose(1, 'lonely');
      group.run(10 * SETTLED_US);
      expect(group.decided(1)).toEqual(['lonely', 'lonely', 'lonely']);
    }
  });

  it('is decided by a majority while the others are down, and told to them when they are back', () => {
    const group = new Group({ members: 5 });
    group.member(0).crash();
    group.member(1).crash();
    group.run(2 * TIMEOUT_US);
    group.member(4).propose(1, 'v');
    group.run(10 * SETTLED_US);
    expect(group.decided(1)).toEqual(['v', 'v', 'v']);
    group.member(0).restart(true);
    group.run(10 * SETTLED_US);
    expect(group.decided(1)).toEqual(['v', 'v', 'v', 'v']);
  });

  it('is not decided without a majority', () => {
    const group = new Group();
    group.member(0).crash();
    group.member(1).crash();
    group.member(2).propose(1, 'v');
    group.run(100 * SETTLED_US);
    expect(group.decided(1)).toEqual([undefined]);
  });
});

describe('a later round', () => {
  it('proposes what a majority may have decided in an earlier one', () => {
    const group = new Group();
    // Member 0 decides, and nobody hears of it; member 1 has not even seen the proposal.
    group.loses = (from, to, { kind }) => from === 0 && (kind === 'decide' || (kind === 'newestimate' && to === 1));
    for (const member of group.members) member.propose(1, `of ${member.self}`);
    group.run(6 * LATENCY_US);
    expect(group.decided(1)).toEqual(['of 0', undefined, undefined]);
    group.member(0).crash();
    group.run(TIMEOUT_US + SETTLED_US);
    expect(group.decided(1)).toEqual(['of 0', 'of 0']);
    expect(group.member(1).events.find(({ kind }) => kind === 'decided')).toMatchObject({ round: 1, isFast: false });
  });
});

describe('a round that is passed over', () => {
  it('has a coordinator that is told, also where an instance begins later than in its first round', () => {
    const group = new Group({ keeps: 'crash-stop', retryUs: null });
    group.loses = (_from, to, { kind }) => to === 2 && kind === 'heartbeat';
    group.run(2 * TIMEOUT_US);
    expect(group.member(2).core.suspected).toEqual([0, 1]);
    group.member(2).propose(1, 'of 2');
    expect(group.sent.map(({ to, message }) => [to, message])).toEqual([
      [0, { kind: 'nack', instance: 1, round: 0 }],
      [1, { kind: 'nack', instance: 1, round: 1 }],
    ]);
    group.run(SETTLED_US);
    expect(group.decided(1)).toEqual(['of 2', 'of 2', 'of 2']);
  });
});

describe('a coordinator that was suspected before its proposal came', () => {
  it('is not waited for: whoever adopts its proposal goes on', () => {
    const group = new Group({ keeps: 'crash-stop', retryUs: null });
    const [first, second] = [group.member(0), group.member(1)];
    // Members 1 and 2 hear nothing of member 0, and begin with round 1. What they send to member 0 is slow.
    group.loses = (from, to) => from === 0 || to === 0;
    group.run(2 * TIMEOUT_US);
    for (const member of group.members) member.propose(1, `of ${member.self}`);
    group.run(LATENCY_US);
    expect(group.sent.flatMap(({ to, message }) => (to === 0 ? [message] : []))).toMatchObject([
      { kind: 'nack', round: 0 },
      { kind: 'nack', round: 0 },
      { kind: 'newestimate', round: 1 },
    ]);
    const slow = group.sent.filter(({ to }) => to === 0);
    // Member 1 crashes: nobody but member 0 gets its proposal, and only after all suspect it.
    second.crash();
    group.run(2 * TIMEOUT_US);
    group.loses = () => false;
    group.run(LATENCY_US);
    for (const { from, message } of slow.toReversed()) first.do((step) => first.core.receive(group.member(from).self, message, step));
    group.run(10 * TIMEOUT_US);
    expect(group.decided(1)).toEqual(['of 1', 'of 1']);
  });
});

describe('rule 25: what is sent is what is stored', () => {
  it('a round is on the disk before its ESTIMATE leaves, an estimate before its ACK', () => {
    const group = new Group();
    group.flushUs = 1_000_000;
    for (const member of group.members) member.propose(1, 'v');
    group.run(500_000);
    expect(group.count('estimate') + group.count('newestimate')).toBe(0);
    group.run(500_000 + 3 * LATENCY_US);
    expect(group.count('estimate')).toBeGreaterThan(0);
    expect(group.count('newestimate')).toBeGreaterThan(0);
    expect(group.count('ack')).toBe(0);
    group.run(1_000_000);
    expect(group.count('ack')).toBeGreaterThan(0);
  });

  it('the shortcut, too, waits until the round is stored', () => {
    const group = new Group({ mode: { kind: 'chandra-toueg', shortcut: true } });
    group.flushUs = 1_000_000;
    group.member(0).propose(1, 'v');
    group.run(999_999);
    expect(group.count('newestimate')).toBe(0);
    group.run(2);
    expect(group.count('newestimate')).toBeGreaterThan(0);
  });

  it('a recovered member enters a round above the one it had stored, and has its vote', () => {
    const group = new Group();
    group.loses = (_from, _to, { kind }) => kind === 'ack';
    for (const member of group.members) member.propose(1, `of ${member.self}`);
    group.run(5 * LATENCY_US);
    for (const member of group.members) member.crash();
    group.loses = () => false;
    group.sent.length = 0;
    for (const member of group.members) member.restart(true);
    group.run(20 * SETTLED_US);
    const rounds = group.sent.flatMap(({ message }) => (message.kind === 'estimate' ? [message.round] : []));
    expect(Math.min(...rounds)).toBe(1);
    expect(group.decided(1)).toEqual(['of 0', 'of 0', 'of 0']);
  });

  it('a member whose disk fails says so and falls silent', () => {
    const group = new Group();
    const member = group.member(2);
    const failed = { op: 0, ok: false, isLost: false, value: null, version: null, keys: null };
    member.do((step) => member.core.completed(failed, step));
    expect(member.core.standing).toBe('failed');
    expect(member.core.wakeAt).toBe(Infinity);
    group.run(2 * TIMEOUT_US);
    expect(group.member(0).core.suspected).toEqual([2]);
  });
});

describe('a window', () => {
  it('lets so many instances be decided at once, in any order', () => {
    const group = new Group();
    for (const instance of [4, 3, 2, 1]) for (const member of group.members) member.propose(instance, `v${instance}`);
    group.run(SETTLED_US);
    for (const instance of [1, 2, 3, 4]) expect(group.decided(instance)).toEqual(Array.from({ length: 3 }, () => `v${instance}`));
    expect(group.member(0).core.decidedUpTo).toBe(4);
  });

  it('nothing is sent for an instance before the one a window earlier is decided; it is proposed then', () => {
    const group = new Group();
    group.member(0).propose(5, 'v5');
    group.run(10 * SETTLED_US);
    expect(group.sent).toEqual([]);
    group.member(0).propose(1, 'v1');
    group.run(20 * SETTLED_US);
    expect(group.decided(5)).toEqual(['v5', 'v5', 'v5']);
  });

  it('takes nothing beyond the next window', () => {
    const group = new Group();
    expect(() => group.member(0).propose(9, 'v')).toThrow(TenureError);
    expect(() => group.member(0).propose(0.5, 'v')).toThrow('instance 0.5 is beyond the window');
  });

  it('bounds memory: a thousand instances leave no more than the last few behind', () => {
    const group = new Group();
    for (let instance = 1; instance <= 1000; instance++) {
      for (const member of group.members) member.propose(instance, `v${instance}`);
      if (instance % 4 === 0) group.run(8 * LATENCY_US);
    }
    group.run(SETTLED_US);
    for (const { core, disk } of group.members) {
      expect(core.decidedUpTo).toBe(1000);
      expect(core.openInstances).toBe(0);
      expect(JSON.stringify(core.snapshot()).length).toBeLessThan(3000);
      expect(disk.size).toBe(CONFIG.window + CONFIG.kept + 1);
    }
  });

  it('a member that was away is told what is kept, and of the rest that it is gone', () => {
    const group = new Group();
    group.loses = (from, to) => from === 2 || to === 2;
    for (let instance = 1; instance <= 40; instance++) {
      group.member(0).propose(instance, `v${instance}`);
      group.run(RETRIES_US);
    }
    expect(group.member(0).core.decidedUpTo).toBe(40);
    group.loses = () => false;
    group.run(20 * SETTLED_US);
    const away = group.member(2);
    expect(away.core.decidedUpTo).toBe(40);
    expect(away.events.filter(({ kind }) => kind === 'skipped')).toEqual([{ kind: 'skipped', upTo: 32 }]);
    expect(Object.keys(away.decisions)).toEqual(['33', '34', '35', '36', '37', '38', '39', '40']);
  });
});

const RETRIES_US = 200_000;

describe('rule 26: lost memory', () => {
  function voted(): Group {
    const group = new Group({ keeps: 'memory', window: 2 });
    for (let instance = 1; instance <= 5; instance++) {
      for (const member of group.members) member.propose(instance, `v${instance}`);
      group.run(SETTLED_US);
    }
    return group;
  }

  it('a member without its memory abstains from all it may have voted in, asks for empty instances, and then votes again', () => {
    const group = voted();
    const member = group.member(1);
    member.crash();
    member.restart(false);
    expect(member.core.standing).toBe('asking');
    group.run(2 * LATENCY_US);
    expect(member.core.standing).toBe('abstaining');
    expect(member.events.at(-1)).toEqual({ kind: 'standing', standing: 'abstaining', bound: 7 });
    group.run(20 * SETTLED_US);
    expect(member.core.standing).toBe('voting');
    expect(group.decided(7)).toEqual(['', '', '']);
    group.member(1).propose(8, 'again');
    group.run(20 * SETTLED_US);
    expect(group.decided(8)).toEqual(['again', 'again', 'again']);
  });

  it('while it abstains nobody waits for it as a coordinator', () => {
    const group = voted();
    group.loses = (_from, _to, { kind }) => kind === 'begin';
    const first = group.member(0);
    first.crash();
    first.restart(false);
    group.run(2 * LATENCY_US);
    group.member(1).propose(6, 'v6');
    group.run(20 * SETTLED_US);
    expect(group.decided(6)).toEqual([undefined, 'v6', 'v6']);
    expect(group.count('abort')).toBeGreaterThan(0);
  });

  it('if no majority remembers, the group stops and says which members have forgotten', () => {
    const group = voted();
    for (const forgetful of [0, 1]) {
      group.member(forgetful).crash();
      group.member(forgetful).restart(false);
    }
    group.run(100 * SETTLED_US);
    group.member(2).propose(6, 'v');
    group.run(100 * SETTLED_US);
    expect(group.decided(6)).toEqual([undefined, undefined, undefined]);
    for (const { core, events } of group.members) {
      expect(core.isStopped).toBe(true);
      expect(events.filter(({ kind }) => kind === 'stopped')).toEqual([{ kind: 'stopped', without: [0, 1] }]);
    }
  });

  it('a group of one says so as well, though it hears nobody', () => {
    const group = new Group({ members: 1 });
    group.member(0).propose(1, 'v');
    group.run(SETTLED_US);
    expect(group.decided(1)).toEqual(['v']);
    group.member(0).crash();
    group.member(0).restart(false);
    group.run(SETTLED_US);
    expect(group.member(0).events.at(-1)).toEqual({ kind: 'stopped', without: [0] });
    expect(group.member(0).core.isStopped).toBe(true);
  });

  it('a disk that was lost is noticed in the life after the next, too', () => {
    const group = new Group();
    for (const member of group.members) member.propose(1, 'v');
    group.run(SETTLED_US);
    const member = group.member(2);
    member.crash();
    member.restart(false);
    // It crashes before it has learned anything; what it finds then is a disk that was kept, and is blank.
    member.crash();
    member.restart(true);
    group.run(500);
    expect(member.core.standing).toBe('asking');
    group.run(LATENCY_US * 2 + 500);
    expect(member.core.standing).toBe('abstaining');
    member.crash();
    member.restart(true);
    group.run(500);
    expect(member.core.standing).toBe('abstaining');
    group.run(20 * SETTLED_US);
    expect(member.core.standing).toBe('voting');
  });
});

it('a member of the crash-stop model that was restarted is silent', () => {
  const group = new Group({ keeps: 'crash-stop' });
  group.member(2).crash();
  group.member(2).restart(true);
  expect(group.member(2).core.standing).toBe('silent');
  group.member(2).propose(1, 'v');
  group.run(2 * TIMEOUT_US);
  expect(group.decided(1)).toEqual([undefined, undefined, undefined]);
});

it('only members are heard', () => {
  const core = new ConsensusCore(CONFIG, { self: nodeId(0), incarnation: incarnation(1), restarted: false, diskKept: false });
  const gone = { kind: 'gone', instance: 9 } as const;
  const sender = (node: number, isAdmin: boolean): Parameters<typeof core.admits>[0] => ({
    node: nodeId(node),
    incarnation: incarnation(9),
    isAdmin,
  });
  expect(core.admits(sender(2, true), gone)).toBe(true);
  expect(core.admits(sender(3, true), gone)).toBe(false);
  expect(core.admits(sender(2, false), gone)).toBe(false);
});
