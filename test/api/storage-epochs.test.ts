/** The epoch of a store (rule 23), as the API keeps it: no access of a new epoch reaches a core that was not told of it. */
import { expect, test } from 'vitest';
import { openStorage } from '../../src/api/index.ts';
import { askEpoch, Epochs } from '../../src/api/storage/epochs.ts';
import { SystemClocks, type SharedUnit, type UnitAnswer } from '../../src/runtime/index.ts';
import {
  adoptParameters,
  defaultParameters,
  isWaitedOut,
  MemorySpace,
  MemoryStore,
  noteWaitedOut,
  PARAMETERS_KEY,
} from '../../src/store/index.ts';
import { TenureError } from '../../src/kernel/index.ts';

const ACCESS = { timeoutMs: 1000 };
const PARAMETERS = defaultParameters('memory');
const OK = { ok: true, isLost: false, value: null, version: null, keys: null };
const LOST = new TenureError('TENURE_STORE_EPOCH', 'it has started anew');

/** A unit that answers when it is told to, and an epoch that can be kept from being told. */
async function stage(): Promise<Stage> {
  const space = new MemorySpace();
  const held = { answers: [] as UnitAnswer[], entered: [] as boolean[], refused: [] as string[], letEpoch: () => {} };
  class SlowEpoch extends MemoryStore {
    isSlow = false;
    override async epoch(): Promise<string> {
      if (this.isSlow) await new Promise<void>((resolve) => (held.letEpoch = resolve));
      return super.epoch(ACCESS);
    }
  }
  const store = new SlowEpoch(space);
  await adoptParameters(store, PARAMETERS);
  const keep = (_key: string, done: UnitAnswer): void => void held.answers.push(done);
  const unit: SharedUnit = {
    read: keep,
    erase: keep,
    list: keep,
    write: (key, _value, done) => keep(key, done),
    swap: (key, _seen, _value, done) => keep(key, done),
  };
  const epochs = new Epochs({
    store,
    parameters: PARAMETERS,
    unit,
    clocks: new SystemClocks(),
    access: ACCESS,
    retryUs: 1000,
    entered: (isWaited) => void held.entered.push(isWaited),
    refused: (error) => {
      held.refused.push(error.code);
      epochs.stop();
    },
  });
  await epochs.begin(ACCESS);
  store.isSlow = true;
  return { space, store, epochs, held };
}

interface Stage {
  readonly space: MemorySpace;
  readonly store: MemoryStore;
  readonly epochs: Epochs;
  readonly held: { answers: UnitAnswer[]; entered: boolean[]; refused: string[]; letEpoch: () => void };
}

const turn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

test('an access that began before the core was told of the epoch comes to nothing, and one that begins meanwhile is not made', async () => {
  const { space, epochs, held } = await stage();
  const answers: string[] = [];
  const read = (name: string): void => epochs.unit.read(name, ({ ok }) => void answers.push(`${name} ${ok}`));
  for (const name of ['before', 'overtaken', 'late']) read(name);
  held.answers[0]?.(OK);
  space.loseAll();
  epochs.heard(LOST);
  held.answers[1]?.(OK);
  read('meanwhile');
  await turn();
  expect([answers, held.answers.length]).toEqual([['before true', 'overtaken false', 'meanwhile false'], 3]);
  held.letEpoch();
  while (held.entered.length < 2) await turn();
  // In the new epoch, but asked for in the old one.
  held.answers[2]?.(OK);
  read('after');
  held.answers[3]?.(OK);
  expect(answers.slice(3)).toEqual(['late false', 'after true']);
  expect(held.entered).toEqual([true, false]);
});

test('an epoch that was waited out is noted, and what others noted is believed', async () => {
  const { space, store, epochs, held } = await stage();
  space.loseAll();
  epochs.heard(LOST);
  // A second failure of the same kind asks no second time.
  epochs.heard(LOST);
  held.letEpoch();
  while (held.entered.length < 2) await turn();
  await epochs.waited();
  expect(await isWaitedOut(store, 'memory/2')).toBe(true);
  space.epoch++;
  await new MemoryStore(space).write('x', null);
  await noteWaitedOut(new MemoryStore(space), 'memory/3');
  epochs.heard(LOST);
  held.letEpoch();
  while (held.entered.length < 3) await turn();
  expect(held.entered).toEqual([true, false, true]);
});

