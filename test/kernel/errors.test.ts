/** Errors that users meet: their codes are for ever. */
import { describe, expect, it } from 'vitest';
import { ERROR_CODES, invariant, TenureError } from '../../src/kernel/index.ts';

describe('error codes', () => {
  it('are these: one may be added, none renamed or removed', () => {
    expect(Object.keys(ERROR_CODES)).toMatchInlineSnapshot(`
      [
        "TENURE_BAD_ARGUMENT",
        "TENURE_BAD_CONFIG",
        "TENURE_BAD_DURATION",
        "TENURE_BAD_FRAME",
        "TENURE_BAD_HISTORY",
        "TENURE_BAD_INTERVAL",
        "TENURE_BAD_NAME",
        "TENURE_BAD_TIMING",
        "TENURE_BOOTSTRAP_REFUSED",
        "TENURE_CANNOT_LISTEN",
        "TENURE_CLOCK_AHEAD",
        "TENURE_CLOCK_RATE",
        "TENURE_CLOCK_SKEW",
        "TENURE_CLOSED",
        "TENURE_CONFIG_MISMATCH",
        "TENURE_DATA_DIR",
        "TENURE_DATA_DIR_BUSY",
        "TENURE_DATA_DIR_FOREIGN",
        "TENURE_DISK_FAILED",
        "TENURE_DUPLICATE_MEMBER",
        "TENURE_FORGED",
        "TENURE_FRAME_TOO_LARGE",
        "TENURE_HANDSHAKE_TIMEOUT",
        "TENURE_HELD",
        "TENURE_HISTORY_FAILED",
        "TENURE_INSECURE",
        "TENURE_INTERNAL",
        "TENURE_LEASE_LOST",
        "TENURE_LIMIT",
        "TENURE_MEMBERS_REFUSED",
        "TENURE_MISSING_PACKAGE",
        "TENURE_NOT_BEGUN",
        "TENURE_NO_QUORUM",
        "TENURE_POSITION_GONE",
        "TENURE_REMOVED",
        "TENURE_REPLACED",
        "TENURE_SHORT_TERM",
        "TENURE_SILENT",
        "TENURE_STALE_DATA",
        "TENURE_STORE_CORRUPT",
        "TENURE_STORE_DENIED",
        "TENURE_STORE_EPOCH",
        "TENURE_STORE_FORMAT",
        "TENURE_STORE_FULL",
        "TENURE_STORE_PARAMS",
        "TENURE_STORE_REPLACED",
        "TENURE_STORE_UNFIT",
        "TENURE_STORE_UNREACHABLE",
        "TENURE_UNCERTAIN",
        "TENURE_UNKNOWN_MEMBER",
        "TENURE_UNREACHABLE",
        "TENURE_UNSUPPORTED",
        "TENURE_UPGRADE_CONFLICT",
        "TENURE_VERSION_MISMATCH",
        "TENURE_WAIT_TIMEOUT",
        "TENURE_WRONG_ADDRESS",
        "TENURE_WRONG_CELL",
        "TENURE_WRONG_KEY",
        "TENURE_WRONG_SECRET",
      ]
    `);
  });

  it('are in alphabetical order, and each says what it means', () => {
    expect(Object.keys(ERROR_CODES)).toEqual(Object.keys(ERROR_CODES).sort());
    for (const [code, meaning] of Object.entries(ERROR_CODES)) {
      expect(code).toMatch(/^TENURE_[A-Z]+(_[A-Z]+)*$/);
      expect(meaning).not.toBe('');
    }
  });
});

describe('an error', () => {
  it('carries its code, words for people and facts for programs', () => {
    const error = new TenureError('TENURE_BAD_NAME', 'too long', { bytes: 256 });
    expect(error).toBeInstanceOf(Error);
    expect(error).toMatchObject({ name: 'TenureError', code: 'TENURE_BAD_NAME', message: 'too long', details: { bytes: 256 } });
    expect(new TenureError('TENURE_INTERNAL', 'no facts').details).toEqual({});
  });
});

describe('an invariant', () => {
  it('is silent while it holds', () => {
    expect(() => invariant(true, 'never said')).not.toThrow();
  });

  it('that does not hold is an internal error', () => {
    expect(() => invariant(false, 'two owners')).toThrow(expect.objectContaining({ code: 'TENURE_INTERNAL', message: 'two owners' }));
  });
});
