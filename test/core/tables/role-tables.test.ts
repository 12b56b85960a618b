/** Acceptor's, holder's and learner's tables: rows that share names, keep their numbers apart, and end by themselves. */
import { describe, expect, it } from 'vitest';
import * as fc from 'fast-check';
import { HoldTable, LearnTable, LeaseTable, NameTable } from '../../../src/core/tables/index.ts';

const encoder = new TextEncoder();
const BIG = Number.MAX_SAFE_INTEGER;

function build(): { names: NameTable; leases: LeaseTable; holds: HoldTable; learned: LearnTable; id: (text: string) => number } {
  const names = new NameTable();
  const id = (text: string) => {
    const bytes = encoder.encode(text);
    return names.intern(bytes, 0, bytes.length);
  };
  return { names, leases: new LeaseTable(names), holds: new HoldTable(names), learned: new LearnTable(names), id };
}

describe('the tables of roles', () => {
  it('keep each number in its column', () => {
    const { leases, holds, learned, id } = build();
    const a = id('a');
    const b = id('b');
    for (const [row, plus] of [
      [a, 0],
      [b, 1000],
    ] as const) {
      leases.add(row, plus + 1, plus + 2, plus + 3.5, BIG - plus, plus + 5);
      holds.add(row, plus + 1, BIG - plus, plus + 3.5, plus + 4, plus + 5, plus + 6, 7);
      learned.add(row, plus + 1, BIG - plus, plus + 3);
    }
    for (const [row, plus] of [
      [a, 0],
      [b, 1000],
    ] as const) {
      const lease = [leases.owner(row), leases.lease(row), leases.ballot(row), leases.token(row), leases.expiresAt(row)];
      expect(lease).toEqual([plus + 1, plus + 2, plus + 3.5, BIG - plus, plus + 5]);
      const deadlines = [holds.deadlineMono(row), holds.deadlineWall(row)];
      const hold = [holds.lease(row), holds.token(row), holds.ballot(row), ...deadlines, holds.termMs(row), holds.flags(row)];
      expect(hold).toEqual([plus + 1, BIG - plus, plus + 3.5, plus + 4, plus + 5, plus + 6, 7]);
      expect([learned.owner(row), learned.token(row), learned.until(row)]).toEqual([plus + 1, BIG - plus, plus + 3]);
    }
  });

  it('change one number and no other', () => {
    const { leases, holds, learned, id } = build();
    const row = id('a');
    leases.add(row, 0, 0, 0, 0, 0);
    leases.setOwner(row, 1);
    leases.setLease(row, 2);
    leases.setBallot(row, 3);
    leases.setToken(row, 4);
    leases.setExpiresAt(row, 5);
    expect([leases.owner(row), leases.lease(row), leases.ballot(row), leases.token(row), leases.expiresAt(row)]).toEqual([1, 2, 3, 4, 5]);
    holds.add(row, 0, 0, 0, 0, 0, 0, 0);
    holds.setLease(row, 1);
    holds.setToken(row, 2);
    holds.setBallot(row, 3);
    holds.setDeadlineMono(row, 4);
    holds.setDeadlineWall(row, 5);
    holds.setTermMs(row, 6);
    holds.setFlags(row, 7);
    const deadlines = [holds.deadlineMono(row), holds.deadlineWall(row)];
    const hold = [holds.lease(row), holds.token(row), holds.ballot(row), ...deadlines, holds.termMs(row), holds.flags(row)];
    expect(hold).toEqual([1, 2, 3, 4, 5, 6, 7]);
    learned.add(row, 0, 0, 0);
    learned.setOwner(row, 1);
    learned.setToken(row, 2);
    learned.setUntil(row, 3);
    expect([learned.owner(row), learned.token(row), learned.until(row)]).toEqual([1, 2, 3]);
  });

  it('let a name live exactly as long as one of them has a row for it', () => {
    const step = fc.record({ table: fc.constantFrom(0, 1, 2), add: fc.boolean(), name: fc.nat(8) });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200, size: 'max' }), (steps) => {
        const { names, leases, holds, learned, id } = build();
        const adds = [
          (row: number) => leases.add(row, 1, 1, 1, 1, 1),
          (row: number) => holds.add(row, 1, 1, 1, 1, 1, 1, 1),
          (row: number) => learned.add(row, 1, 1, 1),
        ];
        const tables = [leases, holds, learned];
        const model = [new Set<number>(), new Set<number>(), new Set<number>()];
        let wrong = 0;
        for (const { table, add, name } of steps) {
          const bytes = encoder.encode(`n${name}`);
          if (add) {
            adds[table]?.(id(`n${name}`));
            model[table]?.add(name);
          } else if (tables[table]?.remove(names.find(bytes, 0, bytes.length)) !== model[table]?.delete(name)) wrong++;
        }
        expect(wrong).toBe(0);
        expect(tables.map((table) => table.count)).toEqual(model.map((set) => set.size));
        expect(names.size).toBe(new Set(model.flatMap((set) => [...set])).size);
        for (let name = 0; name <= 8; name++) {
          const bytes = encoder.encode(`n${name}`);
          const row = names.find(bytes, 0, bytes.length);
          expect(tables.map((table) => table.has(row))).toEqual(model.map((set) => set.has(name)));
        }
      }),
    );
  });

  it('give their memory back', () => {
    const { leases, holds, learned, id } = build();
    const rows = Array.from({ length: 100_000 }, (_, i) => id(`n${i}`));
    for (const row of rows) {
      leases.add(row, 1, 1, 1, 1, 1);
      holds.add(row, 1, 1, 1, 1, 1, 1, 1);
      learned.add(row, 1, 1, 1);
    }
    expect([leases, holds, learned].every((table) => table.bytes > 2_000_000)).toBe(true);
    for (const row of rows) for (const table of [leases, holds, learned]) table.remove(row);
    expect([leases, holds, learned].every((table) => table.bytes <= 4096)).toBe(true);
  });
});
