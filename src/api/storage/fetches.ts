/** Reads of what was stored under leases, and syncs that came to nothing. */
import type { StorageCommand, StorageEvent } from '../../core/index.ts';
import { checkName, encodeName, type TenureError } from '../../kernel/index.ts';
import { onAbort } from '../signals.ts';
import { dataNotReached, staleData, unreadableRecord } from './failures.ts';

export interface StoredData {
  readonly data: Uint8Array;
  /** Of the lease that it was stored under. */
  readonly token: number;
}

type Fetched = Extract<StorageEvent, { kind: 'fetched' }>;

interface FetchGround {
  readonly url: string;
  readonly nextNumber: () => number;
  readonly command: (command: StorageCommand) => void;
  readonly lastFailure: () => TenureError | null;
}

export class Fetches {
  readonly #ground: FetchGround;
  readonly #open = new Map<number, { readonly told: (event: Fetched) => void; readonly failed: (error: unknown) => void }>();

  constructor(ground: FetchGround) {
    this.#ground = ground;
  }

  get count(): number {
    return this.#open.size;
  }

  async read(name: string, signal: AbortSignal | undefined): Promise<StoredData | null> {
    checkName(name);
    signal?.throwIfAborted();
    const lease = this.#ground.nextNumber();
    let calm = (): void => {};
    try {
      const event = await new Promise<Fetched>((told, failed) => {
        this.#open.set(lease, { told, failed });
        calm = onAbort(signal, failed);
        this.#ground.command({ kind: 'fetch', lease, name: encodeName(name) });
      });
      return this.#outcome(name, event);
    } finally {
      calm();
      this.#open.delete(lease);
    }
  }

  #outcome(name: string, { outcome, data }: Fetched): StoredData | null {
    const { url, lastFailure } = this.#ground;
    switch (outcome) {
      case 'found':
        return data && { data: data.bytes, token: data.token };
      case 'stale':
        throw staleData(url, name);
      case 'unreadable':
        throw unreadableRecord(url, name, undefined);
      default:
        // Unanswered.
        throw dataNotReached(url, name, lastFailure());
    }
  }

  hear(event: Fetched): void {
    this.#open.get(event.lease)?.told(event);
  }

  /** Nobody will answer any more. */
  failAll(error: TenureError): void {
    for (const { failed } of this.#open.values()) failed(error);
  }
}
