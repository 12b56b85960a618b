/**
 * Random commands, losses, copies, delays, stalls and restarts in cells of every size. At no instant are there two
 * holders, no core asks to be woken for ever (the cell checks), and when all is over nothing is kept.
 */
import { describe, expect, it } from 'vitest';
import { deriveTiming } from '../../../src/core/index.ts';
import { Random } from '../../../src/kernel/index.ts';
import { Cell, name, type Node, type Packet } from './cell.ts';
import { census } from './census.ts';
import { sized } from '../../support/sizes.ts';

const NAMES = ['a', 'b'].map((text) => name(text));

interface World {
  readonly members: number;
  readonly replication: number | undefined;
  readonly maxTermUs: number;
  readonly rttUs: number;
}

function play(seed: number, { members, replication, maxTermUs, rttUs }: World): { grants: number; cell: Cell } {
  const random = new Random(seed);
  const timing = deriveTiming({ maxTermUs, rateErrorPpm: 1000, rttUs });
  const cell = new Cell({ members, clients: 2, timing, seed, ...(replication === undefined ? {} : { replication }) });
  const asked = new Map<Node, { lease: number; of: Uint8Array }[]>();
  const late: Packet[] = [];
  const terms = [1, 2 / 3, 1 / 3, 0].map((part) => Math.max(1, Math.floor((maxTermUs * part) / 1000)) * 1000);
  const pickOne = <T>(items: readonly T[]): T => items[random.below(items.length)] as T;
  const act = (): void => {
    const node = pickOne(cell.nodes);
    const leases = asked.get(node) ?? [];
    asked.set(node, leases);
    const known = leases.length > 0 ? pickOne(leases) : undefined;
    switch (random.below(14)) {
      case 0:
      case 1:
      case 2:
      case 3: {
        const of = pickOne(NAMES);
        const termUs = pickOne(terms);
        leases.push({
          lease: node.acquire({ name: of, termUs, waitUs: random.below(2) * 5 * maxTermUs, keep: random.below(2) === 0 }),
          of,
        });
        return;
      }
      case 4:
      case 5:
      case 6:
        if (known) node.release(known.lease, known.of);
        return;
      case 7:
        if (known) node.renew(known.lease, pickOne(terms), known.of);
        return;
      case 8:
        if (known) node.cancel(known.lease);
        return;
      case 9:
        node.query(pickOne(NAMES));
        return;
      case 10:
        node.command({ kind: random.below(2) === 0 ? 'watch' : 'unwatch', prefix: new Uint8Array(0) });
        return;
      case 11:
        if (known) node.proclaim(known.lease, `turn ${random.below(1000)}`, known.of);
        return;
      case 12:
        node.list(random.below(2) === 0 ? '' : 'a');
        return;
      default:
        if (random.below(4) === 0) {
          asked.set(node, []);
          node.restart();
        }
    }
  };
  let grants = 0;
  for (let turn = 0; turn < 400; turn++) {
    act();
    for (const packet of cell.drop(() => random.below(4) > 0)) {
      const fate = random.below(20);
      if (fate === 0) continue;
      if (fate <= 2) late.push(packet);
      if (fate !== 2) cell.hand(packet);
    }
    if (late.length > 0 && random.below(3) === 0) cell.hand(pickOne(late));
    cell.pass(random.below(random.below(8) === 0 ? maxTermUs : rttUs * 2));
    for (const node of cell.nodes) if (random.below(4) > 0) node.wake();
    for (const of of NAMES) {
      const holders = cell.nodes.flatMap((node) =>
        cell.holders(
          (asked.get(node) ?? []).filter((lease) => lease.of === of).map(({ lease }) => [node, lease] as const),
          of,
        ),
      );
      expect(holders.length, `seed ${seed}, turn ${turn}: ${holders.join(' and ')}`).toBeLessThanOrEqual(1);
      grants += holders.length;
    }
  }
  for (const node of cell.nodes) {
    for (const { lease, of } of asked.get(node) ?? []) {
      node.cancel(lease);
      node.release(lease, of);
    }
    node.command({ kind: 'unwatch', prefix: new Uint8Array(0) });
  }
  return { grants, cell };
}

const WORLDS: World[] = [
  { members: 1, replication: undefined, maxTermUs: 1_000_000, rttUs: 10_000 },
  { members: 2, replication: undefined, maxTermUs: 1_000_000, rttUs: 10_000 },
  { members: 3, replication: undefined, maxTermUs: 1_000_000, rttUs: 10_000 },
  { members: 4, replication: undefined, maxTermUs: 1_000_000, rttUs: 10_000 },
  { members: 5, replication: 3, maxTermUs: 1_000_000, rttUs: 10_000 },
  { members: 4, replication: 2, maxTermUs: 1_000_000, rttUs: 10_000 },
  { members: 3, replication: undefined, maxTermUs: 1_000, rttUs: 20 },
  { members: 3, replication: undefined, maxTermUs: 1_000_537, rttUs: 10_000 },
  { members: 3, replication: undefined, maxTermUs: 86_400_000_000, rttUs: 1_000_000 },
];

/** What may stay: tables keep a little room, members and prefixes are what they were, and watchers go with the next one that comes. */
const MAY_STAY = /views?\.|#sides|#others|#rows\.|#index\.|#arena\.|electorate\.|#spare|#prefixes|#freeIds|#last\.blocks|#watchers/;

describe.each(WORLDS)('$members members, $replication voting, terms of $maxTermUs us', (world) => {
  it('never has two holders of a name, nor a core that spins', () => {
    let grants = 0;
    for (let seed = 1; seed <= sized(5, 12); seed++) grants += play(seed, world).grants;
    expect(grants).toBeGreaterThan(50);
  });

  it('keeps nothing when all is over', () => {
    const { cell } = play(99, world);
    cell.run(12 * world.maxTermUs);
    for (const node of cell.nodes) {
      const left = Object.entries(census(node.core)).filter(([path, size]) => size > 0 && !MAY_STAY.test(path));
      expect(left, `node ${node.id}`).toEqual([]);
    }
  });
});
