/** Records of leases on storage as bytes, and the timing that everything rests on. */
import { describe, expect, test } from 'vitest';
import { checkName, encodeName, incarnation, NAME_BYTES_MAX } from '../../../src/kernel/index.ts';
import {
  decodeDataRecord,
  decodeFloorRecord,
  decodeLeaseRecord,
  decodeNameRecord,
  decodeStatement,
  describeStorageTiming,
  deriveStorageTiming,
  encodeDataRecord,
  encodeFloorRecord,
  encodeLeaseRecord,
  encodeNameRecord,
  encodeNothing,
  encodeStatement,
  literalTiming,
  nameKeyOf,
  sealLeaseRecord,
  statementKeyOf,
  takeOverUs,
  type LeaseRecord,
} from '../../../src/core/index.ts';

const RECORD: LeaseRecord = {
  owner: incarnation(2 ** 53 - 1),
  lease: 3,
  seq: 4,
  token: 1_800_000_000_000_000,
  termUs: 5_000_000,
  meta: Uint8Array.of(1, 2, 3),
  isHeld: true,
  isGrounded: false,
};
const { isHeld: _held, isGrounded: _grounded, ...NAME } = RECORD;

describe('a record', () => {
  test('is read as it was written', () => {
    expect(decodeNameRecord('r', encodeNameRecord('r', NAME))).toEqual(NAME);
    expect(decodeNameRecord('r', encodeNameRecord('r', { ...NAME, meta: null }))).toEqual({ ...NAME, meta: null });
    expect(decodeLeaseRecord('r', encodeLeaseRecord('r', RECORD))).toEqual(RECORD);
    expect(decodeStatement('r', encodeStatement('r', NAME))).toEqual({ owner: NAME.owner, lease: 3, seq: 4, said: 'released' });
    expect(decodeFloorRecord(encodeFloorRecord(17))).toBe(17);
    expect(decodeNameRecord('r', encodeNameRecord('r', { ...NAME, mode: 'shared' }))).toEqual({ ...NAME, mode: 'shared' });
    expect(decodeStatement('r', encodeStatement('r', NAME, 'shared'))).toMatchObject({ lease: 3, said: 'shared' });
  });

  test('with readers, a writer that waits, and data, is read as it was written', () => {
    const row = { owner: incarnation(7), lease: 1, seq: 2, token: 3, termUs: 4 };
    const data = { owner: incarnation(8), lease: 5, seq: 6, token: 7, bytes: Uint8Array.of(9, 9) };
    const shared: LeaseRecord = { ...RECORD, mode: 'shared', readers: [row, { ...row, lease: 9 }] };
    for (const record of [
      shared,
      { ...shared, readers: [] },
      { ...shared, wanted: row },
      { ...RECORD, data },
      { ...RECORD, meta: null, data: { ...data, bytes: new Uint8Array(0) } },
      { ...shared, wanted: row, data },
    ]) {
      expect(decodeLeaseRecord('r', encodeLeaseRecord('r', record))).toEqual(record);
    }
    expect(decodeDataRecord('r', encodeDataRecord('r', data))).toEqual(data);
    expect(decodeDataRecord('s', encodeDataRecord('r', data))).toBe('corrupt');
  });

  test('of nothing is nothing', () => {
    expect([decodeNameRecord('r', null), decodeNameRecord('r', encodeNothing('r')), decodeStatement('r', null)]).toEqual([
      null,
      null,
      null,
    ]);
    expect(decodeFloorRecord(null)).toBe(0);
  });

  test('of a mode, a flag or a statement that only a later version knows is refused as such', () => {
    const sealed = (kind: 'name' | 'lease' | 'statement', numbers: readonly number[]): Uint8Array => {
      const content = new DataView(new ArrayBuffer(8 * numbers.length));
      for (const [i, number] of numbers.entries()) content.setFloat64(8 * i, number);
      return sealLeaseRecord(kind === 'statement' ? statementKeyOf('r') : 'r', kind, new Uint8Array(content.buffer));
    };
    expect(decodeNameRecord('r', sealed('name', [1, 2, 3, 4, 5, 0]))).toMatchObject({ owner: 1, termUs: 5 });
    expect(decodeNameRecord('r', sealed('name', [1, 2, 3, 4, 5, 2]))).toBe('format');
    expect(decodeLeaseRecord('r', sealed('lease', [1, 2, 3, 4, 5, 3, 0]))).toMatchObject({ isHeld: true, isGrounded: true });
    expect(decodeLeaseRecord('r', sealed('lease', [1, 2, 3, 4, 5, 3, 8]))).toBe('format');
    expect(decodeLeaseRecord('r', sealed('lease', [1, 2, 3, 4, 5, 4, 0]))).toBe('format');
    expect(decodeStatement('r', sealed('statement', [1, 2, 3, 3]))).toBe('format');
    // Readers that are announced and not there.
    expect(decodeLeaseRecord('r', sealed('lease', [1, 2, 3, 4, 5, 3, 1, 2, 0, 1, 2, 3, 4, 5]))).toBe('corrupt');
    expect(decodeLeaseRecord('r', sealed('lease', [1, 2, 3, 4, 5, 3, 1]))).toBe('corrupt');
  });

  test('with any bit changed, or cut short anywhere, is refused', () => {
    const bytes = encodeLeaseRecord('r', RECORD);
    for (let at = 0; at < bytes.length; at++) {
      for (let bit = 0; bit < 8; bit++) {
        const damaged = bytes.slice();
        damaged[at] = (damaged[at] ?? 0) ^ (1 << bit);
        expect(typeof decodeLeaseRecord('r', damaged)).toBe('string');
      }
      expect(decodeLeaseRecord('r', bytes.slice(0, at))).toBe('corrupt');
    }
  });

  test('of another name, of another kind or of a later format is refused', () => {
    const bytes = encodeLeaseRecord('r', RECORD);
    expect(decodeLeaseRecord('s', bytes)).toBe('corrupt');
    expect(decodeNameRecord('r', bytes)).toBe('corrupt');
    expect(decodeStatement('r', encodeNameRecord('r', NAME))).toBe('corrupt');
    expect(decodeFloorRecord(bytes)).toBe('corrupt');
    const later = bytes.slice();
    later[4] = 2;
    expect(decodeLeaseRecord('r', later)).toBe('format');
  });

  test('with a token that leaves no room above it is refused', () => {
    expect(decodeLeaseRecord('r', encodeLeaseRecord('r', { ...RECORD, token: 2 ** 53 - 1 }))).toBe('corrupt');
  });
});

