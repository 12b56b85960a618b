/** A store in a table, against a real PostgreSQL that is started here, stopped, killed and started again. */
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { storeConformance } from '../../src/store/conformance.ts';
import { openStore, type OpenStoreOptions, type Store } from '../../src/store/index.ts';
import { tenure } from '../cli/tenure.ts';
import { Proxy } from './proxy.ts';
import { program, startPostgres, type Server } from './servers.ts';

const isMissing = program('postgres') === null;
if (isMissing) console.warn('PostgreSQL is not installed: its store is not tested');

let server: Server;
let tables = 0;
const freshTable = (): string => `t${tables++}`;
const urlOf = ({ port }: { port: number }, table: string, user = 'postgres'): string =>
  `postgres://${user}:secret@127.0.0.1:${port}/postgres?table=${table}`;

async function open(url: string, options?: OpenStoreOptions): Promise<Store> {
  const store = await openStore(url, options);
  onTestFinished(async () => await store.close());
  return store;
}

async function sql(of: Server, ...statements: readonly string[]): Promise<void> {
  const client = new pg.Client({ host: '127.0.0.1', port: of.port, user: 'postgres', database: 'postgres' });
  await client.connect();
  try {
    for (const statement of statements) await client.query(statement);
  } finally {
    await client.end();
  }
}

