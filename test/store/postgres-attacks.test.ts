/** What befalls a statement inside a PostgreSQL that goes on: it waits for another's lock and runs out of time, or its connection is ended meanwhile. */
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { openStore, type Store } from '../../src/store/index.ts';
import { program, startPostgres, type Server } from './servers.ts';

const text = (value: Uint8Array | null): string | null => value && Buffer.from(value).toString();

describe.skipIf(program('postgres') === null)('postgres: (a server is needed)', () => {
  let server: Server;
  beforeAll(async () => {
    server = await startPostgres();
  });
  afterAll(async () => await server.stop());

  async function open(table: string, more = ''): Promise<Store> {
    const store = await openStore(`postgres://postgres@127.0.0.1:${server.port}/postgres?table=${table}${more}`);
    onTestFinished(async () => await store.close());
    return store;
  }

  /** Somebody who has a lock on the rows of a table, until it lets go. */
  async function locker(table: string): Promise<pg.Client> {
    const client = new pg.Client({ host: '127.0.0.1', port: server.port, user: 'postgres', database: 'postgres' });
    await client.connect();
    onTestFinished(async () => await client.end());
    await client.query('BEGIN');
    await client.query(`SELECT * FROM ${table} WHERE key <> ''::bytea FOR UPDATE`);
    return client;
  }

  test('a statement that ran out of the time its database gives it has not happened, and never will', async () => {
    const store = await open('late', `&options=${encodeURIComponent('-c statement_timeout=300')}`);
    await store.write('k', Buffer.from('a'));
    const client = await locker('late');
    await expect(store.swap('k', Buffer.from('a'), Buffer.from('b'))).rejects.toMatchObject({ code: 'TENURE_STORE_UNREACHABLE' });
    await client.query('COMMIT');
    expect(text(await store.read('k'))).toBe('a');
    expect(await store.swap('k', Buffer.from('a'), Buffer.from('b'))).toBe('won');
  });

  test('a statement whose connection is ended in the middle is unknown, and the next one has a connection of its own', async () => {
    const store = await open('ended');
    await store.write('k', Buffer.from('a'));
    const client = await locker('ended');
    const swapping = store.swap('k', Buffer.from('a'), Buffer.from('b'));
    const waiting = `SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND application_name = 'tenure'`;
    let pid: number | undefined;
    while (pid === undefined) pid = (await client.query<{ pid: number }>(waiting)).rows[0]?.pid;
    await client.query('SELECT pg_terminate_backend($1)', [pid]);
    expect(await swapping).toBe('unknown');
    expect(store.lastUnknown).toMatchObject({ code: 'TENURE_STORE_UNREACHABLE' });
    await client.query('COMMIT');
    expect(text(await store.read('k'))).toBe('a');
  });

  test('a change that its caller gave up waiting for is carried out once the lock is gone, and once only', async () => {
    const store = await open('given_up');
    await store.write('k', Buffer.from('a'));
    const client = await locker('given_up');
    expect(await store.swap('k', Buffer.from('a'), Buffer.from('b'), { timeoutMs: 200 })).toBe('unknown');
    await client.query('COMMIT');
    const outcome = await store.swap('k', Buffer.from('a'), Buffer.from('c'));
    // Whichever came first, the other found its condition gone.
    expect(text(await store.read('k'))).toBe(outcome === 'won' ? 'c' : 'b');
  });
});
