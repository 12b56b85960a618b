/**
 * A store in Redis: `redis://host:6379/0?space=NAME`. An access is one script. The driver neither repeats a script nor keeps for
 * later one that it could not send (rule 20). The epoch is the server's run id and its replication id: Redis acknowledges before it writes down, and before others
 * have it, so a server that started anew or took over may have lost anything. With `replicas=none`, and every write synced, nothing is lost.
 */
import type { Redis } from 'ioredis';
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
import { conflicting, newEpoch, storeReplaced, storeUnreachable, unsupportedByStore } from '../failures.ts';
import { Gate, type Call } from '../gate.ts';
import { identityIn, newIdentity } from '../identity.ts';
import { loadIoredis } from '../packages.ts';
import { redisFailure, redisConnectFailure } from './failures.ts';
import { SCRIPTS, type Script } from './scripts.ts';
import { checkInfo, checkSynced, readInfo } from './server-info.ts';

export interface RedisStoreOptions {
  /** For the driver: with its password, without settings of ours. */
  readonly connectionString: string;
  /** How the store is called in logs and errors. */
  readonly url: string;
  /** What all keys of the store in Redis begin with. */
  readonly space: string;
  /** The operator's word that no replica will ever take over. */
  readonly replicas?: 'none' | 'perhaps';
  readonly create?: 'adopt' | 'init' | 'never';
}

const RECONNECT_MS_MAX = 1000;
/** The first part of an answer. */
const OTHER_HISTORY = 2;

export class RedisStore implements Store {
  readonly url: string;
  readonly kind: string = 'redis';
  readonly can: Capabilities = { swap: true, list: true, watch: false };
  readonly #gate: Gate;
  readonly #redis: Redis;
  readonly #keys: readonly [identity: string, registers: string, index: string];
  readonly #isSynced: boolean;
  /** The bytes that say which store this is. */
  #identity: Buffer = Buffer.alloc(0);
  /** Of the connection there is now: a connection is to one start of one server. Null while there is none that was asked. */
  #connected: string | null = null;
  /** What the server must still say when it is asked anything: a connection outlasts a change of roles. Nothing where no other server ever takes over. */
  #history = '';
  /** Under which accesses are made. */
  #epoch: string | null = null;
  #lastError: Error | null = null;
  /** How often a connection, or an attempt at one, has ended. */
  #closed = 0;
  readonly #waiting: (() => void)[] = [];

  private constructor(redis: Redis, { url, space, replicas }: RedisStoreOptions) {
    this.url = url;
    this.#gate = new Gate(url);
    this.#redis = redis;
    // One slot of a cluster, whatever the keys are.
    this.#keys = [`{${space}}:identity`, `{${space}}:registers`, `{${space}}:index`];
    this.#isSynced = replicas === 'none';
    redis.on('error', (error: Error) => (this.#lastError = error));
    redis.on('close', () => {
      this.#connected = null;
      this.#closed++;
      this.#turn();
    });
    // An idle connection keeps no process alive; an access has a timer of its own.
    redis.on('connect', () => redis.stream.unref());
    redis.on('ready', () => this.#turn());
  }

  static async open(options: RedisStoreOptions, access?: AccessOptions): Promise<RedisStore> {
    const { Redis: Driver } = await loadIoredis();
    const redis = new Driver(options.connectionString, {
      lazyConnect: true,
      enableOfflineQueue: false,
      autoResendUnfulfilledCommands: false,
      maxRetriesPerRequest: 0,
      reconnectOnError: null,
      retryStrategy: (times: number) => Math.min(times * 20, RECONNECT_MS_MAX),
      connectTimeout: ACCESS_TIMEOUT_MS,
      connectionName: 'tenure',
    });
    const store = new RedisStore(redis, options);
    try {
      await store.#setUp(options.create ?? 'adopt', access);
      await store.epoch(access);
      return store;
    } catch (error) {
      await store.close();
      throw error;
    }
  }

  get lastUnknown(): TenureError | null {
    return this.#gate.lastUnknown;
  }

  get mayForget(): boolean {
    return !this.#isSynced;
  }

  async read(key: string, options?: AccessOptions): Promise<Uint8Array | null> {
    checkAccess(key);
    const value = await this.#ask<Buffer | null>(options, 'read', [encodeKey(key)]);
    return value === null ? null : Uint8Array.from(value);
  }

  async write(key: string, value: Uint8Array | null, options?: AccessOptions): Promise<Landing> {
    checkAccess(key, value);
    const outcome =
      value === null
        ? await this.#change(options, 'erase', [encodeKey(key)])
        : await this.#change(options, 'write', [encodeKey(key), Buffer.from(value)]);
    return outcome === 'unknown' ? 'unknown' : 'done';
  }

  async swap(key: string, seen: Uint8Array | null, next: Uint8Array | null, options?: AccessOptions): Promise<SwapOutcome> {
    checkSwap(key, seen, next);
    const values = [seen, next].flatMap((value) => (value === null ? [] : [Buffer.from(value)]));
    const script = seen === null ? 'insert' : next === null ? 'eraseSeen' : 'update';
    return await this.#change(options, script, [encodeKey(key), ...values]);
  }

  async list(prefix: string, options: ListOptions = {}): Promise<string[]> {
    const { after, limit } = checkList(prefix, options);
    const [from, last] = [Buffer.from(prefix), Buffer.from(after ?? '')];
    const lowest = after !== null && Buffer.compare(last, from) >= 0 ? bound('(', last) : bound('[', from);
    // No byte of UTF-8 is 0xff: everything that begins with the prefix comes before this.
    const below = bound('(', Buffer.concat([from, Buffer.of(0xff)]));
    const keys = await this.#ask<Buffer[]>(options, 'list', [lowest, below, String(limit)]);
    return keys.map((key) => key.toString('utf8'));
  }

  async watch(): Promise<never> {
    throw unsupportedByStore(this.url, 'tell of changes');
  }

  async identity(options?: AccessOptions): Promise<string> {
    await this.#ask(options, 'read', [Buffer.from('-')]);
    return identityIn(this.#identity);
  }

  /** Asks the server itself: the driver may not have noticed yet that it is gone. */
  async epoch(options?: AccessOptions): Promise<string> {
    return await this.#gate.ask(options, async (call) => {
      await this.#connect(call);
      await this.#meet();
      return (this.#epoch = await this.#connect(call));
    });
  }

  async close(): Promise<void> {
    if (this.#gate.close()) this.#redis.disconnect();
  }

  async #setUp(create: 'adopt' | 'init' | 'never', access?: AccessOptions): Promise<void> {
    const [key] = this.#keys;
    const bytes = await this.#gate.ask(access, async (call) => {
      await this.#connect(call);
      try {
        if (create !== 'never') await this.#redis.set(key, newIdentity(), 'NX');
        return await this.#redis.getBuffer(key);
      } catch (error) {
        throw redisFailure(this.url, error);
      }
    });
    if (bytes === null) throw conflicting(this.url, `nobody has set it up: run tenure store init ${this.url} once`);
    identityIn(bytes);
    this.#identity = bytes;
  }

  async #ask<Answer>(options: AccessOptions | undefined, script: Script, values: readonly (Buffer | string)[]): Promise<Answer> {
    return await this.#gate.ask(options, async (call) => (await this.#run(call, script, values)) as Answer);
  }