test('other failures are none of its business', async () => {
  const { epochs, held } = await stage();
  epochs.heard(new TenureError('TENURE_STORE_UNREACHABLE', 'gone'));
  epochs.heard(new Error('what'));
  let isOk = false;
  epochs.unit.list('', ({ ok }) => (isOk = ok));
  held.answers[0]?.(OK);
  expect([isOk, held.entered]).toEqual([true, [true]]);
});

test('parameters that were lost are written again; a store that was set up differently meanwhile is left', async () => {
  const { space, store, epochs, held } = await stage();
  space.loseAll();
  epochs.heard(LOST);
  held.letEpoch();
  while (held.entered.length < 2) await turn();
  expect(await adoptParameters(store)).toEqual(PARAMETERS);
  space.loseAll();
  await adoptParameters(new MemoryStore(space), { ...PARAMETERS, rateErrorPpm: 1 });
  epochs.heard(LOST);
  held.letEpoch();
  while (held.refused.length === 0) await turn();
  expect([held.refused, held.entered.length]).toEqual([['TENURE_STORE_PARAMS'], 2]);
});

test('an observation that ends while the next epoch is being asked for is not noted under that one', async () => {
  const { space, store, epochs, held } = await stage();
  space.loseAll();
  epochs.heard(LOST);
  held.letEpoch();
  while (held.entered.length < 2) await turn();
  // The parameters are read after the epoch was told, and before the core hears of it.
  let letParameters = (): void => {};
  const reading = new Promise<void>((resolve) => (letParameters = resolve));
  const read = store.read.bind(store);
  let isAsked = false;
  store.read = async (key, options) => {
    if (key === PARAMETERS_KEY) isAsked = true;
    if (key === PARAMETERS_KEY) await reading;
    return await read(key, options);
  };
  space.loseAll();
  epochs.heard(LOST);
  held.letEpoch();
  while (!isAsked) await turn();
  await epochs.waited();
  expect(await isWaitedOut(new MemoryStore(space), 'memory/3')).toBe(false);
  letParameters();
  while (held.entered.length < 3) await turn();
  await epochs.waited();
  expect(await isWaitedOut(new MemoryStore(space), 'memory/3')).toBe(true);
});

test('who shares a store with others hears of an epoch that one of them has asked for', async () => {
  const { space, store, epochs, held } = await stage();
  const answers: boolean[] = [];
  epochs.unit.read('x', ({ ok }) => void answers.push(ok));
  space.loseAll();
  const asking = askEpoch(store, ACCESS);
  held.letEpoch();
  expect(await asking).toBe('memory/2');
  held.answers[0]?.(OK);
  await turn();
  held.letEpoch();
  while (held.entered.length < 2) await turn();
  expect([answers, held.entered]).toEqual([[false], [true, false]]);
  const again = askEpoch(store, ACCESS);
  held.letEpoch();
  await again;
  epochs.unit.read('x', ({ ok }) => void answers.push(ok));
  held.answers[1]?.(OK);
  expect([answers, held.entered.length]).toEqual([[false, true], 2]);
});

test('a client takes nothing in an epoch that only another client of the same store object has asked for', async () => {
  const space = new MemorySpace();
  const shared = new MemoryStore(space);
  const options = { maxTerm: '500ms', delta: '20ms' };
  const holding = await openStorage(new MemoryStore(space), options);
  const first = await openStorage(shared, options);
  const held = await holding.acquire('x');
  space.loseAll();
  const second = await openStorage(shared, options);
  const taken = await first.tryAcquire('x');
  expect(taken.ok && held.valid).toBe(false);
  for (const one of [holding, first, second]) await one.close();
});
