/** What two sides say before they trust each other survives the wire, and nothing else is taken for it. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { incarnation } from '../../src/kernel/index.ts';
import {
  agreeVersion,
  ByteReader,
  ByteWriter,
  disagreement,
  KEY_BYTES,
  NONCE_BYTES,
  readChallenge,
  readHello,
  readProof,
  readRefusal,
  readWelcome,
  VERSIONS,
  writeChallenge,
  writeHello,
  writeProof,
  writeRefusal,
  writeWelcome,
  type CellConfig,
  type Hello,
} from '../../src/wire/index.ts';

const CONFIG: CellConfig = {
  engine: 'quorum',
  maxTermUs: 10_000_000,
  rateErrorPpm: 1000,
  replication: 3,
  members: ['a', 'b', 'c'],
  view: 1,
};

const HELLO: Hello = {
  versions: VERSIONS,
  nonce: new Uint8Array(NONCE_BYTES).fill(7),
  cell: 'orders',
  role: 'member',
  id: 'a',
  incarnation: incarnation(2 ** 52),
  key: new Uint8Array(KEY_BYTES).fill(9),
  to: 'b',
  config: CONFIG,
};

const PROVED = { proof: Uint8Array.of(1, 2, 3), signature: Uint8Array.of(4, 5) };

/** The body of the frame that `write` makes, with `more` behind it. */
function body(write: (out: ByteWriter) => void, more: readonly number[] = []): Uint8Array {
  const out = new ByteWriter();
  write(out);
  return Uint8Array.from([...out.bytes.subarray(5, out.length), ...more]);
}

function read<T>(bytes: Uint8Array, reader: (input: ByteReader) => T): T {
  const input = new ByteReader();
  input.reset(bytes, 0, bytes.length);
  return reader(input);
}

const MESSAGES = [
  { name: 'hello', write: (out: ByteWriter) => writeHello(out, HELLO), read: readHello, value: HELLO },
  {
    name: 'hello of a client',
    write: (out: ByteWriter) => writeHello(out, { ...HELLO, role: 'client', config: { members: ['a'] } }),
    read: readHello,
    value: { ...HELLO, role: 'client', config: { members: ['a'] } },
  },
  {
    name: 'challenge',
    write: (out: ByteWriter) => writeChallenge(out, { versions: VERSIONS, nonce: HELLO.nonce }),
    read: readChallenge,
    value: { versions: VERSIONS, nonce: HELLO.nonce },
  },
  { name: 'proof', write: (out: ByteWriter) => writeProof(out, PROVED), read: readProof, value: PROVED },
  {
    name: 'welcome',
    write: (out: ByteWriter) => writeWelcome(out, HELLO),
    read: readWelcome,
    value: { id: 'a', incarnation: HELLO.incarnation, key: HELLO.key, config: CONFIG },
  },
  {
    name: 'refusal',
    write: (out: ByteWriter) => writeRefusal(out, { code: 'TENURE_CONFIG_MISMATCH', facts: { field: 'view', here: '1' } }),
    read: readRefusal,
    value: { code: 'TENURE_CONFIG_MISMATCH', facts: { field: 'view', here: '1' } },
  },
];

describe.each(MESSAGES)('a $name', ({ write, read: reader, value }) => {
  it('survives the wire', () => {
    expect(read(body(write), reader as (input: ByteReader) => unknown)).toEqual(value);
  });

  it('is understood when a newer version adds to it', () => {
    expect(read(body(write, [1, 2, 3]), reader as (input: ByteReader) => unknown)).toEqual(value);
  });

  it('is refused when it is cut short', () => {
    const whole = body(write);
    for (let length = 0; length < whole.length; length++) {
      const got = read(whole.slice(0, length), reader as (input: ByteReader) => unknown);
      expect(got, `of ${length} bytes`).toBeNull();
    }
  });

  it('never makes a reader throw, whatever its bytes', () => {
    const whole = body(write);
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat(whole.length - 1), fc.nat(255)), { minLength: 1, maxLength: 8 }), (changes) => {
        const bytes = whole.slice();
        for (const [at, to] of changes) bytes[at] = to;
        expect(() => read(bytes, reader as (input: ByteReader) => unknown)).not.toThrow();
      }),
      { numRuns: 500 },
    );
  });
});

describe('versions', () => {
  it('agree on the highest that both speak', () => {
    expect(agreeVersion({ min: 1, max: 3 }, { min: 2, max: 5 })).toBe(3);
    expect(agreeVersion({ min: 4, max: 4 }, { min: 1, max: 4 })).toBe(4);
    expect(agreeVersion({ min: 1, max: 2 }, { min: 3, max: 5 })).toBeNull();
  });

  it('that have nothing in common with ours are all that is read of a hello', () => {
    const versions = { min: VERSIONS.max + 1, max: VERSIONS.max + 2 };
    expect(
      read(
        body((out) => writeHello(out, { ...HELLO, versions })),
        readHello,
      ),
    ).toEqual(versions);
  });
});

describe('configurations', () => {
  it.each([
    ['engine', { engine: 'flease/3' }, 'quorum', 'flease/3'],
    ['maxTermUs', { maxTermUs: 1 }, '10000000', '1'],
    ['rateErrorPpm', { rateErrorPpm: 2 }, '1000', '2'],
    ['replication', { replication: 5 }, '3', '5'],
    ['members', { members: ['a', 'c', 'b'] }, 'a, b, c', 'a, c, b'],
    ['view', { view: 2 }, '1', '2'],
  ] as const)('that differ in %s are told apart, with both values', (field, change, here, there) => {
    expect(disagreement(CONFIG, { ...CONFIG, ...change }, true)).toEqual({ field, here, there });
  });

  it('that a client does not state are not held against it', () => {
    expect(disagreement(CONFIG, {}, false)).toBeNull();
    expect(disagreement(CONFIG, { view: 2 }, false)).toMatchObject({ field: 'view' });
    expect(disagreement(CONFIG, {}, true)).toEqual({ field: 'engine', here: 'quorum', there: 'nothing' });
  });

  it('with fields of a newer version are read without them', () => {
    const out = new ByteWriter();
    writeWelcome(out, HELLO);
    const bytes = body((writer) => writeWelcome(writer, HELLO));
    // The count of fields stands after id, incarnation and key; one more field follows the known ones.
    const count = 1 + HELLO.id.length + 8 + KEY_BYTES;
    bytes[count] = (bytes[count] ?? 0) + 1;
    const more = [4, ...Buffer.from('next'), 2, 0, 9, 9];
    expect(read(Uint8Array.from([...bytes, ...more]), readWelcome)).toEqual({
      id: 'a',
      incarnation: HELLO.incarnation,
      key: HELLO.key,
      config: CONFIG,
    });
  });
});

describe('a refusal', () => {
  it('cuts and cleans what it quotes', () => {
    const facts = { there: `line\nend ${'x'.repeat(300)}`, empty: '' };
    const got = read(
      body((out) => writeRefusal(out, { code: 'TENURE_WRONG_CELL', facts })),
      readRefusal,
    );
    expect(got?.facts['there']).toMatch(/^line\?end x+…$/);
    expect(got?.facts['empty']).toBe('?');
  });

  it('with a code nobody knows is none', () => {
    const bytes = body((out) => writeRefusal(out, { code: 'TENURE_WRONG_CELL', facts: {} }));
    bytes[bytes.length - 3] = 'X'.charCodeAt(0);
    expect(read(bytes, readRefusal)).toBeNull();
  });
});
