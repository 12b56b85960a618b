/** What a member knows again after a crash, and what it says about what it does not know: nobody waits for ever for a decision that is lost to the one that is asked. */
import { describe, expect, it } from 'vitest';
import { incarnation } from '../../../src/kernel/index.ts';
import type { ConsensusMessage } from '../../../src/core/index.ts';
import { instanceBytes } from '../../../src/core/consensus/records.ts';
import { encoded } from '../../../src/sim/protocols/consensus/user.ts';
import { CONFIG, Group, LATENCY_US } from './group.ts';

const SETTLED_US = 20 * LATENCY_US;
const PLACES = CONFIG.window + CONFIG.kept;

/** The last write of this instance's place has not reached the disk: it holds a vote of this round, and no decision. */
function losesDecision({ disk }: { readonly disk: Map<string, Uint8Array> }, instance: number, round: number): void {
  const record = { instance, round, ts: 0, isDecided: false, value: encoded(`v${instance}`) };
  disk.set(`consensus/${instance % PLACES}`, instanceBytes(record));
}

function decidedUpTo(last: number, config: ConstructorParameters<typeof Group>[0] = {}): Group {
  const group = new Group(config);
  for (let instance = 1; instance <= last; instance++) {
    for (const member of group.members) member.propose(instance, `v${instance}`);
    group.run(SETTLED_US);
  }
  return group;
}

describe('a decision that had not reached the disk', () => {
  it('is decided again, as it was, when all members crash: no member takes it for gone', () => {
    const group = decidedUpTo(6);
    for (const member of group.members) {
      losesDecision(member, 1, 0);
      member.crash();
      member.events.length = 0;
    }
    for (const member of group.members) member.restart(true);
    group.run(20 * SETTLED_US);
    expect(group.decided(1)).toEqual(['v1', 'v1', 'v1']);
    expect(group.members.map(({ core }) => core.decidedUpTo)).toEqual([6, 6, 6]);
    expect(group.members.flatMap(({ events }) => events.filter(({ kind }) => kind === 'skipped'))).toEqual([]);
  });

  it('leaves no member that is up and keeps silent as the coordinator of a round', () => {
    const group = decidedUpTo(6);
    // Member 0 knows that 1 is decided; the others know nothing of any decision, and go on in the round of member 0.
    for (const member of group.members) {
      losesDecision(member, 1, 2);
      if (member.self !== 0) for (let instance = 2; instance <= 6; instance++) member.disk.delete(`consensus/${instance}`);
      member.crash();
      member.restart(true);
    }
    group.run(20 * SETTLED_US);
    for (const member of group.members) member.propose(7, 'v7');
    group.run(20 * SETTLED_US);
    expect(group.decided(7)).toEqual(['v7', 'v7', 'v7']);
  });
});

it('an instance goes on that is beyond the window of a recovered member, whose earlier life knew more decisions', () => {
  const group = new Group({ window: 1, kept: PLACES - 1 });
  for (let instance = 1; instance <= 6; instance++) {
    for (const member of group.members) member.propose(instance, `v${instance}`);
    group.run(SETTLED_US);
  }
  // Nobody remembers the decisions of 2 and 6, nor whether anybody voted for them in another round than the first.
  for (const member of group.members) {
    for (const instance of [2, 6]) losesDecision(member, instance, 0);
    member.crash();
    member.events.length = 0;
    member.restart(true);
  }
  group.loses = (_from, _to, message) => 'instance' in message && message.instance === 2;
  group.run(20 * SETTLED_US);
  expect(group.members.map(({ core }) => core.decidedUpTo)).toEqual([1, 1, 1]);
  expect(group.decided(6)).toEqual(['v6', 'v6', 'v6']);
  group.loses = () => false;
  group.run(20 * SETTLED_US);
  expect(group.members.map(({ core }) => core.decidedUpTo)).toEqual([6, 6, 6]);
});

describe('a decision that was skipped', () => {
  it('is gone for those as well that ask the member that skipped it', () => {
    const group = new Group();
    const skipper = group.member(1);
    skipper.do((step) => skipper.core.receive(group.member(0).self, { kind: 'gone', instance: 6 }, step));
    expect(skipper.core.decidedUpTo).toBe(5);
    group.sent.length = 0;
    for (const kind of ['begin', 'ack'] as const)
      skipper.do((step) => skipper.core.receive(group.member(2).self, { kind, instance: 3, round: 1 }, step));
    const gone = { from: 1, to: 2, message: { kind: 'gone', instance: 6 } };
    expect(group.sent).toEqual([gone, gone]);
  });

  it('holds up nobody once its number is beyond what is kept', () => {
    const group = new Group();
    const skipper = group.member(1);
    skipper.do((step) => skipper.core.receive(group.member(0).self, { kind: 'gone', instance: 6 }, step));
    for (let instance = 6; instance <= 20; instance++)
      skipper.do((step) =>
        skipper.core.receive(group.member(0).self, { kind: 'decide', instance, round: 0, value: encoded(`v${instance}`) }, step),
      );
    group.sent.length = 0;
    skipper.do((step) => skipper.core.receive(group.member(2).self, { kind: 'begin', instance: 5, round: -1 }, step));
    expect(group.sent).toEqual([{ from: 1, to: 2, message: { kind: 'gone', instance: 20 - CONFIG.kept + 1 } }]);
  });
});

