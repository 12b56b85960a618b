/** Resource names: which are names, and their bytes, hash and order. Node's own encoder and decoder are the model. */
import { describe, expect, it } from 'vitest';
import * as fc from 'fast-check';
import {
  checkName,
  compareBytes,
  compareNames,
  decodeName,
  encodeName,
  equalBytes,
  hashName,
  isValidNameBytes,
  NAME_BYTES_MAX,
  TenureError,
} from '../../src/kernel/index.ts';

const utf8 = new TextEncoder();
const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const CONTROL = /\p{Cc}/u;

/** What the rules say, in the plainest words. */
function isName(text: string): boolean {
  const { length } = utf8.encode(text);
  return text.isWellFormed() && length >= 1 && length <= NAME_BYTES_MAX && !CONTROL.test(text);
}

function isNameBytes(bytes: Uint8Array): boolean {
  try {
    return isName(strict.decode(bytes));
  } catch {
    return false;
  }
}

function hash(text: string, seed?: number): number {
  const bytes = utf8.encode(text);
  return hashName(bytes, 0, bytes.length, seed);
}

function bytewise(a: string, b: string): number {
  return Math.sign(Buffer.compare(utf8.encode(a), utf8.encode(b)));
}

/** The bytes, or the code of the refusal. */
function encoded(text: string): Uint8Array | string {
  try {
    return encodeName(text);
  } catch (error) {
    return error instanceof TenureError ? error.code : String(error);
  }
}

function checked(text: string): string {
  try {
    checkName(text);
    return 'fine';
  } catch (error) {
    return error instanceof TenureError ? error.code : String(error);
  }
}

// Where the encoding changes its length or a rule begins; single halves of pairs come too.
const unit = fc.constantFrom(
  'a',
  '/',
  ' ',
  '~',
  '\u007f',
  '\u0080',
  '\u009f',
  '\u00a0',
  '\u07ff',
  '\u0800',
  '\ud7ff',
  '\ue000',
  '\uffff',
  '\u{10000}',
  '\u{1f600}',
  '\u{10ffff}',
  '\ud800',
  '\udbff',
  '\udc00',
  '\udfff',
  '\n',
  '\u0000',
  '\u2028',
  '\ufeff',
  '\u0301',
);
const text = fc.oneof(
  fc.array(unit, { maxLength: 8 }).map((units) => units.join('')),
  fc.string({ unit: 'binary', maxLength: 20 }),
  fc.string({ maxLength: 300, minLength: 240 }),
);
const name = text.filter(isName);

// Bytes that are nearly UTF-8: pieces that are right, cut, overlong, surrogates or out of range.
const piece = fc.constantFrom(
  [0x61],
  [0x1f],
  [0x7f],
  [0x80],
  [0xbf],
  [0xc0, 0x80],
  [0xc1, 0xbf],
  [0xc2, 0x9f],
  [0xc2, 0xa0],
  [0xc2],
  [0xdf, 0xbf],
  [0xe0, 0x9f, 0xbf],
  [0xe0, 0xa0, 0x80],
  [0xe0, 0xa0],
  [0xed, 0x9f, 0xbf],
  [0xed, 0xa0, 0x80],
  [0xed, 0xbf, 0xbf],
  [0xee, 0x80, 0x80],
  [0xef, 0xbf, 0xbf],
  [0xf0, 0x8f, 0xbf, 0xbf],
  [0xf0, 0x90, 0x80, 0x80],
  [0xf0, 0x90, 0x80],
  [0xf4, 0x8f, 0xbf, 0xbf],
  [0xf4, 0x90, 0x80, 0x80],
  [0xf5, 0x80, 0x80, 0x80],
  [0xff],
  [0xe1, 0x80, 0xc0],
  [0xf1, 0x80, 0x80, 0x7f],
);
const nearly = fc.oneof(
  fc.array(piece, { maxLength: 4 }).map((pieces) => Uint8Array.from(pieces.flat())),
  fc.uint8Array({ maxLength: 6 }),
);