  async #change(options: AccessOptions | undefined, script: Script, values: readonly (Buffer | string)[]): Promise<SwapOutcome> {
    return await this.#gate.change(options, async (call) => ((await this.#run(call, script, values)) === 1 ? 'won' : 'lost'));
  }

  async #run(call: Call, script: Script, values: readonly (Buffer | string)[]): Promise<unknown> {
    if ((await this.#connect(call)) !== this.#epoch) throw newEpoch(this.url);
    call.leave();
    // Nothing is awaited since the epoch was looked at: this goes out on the connection that has it.
    const running = this.#redis.callBuffer(
      'EVAL',
      SCRIPTS[script],
      this.#keys.length,
      ...this.#keys,
      this.#identity,
      ...values,
      this.#history,
    );
    try {
      const [here, answer] = (await running) as [number, unknown];
      if (here === OTHER_HISTORY) throw newEpoch(this.url);
      if (here !== 1) throw storeReplaced(this.url, 'it was emptied, or another is in its place');
      return answer;
    } catch (error) {
      throw redisFailure(this.url, error);
    }
  }

  /** The epoch of a connection that can be used at once. */
  async #connect(call: Call): Promise<string> {
    for (;;) {
      call.goOn();
      if (this.#connected !== null) return this.#connected;
      if (this.#redis.status === 'ready') await this.#meet();
      else await this.#ready();
    }
  }

  /** Two that come at once both ask, and hear the same. */
  async #meet(): Promise<void> {
    const closed = this.#closed;
    let [epoch, history] = ['', ''];
    try {
      const info = readInfo(await this.#redis.info());
      checkInfo(this.url, info);
      if (this.#isSynced) checkSynced(this.url, info, await this.#redis.config('GET', 'append*'));
      epoch = this.#isSynced ? 'redis/synced' : `redis/${info.runId}/${info.historyId}`;
      history = this.#isSynced ? '' : `master_replid:${info.historyId}`;
    } catch (error) {
      throw redisConnectFailure(this.url, error);
    }
    if (closed !== this.#closed) return;
    this.#connected = epoch;
    this.#history = history;
  }

  /** Waits until the driver has a connection, or has failed to get one. The driver tries again by itself, for later callers. */
  async #ready(): Promise<void> {
    const { status } = this.#redis;
    if (status === 'end') throw storeUnreachable(this.url, this.#lastError ?? new Error('the connection has ended'));
    const closed = this.#closed;
    const turning = new Promise<void>((resolve) => this.#waiting.push(resolve));
    if (status === 'wait') this.#redis.connect().catch(() => undefined);
    await turning;
    if (closed !== this.#closed) throw redisConnectFailure(this.url, this.#lastError ?? new Error('the connection was lost'));
  }

  /** The connection is ready, or has been lost. */
  #turn(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}

function bound(kind: '(' | '[', bytes: Buffer): Buffer {
  return Buffer.concat([Buffer.from(kind), bytes]);
}

function encodeKey(key: string): Buffer {
  return Buffer.from(encodeName(key));
}
