/** Columns and the rows that own their memory: every cell keeps its own number, and chunks go when their rows do. */
import { describe, expect, it } from 'vitest';
import * as fc from 'fast-check';
import { Rows } from '../../../src/core/tables/index.ts';

const FAR = 3_000_000;

describe('columns', () => {
  it('keep every cell apart, whatever the layout and the order of ids', () => {
    const layout = fc
      .record({ f64: fc.nat(3), u32: fc.nat(4), u16: fc.nat(3), u8: fc.nat(3) })
      .filter(({ f64, u32, u16, u8 }) => f64 + u32 + u16 + u8 > 0);
    const id = fc.oneof(fc.nat(100), fc.nat(70_000), fc.integer({ min: FAR, max: FAR + 10 }));
    fc.assert(
      fc.property(layout, fc.uniqueArray(id, { maxLength: 30, size: 'max' }), ({ f64, u32, u16, u8 }, ids) => {
        const rows = new Rows({ f64, u32, u16, u8 });
        const columns = [
          ...Array.from({ length: f64 }, (_, i) => rows.f64(i)),
          ...Array.from({ length: u32 }, (_, i) => rows.u32(i)),
          ...Array.from({ length: u16 }, (_, i) => rows.u16(i)),
          ...Array.from({ length: u8 }, (_, i) => rows.u8(i)),
        ];
        const valueOf = (row: number, column: number) => (column < f64 ? 0.5 : 0) + ((row * 31 + column * 7) % 251);
        for (const row of ids) {
          rows.enter(row);
          for (const [index, column] of columns.entries()) column.set(row, valueOf(row, index));
        }
        for (const row of ids) for (const [index, column] of columns.entries()) expect(column.get(row)).toBe(valueOf(row, index));
        for (const row of ids) expect(row).toBeLessThan(rows.idLimit);
      }),
      { numRuns: 40 },
    );
  });

  it('read 0 where there is no memory', () => {
    const rows = new Rows({ f64: 1, u32: 1, u16: 1, u8: 1 });
    expect([rows.f64(0).get(5), rows.u32(0).get(FAR), rows.u16(0).get(1), rows.u8(0).get(0)]).toEqual([0, 0, 0, 0]);
    expect(rows.bytes).toBe(0);
  });

  it('start with a few rows', () => {
    const rows = new Rows({ f64: 3, u32: 2, u16: 0, u8: 0 });
    rows.enter(0);
    expect(rows.bytes).toBeLessThanOrEqual(512);
  });

  it('free a chunk when another empties after it, and all when no row is left', () => {
    const rows = new Rows({ f64: 1, u32: 0, u16: 0, u8: 0 });
    const column = rows.f64(0);
    for (const id of [0, FAR, 2 * FAR]) rows.enter(id);
    const full = rows.bytes;
    column.set(2 * FAR, 7);
    rows.leave(2 * FAR);
    expect(rows.bytes).toBe(full);
    expect(rows.idLimit).toBeLessThan(2 * FAR);
    rows.leave(FAR);
    expect(rows.bytes).toBeLessThan(full);
    expect(column.get(2 * FAR)).toBe(0);
    rows.leave(0);
    expect(rows.bytes).toBeLessThan(4096);
    expect(rows.idLimit).toBe(0);
  });

  it('keep a chunk that emptied and came into use again when another empties', () => {
    const rows = new Rows({ f64: 1, u32: 0, u16: 0, u8: 0 });
    const column = rows.f64(0);
    for (const id of [0, FAR, 2 * FAR]) rows.enter(id);
    rows.leave(FAR);
    rows.enter(FAR);
    column.set(FAR, 7);
    rows.leave(2 * FAR);
    expect(column.get(FAR)).toBe(7);
  });

  it('keep a chunk whose only row comes and goes, and lend its memory to the next chunk that needs some', () => {
    const rows = new Rows({ f64: 1, u32: 0, u16: 0, u8: 0 });
    for (const id of [0, FAR]) rows.enter(id);
    const full = rows.bytes;
    for (let i = 0; i < 3; i++) {
      rows.leave(FAR);
      expect(rows.bytes).toBe(full);
      rows.enter(FAR);
      expect(rows.bytes).toBe(full);
    }
    rows.leave(FAR);
    rows.enter(2 * FAR);
    expect(rows.bytes).toBe(full);
  });
});
