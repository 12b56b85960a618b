/**
 * What the built package lets its users reach, held against the list in `surface.txt`. A line that is new there is a promise
 * to users, or an internal that has slipped out: look at it before `npx vitest run test/api/surface.test.ts -u`.
 */
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type * as Index from '../../src/api/index.ts';
import type * as Testing from '../../src/api/testing.ts';
import { objectSurface, typeSurface } from '../support/surface.ts';
import { readRepositoryFile, ROOT } from '../support/tree.ts';

const ENTRIES = { tenure: 'index', 'tenure/testing': 'testing', 'tenure/conformance': 'conformance' } as const;

const load = (name: string): Promise<object> => import(join(ROOT, 'dist/api', `${name}.js`)) as Promise<object>;

async function objects(): Promise<Record<string, object>> {
  const { LeaseLostError } = (await load('index')) as typeof Index;
  const { testCell, testStorage } = (await load('testing')) as typeof Testing;
  const storage = await testStorage();
  const cell = await testCell();
  const client = await cell.client();
  const lease = await client.acquire('x');
  const election = client.elect('y');
  const leadership = await election.campaign();
  const result = await client.tryAcquire('x');
  const held = {
    Cell: client,
    Lease: lease,
    TryResult: result,
    Election: election,
    Leadership: leadership,
    LeaderChanges: election.observe(),
    Watch: client.watch(),
    HolderAnswer: await client.holder('x'),
    Listing: await client.list(),
    LeaseLostError: new LeaseLostError('x', 1),
    TestCell: cell,
    LeaseStorage: await storage.client(),
    TestStorage: storage,
  };
  await storage.close();
  await cell.close();
  return held;
}

test('users reach what is listed, and nothing else', async () => {
  const read = (path: string): string => readRepositoryFile(path) ?? '';
  const parts: string[] = [];
  for (const [entry, file] of Object.entries(ENTRIES)) {
    const exported = Object.keys(await load(file)).toSorted();
    parts.push(`# ${entry}, at run time`, ...exported, '', `# ${entry}, types`, ...typeSurface(`dist/api/${file}.d.ts`, read), '');
  }
  parts.push('# objects, at run time', ...Object.entries(await objects()).map(([name, value]) => `${name}: ${objectSurface(value)}`));
  await expect(`${parts.join('\n')}\n`).toMatchFileSnapshot('surface.txt');
});

test('a lease cannot be stopped behind the back of the engine', async () => {
  const { testCell } = (await load('testing')) as typeof Testing;
  const cell = await testCell();
  const lease = await cell.member('a').acquire('x');
  const names = ['stop', 'end', 'cutShort', 'leaving', 'isOver', 'number', 'nameBytes', 'grantedUs'];
  expect(names.filter((name) => name in lease)).toEqual([]);
  expect(['begin', 'open', 'settle', 'lose', 'die', 'isAsked', 'begun'].filter((name) => name in cell.member('a'))).toEqual([]);
  expect(['begin', 'hear', 'gap', 'fail'].filter((name) => name in cell.member('a').watch())).toEqual([]);
  // @ts-expect-error: it is no part of a lease
  expect(() => void lease.stop()).toThrow(TypeError);
  // What a caller writes over its own lease changes nothing for the engine.
  Object.assign(lease, { name: 'y', release: () => Promise.resolve() });
  await cell.member('a').close();
  expect((await cell.member('b').tryAcquire('x')).ok).toBe(true);
  await cell.close();
});
