/** What a member knows again after a crash, and what it says about what it does not know: nobody waits for ever for a decision that is lost to the one that is asked. */
import { describe, expect, it } from 'vitest';
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