describe('a name', () => {
  it('is what the rules say it is, and nothing else', () => {
    fc.assert(
      fc.property(text, (candidate) => {
        expect(encoded(candidate)).toEqual(isName(candidate) ? utf8.encode(candidate) : 'TENURE_BAD_NAME');
        expect(checked(candidate)).toBe(isName(candidate) ? 'fine' : 'TENURE_BAD_NAME');
      }),
      { numRuns: 2000 },
    );
  });

  it('comes back from its bytes', () => {
    fc.assert(
      fc.property(name, (each) => {
        expect(decodeName(encodeName(each), 0, encodeName(each).length)).toBe(each);
      }),
      { numRuns: 1000 },
    );
  });

  it('has every code point there is, save the controls and the surrogates', () => {
    const wrong: string[] = [];
    for (let point = 0; point <= 0x10ffff; point += point < 0x900 ? 1 : 61) {
      const surrogate = point >= 0xd800 && point < 0xe000;
      const character = String.fromCodePoint(point);
      // TextEncoder would replace a surrogate; written like its neighbours it is what a careless encoder sends.
      const bytes = surrogate
        ? Uint8Array.of(0xe0 | (point >> 12), 0x80 | ((point >> 6) & 0x3f), 0x80 | (point & 0x3f))
        : utf8.encode(character);
      const allowed = !surrogate && !CONTROL.test(character);
      if (isValidNameBytes(bytes, 0, bytes.length) !== allowed) wrong.push(`validity of U+${point.toString(16)}`);
      if (decodeName(bytes, 0, bytes.length) !== (allowed ? character : null)) wrong.push(`decoding of U+${point.toString(16)}`);
    }
    expect(wrong).toEqual([]);
  });

  it.each([
    ['', 'it is empty'],
    ['a\nb', 'control character U+000A at position 1'],
    ['a\u0085', 'control character U+0085 at position 1'],
    ['\u007f', 'control character U+007F'],
    ['\ud83d', 'half of a surrogate pair at position 0'],
    ['x\ude00\ud83d', 'half of a surrogate pair at position 1'],
    ['a'.repeat(256), 'longer than 255 bytes'],
    ['\u00e4'.repeat(128), 'longer than 255 bytes'],
    ['_tenure/members', "'_tenure/' are reserved"],
  ])('is not %j, and the refusal says why', (candidate, why) => {
    expect(() => checkName(candidate)).toThrow(why);
  });

  it.each(['a', 'a'.repeat(255), '\u00e4'.repeat(127) + 'a', '_tenure', '_tenur/e', 'x_tenure/', ' ', 'reports/nightly', '\u{1f600}'])(
    'may be %j',
    (candidate) => {
      expect(() => checkName(candidate)).not.toThrow();
    },
  );

  it('of Tenure itself has bytes like any other', () => {
    const bytes = encodeName('_tenure/members');
    expect(isValidNameBytes(bytes, 0, bytes.length)).toBe(true);
    expect(decodeName(bytes, 0, bytes.length)).toBe('_tenure/members');
  });

  it('that is not even text is refused like the rest', () => {
    expect(() => checkName(undefined as unknown as string)).toThrow(expect.objectContaining({ code: 'TENURE_BAD_NAME' }));
  });

  it('is shown in a refusal so that a log line stays a line', () => {
    expect(() => checkName('a\nb')).toThrow(/^"a\\nb" cannot/);
    expect(() => checkName('a'.repeat(1e6))).toThrow(/^.{0,200}$/);
  });
});

