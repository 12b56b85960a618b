/** What the tests of the suite share: the place they run at, connections that are closed after each, keys of their own. */
import { randomBytes } from 'node:crypto';
import type { Store } from './contract.ts';

export interface StorePlace {
  /** Another connection to the store of this place. */
  store(): Promise<Store>;
  /** Kills the server without a warning and starts it again. With `restart`. */
  readonly restart?: () => Promise<void>;
  /** The server takes requests and does nothing, until `resume`. With `stall`. */
  readonly stall?: () => Promise<void>;
  readonly resume?: () => Promise<void>;
  /** The server's next answer is lost, and the connection with it. With `cut`. */
  readonly loseAnswer?: () => void;
  close(): Promise<void>;
}

export type StoreTestClaim = (name: string, body: (kit: StoreTestKit) => Promise<void>) => void;

/** What a test of the suite works with: connections that are closed after it, and keys that are its own. */
export class StoreTestKit {
  readonly place: StorePlace;
  readonly prefix: string = `conformance/${randomBytes(6).toString('hex')}/`;
  readonly #stores: Store[] = [];

  constructor(place: StorePlace) {
    this.place = place;
  }

  async store(): Promise<Store> {
    const store = await this.place.store();
    this.#stores.push(store);
    return store;
  }

  async stores(count: number): Promise<Store[]> {
    return await Promise.all(Array.from({ length: count }, async () => await this.store()));
  }

  async two(): Promise<[Store, Store]> {
    return [await this.store(), await this.store()];
  }

  key(name = 'k'): string {
    return this.prefix + name;
  }

  async close(): Promise<void> {
    await Promise.all(this.#stores.map(async (store) => await store.close()));
    await this.place.close();
  }
}

export const bytes = (text: string): Uint8Array => Uint8Array.from(Buffer.from(text));
export const text = (value: Uint8Array | null): string | null => (value === null ? null : Buffer.from(value).toString());

/** Lets everything go on that can. */
export async function turn(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
}

/** Takes `step` again and again until `work` has ended. An error of either is thrown once both have. */
export async function alongside(work: () => Promise<void>, step: (round: number) => Promise<void>): Promise<void> {
  let isOver = false;
  const stepping = async (): Promise<void> => {
    for (let round = 0; !isOver; round++, await turn()) await step(round);
  };
  const working = async (): Promise<void> => {
    try {
      await work();
    } finally {
      isOver = true;
    }
  };
  for (const ended of await Promise.allSettled([working(), stepping()])) if (ended.status === 'rejected') throw ended.reason;
}
