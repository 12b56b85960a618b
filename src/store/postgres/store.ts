/**
 * A store in a table of PostgreSQL: `postgres://user@host/database?table=NAME`. An access is one statement that commits
 * by itself; nothing is ever sent twice. The epoch is the cluster and its timeline: a standby that took over has another.
 */
import type { Pool, PoolClient, QueryResult, QueryResultRow } from 'pg';
import { encodeName, type TenureError } from '../../kernel/index.ts';
import {
  ACCESS_TIMEOUT_MS,
  checkAccess,
  checkList,
  checkSwap,
  type AccessOptions,
  type Capabilities,
  type Landing,
  type ListOptions,
  type SwapOutcome,
  type Store,
} from '../contract.ts';
import { conflicting, newEpoch, storeReplaced, unfit, unsupportedByStore } from '../failures.ts';
import { Gate, type Call } from '../gate.ts';
import { identityIn, newIdentity } from '../identity.ts';
import { loadPg } from '../packages.ts';
import { postgresFailure, postgresConnectFailure } from './failures.ts';
import { FIND_TABLE, MEET, statementsFor, type SqlStatement, type Statements } from './statements.ts';

export interface PostgresStoreOptions {
  /** For the driver: with its password, without settings of ours. */
  readonly connectionString: string;
  /** How the store is called in logs and errors. */
  readonly url: string;
  readonly table: string;
  readonly create?: 'adopt' | 'init' | 'never';
  readonly connections?: number;
}

const CONNECTIONS = 4;

/** What a new connection is asked first. */
interface Met {
  readonly standby: boolean;
  readonly fsync: string;
  readonly system: string;
  readonly timeline: string;
}

export class PostgresStore implements Store {
  readonly url: string;
  readonly kind: string = 'postgres';
  readonly can: Capabilities = { swap: true, list: true, watch: false };
  readonly #gate: Gate;
  readonly #pool: Pool;
  readonly #table: string;
  readonly #statements: Statements;
  /** The epoch of each connection: a connection is to one server for as long as it lives. */
  readonly #epochs = new WeakMap<PoolClient, string>();
  /** The bytes that say which store this is. */
  #identity: Buffer = Buffer.alloc(0);
  /** Of the connections that may be used; null until it was asked for. */
  #epoch: string | null = null;
  #closing: Promise<void> | null = null;

  private constructor(pool: Pool, { url, table }: PostgresStoreOptions) {
    this.url = url;
    this.#gate = new Gate(url);
    this.#pool = pool;
    this.#table = table;
    this.#statements = statementsFor(table);
    // An idle connection that breaks is replaced with the next access. Without a listener it would end the process.
    pool.on('error', () => {});
    pool.on('connect', (client) => client.on('error', () => {}));
  }

  static async open(options: PostgresStoreOptions, access?: AccessOptions): Promise<PostgresStore> {
    const { Pool } = await loadPg();
    const pool = new Pool({
      connectionString: options.connectionString,
      max: options.connections ?? CONNECTIONS,
      connectionTimeoutMillis: ACCESS_TIMEOUT_MS,
      keepAlive: true,
      allowExitOnIdle: true,
      application_name: 'tenure',
    });
    const store = new PostgresStore(pool, options);
    try {
      await store.epoch(access);
      await store.#setUp(options.create ?? 'adopt', access);
      return store;
    } catch (error) {
      await store.close();
      throw error;
    }
  }

  get lastUnknown(): TenureError | null {
    return this.#gate.lastUnknown;
  }

  async read(key: string, options?: AccessOptions): Promise<Uint8Array | null> {
    checkAccess(key);
    const { value } = await this.#ask<{ here: boolean; value: Buffer | null }>(options, this.#statements.read, [encodeKey(key)]);
    return value === null ? null : Uint8Array.from(value);
  }

  async write(key: string, value: Uint8Array | null, options?: AccessOptions): Promise<Landing> {
    checkAccess(key, value);
    const { erase, write } = this.#statements;
    const outcome =
      value === null
        ? await this.#change(options, erase, [encodeKey(key)])
        : await this.#change(options, write, [encodeKey(key), Buffer.from(value)]);
    return outcome === 'unknown' ? 'unknown' : 'done';
  }

  async swap(key: string, seen: Uint8Array | null, next: Uint8Array | null, options?: AccessOptions): Promise<SwapOutcome> {
    checkSwap(key, seen, next);
    const { insert, eraseSeen, update } = this.#statements;
    const values = [seen, next].flatMap((value) => (value === null ? [] : [Buffer.from(value)]));
    const statement = seen === null ? insert : next === null ? eraseSeen : update;
    return await this.#change(options, statement, [encodeKey(key), ...values]);
  }

  async list(prefix: string, options: ListOptions = {}): Promise<string[]> {
    const { after, limit } = checkList(prefix, options);
    const from = Buffer.from(prefix);
    // No byte of UTF-8 is 0xff: everything that begins with the prefix comes before this.
    const before = Buffer.concat([from, Buffer.of(0xff)]);
    const values = [from, Buffer.from(after ?? ''), before, limit];
    const { keys } = await this.#ask<{ here: boolean; keys: Buffer[] }>(options, this.#statements.list, values);
    return keys.map((key) => key.toString('utf8'));
  }

  async watch(): Promise<never> {
    throw unsupportedByStore(this.url, 'tell of changes');
  }