describe('bytes from a peer', () => {
  it('are a name exactly if a strict decoder reads them and the rules allow what it read', () => {
    fc.assert(
      fc.property(nearly, (bytes) => {
        expect(isValidNameBytes(bytes, 0, bytes.length)).toBe(isNameBytes(bytes));
        expect(decodeName(bytes, 0, bytes.length)).toBe(isNameBytes(bytes) ? strict.decode(bytes) : null);
      }),
      { numRuns: 5000 },
    );
  });

  it('are read between start and end only', () => {
    fc.assert(
      fc.property(nearly, name, nearly, (before, each, after) => {
        const inside = encodeName(each);
        const frame = Uint8Array.from([...before, ...inside, ...after]);
        const end = before.length + inside.length;
        expect(decodeName(frame, before.length, end)).toBe(each);
        expect(hashName(frame, before.length, end)).toBe(hashName(inside, 0, inside.length));
        expect(equalBytes(frame, before.length, end, inside, 0, inside.length)).toBe(true);
        expect(compareBytes(frame, before.length, end, inside, 0, inside.length)).toBe(0);
      }),
    );
  });

  it('that a character runs out of are no name, though the frame goes on', () => {
    const frame = utf8.encode('a\u{1f600}b');
    for (const end of [2, 3, 4]) expect(isValidNameBytes(frame, 0, end)).toBe(false);
    expect(isValidNameBytes(frame, 0, 5)).toBe(true);
  });

  it.each([
    [-1, 2],
    [0, 0],
    [2, 1],
    [0, 5],
    [NaN, 2],
    [0, NaN],
  ])('from %d to %d of four are no name', (start, end) => {
    expect(isValidNameBytes(utf8.encode('name'), start, end)).toBe(false);
  });

  it('are a name up to 255 of them', () => {
    const bytes = new Uint8Array(256).fill(0x61);
    expect(isValidNameBytes(bytes, 0, 255)).toBe(true);
    expect(isValidNameBytes(bytes, 0, 256)).toBe(false);
  });
});

describe('the hash of a name', () => {
  // The published vectors of MurmurHash3_x86_32: members of different versions must place a resource alike.
  it.each([
    ['', 1, 0x514e28b7],
    ['a', 0x9747b28c, 0x7fa09ea6],
    ['ab', 0x9747b28c, 0x74875592],
    ['abc', 0x9747b28c, 0xc84a62dd],
    ['test', 0, 0xba6bd213],
    ['Hello, world!', 0, 0xc0363e43],
    ['The quick brown fox jumps over the lazy dog', 0, 0x2e4ff723],
    ['The quick brown fox jumps over the lazy dog', 0x9747b28c, 0x2fa826cd],
  ])('of %j with seed %d is MurmurHash3', (of, seed, expected) => {
    expect(hash(of, seed)).toBe(expected);
  });

  it('has seed 0 unless told', () => {
    expect(hash('test')).toBe(0xba6bd213);
  });

  it('spreads names that differ only in a number evenly over a table', () => {
    const buckets = Array.from({ length: 256 }, () => 0);
    for (let i = 0; i < 25_600; i++) {
      const bucket = hash(`account/${i}`) & 255;
      buckets[bucket] = (buckets[bucket] as number) + 1;
    }
    // 255 degrees of freedom; one in ten thousand fair hashes would be above.
    expect(buckets.reduce((sum, count) => sum + (count - 100) ** 2 / 100, 0)).toBeLessThan(346);
  });
});

describe('the order of names', () => {
  it('is the order of their bytes', () => {
    fc.assert(
      fc.property(name, name, fc.boolean(), (a, b, extend) => {
        const other = extend ? a + b : b;
        const [x, y] = [utf8.encode(a), utf8.encode(other)];
        expect(Math.sign(compareNames(a, other))).toBe(bytewise(a, other));
        expect(Math.sign(compareBytes(x, 0, x.length, y, 0, y.length))).toBe(bytewise(a, other));
        expect(equalBytes(x, 0, x.length, y, 0, y.length)).toBe(a === other);
      }),
      { numRuns: 2000 },
    );
  });

  it('is not the order of JavaScript strings', () => {
    expect(['\uffff', '\u{1f600}'].sort()).toEqual(['\u{1f600}', '\uffff']);
    expect(compareNames('\uffff', '\u{1f600}')).toBeLessThan(0);
    expect(compareNames('\u{1f600}', '\uffff')).toBeGreaterThan(0);
  });

  it('does not take spellings that look alike for the same', () => {
    expect(compareNames('\u00e4', 'a\u0308')).not.toBe(0);
    expect(compareNames('A', 'a')).not.toBe(0);
  });
});