describe('what waits for a write', () => {
  const SLOW_US = 1_000_000;

  it('is not said of a round that was left meanwhile, nor of the one entered since', () => {
    const group = new Group();
    const member = group.member(1);
    member.propose(1, 'v');
    group.run(SETTLED_US / 20);
    group.loses = (_from, _to, { kind }) => kind !== 'heartbeat';
    group.flushUs = SLOW_US;
    group.sent.length = 0;
    const value = encoded('other');
    member.do((step) => member.core.receive(group.member(0).self, { kind: 'newestimate', instance: 1, round: 0, value }, step));
    member.do((step) => member.core.receive(group.member(2).self, { kind: 'round', instance: 1, round: 8 }, step));
    group.run(3 * SLOW_US);
    const said = group.sent.flatMap(({ to, message }) => ('round' in message && to === 2 ? [`${message.kind} ${message.round}`] : []));
    expect(said).toContain('estimate 8');
    expect(group.sent.filter(({ from, message }) => from === 1 && message.kind === 'ack')).toEqual([]);
  });

  it('a coordinator proposes only once its own round is stored, though a majority of others has sent estimates', () => {
    const group = new Group();
    group.flushUs = SLOW_US;
    const coordinator = group.member(0);
    coordinator.propose(1, 'v0');
    for (const other of [1, 2])
      coordinator.do((step) =>
        coordinator.core.receive(
          group.member(other).self,
          { kind: 'estimate', instance: 1, round: 0, ts: -1, value: encoded(`v${other}`) },
          step,
        ),
      );
    group.run(SLOW_US - 1);
    expect(group.count('newestimate')).toBe(0);
    group.run(1);
    expect(group.count('newestimate')).toBeGreaterThan(0);
  });

  it('a member that has lost its disk votes, and answers for its votes, only once its next life would know the bound', () => {
    const group = decidedUpTo(3);
    const member = group.member(2);
    member.crash();
    group.flushUs = SLOW_US;
    member.restart(false);
    group.run(SLOW_US - 1);
    expect(member.core.standing).toBe('asking');
    group.run(3 * LATENCY_US);
    expect(member.core.standing).toBe('abstaining');
  });
});

