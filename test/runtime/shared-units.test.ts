/** Shared units of the driver: a core that uses storage, on real stores. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { incarnation, nodeId, SeededChooser, TenureError } from '../../src/kernel/index.ts';
import { OWN_DISK, PlainClient, type RegisterCommand, type RegisterEvent } from '../../src/core/index.ts';
import { Driver, StoreUnit, SystemClocks, type SharedUnit, type UnitStore } from '../../src/runtime/index.ts';
import { FileStore, MemoryStore, type Landing, type SwapOutcome, type Store } from '../../src/store/index.ts';
import { registerCodec } from '../../src/wire/index.ts';

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const text = (value: Uint8Array | null): string | null => value && new TextDecoder().decode(value);

const AT = { unit: 0, op: 0 } as const;

/** A client of shared storage as a process runs it: each call waits for what the core says of it. */
class Client {
  readonly driver: Driver<never, RegisterCommand, RegisterEvent>;
  readonly failures: string[] = [];
  readonly #waiting = new Map<number, (event: RegisterEvent) => void>();
  #ops = 0;

  constructor(units: ReadonlyMap<number, SharedUnit>) {
    const boot = { self: nodeId(0), incarnation: incarnation(1), restarted: false, diskKept: false };
    this.driver = new Driver({
      core: new PlainClient(boot),
      codec: registerCodec,
      ownCodec: registerCodec,
      self: nodeId(0),
      link: { begin: () => null, end: () => undefined },
      clocks: new SystemClocks(),
      chooser: new SeededChooser(1),
      units,
      senderOf: () => undefined,
      onEvent: (event) => this.#waiting.get(event.op)?.(event),
      onFailure: ({ message }) => void this.failures.push(message),
    });
    this.driver.start();
    onTestFinished(() => this.driver.stop());
  }

  /** The command has the next number. */
  do(command: RegisterCommand): Promise<RegisterEvent> {
    const op = ++this.#ops;
    return new Promise((resolve) => {
      this.#waiting.set(op, resolve);
      this.driver.command({ ...command, op });
    });
  }

  async read(key: string): Promise<Extract<RegisterEvent, { kind: 'found' }>> {
    const event = await this.do({ kind: 'read', ...AT, key });
    if (event.kind !== 'found') throw new Error(`a read is ${event.kind}`);
    return event;
  }
}

async function fileStore(): Promise<Store> {
  const path = mkdtempSync(join(tmpdir(), 'tenure-units-'));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return await FileStore.open({ path, sync: false, create: 'init' });
}

const stores: [string, () => Promise<Store>][] = [
  ['memory', async () => new MemoryStore()],
  ['directory', fileStore],
];

describe.each(stores)('a core on a store in %s', (_kind, open) => {
  const opened = async (): Promise<Client> => {
    const store = await open();
    onTestFinished(async () => await store.close());
    return new Client(new Map([[0, new StoreUnit(store)]]));
  };

  test('reads what it wrote, and nothing where nothing is', async () => {
    const client = await opened();
    expect((await client.read('x')).value).toBeNull();
    expect((await client.do({ kind: 'write', ...AT, key: 'x', value: bytes('one') })).kind).toBe('written');
    expect(text((await client.read('x')).value)).toBe('one');
    await client.do({ kind: 'erase', ...AT, key: 'x' });
    expect((await client.read('x')).value).toBeNull();
  });

  test('wins a swap with the version that its read was given, and loses with an older one', async () => {
    const client = await opened();
    expect((await client.do({ kind: 'swap', ...AT, key: 'x', seen: null, value: bytes('one') })).kind).toBe('written');
    const { version } = await client.read('x');
    expect((await client.do({ kind: 'swap', ...AT, key: 'x', seen: version, value: bytes('two') })).kind).toBe('written');
    expect((await client.do({ kind: 'swap', ...AT, key: 'x', seen: version, value: bytes('three') })).kind).toBe('lost');
    expect((await client.do({ kind: 'swap', ...AT, key: 'x', seen: null, value: bytes('three') })).kind).toBe('lost');
    expect(text((await client.read('x')).value)).toBe('two');
  });

  test('goes on from a swap it has won with the version it was told', async () => {
    const client = await opened();
    const first = await client.do({ kind: 'swap', ...AT, key: 'x', seen: null, value: bytes('one') });
    if (first.kind !== 'written') throw new Error('it was the first');
    expect((await client.do({ kind: 'swap', ...AT, key: 'x', seen: first.version, value: null })).kind).toBe('written');
    expect((await client.read('x')).value).toBeNull();
  });

  test('lists what is under a prefix, in order, however many there are', async () => {
    const client = await opened();
    for (const key of ['a/2', 'a/1', 'b']) await client.do({ kind: 'write', ...AT, key, value: bytes('here') });
    expect(await client.do({ kind: 'list', ...AT, key: 'a/' })).toMatchObject({ kind: 'listed', keys: ['a/1', 'a/2'] });
  });

  test('of two that swap the same, one wins', async () => {
    const store = await open();
    onTestFinished(async () => await store.close());
    const clients = [0, 1].map(() => new Client(new Map([[0, new StoreUnit(store)]])));
    const events = await Promise.all(
      clients.map((client, i) => client.do({ kind: 'swap', ...AT, key: 'x', seen: null, value: bytes(`client ${i}`) })),
    );
    expect(events.map(({ kind }) => kind).toSorted()).toEqual(['lost', 'written']);
  });
});

/** Does as it is told. */
class ToldStore implements UnitStore {
  lastUnknown: TenureError | null = null;
  landing: Landing | Error = 'done';
  outcome: SwapOutcome | Error = 'won';
  readonly listed: { readonly after?: string; readonly limit?: number }[] = [];

