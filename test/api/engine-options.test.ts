/** Engines by name: what can be asked for, what is refused, and that all sides of a cell have the same one. */
import { once } from 'node:events';
import { describe, expect, it, onTestFinished } from 'vitest';
import { CLOCKLESS_ENGINES, ENGINES, isEngineNamed, knownEngine, lackingSkew, makeEngine } from '../../src/api/engines/index.ts';
import { termOptions } from '../../src/api/engines/terms.ts';
import { connect, joinCell, parseEngine, type Cell, type EngineOptions, type JoinOptions } from '../../src/api/index.ts';
import { testCell, type TestCell } from '../../src/api/testing.ts';
import { encodeName } from '../../src/kernel/index.ts';
import { freePorts } from './real-cell.ts';

const coded = (code: string, details: object = {}): unknown => expect.objectContaining({ code, details: expect.objectContaining(details) });

describe('parseEngine', () => {
  it.each<[string, EngineOptions]>([
    ['quorum', 'quorum'],
    ['flease:4,skew=500ms', { flease: { algorithm: 4, skew: '500ms' } }],
    ['flease:skew=1s', { flease: { skew: '1s' } }],
    ['flease:2', { flease: { algorithm: 2 } }],
    ['flease:3', { flease: { algorithm: 3 } }],
    ['paxoslease', { paxoslease: {} }],
    ['paxoslease:relative', { paxoslease: { clocks: 'relative' } }],
    ['paxoslease:perfect', { paxoslease: { clocks: 'perfect' } }],
    ['paxoslease:skewed,skew=200ms', { paxoslease: { clocks: 'skewed', skew: '200ms' } }],
  ])('reads %s', (text, options) => {
    expect(parseEngine(text)).toEqual(options);
  });

  it.each([
    '',
    'raft',
    'quorum:4',
    'flease:5',
    'flease:4,3',
    'flease:',
    'flease:4,skew=',
    'paxoslease:exact',
    'paxoslease:4',
    'flease:skew=1s,skew=2s',
    'Quorum',
  ])("refuses '%s'", (text) => {
    expect(() => parseEngine(text)).toThrow(coded('TENURE_BAD_ARGUMENT', { input: text }));
  });
});

describe('every engine of the list', () => {
  const terms = termOptions({});

  it.each(ENGINES.flatMap(({ texts }) => texts))('%s is the same as text, as options and as a member states it', (text) => {
    const engine = makeEngine(parseEngine(text), terms);
    expect(engine.text).toBe(text);
    expect(makeEngine(knownEngine(engine.text) ?? 'quorum', terms)).toMatchObject({ text, can: engine.can, timing: engine.timing });
  });

  it.each(['1us', '1500us', '1.0001s', '90s', 0.3])('has the same text for the same skew, which is read back as it is: %s', (skew) => {
    const { text, skewUs } = makeEngine({ flease: { skew } }, termOptions({ maxTerm: '1h' }));
    expect(makeEngine(parseEngine(text), termOptions({ maxTerm: '1h' }))).toMatchObject({ text, skewUs });
    expect(encodeName(text).length).toBeGreaterThan(0);
  });

  it.each(CLOCKLESS_ENGINES)('%s compares no wall clocks', (text) => {
    expect(makeEngine(parseEngine(text), terms).skewUs).toBe(0);
  });

  it('has a name of its own, a way to be written, and says what it lacks', () => {
    expect(new Set(ENGINES.map(({ name }) => name)).size).toBe(ENGINES.length);
    for (const { name, texts, clockless } of ENGINES) {
      expect(texts.length).toBeGreaterThan(0);
      for (const text of clockless === null ? texts : [...texts, clockless]) {
        expect(isEngineNamed(text) && text.startsWith(name)).toBe(true);
        const bare = text.replace(/,skew=.*/, '');
        expect(lackingSkew(parseEngine(bare))).toBe(bare === text ? null : bare);
      }
    }
  });
});

async function cellOf(engine: EngineOptions): Promise<TestCell> {
  const cell = await testCell({ engine });
  onTestFinished(() => cell.close());
  return cell;
}

