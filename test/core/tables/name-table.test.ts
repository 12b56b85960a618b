/** The table of names, against a Map: under good hashes and bad, small and large, while names come and go. */
import { describe, expect, it } from 'vitest';
import * as fc from 'fast-check';
import { HASH_MAX, hashName, keyedHash } from '../../../src/kernel/index.ts';
import { type NameHash, NameTable } from '../../../src/core/tables/index.ts';
import { collidingNames } from '../../../bench/parts/colliding-names.mjs';

const encoder = new TextEncoder();

const HASHES: Record<string, NameHash> = {
  'the real hash': (bytes, start, end) => keyedHash({ k0: 1, k1: 2 }, bytes, start, end),
  'a hash without a key': hashName,
  'one hash for all': () => 0xdeadbeef,
  'a hash of two values at the ends': (bytes, _start, end) => ((bytes[end - 1] as number) & 1 ? 0xffffffff : 0),
  'a hash whose lowest bits are all zero': (bytes, start, end) => (hashName(bytes, start, end) << 20) >>> 0,
  'a hash of small numbers': (bytes, start, end) => hashName(bytes, start, end) & 0x3ff,
};

function numbered(number: number): Uint8Array {
  return encoder.encode(`resource/${number}`);
}

function internAndRetain(table: NameTable, bytes: Uint8Array, role = 1): number {
  const id = table.intern(bytes, 0, bytes.length);
  table.retain(id, role);
  return id;
}

function find(table: NameTable, bytes: Uint8Array): number {
  return table.find(bytes, 0, bytes.length);
}

type Act = { kind: 'retain' | 'drop' | 'find'; name: number; role: number };
type Model = Map<number, { id: number; roles: number }>;

const acts: fc.Arbitrary<Act[]> = fc.array(
  fc.record({
    kind: fc.constantFrom('retain', 'drop', 'find'),
    name: fc.oneof(
      fc.integer({ min: 0, max: 60 }),
      fc.integer({ min: 1, max: 255 }).map((length) => -length),
    ),
    role: fc.constantFrom(1, 2, 4, 128),
  }),
  { maxLength: 400, size: 'max' },
);

/** A negative number stands for a name of that length. */
function bytesOf(name: number): Uint8Array {
  return name < 0 ? new Uint8Array(-name).fill(97) : numbered(name);
}

/** Does to table and model the same; answers with what the table said and what it should have. */
function play(table: NameTable, model: Model, { kind, name, role }: Act): { said: unknown; meant: unknown } {
  const bytes = bytesOf(name);
  const known = model.get(name);
  if (kind === 'retain') {
    const isTaken = (id: number) => [...model.values()].some((other) => other.id === id);
    const id = table.intern(bytes, 0, bytes.length);
    const said = known ? id : isTaken(id);
    table.retain(id, role);
    model.set(name, { id, roles: (known?.roles ?? 0) | role });
    return { said, meant: known?.id ?? false };
  }
  if (kind === 'find' || !known) return { said: find(table, bytes), meant: known?.id ?? -1 };
  known.roles &= ~role;
  if (known.roles === 0) model.delete(name);
  return { said: table.drop(known.id, role), meant: known.roles === 0 };
}

describe.each(Object.entries(HASHES))('a table of names with %s', (_, hash) => {
  it('does what a Map of sets of roles does', () => {
    fc.assert(
      fc.property(acts, (all) => {
        const table = new NameTable(hash);
        const model: Model = new Map();
        for (const act of all) {
          const { said, meant } = play(table, model, act);
          expect(said).toBe(meant);
        }
        expect(table.size).toBe(model.size);
        for (const [name, { id, roles }] of model) {
          const bytes = bytesOf(name);
          expect(find(table, bytes)).toBe(id);
          expect(id).toBeLessThan(table.idLimit);
          expect(table.toBytes(id)).toEqual(bytes);
          expect(table.lengthOf(id)).toBe(bytes.length);
          expect(table.hashOf(id)).toBe(hash(bytes, 0, bytes.length) & HASH_MAX);
          expect(table.equals(id, bytes, 0, bytes.length)).toBe(true);
          expect(table.equals(id, bytes, 0, bytes.length - 1)).toBe(false);
          for (const role of [1, 2, 4, 8, 128]) expect(table.isUsed(id, role)).toBe((roles & role) !== 0);
        }
      }),
      { numRuns: 60 },
    );
  });
});

