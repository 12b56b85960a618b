/** Reads of data stored under leases, and syncs that came to nothing. */
import type { StorageCommand, StorageEvent } from '../../core/index.ts';
import { checkName, encodeName, type TenureError } from '../../kernel/index.ts';
import { PendingCalls } from '../pending-calls.ts';
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
  readonly #open = new PendingCalls<Fetched>();

  constructor(ground: FetchGround) {
    this.#ground = ground;
  }

  get count(): number {
    return this.#open.count;
  }

  async read(name: string, signal: AbortSignal | undefined): Promise<StoredData | null> {
    checkName(name);
    const { nextNumber, command } = this.#ground;
    const lease = nextNumber();
    const send = (): void => command({ kind: 'fetch', lease, name: encodeName(name) });
    return this.#outcome(name, await this.#open.answer({ number: lease, signal, send }));
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
    this.#open.resolve(event.lease, event);
  }

  /** No answer will come any more. */
  failAll(error: TenureError): void {
    this.#open.rejectAll(error);
  }
}
