/**
 * The master of the store, for as long as its lease lasts. It begins by fencing a majority of the replicas and copying what
 * they have to a majority again; every write that it acknowledges is at a majority. Two majorities share a replica, so no
 * master begins without what an earlier one acknowledged.
 */
import type { Lease } from 'tenure';
import { isNewer, type Contents, type Entry } from './replica.js';

/** A replica, here or in another process. A call that fails is one that was not answered. */
export interface ReplicaLink {
  fence(token: number): Promise<Contents | null>;
  write(key: string, entry: Entry, token: number): Promise<boolean>;
}

export class NotMaster extends Error {
  override readonly name = 'NotMaster';
}

export class Master {
  readonly #lease: Pick<Lease, 'token' | 'valid'>;
  readonly #replicas: readonly ReplicaLink[];
  readonly #entries: Map<string, Entry>;
  #version = 0;

  private constructor(lease: Pick<Lease, 'token' | 'valid'>, replicas: readonly ReplicaLink[], entries: Map<string, Entry>) {
    this.#lease = lease;
    this.#replicas = replicas;
    this.#entries = entries;
  }

  static async begin(lease: Pick<Lease, 'token' | 'valid'>, replicas: readonly ReplicaLink[]): Promise<Master> {
    const found = await majority(replicas, async (replica) => (await replica.fence(lease.token)) ?? refuse());
    const entries = new Map<string, Entry>();
    for (const [key, entry] of found.flatMap((contents) => Object.entries(contents))) {
      const known = entries.get(key);
      if (known === undefined || isNewer(entry, known)) entries.set(key, entry);
    }
    const master = new Master(lease, replicas, entries);
    // What only one replica of the majority has may or may not have been acknowledged: now it is.
    for (const [key, { value }] of entries) await master.set(key, value);
    return master;
  }

  /** Resolves when a majority has it: it is never lost after that. Rejects when it may or may not have been written. */
  async set(key: string, value: string): Promise<void> {
    const { token } = this.#lease;
    const entry: Entry = { value, token, version: ++this.#version };
    await majority(this.#replicas, async (replica) => (await replica.write(key, entry, token)) || refuse());
    const known = this.#entries.get(key);
    if (known === undefined || isNewer(entry, known)) this.#entries.set(key, entry);
  }

  /** Only while the lease is valid is it sure that nobody has written anything newer. */
  get(key: string): string | undefined {
    if (!this.#lease.valid) refuse();
    return this.#entries.get(key)?.value;
  }
}

function refuse(): never {
  throw new NotMaster('another master has begun: this one writes and reads no more');
}

/** What a majority answers, as soon as it has. */
async function majority<T>(replicas: readonly ReplicaLink[], ask: (replica: ReplicaLink) => Promise<T>): Promise<T[]> {
  const needed = Math.floor(replicas.length / 2) + 1;
  return new Promise((resolve, reject) => {
    const answers: T[] = [];
    let failures = 0;
    const askOne = async (replica: ReplicaLink): Promise<void> => {
      try {
        if (answers.push(await ask(replica)) === needed) resolve([...answers]);
      } catch (error) {
        const failure = error instanceof Error ? error : new Error(String(error));
        if (failure instanceof NotMaster || ++failures > replicas.length - needed) reject(failure);
      }
    };
    for (const replica of replicas) void askOne(replica);
  });
}
