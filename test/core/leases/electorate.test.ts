/** Who votes on a name when not all members do: few, the same for everyone, evenly spread, and stable (F8). */
import { describe, expect, it } from 'vitest';
import { Electorate } from '../../../src/core/leases/electorate.ts';
import { hashName, nodeId } from '../../../src/kernel/index.ts';
import { Cell, name, TERM_US, TIMING, type Node } from '../quorum/cell.ts';

const NAMES = 30_000;

function keys(members: number): number[] {
  return Array.from({ length: members }, (_, member) => {
    const id = name(`member-${member}.example.org`);
    return hashName(id, 0, id.length);
  });
}

function hashes(count: number): number[] {
  return Array.from({ length: count }, (_, i) => {
    const bytes = name(`job/${i}`);
    return hashName(bytes, 0, bytes.length);
  });
}

describe.each([
  [5, 3],
  [9, 3],
  [12, 5],
  [40, 3],
])('of %i members %i', (members, replication) => {
  const electorate = new Electorate(keys(members), replication);
  const all = hashes(NAMES).map((hash) => electorate.votersOf(hash));

  it('vote on a name, all different, and know that they do', () => {
    for (const [i, hash] of hashes(500).entries()) {
      const voters = all[i] as readonly number[];
      expect(new Set(voters).size).toBe(replication);
      for (let member = 0; member < members; member++) expect(electorate.isVoter(nodeId(member), hash)).toBe(voters.includes(member));
    }
    expect(electorate.quorum).toBe(Math.floor(replication / 2) + 1);
  });

  it('share the names evenly', () => {
    const load = Array.from({ length: members }, () => 0);
    for (const voters of all) for (const voter of voters) load[voter] = (load[voter] ?? 0) + 1;
    const fair = (NAMES * replication) / members;
    for (const names of load) expect(Math.abs(names - fair) / fair).toBeLessThan(0.1);
  });

  it('share them evenly in pairs too: no two members always fail together', () => {
    const pairs = new Map<string, number>();
    for (const voters of all) {
      for (const a of voters) for (const b of voters) if (a < b) pairs.set(`${a} ${b}`, (pairs.get(`${a} ${b}`) ?? 0) + 1);
    }
    const fair = (NAMES * replication * (replication - 1)) / (members * (members - 1));
    expect(pairs.size).toBe((members * (members - 1)) / 2);
    for (const names of pairs.values()) expect(Math.abs(names - fair) / fair).toBeLessThan(fair < 500 ? 0.5 : 0.25);
  });

  it('stay when a member is added, but for those it replaces', () => {
    const larger = new Electorate(keys(members + 1), replication);
    let moved = 0;
    hashes(NAMES).forEach((hash, i) => {
      const before = all[i] as readonly number[];
      const after = larger.votersOf(hash);
      const left = before.filter((voter) => !after.includes(nodeId(voter)));
      expect(left.length).toBe(after.includes(nodeId(members)) ? 1 : 0);
      moved += left.length;
    });
    const fair = (NAMES * replication) / (members + 1);
    expect(Math.abs(moved - fair) / fair).toBeLessThan(0.1);
  });
});

describe('where all vote', () => {
  it('more voters than members are all members', () => {
    const electorate = new Electorate(keys(3), 7);
    expect(electorate.votersOf(1)).toEqual([0, 1, 2]);
    expect(electorate.quorum).toBe(2);
  });
});

describe('a cell in which three of seven vote on a name', () => {
  const cell = new Cell({ members: 7, clients: 2, replication: 3 });
  const [holder, other] = cell.nodes.slice(7) as [Node, Node];
  const names = Array.from({ length: 40 }, (_, i) => name(`n${i}`));

  it('asks only them, in one round trip', () => {
    for (const of of names) {
      const mark = cell.sent.length;
      holder.acquire({ name: of, keep: true });
      cell.settle();
      expect(cell.tally(mark)).toEqual({ PROPOSE: 3, ACCEPTED: 3 });
    }
  });

  it('excludes, renews, answers, queues and releases like any other', () => {
    cell.run(3 * TERM_US);
    names.forEach((of, i) => {
      expect(holder.holds(i + 1, of)).toBe(true);
      other.query(of);
      cell.settle();
      expect(other.last('answered')).toMatchObject({ certain: true, holder: { owner: holder.incarnation } });
      other.acquire({ name: of, waitUs: 10 * TERM_US });
      cell.run(TIMING.headStartUs);
      holder.release(i + 1, of);
      cell.settle();
      expect(other.said('granted')).toHaveLength(i + 1);
    });
    expect(holder.said('released').every(({ byQuorum }) => byQuorum)).toBe(true);
  });
});