describe.skipIf(isMissing)('postgres: (a server is needed)', () => {
  beforeAll(async () => {
    server = await startPostgres();
  });
  afterAll(async () => await server.stop());

  storeConformance({
    test,
    open: async () => {
      const proxy = await Proxy.to(server.port);
      const url = urlOf(proxy, freshTable());
      return {
        store: async () => await openStore(url),
        restart: async () => await server.restart(),
        stall: async () => await server.stall(),
        resume: async () => await server.resume(),
        loseAnswer: () => proxy.loseAnswer(),
        close: async () => await proxy.close(),
      };
    },
    can: { swap: true, list: true, restart: true, stall: true, cut: true },
  });

  test('the epoch and all that was acknowledged outlive a server that is killed', async () => {
    const store = await open(urlOf(server, freshTable()));
    const epoch = await store.epoch();
    expect(await store.write('k', Buffer.from('a'))).toBe('done');
    await server.restart();
    const again = await open(urlOf(server, `t${tables - 1}`));
    expect(await again.epoch()).toBe(epoch);
    expect(Buffer.from((await again.read('k')) ?? []).toString()).toBe('a');
  });

  test('several that open a new store at once open the same one', async () => {
    const table = freshTable();
    const stores = await Promise.all(Array.from({ length: 8 }, async () => await open(urlOf(server, table))));
    expect(new Set(await Promise.all(stores.map(async (store) => await store.identity()))).size).toBe(1);
  });

  test('a table that is dropped, emptied or made anew is not the store any more', async () => {
    const table = freshTable();
    const store = await open(urlOf(server, table));
    await store.write('k', Buffer.from('a'));
    const gone = { code: 'TENURE_STORE_REPLACED' };
    for (const deed of [`TRUNCATE ${table}`, `DROP TABLE ${table}`, '']) {
      if (deed === '') await open(urlOf(server, table));
      else await sql(server, deed);
      await expect(store.read('k')).rejects.toMatchObject(gone);
      await expect(store.write('k', Buffer.from('b'))).rejects.toMatchObject(gone);
      await expect(store.swap('k', null, Buffer.from('b'))).rejects.toMatchObject(gone);
      await expect(store.list('k')).rejects.toMatchObject(gone);
      await expect(store.identity()).rejects.toMatchObject(gone);
    }
  });

  test('a table that a crash empties is refused', async () => {
    const table = freshTable();
    await sql(server, `CREATE UNLOGGED TABLE ${table} (key bytea PRIMARY KEY, value bytea NOT NULL)`);
    await expect(open(urlOf(server, table))).rejects.toMatchObject({
      code: 'TENURE_STORE_UNFIT',
      message: expect.stringContaining('UNLOGGED'),
    });
  });

  test('a user without rights is told so, one with rights on the table needs no others', async () => {
    const table = freshTable();
    await sql(server, `CREATE USER u_${table}`);
    await expect(open(urlOf(server, table, `u_${table}`))).rejects.toMatchObject({ code: 'TENURE_STORE_DENIED' });
    await open(urlOf(server, table));
    await sql(server, `GRANT SELECT, INSERT, UPDATE, DELETE ON ${table} TO u_${table}`);
    const store = await open(urlOf(server, table, `u_${table}`));
    expect(await store.write('k', Buffer.from('a'))).toBe('done');
    await expect(open(urlOf(server, table, 'nobody_at_all'))).rejects.toMatchObject({ code: 'TENURE_STORE_DENIED' });
  });

  test('a database that says otherwise does not make writes less than written, or conditions less than checked', async () => {
    const table = freshTable();
    await sql(
      server,
      `CREATE TABLE ${table} (key bytea PRIMARY KEY, value bytea NOT NULL)`,
      `CREATE FUNCTION f_${table}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
         IF current_setting('synchronous_commit') <> 'on' OR current_setting('transaction_isolation') <> 'read committed' THEN
           RAISE EXCEPTION 'not as it should be';
         END IF;
         RETURN NULL;
       END $$`,
      `CREATE TRIGGER t AFTER INSERT OR UPDATE OR DELETE ON ${table} FOR EACH STATEMENT EXECUTE FUNCTION f_${table}()`,
      `ALTER DATABASE postgres SET synchronous_commit = off`,
      `ALTER DATABASE postgres SET default_transaction_isolation = serializable`,
      `ALTER DATABASE postgres SET default_transaction_read_only = on`,
    );
    onTestFinished(async () => await sql(server, `SET default_transaction_read_only = off`, `ALTER DATABASE postgres RESET ALL`));
    await expect(sql(server, `SET default_transaction_read_only = off`, `DELETE FROM ${table}`)).rejects.toThrow('not as it should be');
    const store = await open(urlOf(server, table));
    expect(await store.write('k', Buffer.from('a'))).toBe('done');
    expect(await store.swap('k', Buffer.from('a'), null)).toBe('won');
  });

  test('a standby is refused; once it has taken over, it is another epoch', async () => {
    const table = freshTable();
    const proxy = await Proxy.to(server.port);
    onTestFinished(async () => await proxy.close());
    const store = await open(urlOf(proxy, table));
    const before = await store.epoch();
    await store.write('k', Buffer.from('a'));
    const standby = await startPostgres([], server);
    onTestFinished(async () => await standby.stop());
    await expect(open(urlOf(standby, table))).rejects.toMatchObject({
      code: 'TENURE_STORE_UNFIT',
      message: expect.stringContaining('standby'),
    });
    await sql(standby, 'SELECT pg_promote()');
    const promoted = await open(urlOf(standby, table));
    const after = await promoted.epoch();
    expect(await promoted.identity()).toBe(await store.identity());
    expect(after).not.toBe(before);
    // Whoever was connected to the old one, and finds itself with the new one, does nothing there before it has asked.
    proxy.target = standby.port;
    proxy.cut();
    const codeOf = async (access: Promise<unknown>): Promise<string> =>
      await access.then(
        () => 'done',
        (error: unknown) => (error as { code: string }).code,
      );
    while ((await codeOf(store.read('k'))) === 'TENURE_STORE_UNREACHABLE');
    expect(await codeOf(store.read('k'))).toBe('TENURE_STORE_EPOCH');
    expect(await codeOf(store.swap('k', Buffer.from('a'), Buffer.from('b')))).toBe('TENURE_STORE_EPOCH');
    expect(await store.epoch()).toBe(after);
    expect(await store.swap('k', Buffer.from('a'), Buffer.from('b'))).toBe('won');
  });

  test('a table on which updates are swallowed does not pass the probe, and the doctor says what is wrong', async () => {
    const table = freshTable();
    await sql(
      server,
      `CREATE TABLE ${table} (key bytea PRIMARY KEY, value bytea NOT NULL)`,
      `CREATE FUNCTION f_${table}() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'`,
      `CREATE TRIGGER t BEFORE UPDATE ON ${table} FOR EACH ROW EXECUTE FUNCTION f_${table}()`,
    );
    await expect(open(urlOf(server, table))).rejects.toMatchObject({ code: 'TENURE_STORE_UNFIT' });
    const { code, stdout } = tenure(['store', 'doctor', urlOf(server, table), '--for', '200ms']);
    expect(code).toBe(2);
    expect(stdout).toMatch(/^WRONG +what was overwritten is gone: a read saw something else$/m);
    expect(stdout).not.toContain('secret');
  });

  test('passwords are in no message and in no log', async () => {
    const store = await open(urlOf(server, freshTable()));
    expect(store.url).not.toContain('secret');
    const refusal: unknown = await openStore(`postgres://postgres:secret@127.0.0.1:1/postgres`).catch((error: unknown) => error);
    expect(refusal).toMatchObject({ code: 'TENURE_STORE_UNREACHABLE' });
    expect(String(refusal)).not.toContain('secret');
    await expect(openStore(`postgres://postgres:secret@127.0.0.1:1/postgres?table=a;b`)).rejects.toMatchObject({
      code: 'TENURE_BAD_ARGUMENT',
    });
  });

  test('a store that nobody set up is not made by who only wants to use one', async () => {
    const table = freshTable();
    await expect(open(urlOf(server, table), { create: 'never' })).rejects.toMatchObject({ code: 'TENURE_STORE_PARAMS' });
    await open(urlOf(server, table), { create: 'init' });
    await open(urlOf(server, table), { create: 'never' });
  });
});

describe.skipIf(isMissing)('a server without fsync (a server is needed)', () => {
  test('is refused', async () => {
    const careless = await startPostgres(['fsync=off']);
    onTestFinished(async () => await careless.stop());
    await expect(open(urlOf(careless, 't'))).rejects.toMatchObject({
      code: 'TENURE_STORE_UNFIT',
      message: expect.stringContaining('fsync'),
    });
  });
});
