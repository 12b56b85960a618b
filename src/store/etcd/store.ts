/**
 * A store in etcd: `etcd://host:2379/space`. An access is one transaction, on the condition that the space is still the store that was opened; reads
 * are linearizable. The epoch is the cluster's id: a cluster that was restored from a snapshot has another.
 */
import { encodeName, type TenureError } from '../../kernel/index.ts';
import {
  checkAccess,
  checkList,
  checkSwap,
  type AccessOptions,
  type Capabilities,
  type Landing,
  type ListOptions,
  type Store,
  type SwapOutcome,
} from '../contract.ts';
import { conflicting, newEpoch, storeReplaced, unsupportedByStore } from '../failures.ts';
import { Gate, Unanswered, type Call } from '../gate.ts';
import { identityIn, newIdentity } from '../identity.ts';
import { EtcdGateway, type EtcdGatewayOptions, type EtcdHeader } from './gateway.ts';

export interface EtcdStoreOptions extends EtcdGatewayOptions {
  /** What all keys of the store in etcd begin with. */
  readonly space: string;
  readonly create?: 'adopt' | 'init' | 'never';
}

interface EtcdKey {
  readonly key: string;
  readonly value?: string;
}

interface EtcdTransaction {
  readonly header: EtcdHeader;
  readonly succeeded?: boolean;
  readonly responses?: readonly { readonly response_range?: { readonly kvs?: readonly EtcdKey[] } }[];
}

const TRANSACTION = '/v3/kv/txn';

export class EtcdStore implements Store {
  readonly url: string;
  readonly kind: string = 'etcd';
  readonly can: Capabilities = { swap: true, list: true, watch: false };
  readonly #gate: Gate;
  readonly #gateway: EtcdGateway;
  readonly #identityKey: Buffer;
  readonly #registers: Buffer;
  /** The bytes that say which store this is. */
  #identity: Buffer = Buffer.alloc(0);
  /** Under which accesses are made; null until it was asked for. */
  #epoch: string | null = null;

  private constructor(options: EtcdStoreOptions) {
    this.url = options.url;
    this.#gate = new Gate(options.url);
    this.#gateway = new EtcdGateway(options);
    this.#identityKey = Buffer.from(`${options.space}/identity`);
    this.#registers = Buffer.from(`${options.space}/registers/`);
  }

