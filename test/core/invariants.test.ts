/** Invariants that stay on in production: what must hold in a table, and of a lease, whoever broke it. */
import { describe, expect, it } from 'vitest';
import { ballotTime, encodeName, incarnation, monoUs, NEVER, nodeId, wallUs } from '../../src/kernel/index.ts';
import { QuorumCore, QuorumMessage, RELEASE, type Snapshot } from '../../src/core/index.ts';
import { LeaseRoom } from '../../src/core/leases/quorum/lease-room.ts';
import { newClaim, type Doing, type StorageClaim } from '../../src/core/leases/storage/claim.ts';
import { StorageLeases, type LeasesGround, type StorageProtocol } from '../../src/core/leases/storage/leases.ts';
import type { StorageStep } from '../../src/core/leases/storage/config.ts';
import { ALL_CAS_RULES } from '../../src/core/leases/storage/rules.ts';
import { HOLD_ROLE, NameTable, OwnerTable } from '../../src/core/tables/index.ts';
import { Cell, R, TERM_US, type Node } from './quorum/cell.ts';

describe('tables', () => {
  it('take no id that is of no name', () => {
    const names = new NameTable();
    expect(() => names.retain(0, HOLD_ROLE)).toThrow('an id is used that is of no name');
    const bytes = encodeName('one');
    const id = names.intern(bytes, 0, bytes.length);
    names.retain(id, HOLD_ROLE);
    names.drop(id, HOLD_ROLE);
    for (const gone of [id, id + 1, -1]) expect(() => names.retain(gone, HOLD_ROLE)).toThrow('an id is used that is of no name');
  });

  it('release no owner twice', () => {
    const owners = new OwnerTable();
    const [one, other] = [owners.indexOf(incarnation(7)), owners.indexOf(incarnation(8))];
    owners.retain(one);
    owners.retain(other);
    owners.release(one);
    expect(() => owners.release(one)).toThrow('an owner was released that is not in the table');
    expect(() => owners.release(9)).toThrow('an owner was released that is not in the table');
  });

  it('count no client below nothing', () => {
    const room = new LeaseRoom(100);
    room.add(0, 2);
    room.add(1, 1);
    expect(() => room.add(1, -2)).toThrow('leases were taken from a client that has fewer');
  });
});

interface Held {
  readonly holder: { readonly rows: readonly (readonly Snapshot[])[] };
}

/** The same process with another state: as if a fault of ours, or of the machine, had changed it. */
function damage(node: Node, change: (rows: Held['holder']['rows']) => readonly (readonly Snapshot[])[]): void {
  const whole = node.core.snapshot() as unknown as Held & Record<string, Snapshot>;
  const boot = { self: nodeId(node.id), incarnation: incarnation(node.incarnation), restarted: false, diskKept: false };
  node.core = new QuorumCore(node.cell.config, boot);
  node.core.restore({ ...whole, holder: { ...whole.holder, rows: change(whole.holder.rows) } });
}

describe('a holder', () => {
  it('renews nothing that it does not hold', () => {
    const cell = new Cell({ clients: 1 });
    const holder = cell.node(3);
    const lease = holder.acquire();
    cell.settle();
    holder.renew(lease);
    damage(holder, () => []);
    expect(() => cell.settle()).toThrow('a renewal is of a lease that is not held');
    expect(holder.said('renewed')).toEqual([]);
  });

  it('ends nothing that it does not hold', () => {
    const cell = new Cell({ clients: 1 });
    const holder = cell.node(3);
    const lease = holder.acquire();
    cell.settle();
    holder.renew(lease);
    damage(holder, () => []);
    cell.pass(2 * TERM_US);
    expect(() => holder.wake()).toThrow('a lease ended that is not held');
    expect(holder.said('lost')).toEqual([]);
  });

  it('is granted no token below the last one that it knows of the name', () => {
    const cell = new Cell({ clients: 1 });
    const holder = cell.node(3);
    holder.acquire();
    cell.settle();
    damage(holder, (rows) => rows.map(([text, lease, token, ...rest]) => [text ?? '', lease ?? 0, Number(token) * 2, ...rest]));
    cell.pass(2 * TERM_US);
    holder.acquire({ name: R });
    // It goes above, and nobody believes that.
    cell.run(TERM_US);
    expect(holder.said('refused').length).toBe(1);
    expect(holder.said('granted').length).toBe(1);
  });
});

describe('an acceptor', () => {
  it('ends no vote on the word of another owner, not even with the number of its lease', () => {
    const cell = new Cell({ clients: 2 });
    const [holder, other, member] = [cell.node(3), cell.node(4), cell.node(0)];
    const lease = holder.acquire();
    cell.settle();
    const release = new QuorumMessage();
    Object.assign(release, { kind: RELEASE, owner: other.incarnation, lease, ballot: holder.last('granted').token + 1 });
    release.setName(R, 0, R.length);
    member.core.receive(nodeId(other.id), release, cell.step(member));
    cell.settle();
    other.acquire();
    cell.settle(({ to, from }) => to === 0 || from === 0 || to === 1 || from === 1);
    expect(other.said('granted')).toEqual([]);
    expect((member.core.snapshot() as unknown as { acceptor: { rows: readonly unknown[] } }).acceptor.rows.length).toBe(1);
  });
});

describe('a process with leases on a store', () => {
  const [now, wall] = [monoUs(5_000_000), wallUs(1_800_000_000_000_000)];
  const until = (spanUs: number) => ({ mono: monoUs(now + spanUs), wall: wallUs(wall + spanUs) });
  const step = { monoUs: now, wallUs: wall, emit: () => undefined } as unknown as StorageStep;
  const ground = { rules: ALL_CAS_RULES, desk: { turn: () => undefined }, sightings: { forget: () => undefined } };
  const protocol = { idle: { kind: 'idle', ops: [] }, giveBack: () => undefined };
  const leases = new StorageLeases(ground as unknown as LeasesGround<Doing>, () => protocol as unknown as StorageProtocol<Doing>);
  const claim = (phase: StorageClaim<Doing>['phase']): StorageClaim<Doing> =>
    newClaim(
      { lease: 1, name: 'r', wants: 'lease', mode: 'exclusive', waits: false, waitUntil: NEVER, termUs: TERM_US, keep: true, meta: null },
      phase,
      protocol.idle,
    );
  const held = (): StorageClaim<Doing> => {
    const granted = claim('contending');
    leases.grant(granted, ballotTime(7), until(TERM_US), step);
    return granted;
  };

  it('is granted only what a request contends for, with a token, for its term, and not after its end', () => {
    expect(held().phase).toBe('holding');
    expect(() => leases.grant(claim('queued'), ballotTime(7), until(TERM_US), step)).toThrow('that no request contends for');
    expect(() => leases.grant(claim('contending'), ballotTime(0), until(TERM_US), step)).toThrow('without a token');
    expect(() => leases.grant(claim('contending'), ballotTime(7), until(TERM_US + 1), step)).toThrow('for longer than its term');
    expect(() => leases.grant(claim('contending'), ballotTime(7), until(0), step)).toThrow('that is over');
  });

  it('renews, gives back and loses only what it holds', () => {
    expect(() => leases.extend(held(), until(TERM_US), 0, step)).not.toThrow();
    expect(() => leases.extend(claim('releasing'), until(TERM_US), 0, step)).toThrow('renewed that is not held');
    expect(() => leases.release(claim('contending'), step)).toThrow('released that is not held');
    expect(() => leases.lose(claim('releasing'), step)).toThrow('lost that is not held');
  });
});