  async read(): Promise<Uint8Array | null> {
    throw new TenureError('TENURE_STORE_UNREACHABLE', 'gone');
  }

  async write(): Promise<Landing> {
    if (this.landing instanceof Error) throw this.landing;
    return this.landing;
  }

  async swap(): Promise<SwapOutcome> {
    if (this.outcome instanceof Error) throw this.outcome;
    return this.outcome;
  }

  async list(_prefix: string, options: { readonly after?: string; readonly limit?: number } = {}): Promise<string[]> {
    this.listed.push(options);
    const { limit = 0 } = options;
    return this.listed.length === 1 ? Array.from({ length: limit }, (_, i) => `k${String(i).padStart(4, '0')}`) : ['z'];
  }
}

describe('a store that fails', () => {
  test('is a failure to the core, and its reason goes to whoever runs it', async () => {
    const store = new ToldStore();
    const reasons: unknown[] = [];
    const client = new Client(new Map([[0, new StoreUnit(store, { onFailure: (error) => void reasons.push(error) })]]));
    expect((await client.do({ kind: 'read', ...AT, key: 'x' })).kind).toBe('failed');
    store.landing = 'unknown';
    store.lastUnknown = new TenureError('TENURE_STORE_UNREACHABLE', 'no answer');
    expect((await client.do({ kind: 'write', ...AT, key: 'x', value: bytes('one') })).kind).toBe('failed');
    store.outcome = 'unknown';
    expect((await client.do({ kind: 'swap', ...AT, key: 'x', seen: null, value: bytes('one') })).kind).toBe('failed');
    store.outcome = new TenureError('TENURE_UNSUPPORTED', 'it cannot swap');
    expect((await client.do({ kind: 'swap', ...AT, key: 'x', seen: null, value: bytes('one') })).kind).toBe('failed');
    expect(reasons.map((reason) => (reason as TenureError).message)).toEqual(['gone', 'no answer', 'no answer', 'it cannot swap']);
    expect(client.driver.isStopped).toBe(false);
  });

  test('a list is asked for page by page', async () => {
    const store = new ToldStore();
    const client = new Client(new Map([[0, new StoreUnit(store)]]));
    const event = await client.do({ kind: 'list', ...AT, key: '' });
    expect(event.kind === 'listed' && event.keys.length).toBe(1001);
    expect(store.listed).toEqual([{ limit: 1000 }, { after: 'k0999', limit: 1000 }]);
  });
});

/** Answers when it is told to. */
class SlowStore extends ToldStore {
  readonly sent: string[] = [];
  readonly answers: (() => void)[] = [];

  override read(key = ''): Promise<Uint8Array | null> {
    this.sent.push(key);
    return new Promise((resolve) => this.answers.push(() => resolve(null)));
  }
}
const turn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

describe('more accesses than a store can do at once', () => {
  test('wait, and the latest is sent first', async () => {
    const store = new SlowStore();
    const unit = new StoreUnit(store, { atOnce: 2 });
    const done: string[] = [];
    for (const key of ['a', 'b', 'c', 'd']) unit.read(key, ({ ok }) => void done.push(`${key} ${ok}`));
    expect(store.sent).toEqual(['a', 'b']);
    store.answers[0]?.();
    await turn();
    expect([store.sent, done]).toEqual([['a', 'b', 'd'], ['a true']]);
    for (const answer of store.answers) answer();
    await turn();
    store.answers.at(-1)?.();
    await turn();
    expect(done).toEqual(['a true', 'b true', 'd true', 'c true']);
  });

  test('what is asked with an answer goes before what waits', async () => {
    const store = new SlowStore();
    const unit = new StoreUnit(store, { atOnce: 1 });
    unit.read('a', () => unit.read('after a', () => undefined));
    unit.read('b', () => undefined);
    store.answers[0]?.();
    await turn();
    expect(store.sent).toEqual(['a', 'after a']);
  });

  test('what could not be sent in time is never sent', async () => {
    const { store, done } = await threeThatWaitTooLong();
    store.answers[0]?.();
    await turn();
    // In which order is for the machine to say: their time may be over before the answer is read.
    expect([store.sent, done.toSorted()]).toEqual([['a'], ['a true', 'b false', 'c false']]);
  });
});

/** One access is sent; two more are behind it, and their time is over. */
async function threeThatWaitTooLong(): Promise<{ store: SlowStore; unit: StoreUnit; done: string[] }> {
  const store = new SlowStore();
  const unit = new StoreUnit(store, { atOnce: 1, timeoutMs: 1 });
  const done: string[] = [];
  for (const key of ['a', 'b', 'c']) unit.read(key, ({ ok }) => void done.push(`${key} ${ok}`));
  const from = performance.now();
  while (performance.now() - from < 3) await turn();
  return { store, unit, done };
}

test('what waits for too long is answered though newer accesses keep coming, and does not pile up', async () => {
  const { store, unit, done } = await threeThatWaitTooLong();
  unit.read('d', () => undefined);
  await turn();
  expect([store.sent, done]).toEqual([['a'], ['b false', 'c false']]);
});

test('a core that asks for a unit it does not have is stopped, and says so', () => {
  const client = new Client(new Map());
  void client.do({ kind: 'read', ...AT, unit: 7, key: 'x' });
  expect(client.failures).toEqual(['this node has no shared unit 7']);
});

test('a core that swaps on its own disk is stopped, and says so', () => {
  const client = new Client(new Map());
  void client.do({ kind: 'swap', ...AT, unit: OWN_DISK, key: 'x', seen: null, value: bytes('one') });
  expect(client.failures).toEqual([`this node has no shared unit ${OWN_DISK}`]);
});