  async identity(options?: AccessOptions): Promise<string> {
    await this.#ask(options, this.#statements.read, [Buffer.from('-')]);
    return identityIn(this.#identity);
  }

  /** Asks the server itself: the pool may not have noticed yet that it is gone. */
  async epoch(options?: AccessOptions): Promise<string> {
    return await this.#gate.ask(
      options,
      async (call) => await this.#with(call, async (client) => (this.#epoch = await this.#meet(client))),
    );
  }

  async close(): Promise<void> {
    this.#gate.close();
    this.#closing ??= this.#pool.end();
    await this.#closing;
  }

  async #setUp(create: 'adopt' | 'init' | 'never', access?: AccessOptions): Promise<void> {
    const [found] = await this.#run<{ persistence: string }>(access, FIND_TABLE, [this.#table]);
    if (found && found.persistence !== 'p') throw unfit(this.url, `the table ${this.#table} is UNLOGGED or TEMPORARY: a crash empties it`);
    if (!found) {
      if (create === 'never') throw conflicting(this.url, `there is no table ${this.#table}: run tenure store init ${this.url} once`);
      await this.#createTable(access);
    }
    if (create !== 'never') await this.#run(access, this.#statements.claim, [newIdentity()]);
    const [row] = await this.#run<{ value: Buffer }>(access, this.#statements.identity, []);
    if (!row)
      throw conflicting(this.url, `the table ${this.#table} does not say which store it is: run tenure store init ${this.url} once`);
    identityIn(row.value);
    this.#identity = row.value;
  }

  /** Two that create a table at once: one gets an error of the catalogue, though nothing is wrong. */
  async #createTable(access?: AccessOptions): Promise<void> {
    try {
      await this.#run(access, this.#statements.create, []);
    } catch (error) {
      const [found] = await this.#run(access, FIND_TABLE, [this.#table]);
      if (!found) throw error;
    }
  }

  async #run<Row extends QueryResultRow>(access: AccessOptions | undefined, statement: string, values: readonly unknown[]): Promise<Row[]> {
    return await this.#gate.ask(
      access,
      async (call) => await this.#with(call, async (client) => await rowsOf<Row>(client, statement, values)),
    );
  }

  async #ask<Row extends { here: boolean }>(
    options: AccessOptions | undefined,
    statement: SqlStatement,
    values: readonly unknown[],
  ): Promise<Row> {
    return await this.#gate.ask(options, async (call) => {
      const { rows } = await this.#with(call, async (client, epoch) => {
        this.#same(epoch);
        return await this.#prepared<Row>(client, statement, values);
      });
      const [row] = rows;
      if (!row?.here) throw this.#gone();
      return row;
    });
  }

  async #change(options: AccessOptions | undefined, statement: SqlStatement, values: readonly unknown[]): Promise<SwapOutcome> {
    return await this.#gate.change(options, async (call) => {
      const isHere = await this.#with(call, async (client, epoch) => {
        this.#same(epoch);
        call.leave();
        if ((await this.#prepared(client, statement, values)).rowCount === 1) return null;
        // It has changed nothing. Why not is asked only then: where it has, the table was the store.
        call.returned();
        return (await this.#prepared(client, this.#statements.here, [])).rowCount === 1;
      });
      if (isHere === false) throw this.#gone();
      return isHere === null ? 'won' : 'lost';
    });
  }

  async #prepared<Row extends QueryResultRow>(
    client: PoolClient,
    { name, text }: SqlStatement,
    values: readonly unknown[],
  ): Promise<QueryResult<Row>> {
    return await client.query<Row>({ name, text, values: [this.#identity, ...values] });
  }

  /** Does something on a connection that no other access uses meanwhile. */
  async #with<Answer>(call: Call, work: (client: PoolClient, epoch: string) => Promise<Answer>): Promise<Answer> {
    const client = await this.#connect();
    let isOurs = true;
    const release = (isBroken: boolean): void => {
      if (isOurs) client.release(isBroken);
      isOurs = false;
    };
    // The driver cannot take back a sent statement: the connection goes with it.
    call.onGivenUp(() => release(true));
    try {
      call.goOn();
      const epoch = this.#epochs.get(client) ?? (await this.#meet(client));
      const answer = await work(client, epoch);
      release(false);
      return answer;
    } catch (error) {
      release(true);
      throw postgresFailure(this.url, error);
    }
  }

  async #connect(): Promise<PoolClient> {
    try {
      return await this.#pool.connect();
    } catch (error) {
      throw postgresConnectFailure(this.url, error);
    }
  }

  async #meet(client: PoolClient): Promise<string> {
    const [met] = await rowsOf<Met & QueryResultRow>(client, MEET, []);
    if (!met || met.standby) throw unfit(this.url, 'it is a standby: what is read there may be old');
    if (met.fsync !== 'on') throw unfit(this.url, 'fsync is off: it acknowledges what a crash takes back');
    const epoch = `postgres/${met.system}/${met.timeline}`;
    this.#epochs.set(client, epoch);
    return epoch;
  }

  #same(epoch: string): void {
    if (epoch !== this.#epoch) throw newEpoch(this.url);
  }

  #gone(): TenureError {
    return storeReplaced(this.url, `the table ${this.#table} was emptied, or is another`);
  }
}

async function rowsOf<Row extends QueryResultRow>(client: PoolClient, text: string, values: readonly unknown[]): Promise<Row[]> {
  return (await client.query<Row>(text, [...values])).rows;
}

function encodeKey(key: string): Buffer {
  return Buffer.from(encodeName(key));
}
