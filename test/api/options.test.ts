/** What callers in plain JavaScript get wrong: options that do not exist, values of the wrong kind, arguments in the wrong order. Each is told, with what was probably meant. */
import { describe, expect, test } from 'vitest';
import { connect, joinCell, openStorage, TenureError, type Cell, type Lease } from '../../src/api/index.ts';
import { testCell, testStorage } from '../../src/api/testing.ts';
import { openStore } from '../../src/store/index.ts';

// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- it stands for whatever a call takes
const js = <T>(value: unknown): T => value as T;

type Call = (cell: Cell, options: never) => unknown;

const member = { cell: 'x', self: 'a', members: { a: '127.0.0.1:1' } };

/** Every public call that takes options, on a cell that holds the lease 'held'. */
const CALLS: Readonly<Record<string, Call>> = {
  acquire: (cell, options) => cell.acquire('x', options),
  tryAcquire: (cell, options) => cell.tryAcquire('x', options),
  using: (cell, options) => cell.using('x', options, () => 1),
  usingAll: (cell, options) => cell.usingAll(['x', 'y'], options, () => 1),
  acquireAll: (cell, options) => cell.acquireAll(['x', 'y'], options),
  elect: (cell, options) => cell.elect('x', options),
  campaign: (cell, options) => cell.elect('x').campaign(options),
  leader: (cell, options) => cell.elect('x').leader(options),
  observe: (cell, options) => cell.elect('x').observe(options),
  watch: (cell, options) => cell.watch('x', options),
  holder: (cell, options) => cell.holder('x', options),
  list: (cell, options) => cell.list('x', options),
  ready: (cell, options) => cell.ready(options),
  bootstrap: (cell, options) => cell.bootstrap(options),
  close: (cell, options) => cell.close(options),
  release: async (cell, options) => (await cell.acquire('held')).release(options),
  proclaim: async (cell, options) => (await cell.acquire('held')).proclaim('y', options),
  claim: (cell, options) => cell.claims('s').claim(1, 2, options),
  next: (cell, options) => cell.claims('s').next(1, options),
  ids: (cell, options) => cell.claims('s').ids(options),
  joinCell: (_cell, options: object) => joinCell({ ...member, ...options }),
  connect: (_cell, options: object) => connect({ cell: 'x', members: member.members, ...options }),
  'connect, waiting': (_cell, options) => connect({ cell: 'x', members: member.members }, options),
  openStorage: (_cell, options) => openStorage('memory:///options', options),
  openStore: (_cell, options) => openStore('memory:///options', options),
  testCell: (_cell, options) => testCell(options),
  testStorage: (_cell, options) => testStorage(options),
};

async function refusalOf(call: Call, options: unknown): Promise<unknown> {
  const kit = await testCell();
  try {
    await call(kit.member('a'), js(options));
    return 'was accepted';
  } catch (error) {
    return error;
  } finally {
    await kit.close();
  }
}

describe.each(Object.entries(CALLS))('%s', (_name, call) => {
  test('refuses an option that it does not have', async () => {
    const error = await refusalOf(call, { signall: undefined });
    expect(error).toBeInstanceOf(TenureError);
    expect(error).toMatchObject({ code: 'TENURE_BAD_ARGUMENT', details: { option: 'signall' } });
    expect((error as Error).message).toMatch(/has no option 'signall'/);
  });
});

test.each([
  ['acquire', { timeout: 5 }, 'wait'],
  ['acquire', { ttl: '5s' }, 'term'],
  ['acquire', { Signal: AbortSignal.abort() }, 'signal'],
  ['acquire', { metadata: 'x' }, 'meta'],
  ['campaign', { meta: 'x' }, 'value'],
  ['joinCell', { ttl: '5s' }, 'maxTerm'],
  ['joinCell', { datadir: '/x' }, 'dataDir'],
  ['connect', { password: 'x' }, 'secret'],
  ['openStorage', { maxterm: '5s' }, 'maxTerm'],
] as const)('%s with %o suggests %s', async (call, options, meant) => {
  const error = await refusalOf(CALLS[call] as Call, options);
  expect(error).toMatchObject({ details: { meant }, message: expect.stringContaining(`(did you mean '${meant}'?)`) as unknown });
});

