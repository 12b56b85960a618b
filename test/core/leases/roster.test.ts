/** What members and clients remember of the members' lives. */
import { describe, expect, it } from 'vitest';
import { NamedMessage } from '../../../src/core/leases/named-message.ts';
import { Roster } from '../../../src/core/leases/roster.ts';
import { incarnation, nodeId, type NodeId } from '../../../src/kernel/index.ts';

const MEMBERS = 3;
const [M0, M1, M2] = [nodeId(0), nodeId(1), nodeId(2)] as const;

/** What a member that knows these lives tells. */
function word(from: NodeId, lives: readonly number[]): NamedMessage {
  const roster = new Roster(MEMBERS);
  for (const [member, life] of lives.entries()) roster.note(nodeId(member), life, incarnation(life + 1));
  const message = new NamedMessage();
  message.life = lives[from] ?? 0;
  message.setRoster(roster.bytes);
  return message;
}

function tell(roster: Roster, from: NodeId, lives: readonly number[]): number[] {
  const begun: number[] = [];
  roster.hear(from, word(from, lives), true, (member) => begun.push(member));
  return begun;
}

describe('the roster of a client', () => {
  it('knows of a successor as long as one member that spoke last knows of it', () => {
    const roster = new Roster(MEMBERS, true);
    tell(roster, M0, [1, 1, 9]);
    tell(roster, M1, [1, 1, 5]);
    tell(roster, M2, [1, 1, 5]);
    expect(roster.lifeOf(M2)).toBe(9);
  });

  it('forgets what all members have forgotten: they were started again, with their wall clocks set back', () => {
    const roster = new Roster(MEMBERS, true);
    for (const member of [M0, M1, M2]) tell(roster, member, [9, 9, 9]);
    for (const member of [M0, M1, M2]) tell(roster, member, [4, 4, 4]);
    expect([M0, M1, M2].map((member) => roster.lifeOf(member))).toEqual([4, 4, 4]);
    for (const member of [M0, M1, M2]) roster.hear(member, word(member, [4, 4, 4]), true, () => expect.fail('nothing is new'));
  });

  it('keeps what a member told, though an earlier message of the same life arrives late', () => {
    const roster = new Roster(MEMBERS, true);
    tell(roster, M0, [1, 1, 9]);
    expect(tell(roster, M0, [1, 1, 5])).toEqual([]);
    expect(roster.lifeOf(M2)).toBe(9);
  });

  it('says that a member has begun another life also if its number is lower: its earlier votes count no more', () => {
    const roster = new Roster(MEMBERS, true);
    tell(roster, M0, [7, 1, 9]);
    expect(tell(roster, M0, [3, 1, 1])).toContain(M0);
  });

  it('has the fingerprint of whoever knows the same, however it came about, and survives a snapshot', () => {
    const [one, other] = [new Roster(MEMBERS, true), new Roster(MEMBERS, true)];
    tell(one, M0, [9, 9, 9]);
    tell(one, M0, [4, 4, 4]);
    tell(other, M0, [4, 4, 4]);
    expect(one.print).toBe(other.print);
    const again = new Roster(MEMBERS, true);
    again.restore(one.snapshot());
    expect(again.snapshot()).toEqual(one.snapshot());
    expect(again.print).toBe(one.print);
  });
});

describe('the roster of a member', () => {
  it('forgets nothing: whoever comes with less is told, and goes above', () => {
    const roster = new Roster(MEMBERS);
    tell(roster, M0, [9, 9, 9]);
    tell(roster, M0, [4, 4, 4]);
    expect(roster.lifeOf(M0)).toBe(9);
    expect(roster.note(M0, 4, incarnation(5))).toBe(false);
  });
});