/** Interns `count` names, ends most of them in an order that is not theirs, interns others; how many answers were wrong. */
function growAndShrink(hash: NameHash, count: number, keepEvery: number): number {
  const table = new NameTable(hash);
  const ids = new Map<number, number>();
  for (let i = 0; i < count; i++) ids.set(i, internAndRetain(table, numbered(i)));
  let wrong = count - new Set(ids.values()).size;
  const stride = 7919;
  for (let step = 0, i = 0; step < count; step++, i = (i + stride) % count) {
    if (i % keepEvery === 0) continue;
    if (!table.drop(ids.get(i) as number, 1)) wrong++;
    ids.delete(i);
  }
  for (let i = 0; i < count; i++) if (find(table, numbered(i)) !== (ids.get(i) ?? -1)) wrong++;
  if (table.size !== ids.size) wrong++;
  for (let i = count; i < 2 * count; i += 3) ids.set(i, internAndRetain(table, numbered(i)));
  for (const [i, id] of ids) if (find(table, numbered(i)) !== id || !table.equals(id, numbered(i), 0, numbered(i).length)) wrong++;
  for (const id of ids.values()) table.drop(id, 1);
  return wrong + table.size;
}

const poor: NameHash = (bytes, start, end) => (hashName(bytes, start, end) & 0xfffff000) >>> 0;
const lopsided: NameHash = (bytes, start, end) => {
  const hash = hashName(bytes, start, end);
  return hash % 50 === 0 ? hash : (hash | 7) >>> 0;
};

describe('the index of names', () => {
  it('splits, shrinks and merges without losing a name', () => {
    expect(growAndShrink(hashName, 120_000, 500)).toBe(0);
  });

  it('grows without splitting when the hash leaves nothing to split by', () => {
    expect(growAndShrink(poor, 30_000, 100)).toBe(0);
  });

  it('splits into halves of any size', () => {
    expect(growAndShrink(lopsided, 60_000, 100)).toBe(0);
  });
});