  static async open(options: EtcdStoreOptions, access?: AccessOptions): Promise<EtcdStore> {
    const store = new EtcdStore(options);
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

  async read(key: string, options?: AccessOptions): Promise<Uint8Array | null> {
    checkAccess(key);
    const [found] = await this.#range(options, { key: this.#keyOf(key) });
    return found === undefined ? null : bytesOf(found.value);
  }

  async write(key: string, value: Uint8Array | null, options?: AccessOptions): Promise<Landing> {
    checkAccess(key, value);
    const outcome = await this.#change(options, [], this.#replacing(key, value));
    return outcome === 'unknown' ? 'unknown' : 'done';
  }

  async swap(key: string, seen: Uint8Array | null, next: Uint8Array | null, options?: AccessOptions): Promise<SwapOutcome> {
    checkSwap(key, seen, next);
    const at = this.#keyOf(key);
    const condition =
      seen === null
        ? { key: at, target: 'CREATE', result: 'EQUAL', create_revision: '0' }
        : { key: at, target: 'VALUE', result: 'EQUAL', value: base64(seen) };
    return await this.#change(options, [condition], this.#replacing(key, next));
  }

  async list(prefix: string, options: ListOptions = {}): Promise<string[]> {
    const { after, limit } = checkList(prefix, options);
    const [from, last] = [Buffer.from(prefix), Buffer.from(after ?? '')];
    // The first key after another is that with a zero byte behind it. No byte of UTF-8 is 0xff.
    const lowest = after !== null && Buffer.compare(last, from) >= 0 ? Buffer.concat([last, Buffer.of(0)]) : from;
    const range = {
      key: base64(Buffer.concat([this.#registers, lowest])),
      range_end: base64(Buffer.concat([this.#registers, from, Buffer.of(0xff)])),
      limit: String(limit),
      keys_only: true,
    };
    const keys = await this.#range(options, range);
    return keys.map(({ key }) => Buffer.from(key, 'base64').subarray(this.#registers.length).toString('utf8'));
  }

  async watch(): Promise<never> {
    throw unsupportedByStore(this.url, 'tell of changes');
  }

  async identity(options?: AccessOptions): Promise<string> {
    await this.#range(options, { key: base64(this.#identityKey) });
    return identityIn(this.#identity);
  }

  async epoch(options?: AccessOptions): Promise<string> {
    return await this.#gate.ask(options, async (call) => {
      const { header } = await this.#ask(call, { compare: [], success: [], failure: [] }, false);
      return (this.#epoch = epochOf(header));
    });
  }

  async close(): Promise<void> {
    if (this.#gate.close()) this.#gateway.close();
  }

  async #setUp(create: 'adopt' | 'init' | 'never', access?: AccessOptions): Promise<void> {
    const key = base64(this.#identityKey);
    const bytes = await this.#gate.ask(access, async (call) => {
      const isNew = { key, target: 'CREATE', result: 'EQUAL', create_revision: '0' };
      if (create !== 'never') {
        const put = [{ request_put: { key, value: base64(newIdentity()) } }];
        await this.#ask(call, { compare: [isNew], success: put, failure: [] }, false);
      }
      const found = await this.#ask(call, { compare: [], success: [{ request_range: { key } }], failure: [] }, false);
      return foundIn(found)[0];
    });
    if (bytes === undefined) throw conflicting(this.url, `nobody has set it up: run tenure store init ${this.url} once`);
    this.#identity = Buffer.from(bytesOf(bytes.value));
    identityIn(this.#identity);
  }

  async #range(options: AccessOptions | undefined, range: object): Promise<readonly EtcdKey[]> {
    return await this.#gate.ask(options, async (call) => {
      const answer = await this.#ask(call, { compare: [this.#isHere()], success: [{ request_range: range }], failure: [] }, false);
      this.#checkEpoch(answer, false);
      if (answer.succeeded !== true) throw this.#gone();
      return foundIn(answer);
    });
  }

  /** Why nothing was changed is part of the same answer. */
  async #change(options: AccessOptions | undefined, conditions: readonly object[], doing: object): Promise<SwapOutcome> {
    const which = [{ request_range: { key: base64(this.#identityKey) } }];
    const transaction = { compare: [this.#isHere(), ...conditions], success: [doing], failure: which };
    return await this.#gate.change(options, async (call) => {
      const answer = await this.#ask(call, transaction, true);
      this.#checkEpoch(answer, answer.succeeded === true);
      if (answer.succeeded === true) return 'won';
      const identity = foundIn(answer)[0];
      if (identity === undefined || !this.#identity.equals(bytesOf(identity.value))) throw this.#gone();
      return 'lost';
    });
  }

  async #ask(call: Call, transaction: object, changes: boolean): Promise<EtcdTransaction> {
    return await this.#gateway.ask<EtcdTransaction>(call, TRANSACTION, transaction, changes);
  }

  /** A change under another epoch than its caller knows of has happened, and counts as unknown. */
  #checkEpoch({ header }: EtcdTransaction, isDone: boolean): void {
    if (epochOf(header) === this.#epoch) return;
    throw isDone ? new Unanswered(newEpoch(this.url)) : newEpoch(this.url);
  }

  #isHere(): object {
    return { key: base64(this.#identityKey), target: 'VALUE', result: 'EQUAL', value: base64(this.#identity) };
  }

  #replacing(key: string, value: Uint8Array | null): object {
    const at = this.#keyOf(key);
    return value === null ? { request_delete_range: { key: at } } : { request_put: { key: at, value: base64(value) } };
  }

  #keyOf(key: string): string {
    return base64(Buffer.concat([this.#registers, encodeName(key)]));
  }

  #gone(): TenureError {
    return storeReplaced(this.url, 'it was emptied, or another is in its place');
  }
}

function epochOf({ cluster_id: id }: EtcdHeader): string {
  return `etcd/${id}`;
}

function foundIn({ responses = [] }: EtcdTransaction): readonly EtcdKey[] {
  return responses[0]?.response_range?.kvs ?? [];
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');
}

/** An empty value is left out of an answer. */
function bytesOf(text: string | undefined): Uint8Array {
  return Uint8Array.from(Buffer.from(text ?? '', 'base64'));
}