describe('values of the wrong kind are told with a code, never as a bare TypeError', () => {
  const work = (): number => 1;
  test.each<[string, (cell: Cell) => unknown]>([
    ['options that are no object', (cell) => cell.acquire('x', js(5))],
    ['options that are null', (cell) => cell.acquire('x', js(null))],
    ['a signal that is none', (cell) => cell.acquire('x', { signal: js(5) })],
    ['a function that is none', (cell) => cell.acquire('x', { onQueued: js('x') })],
    ['a name that is none', (cell) => cell.acquire(js(undefined))],
    ['a name that is a number', (cell) => cell.tryAcquire(js(7))],
    ['a holder of nothing', (cell) => cell.holder(js(null))],
    ['a list of a number', (cell) => cell.list(js(7))],
    ['a watch of an object', (cell) => cell.watch(js({}))],
    ['an election of nothing', (cell) => cell.elect(js(undefined))],
    ['no work', (cell) => cell.using('x', js<() => number>(undefined))],
    ['options after the work', (cell) => cell.using('x', js(work), js<() => number>({ wait: 5 }))],
    ['no names', (cell) => cell.acquireAll(js(undefined))],
    ['a name for names', (cell) => cell.usingAll(js('x'), work)],
    ['a name among names that is none', (cell) => cell.acquireAll(['x', js(3)])],
    ['a term that is an object', (cell) => cell.acquire('x', { term: js({}) })],
    ['a wait that is a date', (cell) => cell.acquire('x', { wait: js(new Date()) })],
    ['metadata that is a number', (cell) => cell.acquire('x', { meta: js(7) })],
    ['a proclamation of nothing', async (cell) => (await cell.acquire('held')).proclaim(js(undefined))],
    ['a release after an object', async (cell) => (await cell.acquire('held')).release({ after: js({}) })],
    ['a timeout that is text', (cell) => cell.close({ timeout: 'soon' })],
    ['a space that is a number', (cell) => cell.claims(js(7))],
    ['a claim of text', (cell) => cell.claims('s').claim(js('a'), js('b'))],
    ['a block of text', (cell) => cell.claims('s').next(js('a'))],
    ['no options for a member', () => joinCell(js(undefined))],
    ['a cell that is a number', () => joinCell({ ...member, cell: js(5) })],
    ['an address that is a number', () => joinCell({ ...member, members: { a: js(4600) } })],
    ['a rate error that is text', () => joinCell({ ...member, rateError: js('a lot') })],
    ['a secret that is a number', () => joinCell({ ...member, secret: js(5) })],
    ['no options for a client', () => connect(js(undefined))],
    ['a store that is nothing', () => openStorage(js(undefined))],
    ['a store that is an empty object', () => openStorage(js({}))],
    ['a delta that is an object', () => openStorage('memory:///kinds', { delta: js({}) })],
    ['a rate error of a store that is text', () => openStorage('memory:///kinds', { rateError: js('a lot') })],
    ['a number of members that is text', () => testCell({ members: js('three') })],
    ['a seed that is text', () => testCell({ seed: js('three') })],
  ])('%s', async (_what, call) => {
    const error = await refusalOf(call, {});
    expect(error).toBeInstanceOf(TenureError);
    expect((error as TenureError).code).not.toBe('TENURE_INTERNAL');
  });
});

describe('an error knows the call that it ended', () => {
  const isOver = (lease: Lease): boolean => !lease.valid;
  test.each<[string, (cell: Cell) => Promise<unknown>]>([
    ['acquire', async (cell) => await cell.acquire('held', { wait: 0 })],
    ['using', async (cell) => await cell.using('held', { wait: 0 }, isOver)],
    ['acquireAll', async (cell) => await cell.acquireAll(['held', 'free'], { wait: 0 })],
    ['usingAll', async (cell) => await cell.usingAll(['held', 'free'], { wait: 0 }, () => 1)],
    ['campaign', async (cell) => await cell.elect('held').campaign({ wait: 0 })],
  ])('%s', async (_name, call) => {
    const kit = await testCell();
    await kit.member('a').acquire('held');
    const error = await (async function theProgram() {
      return await call(kit.member('b'));
    })().catch((caught: unknown) => caught);
    expect(error).toMatchObject({ code: 'TENURE_HELD' });
    expect((error as Error).stack).toMatch(/ theProgram /);
    await kit.close();
  });

  test.each<[string, (cell: Cell) => Promise<unknown>]>([
    ['acquire', async (cell) => await cell.acquire('held')],
    ['holder', async (cell) => await cell.holder('other')],
    ['status', async (cell) => await cell.status()],
  ])('%s, that waits while the cell is closed', async (_name, call) => {
    const kit = await testCell();
    await kit.member('a').acquire('held');
    const asking = (async function theProgram() {
      return await call(kit.member('b'));
    })();
    const error = asking.catch((caught: unknown) => caught);
    await kit.member('b').close({ timeout: 0 });
    expect(await error).toMatchObject({ code: 'TENURE_CLOSED' });
    expect(((await error) as Error).stack).toMatch(/ theProgram /);
    await kit.close();
  });
});
