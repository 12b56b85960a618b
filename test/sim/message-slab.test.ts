import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Codec } from '../../src/wire/index.ts';
import { MessageSlab } from '../../src/sim/message-slab.ts';

/** A message of `length` bytes, each the same. */
const filled: Codec<{ length: number; byte: number }> = {
  encode({ length, byte }, out) {
    out.u32(length);
    for (let i = 0; i < length; i++) out.u8(byte);
  },
  decode(input) {
    const length = input.u32();
    let byte = -1;
    for (let i = 0; i < length; i++) {
      const next = input.u8();
      if (i > 0 && next !== byte) return null;
      byte = next;
    }
    return input.failed ? null : { length, byte };
  },
};

test('a message is read as it was put, with its sender and its instant', () => {
  const slab = new MessageSlab(filled);
  const index = slab.put(7, 123, { length: 300, byte: 9 }, 1);
  expect(slab.read(index)).toEqual({ length: 300, byte: 9 });
  expect([slab.senderOf(index), slab.sentAt(index)]).toEqual([7, 123]);
});

test('a duplicate is there until its last delivery', () => {
  const slab = new MessageSlab(filled);
  const index = slab.put(0, 0, { length: 5, byte: 1 }, 2);
  slab.drop(index);
  expect(slab.put(0, 0, { length: 5, byte: 2 }, 1)).not.toBe(index);
  expect(slab.read(index)).toEqual({ length: 5, byte: 1 });
  slab.drop(index);
  expect(slab.put(0, 0, { length: 5, byte: 3 }, 1)).toBe(index);
});

test('a message that does not survive its codec stops the run', () => {
  const slab = new MessageSlab({ ...filled, decode: () => null });
  expect(() => slab.read(slab.put(0, 0, { length: 1, byte: 1 }, 1))).toThrow(/codec/);
});

test('messages of any size, in any order of arrival, never spill into each other', () => {
  const act = fc.record({
    length: fc.integer({ min: 1, max: 2000 }),
    byte: fc.nat({ max: 255 }),
    copies: fc.integer({ min: 1, max: 3 }),
    drops: fc.nat(),
  });
  fc.assert(
    fc.property(fc.array(act, { maxLength: 300 }), (acts) => {
      const slab = new MessageSlab(filled);
      const underWay: { index: number; length: number; byte: number; copies: number }[] = [];
      for (const { length, byte, copies, drops } of acts) {
        underWay.push({ index: slab.put(0, 0, { length, byte }, copies), length, byte, copies });
        const arriving = underWay[drops % underWay.length];
        if (arriving && drops % 3 > 0) {
          slab.drop(arriving.index);
          if (--arriving.copies === 0) underWay.splice(underWay.indexOf(arriving), 1);
        }
        for (const message of underWay) {
          expect(slab.read(message.index)).toEqual({ length: message.length, byte: message.byte });
        }
      }
    }),
    { numRuns: 20 },
  );
});