describe('a bound below which a member abstains', () => {
  it('is known to its next life, too', () => {
    const group = decidedUpTo(3);
    const member = group.member(2);
    const abstaining = { kind: 'standing', standing: 'abstaining', bound: 3 + CONFIG.window };
    member.crash();
    member.restart(false);
    group.run(3 * LATENCY_US);
    expect(member.events.findLast(({ kind }) => kind === 'standing')).toEqual(abstaining);
    member.crash();
    group.sent.length = 0;
    member.restart(true);
    group.run(500);
    expect(member.events.findLast(({ kind }) => kind === 'standing')).toEqual(abstaining);
    member.do((step) =>
      member.core.receive(group.member(0).self, { kind: 'newestimate', instance: 4, round: 0, value: encoded('v4') }, step),
    );
    group.run(500);
    expect(group.sent.filter(({ from, message }) => from === 2 && message.kind === 'ack')).toEqual([]);
  });

  it('is not found by fewer than a majority, nor by members that ask themselves', () => {
    const group = decidedUpTo(3, { members: 5 });
    const forgetful = [2, 3, 4].map((number) => group.member(number));
    for (const member of forgetful) {
      member.crash();
      member.restart(false);
    }
    group.sent.length = 0;
    group.run(20 * SETTLED_US);
    expect(new Set(group.sent.flatMap(({ from, message }) => (message.kind === 'told' ? [from] : [])))).toEqual(new Set([0, 1]));
    expect(forgetful.map(({ core }) => core.standing)).toEqual(['asking', 'asking', 'asking']);
  });

  it('is not told by a member that has not read its disk yet', () => {
    const group = decidedUpTo(3);
    const reader = group.member(1);
    reader.crash();
    reader.restart(true);
    group.sent.length = 0;
    reader.do((step) => reader.core.receive(group.member(2).self, { kind: 'ask', life: incarnation(9) }, step));
    expect(group.sent).toEqual([]);
    group.run(500);
    reader.do((step) => reader.core.receive(group.member(2).self, { kind: 'ask', life: incarnation(9) }, step));
    expect(group.sent).toContainEqual({ from: 1, to: 2, message: { kind: 'told', life: incarnation(9), bound: 3 } });
  });

  it('is not told by a brand-new member that is not stored yet: its next life would have to ask as well', () => {
    const group = new Group();
    const founder = group.member(1);
    const ask = (): void => founder.do((step) => founder.core.receive(group.member(2).self, { kind: 'ask', life: incarnation(9) }, step));
    ask();
    expect(group.sent).toEqual([]);
    group.run(500);
    ask();
    expect(group.sent).toEqual([{ from: 1, to: 2, message: { kind: 'told', life: incarnation(9), bound: 0 } }]);
  });

  it('holds because nobody votes beyond its window', () => {
    const group = new Group();
    const member = group.member(1);
    const last = CONFIG.window;
    const asked = (instance: number): unknown[] => {
      group.sent.length = 0;
      member.do((step) =>
        member.core.receive(group.member(0).self, { kind: 'newestimate', instance, round: 0, value: encoded('v') }, step),
      );
      group.run(500);
      return group.sent.filter(({ from, message }) => from === 1 && 'instance' in message && message.instance === instance);
    };
    expect(asked(last + 1)).toEqual([]);
    expect(asked(last)).toEqual([{ from: 1, to: 0, message: { kind: 'ack', instance: last, round: 0 } }]);
  });

  it('is not found by answers to an earlier life', () => {
    const group = decidedUpTo(3);
    const member = group.member(2);
    member.crash();
    const { lives } = group;
    member.restart(false);
    for (const other of [0, 1]) {
      const told = { kind: 'told', life: incarnation(lives), bound: 1 } as const;
      member.do((step) => member.core.receive(group.member(other).self, told, step));
    }
    expect(member.core.standing).toBe('asking');
    group.run(500);
    expect(member.core.standing).toBe('asking');
  });
});

it('a coordinator that leads again counts nothing that it heard in its earlier round', () => {
  const group = new Group({ members: 5 });
  group.loses = (_from, _to, { kind }) => kind !== 'heartbeat';
  const coordinator = group.member(0);
  const hear = (from: number, message: ConsensusMessage): void => {
    coordinator.do((step) => coordinator.core.receive(group.member(from).self, message, step));
    group.run(LATENCY_US);
  };
  const estimate = (from: number, round: number): void =>
    hear(from, { kind: 'estimate', instance: 1, round, ts: -1, value: encoded(`of ${from}`) });
  const proposedIn = (): number[] => [
    ...new Set(group.sent.flatMap(({ message }) => (message.kind === 'newestimate' ? [message.round] : []))),
  ];
  coordinator.propose(1, 'of 0');
  group.run(LATENCY_US);
  for (const from of [1, 2]) estimate(from, 0);
  expect(proposedIn()).toEqual([0]);
  hear(1, { kind: 'ack', instance: 1, round: 0 });
  hear(1, { kind: 'round', instance: 1, round: 5 });
  estimate(3, 5);
  expect(proposedIn()).toEqual([0]);
  estimate(4, 5);
  expect(proposedIn()).toEqual([0, 5]);
  hear(3, { kind: 'ack', instance: 1, round: 5 });
  expect(coordinator.core.decidedUpTo).toBe(0);
  hear(4, { kind: 'ack', instance: 1, round: 5 });
  expect(coordinator.core.decidedUpTo).toBe(1);
});

it('a refusal is not a vote: the coordinator gives its round up, and says so', () => {
  const group = new Group();
  group.loses = (_from, _to, { kind }) => kind !== 'heartbeat';
  const coordinator = group.member(0);
  coordinator.propose(1, 'of 0');
  group.run(LATENCY_US);
  const refusals: readonly ConsensusMessage[] = [
    { kind: 'estimate', instance: 1, round: 0, ts: -1, value: encoded('of 1') },
    { kind: 'nack', instance: 1, round: 0 },
  ];
  for (const message of refusals) {
    coordinator.do((step) => coordinator.core.receive(group.member(1).self, message, step));
    group.run(LATENCY_US);
  }
  expect(coordinator.core.decidedUpTo).toBe(0);
  expect(group.sent).toContainEqual({ from: 0, to: 1, message: { kind: 'abort', instance: 1, round: 0 } });
});