describe('a table of names', () => {
  it('takes ids again, the lowest first', () => {
    const table = new NameTable();
    const ids = Array.from({ length: 100 }, (_, i) => internAndRetain(table, numbered(i)));
    for (const i of [70, 20, 50]) table.drop(ids[i] as number, 1);
    expect([200, 201, 202, 203].map((i) => internAndRetain(table, numbered(i)))).toEqual([20, 50, 70, 100]);
  });

  it('frees a name that was interned and never retained when told so', () => {
    const table = new NameTable();
    const id = table.intern(numbered(1), 0, 10);
    expect(table.drop(id, 0)).toBe(true);
    expect(table.drop(id, 0)).toBe(false);
    expect(table.size).toBe(0);
  });

  it('reads a name out of the middle of a frame, and lends its own bytes', () => {
    const table = new NameTable();
    const frame = encoder.encode('xxxnamexxx');
    const id = table.intern(frame, 3, 7);
    const start = table.startOf(id);
    expect(table.find(encoder.encode('name'), 0, 4)).toBe(id);
    expect(table.pageOf(id).subarray(start, start + table.lengthOf(id))).toEqual(encoder.encode('name'));
  });

  it('trusts a hash it is given', () => {
    const table = new NameTable();
    const bytes = numbered(5);
    const id = table.intern(bytes, 0, bytes.length, table.hash(bytes, 0, bytes.length));
    expect(find(table, bytes)).toBe(id);
    expect(table.find(bytes, 0, bytes.length, 12_345)).toBe(-1);
  });

  it.each([0, 256])('refuses a name of %i bytes', (length) => {
    const table = new NameTable();
    expect(() => table.intern(new Uint8Array(length), 0, length)).toThrow(RangeError);
    expect(table.size).toBe(0);
  });

  it('costs next to nothing with three names', () => {
    const table = new NameTable();
    for (let i = 0; i < 3; i++) internAndRetain(table, numbered(i));
    expect(table.bytes).toBeLessThan(1024);
  });

  it('takes about 31 bytes for a name of 16, at any size', { timeout: 60_000 }, () => {
    const table = new NameTable();
    const bytes = new Uint8Array(16);
    const view = new DataView(bytes.buffer);
    let most = 0;
    for (let i = 0; i < 1_000_000; i++) {
      view.setUint32(0, i);
      internAndRetain(table, bytes);
      // The last chunk and the last page, a megabyte each, are not full: they are what a large table need not count.
      if (i > 400_000) most = Math.max(most, (table.bytes - 2 ** 21) / i);
    }
    expect(most).toBeLessThan(31.5);
  });

  it('uses the room in pages that were full', () => {
    const table = new NameTable();
    const bytes = new Uint8Array(250);
    const view = new DataView(bytes.buffer);
    const internNumbered = (number: number) => {
      view.setUint32(0, number);
      return internAndRetain(table, bytes);
    };
    const ids = Array.from({ length: 12_000 }, (_, i) => internNumbered(i));
    const full = table.bytes;
    for (const id of ids) if (id % 2 === 0) table.drop(id, 1);
    for (let i = 0; i < 6000; i++) internNumbered(20_000 + i);
    // Twelve thousand ids, of which some were free for a while: a few hundred bytes of bits.
    expect(table.bytes).toBeLessThan(full + 4096);
  });

  it('gives its memory back after a million names have ended', { timeout: 60_000 }, () => {
    const table = new NameTable();
    const bytes = new Uint8Array(16);
    const view = new DataView(bytes.buffer);
    const count = 1_000_000;
    for (let i = 0; i < count; i++) {
      view.setUint32(0, i);
      internAndRetain(table, bytes);
    }
    const full = table.bytes;
    for (let id = 0; id < count; id++) if (id % 7919 > 0 || id > 200_000) table.drop(id, 1);
    expect(table.size).toBe(26);
    expect(table.idLimit).toBeLessThan(count / 3);
    // A page or chunk with one name left stays, and one of each kind is kept for the next to come.
    expect(table.bytes).toBeLessThan(full / 3);
    for (let id = 0; id < count; id++) table.drop(id, 1);
    expect(table.size).toBe(0);
    expect(table.idLimit).toBe(0);
    expect(table.bytes).toBeLessThan(4096);
  });

  it('allocates nothing when one name comes and goes', () => {
    const table = new NameTable();
    for (let i = 0; i < 5000; i++) internAndRetain(table, numbered(i));
    const bytes = numbered(9999);
    table.drop(internAndRetain(table, bytes), 1);
    const before = table.bytes;
    const page = table.pageOf(internAndRetain(table, bytes));
    table.drop(find(table, bytes), 1);
    expect(table.pageOf(internAndRetain(table, bytes))).toBe(page);
    table.drop(find(table, bytes), 1);
    expect(table.bytes).toBe(before);
  });
});

describe('names that were chosen to collide', () => {
  /** How many entries the look-ups of all of them pass. */
  function probes(table: NameTable, count: number): number {
    const names = collidingNames(count);
    expect(new Set(names.map((name) => hashName(name, 0, name.length))).size).toBe(1);
    for (const name of names) table.intern(name, 0, name.length);
    return names.reduce((sum, name) => sum + table.probes(name, 0, name.length), 0);
  }

  it('pass each other by in a table without a key', () => {
    // Of as many as below the look-ups take more than a minute.
    expect(probes(new NameTable(hashName), 1000)).toBeGreaterThan(400 * 1000);
  });

  it('are like any others to a table with a key', () => {
    expect(probes(new NameTable({ k0: 0x0123_4567, k1: 0x89ab_cdef }), 20_000)).toBeLessThan(4 * 20_000);
  });
});
