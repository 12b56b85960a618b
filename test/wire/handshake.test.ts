/** What two sides say before they trust each other survives the wire, and nothing else is taken for it. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { incarnation } from '../../src/kernel/index.ts';
import {
  agreeVersion,
  ByteReader,
  ByteWriter,
  CHALLENGE,
  disagreement,
  GOODBYE,
  HELLO as HELLO_KIND,
  KEY_BYTES,
  kindOfService,
  LEASE_SERVICE,
  MESSAGE,
  NONCE_BYTES,
  PING,
  PONG,
  PROOF,
  readChallenge,
  readHello,
  readProof,
  readRefusal,
  readWelcome,
  REFUSAL,
  SERVICE_NUMBER_MAX,
  serviceOfKind,
  VERSIONS,
  WELCOME,
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
  services: [
    { number: 1, text: 'claims:literal' },
    { number: 63, text: 'broadcast' },
  ],
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
    read: (input: ByteReader) => readWelcome(input, VERSIONS.max),
    value: { id: 'a', incarnation: HELLO.incarnation, key: HELLO.key, config: CONFIG, services: HELLO.services },
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

describe('services', () => {
  it.each([
    ['the number of leases', [{ number: 0, text: 'leases' }]],
    ['a number above all', [{ number: 64, text: 'claims' }]],
    [
      'a number twice',
      [
        { number: 1, text: 'claims' },
        { number: 1, text: 'broadcast' },
      ],
    ],
  ])('with %s are refused, with the hello that states them', (_what, services) => {
    expect(
      read(
        body((out) => writeHello(out, { ...HELLO, services })),
        readHello,
      ),
    ).toBeNull();
  });

  it('are addressed by the kind of a frame, and leases by the kind that all messages had', () => {
    expect(kindOfService(LEASE_SERVICE)).toBe(MESSAGE);
    for (let service = LEASE_SERVICE; service <= SERVICE_NUMBER_MAX; service++) expect(serviceOfKind(kindOfService(service))).toBe(service);
    const kinds = Array.from({ length: 256 }, (_, kind) => kind);
    expect(kinds.filter((kind) => serviceOfKind(kind) !== null)).toHaveLength(SERVICE_NUMBER_MAX + 1);
    for (const kind of [PING, PONG, GOODBYE, HELLO_KIND, CHALLENGE, PROOF, WELCOME, REFUSAL]) expect(serviceOfKind(kind)).toBeNull();
  });
});

/** As the code of version 2 wrote `HELLO`, and as it wrote the welcome of the same member. */
const OPENING_2 = `544e555202000200${'07'.repeat(32)}`;
const WHO_2 = `01610000000000001000${'09'.repeat(32)}`;
const CONFIG_2 =
  '0606656e67696e6507000671756f72756d096d61785465726d5573080080969800000000000c726174654572726f7250706d0800e8030000000000000b7265706c69636174696f6e' +
  '08000300000000000000076d656d626572730600016101620163047669657708000100000000000000';

describe('version 2', () => {
  it('is read as it was written, and states no services', () => {
    const hello = Buffer.from(`${OPENING_2}066f726465727301${WHO_2}0162${CONFIG_2}`, 'hex');
    expect(read(hello, readHello)).toEqual({ ...HELLO, versions: { min: 2, max: 2 }, services: [] });
    const welcome = Buffer.from(`${WHO_2}${CONFIG_2}`, 'hex');
    expect(read(welcome, (input) => readWelcome(input, 2))).toMatchObject({ id: 'a', config: CONFIG, services: [] });
  });

  it('finds in what is written now all that it read, in the same places', () => {
    const hello = Buffer.from(body((out) => writeHello(out, { ...HELLO, versions: { min: 2, max: 2 } }))).toString('hex');
    expect(hello.startsWith(`${OPENING_2}066f726465727301${WHO_2}0162${CONFIG_2}`)).toBe(true);
    const welcome = Buffer.from(body((out) => writeWelcome(out, HELLO))).toString('hex');
    expect(welcome.startsWith(`${WHO_2}${CONFIG_2}`)).toBe(true);
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
    const bytes = body((out) => writeWelcome(out, { ...HELLO, services: [] }));
    // The count of fields stands after id, incarnation and key; one more field follows the known ones.
    const count = 1 + HELLO.id.length + 8 + KEY_BYTES;
    bytes[count] = (bytes[count] ?? 0) + 1;
    const more = [4, ...Buffer.from('next'), 2, 0, 9, 9];
    // The services, of which there are none, are the last byte.
    const whole = Uint8Array.from([...bytes.slice(0, -1), ...more, 0]);
    expect(read(whole, (input) => readWelcome(input, VERSIONS.max))).toEqual({
      id: 'a',
      incarnation: HELLO.incarnation,
      key: HELLO.key,
      config: CONFIG,
      services: [],
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
