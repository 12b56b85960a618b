/** Tens of thousands of leases come and go: nobody keeps anything of them. */
import { describe, expect, it } from 'vitest';
import { Cell, name, TERM_US } from './cell.ts';
import { census } from './census.ts';
import { sized } from '../../support/sizes.ts';

const LEASES = sized(40_000, 100_000);
const BATCH = 1000;

/** Fixed room: the tables' first chunks, the members' numbers, and blocks kept for the next entries. */
const FIXED = /#rows\.|#index\.|#arena\.|electorate\.|#spare|#last\.blocks|\.cur\.members$|\.memberKeys$/;

function leftovers(cell: Cell): [number, string, number][] {
  return cell.nodes.flatMap((node) =>
    Object.entries(census(node.core))
      .filter(([path, size]) => size > (FIXED.test(path) ? 300 : 0))
      .map(([path, size]): [number, string, number] => [node.id, path, size]),
  );
}

/** Batches on fresh names each; between them `end` says what becomes of the leases. */
function churn(cell: Cell, end: (leases: readonly { lease: number; of: Uint8Array }[]) => void): void {
  const client = cell.node(3);
  for (let from = 0; from < LEASES; from += BATCH) {
    const leases = Array.from({ length: BATCH }, (_, i) => {
      const of = name(`lease-${from + i}`);
      return { lease: client.acquire({ name: of, meta: i % 2 === 0 ? of : new Uint8Array(0) }), of };
    });
    settleFast(cell);
    expect(client.said('granted')).toHaveLength(BATCH);
    end(leases);
    client.events.length = 0;
    cell.sent.length = 0;
  }
}

/** In order and all of it: `settle` filters, which costs too much for so many. */
function settleFast(cell: Cell): void {
  while (cell.flying.length > 0) {
    const packets = cell.flying;
    cell.flying = [];
    for (const packet of packets) cell.hand(packet);
  }
}

describe(`after ${LEASES} leases`, () => {
  it('that were released, nothing is kept', () => {
    const cell = new Cell({ clients: 2 });
    const client = cell.node(3);
    churn(cell, (leases) => {
      for (const { lease, of } of leases) client.release(lease, of);
      settleFast(cell);
      cell.pass(1000);
    });
    cell.run(3 * TERM_US);
    expect(leftovers(cell)).toEqual([]);
    expect(cell.nodes.map(({ core }) => core.wakeAt)).toEqual(cell.nodes.map(() => Infinity));
  }, 60_000);

  it('that ran out, nothing is kept', () => {
    const cell = new Cell({ clients: 2 });
    churn(cell, () => {
      cell.pass(TERM_US / 4);
      for (const node of cell.nodes) node.wake();
      cell.flying = [];
    });
    cell.run(4 * TERM_US);
    expect(leftovers(cell)).toEqual([]);
    expect(cell.nodes.map(({ core }) => core.wakeAt)).toEqual(cell.nodes.map(() => Infinity));
  }, 60_000);

  it('that a learner watched, it keeps nothing either', () => {
    const cell = new Cell({ clients: 2 });
    const [client, watcher] = [cell.node(3), cell.node(4)];
    watcher.command({ kind: 'watch', prefix: new Uint8Array(0) });
    settleFast(cell);
    let heard = 0;
    churn(cell, (leases) => {
      leases.forEach(({ lease, of }, i) => {
        if (i % 2 === 0) client.release(lease, of);
      });
      settleFast(cell);
      heard += watcher.said('learned').length;
      watcher.events.length = 0;
      cell.pass(TERM_US / 4);
      for (const node of cell.nodes) node.wake();
      settleFast(cell);
    });
    watcher.command({ kind: 'unwatch', prefix: new Uint8Array(0) });
    cell.run(4 * TERM_US);
    expect(heard).toBeGreaterThan(LEASES);
    expect(leftovers(cell)).toEqual([]);
  }, 60_000);

  it('that were refused and waited for in vain, nothing is kept', () => {
    const cell = new Cell({ clients: 2 });
    const [holder, other] = [cell.node(3), cell.node(4)];
    const names = Array.from({ length: 500 }, (_, i) => name(`held-${i}`));
    const leases = names.map((of) => holder.acquire({ name: of, keep: true }));
    settleFast(cell);
    for (const waitUs of [0, TERM_US / 2, 2 * TERM_US]) {
      for (const of of names) other.acquire({ name: of, waitUs });
      cell.run(waitUs + 1000);
    }
    expect(other.said('refused')).toHaveLength(1500);
    leases.forEach((lease, i) => holder.release(lease, names[i]));
    cell.run(4 * TERM_US);
    expect(leftovers(cell)).toEqual([]);
  }, 60_000);
});
