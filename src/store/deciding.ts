/**
 * One decided value for a key, on any store (appendix A of Chockler & Malkhi). Where the store can compare and set it is one exclusive creation. On units of a
 * replicated store, and on plain registers, it is the consensus of Figure 10: it is tried while this process leads, and safe whichever process leads.
 */
import { randomBytes } from 'node:crypto';
import { decodeContent, encodeContent, placeOf, recordKeyOf, type StampedContent } from '../core/index.ts';
import { incarnation, type TenureError } from '../kernel/index.ts';
import { checkAccess, type AccessOptions, type Store } from './contract.ts';
import { unsupportedByStore } from './failures.ts';
import { Gate } from './gate.ts';
import { corrupt } from './record.ts';
import { UnitsDriver } from './replicated/driver.ts';
import { ReplicatedStore } from './replicated/store.ts';
import { UnitLink } from './replicated/unit-link.ts';

export interface Decider {
  /** Whether `decide` needs to be told when this process leads. */
  readonly needsLeader: boolean;
  /** Resolves with the one decided value. */
  decide(key: string, value: Uint8Array, access: AccessOptions): Promise<Uint8Array>;
  lead(isLeader: boolean): void;
  close(): void;
}

export function deciderOn(store: Store): Decider {
  if (store.can.swap) return new CreatingDecider(store);
  if (store instanceof ReplicatedStore) return replicatedDecider(store);
  if (store.can.list) return new PlainDecider(store);
  throw unsupportedByStore(store.url, 'list what is in it, and nothing can be decided there without that');
}

function replicatedDecider(store: ReplicatedStore): Decider {
  return {
    needsLeader: true,
    decide: async (key, value, access) => await store.decide(key, value, access),
    lead: (isLeader) => store.lead(isLeader),
    close: () => store.lead(false),
  };
}

/** Of a value that was created, not written: there is no other. */
const CREATED = { count: 1, incarnation: incarnation(1), op: 1 };

class CreatingDecider implements Decider {
  readonly needsLeader: boolean = false;
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  async decide(key: string, value: Uint8Array, access: AccessOptions): Promise<Uint8Array> {
    const { place, name } = placeOf('decision', key);
    const content: StampedContent = { kind: 'stamped', stamp: CREATED, value, name };
    const [record, bytes] = [recordKeyOf(place), encodeContent(place, content)];
    for (;;) {
      access.signal?.throwIfAborted();
      const found = await this.#store.read(record, access);
      if (found !== null) return decided(place, found);
      // Lost or unknown: the next read tells.
      if ((await this.#store.swap(record, null, bytes, access)) === 'won') return value;
    }
  }

  lead(): void {}
  close(): void {}
}

function decided(place: string, bytes: Uint8Array): Uint8Array {
  const content = decodeContent(place, bytes);
  if (content === null || content.value === null) throw corrupt(recordKeyOf(place), 'it is no decision');
  return content.value;
}

const PATIENCE_MS = 1000;
const RETRY_MS = 50;

/** One unit, which has an identity of its own: whatever is not this store any more fails. */
class PlainDecider implements Decider {
  readonly needsLeader: boolean = true;
  readonly #driver: UnitsDriver;
  readonly #gate: Gate;
  readonly #waiting = new Map<number, { readonly resolve: (value: Uint8Array) => void; readonly reject: (error: Error) => void }>();
  #ops = 0;

  constructor(store: Store) {
    this.#gate = new Gate(store.url);
    const link = new UnitLink(
      {
        url: store.url,
        connect: async () => store,
        canSwap: false,
        timeoutMs: PATIENCE_MS,
        retryMs: RETRY_MS,
        inEpoch: () => undefined,
      },
      store,
    );
    const config = { units: [{ canSwap: false }], members: null, patienceUs: 1100 * PATIENCE_MS, retryUs: 1000 * RETRY_MS };
    this.#driver = new UnitsDriver([link], config, 1 + randomBytes(6).readUIntBE(0, 6), {
      heard: (event) => {
        if (event.kind !== 'decided') return;
        this.#waiting.get(event.op)?.resolve(event.value);
        this.#waiting.delete(event.op);
      },
      failed: (error) => this.#stopped(error),
    });
  }

  async decide(key: string, value: Uint8Array, access: AccessOptions): Promise<Uint8Array> {
    checkAccess(key, value);
    return await this.#gate.ask(access, async (call) => {
      const op = ++this.#ops;
      return await new Promise<Uint8Array>((resolve, reject) => {
        this.#waiting.set(op, { resolve, reject });
        call.onGivenUp(() => {
          this.#waiting.delete(op);
          this.#driver.command({ kind: 'abandon', op });
        });
        this.#driver.command({ kind: 'decide', op, name: key, value });
      });
    });
  }

  lead(isLeader: boolean): void {
    this.#driver.command({ kind: 'lead', isLeader });
  }

  close(): void {
    this.#gate.close();
    this.#driver.stop();
  }

  #stopped(error: TenureError): void {
    for (const { reject } of this.#waiting.values()) reject(error);
    this.#waiting.clear();
  }
}
