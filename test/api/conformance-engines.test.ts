/** Flease and PaxosLease keep what every lease service has to, as far as they can: on virtual time, over TCP, and between processes. */
import { afterAll, beforeAll, describe, it, vi } from 'vitest';
import { leaseServiceConformance } from '../../src/api/conformance.ts';
import type { EngineOptions } from '../../src/api/index.ts';
import { membersApart, membersHere, virtualPlace, type StandingCell } from './places.ts';

const FLEASE = { ordered: false };
const PAXOSLEASE = { ordered: false, watch: true };

const ENGINES: readonly [string, EngineOptions, { ordered: boolean; renew?: boolean; watch?: boolean }][] = [
  ['flease:4,skew=300ms', { flease: { algorithm: 4, skew: '300ms' } }, FLEASE],
  ['paxoslease:relative', { paxoslease: { clocks: 'relative' } }, PAXOSLEASE],
  ['paxoslease:skewed,skew=300ms', { paxoslease: { clocks: 'skewed', skew: '300ms' } }, PAXOSLEASE],
];
/** What nobody would choose: it needs clocks that do not differ. */
const PERFECT: typeof ENGINES = [
  ['flease:2', { flease: { algorithm: 2 } }, { ...FLEASE, renew: false }],
  ['flease:3', { flease: { algorithm: 3 } }, FLEASE],
  ['paxoslease:perfect', { paxoslease: { clocks: 'perfect' } }, PAXOSLEASE],
];

/** Cells wait for terms at the same time; the tests of one cell, which stop its members, come one after another. */
const AT_ONCE = { concurrent: true };
vi.setConfig({ maxConcurrency: 6 });

describe.each([...ENGINES, ...PERFECT])('a test cell of three with %s on virtual time', (_, engine, can) => {
  leaseServiceConformance({ test: it, open: () => virtualPlace(3, engine), can: { ...can, cut: true, crash: true, virtualTime: true } });
});

function standing(start: () => Promise<StandingCell>): StandingCell['open'] {
  let cell: StandingCell | undefined;
  beforeAll(async () => {
    cell = await start();
  }, 60_000);
  afterAll(() => cell?.close());
  return () => (cell ? cell.open() : Promise.reject(new Error('the cell did not start')));
}

describe.each(ENGINES)('three members with %s in this process, over TCP', AT_ONCE, (_, engine, can) => {
  leaseServiceConformance({ test: it.sequential, open: standing(() => membersHere(3, engine)), can });
});

describe.each(ENGINES)('three processes with %s over TCP', AT_ONCE, (_, engine, can) => {
  leaseServiceConformance({ test: it.sequential, open: standing(() => membersApart(3, engine)), can: { ...can, cut: true, crash: true } });
});