describe('an engine', () => {
  it.each([
    'quorum',
    'flease:2',
    'flease:3',
    'flease:4,skew=500ms',
    'paxoslease:relative',
    'paxoslease:skewed,skew=200ms',
    'paxoslease:perfect',
  ])('of a cell says its name and parameters: %s', async (text) => {
    const cell = await cellOf(parseEngine(text));
    expect(cell.member('a').engine).toBe(text);
    expect((await cell.client()).engine).toBe(text);
  });

  it.each<[unknown, string]>([
    [{ flease: {} }, 'flease needs a skew'],
    [{ flease: { algorithm: 3, skew: '1s' } }, 'clocks that do not differ'],
    [{ flease: { algorithm: 5 } }, '2, 3 and 4'],
    [{ flease: 4 }, 'engine is'],
    [{ paxoslease: { clocks: 'skewed' } }, 'paxoslease needs a skew'],
    [{ paxoslease: { skew: '1s' } }, 'only clocks'],
    [{ paxoslease: { clocks: 'exact' } }, "not 'exact'"],
    ['raft', 'engine is'],
    [null, 'engine is'],
    [{ flease: { skew: '1s' }, paxoslease: {} }, 'engine is'],
  ])('is refused where it makes no sense: %j', async (engine, why) => {
    await expect(testCell({ engine: engine as EngineOptions })).rejects.toThrow(why);
  });

  it('is refused if its clocks may differ by a whole term', async () => {
    await expect(testCell({ maxTerm: '1s', engine: { flease: { skew: '1s' } } })).rejects.toEqual(coded('TENURE_BAD_TIMING'));
  });

  it.each<[string, EngineOptions]>([
    ['flease', { flease: { skew: '100ms' } }],
    ['paxoslease', { paxoslease: {} }],
  ])('that cannot do something says so: %s', async (engine, options) => {
    const cell = await cellOf(options);
    const member = cell.member('a');
    const refusal = coded('TENURE_UNSUPPORTED', { engine });
    await expect(member.list()).rejects.toEqual(refusal);
    await expect(member.bootstrap()).rejects.toEqual(refusal);
    expect(() => member.watch()).toThrow(refusal);
    await expect(testCell({ engine: options, keepVotes: true })).rejects.toEqual(refusal);
    const join: JoinOptions = { cell: 'x', members: { a: '127.0.0.1:1' }, self: 'a', engine: options, dataDir: 'never' };
    await expect(joinCell(join)).rejects.toEqual(refusal);
    expect(await member.status()).toMatchObject([
      { id: 'a', reached: true, silentForMs: 0 },
      { id: 'b', reached: true, silentForMs: null },
      { id: 'c', reached: true, silentForMs: null },
    ]);
  });

  it('without renewal proclaims nothing, and its leases end', async () => {
    const cell = await cellOf({ flease: { algorithm: 2 } });
    const lease = await cell.member('a').acquire('x', { term: '1s' });
    await expect(lease.proclaim('more')).rejects.toEqual(coded('TENURE_UNSUPPORTED', { engine: 'flease' }));
    await cell.advance('1s');
    expect(lease.valid).toBe(false);
  });
});

describe('members and clients of one cell', () => {
  async function twoMembers(a: EngineOptions, b: EngineOptions): Promise<{ options: Omit<JoinOptions, 'self'>; cells: [Cell, Cell] }> {
    const [one, two] = await freePorts(2);
    const options = { cell: 'engines', members: { a: `127.0.0.1:${one}`, b: `127.0.0.1:${two}` }, maxTerm: '1s' };
    const cells = [await joinCell({ ...options, self: 'a', engine: a }), await joinCell({ ...options, self: 'b', engine: b })] as [
      Cell,
      Cell,
    ];
    onTestFinished(async () => void (await Promise.all(cells.map((cell) => cell.close()))));
    return { options, cells };
  }

  it.each<[string, string, string]>([
    ['the engine', 'quorum', 'flease:4,skew=100ms'],
    ['its algorithm', 'flease:2', 'flease:3'],
    ['its clocks', 'paxoslease:relative', 'paxoslease:perfect'],
    ['its skew', 'flease:4,skew=100ms', 'flease:4,skew=200ms'],
  ])('refuse each other if they disagree about %s', async (_what, here, there) => {
    const { cells } = await twoMembers(parseEngine(here), parseEngine(there));
    const [, error] = (await once(cells[0], 'refused')) as [string, unknown];
    expect(error).toEqual(coded('TENURE_CONFIG_MISMATCH', { field: 'engine', here, there }));
  });

  it.each<[string, Partial<JoinOptions>, Partial<JoinOptions>]>([
    ['engine', { engine: 'quorum' }, { engine: parseEngine('paxoslease') }],
    ['engine', { engine: parseEngine('flease:4,skew=100ms') }, { engine: parseEngine('flease:4,skew=200ms') }],
    ['maxTermUs', { maxTerm: '1s' }, { maxTerm: '2s' }],
    ['replication', { replication: 1 }, { replication: 2 }],
  ])('that disagree about %s do not vote together for a client that was told nothing', async (field, a, b) => {
    const [one, two] = await freePorts(2);
    const reach = { cell: 'engines', members: { a: `127.0.0.1:${one}`, b: `127.0.0.1:${two}` } };
    const options = { ...reach, maxTerm: '1s' };
    const cells = await Promise.all([joinCell({ ...options, self: 'a', ...a }), joinCell({ ...options, self: 'b', ...b })]);
    const client = await connect(reach);
    onTestFinished(async () => void (await Promise.all([client, ...cells].map((cell) => cell.close()))));
    await expect
      .poll(() => client.members().flatMap(({ stats }) => stats?.lastError ?? []), { timeout: 4000 })
      .toEqual([expect.stringMatching(new RegExp(`^member . has ${field} = .*, and no majority states the same`))]);
    expect(client.state).toBe('no-quorum');
  });

  it('agree without being told: a client takes the engine from the members, and is refused if told another', async () => {
    const engine = parseEngine('flease:4,skew=250ms');
    const { options } = await twoMembers(engine, engine);
    const { cell, members } = options;
    for (const told of [{}, { engine }]) {
      const client = await connect({ cell, members, ...told });
      expect(client.engine).toBe('flease:4,skew=250ms');
      await client.close();
    }
    await expect(connect({ cell, members, engine: 'quorum' })).rejects.toEqual(coded('TENURE_CONFIG_MISMATCH', { field: 'engine' }));
  });
});