describe('keys', () => {
  const names = [1, 241, 242, 243, 254, 255].flatMap((length) => ['x'.repeat(length), 'y'.repeat(length)]);
  names.push('é'.repeat(121), 'é'.repeat(127), `${'é'.repeat(126)}aa`, `${'é'.repeat(126)}ab`, '\u{1f600}'.repeat(63));

  test('of every name that users may have are keys that every store takes, and no two are the same', () => {
    const keys = names.flatMap((name) => [nameKeyOf(name), statementKeyOf(name)]);
    for (const name of names) checkName(name);
    for (const key of keys) expect(encodeName(key).length).toBeLessThanOrEqual(NAME_BYTES_MAX);
    expect(new Set(keys).size).toBe(keys.length);
  });

  test('of statements are no names that users may have', () => {
    for (const name of names) expect(() => checkName(statementKeyOf(name))).toThrow(expect.objectContaining({ code: 'TENURE_BAD_NAME' }));
  });

  test('of long names carry statements all the same', () => {
    const name = 'x'.repeat(NAME_BYTES_MAX);
    expect(decodeStatement(name, encodeStatement(name, NAME))).toMatchObject({ owner: NAME.owner, lease: 3, seq: 4 });
    expect(decodeStatement('x', encodeStatement(name, NAME))).toBe('corrupt');
  });
});

describe('timing', () => {
  const input = { deltaUs: 10_000, maxTermUs: 1_000_000, rateErrorPpm: 100_000 };

  test('stretches what others wait by both rate errors and the grain of clocks, and nothing else', () => {
    const timing = deriveStorageTiming(input);
    expect(timing.observationUs).toBe(Math.ceil((1_060_000 * 1.1) / 0.9) + 1);
    expect(timing.pauseUs).toBe(Math.ceil((20_000 * 1.1) / 0.9) + 1);
    expect([timing.attemptUs, timing.slackUs]).toEqual([20_000, 40_000]);
    expect(takeOverUs(timing)).toBeGreaterThan(timing.observationUs + timing.pauseUs);
  });

  test("of the paper's own form has fixed delays on perfect clocks, for any Δ", () => {
    expect(literalTiming({ deltaUs: 2, maxTermUs: 1 }, 'nd').observationUs).toBe(11);
    expect(literalTiming({ deltaUs: 2, maxTermUs: 1 }, 'eventual-nd').observationUs).toBe(13);
    expect(literalTiming({ deltaUs: 2, maxTermUs: 1 }, 'nd').pauseUs).toBe(4);
  });

  test('can be printed', () => {
    const rows = describeStorageTiming(deriveStorageTiming(input));
    expect(rows.map(([name]) => name)).toContain('observation');
    expect(rows.find(([name]) => name === 'rateError')?.[1]).toBe('10%');
  });

  test.each([
    [{ ...input, deltaUs: 0 }, 'delta'],
    [{ ...input, maxTermUs: 40_000 }, 'too short'],
    [{ ...input, maxTermUs: 2 ** 50 }, 'at most 1d'],
    [{ ...input, rateErrorPpm: 300_000 }, 'rate error'],
  ])('that does not fit together is refused: %o', (bad, why) => {
    expect(() => deriveStorageTiming(bad)).toThrow(why);
  });
});
