/** The lease service of the quorum engine keeps what every lease service has to, on virtual time, over TCP, and between processes. */
import { afterAll, beforeAll, describe, it } from 'vitest';
import { leaseServiceConformance } from '../../src/api/conformance.ts';
import { membersApart, membersHere, virtualPlace, type StandingCell } from './places.ts';

const ALL = { watch: true, list: true };
/** Cells wait for terms at the same time; the tests of one cell, which stop its members, come one after another. */
const AT_ONCE = { concurrent: true };

describe.each([1, 3, 5])('a test cell of %i on virtual time', (members) => {
  leaseServiceConformance({ test: it, open: () => virtualPlace(members), can: { ...ALL, cut: true, crash: true, virtualTime: true } });
});

function standing(start: () => Promise<StandingCell>): StandingCell['open'] {
  let cell: StandingCell | undefined;
  beforeAll(async () => {
    cell = await start();
  }, 60_000);
  afterAll(() => cell?.close());
  return () => (cell ? cell.open() : Promise.reject(new Error('the cell did not start')));
}

describe('three members in this process, over TCP', AT_ONCE, () => {
  leaseServiceConformance({ test: it.sequential, open: standing(() => membersHere(3)), can: ALL });
});

describe.each([3, 5])('%i processes over TCP', AT_ONCE, (members) => {
  leaseServiceConformance({ test: it.sequential, open: standing(() => membersApart(members)), can: { ...ALL, cut: true, crash: true } });
});
