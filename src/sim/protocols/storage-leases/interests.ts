/** What must happen sometimes in the worlds of leases on storage: each kind of store, and each shape of world, has its own. */
import type { HistoryRecord } from '../../../check/index.ts';
import type { LeaseMode } from '../../../kernel/index.ts';
import {
  CLOCK_INTERESTS,
  DAMAGE_INTERESTS,
  EPOCH_INTERESTS,
  HistoryObserver,
  LEASE_INTERESTS,
  PROCESS_INTERESTS,
  STORAGE_INTERESTS,
} from '../../interest.ts';
import type { Sometime } from '../../protocol.ts';
import type { StorageShape } from './worlds.ts';

const ALWAYS: readonly Sometime[] = [
  ...LEASE_INTERESTS,
  ...PROCESS_INTERESTS,
  ...STORAGE_INTERESTS.filter(({ name }) => name !== 'stale-read' && name !== 'early-read'),
  { name: 'void-attempt', description: 'an attempt came to nothing because an access was late, failed or was not answered' },
  { name: 'waiter-served', description: 'a lease was granted to one that had waited' },
  { name: 'renewed-early', description: 'a holder renewed its lease long before its end' },
  { name: 'renewal-failed', description: 'a renewal failed' },
  { name: 'proclaimed', description: 'a holder changed what it says of itself' },
  { name: 'release-acknowledged', description: 'the store answered a release' },
  { name: 'query-finds-holder', description: 'a question named the holder' },
  { name: 'query-finds-nobody', description: 'a question found the lease free' },
  { name: 'refused-held', description: 'a try was told who holds the lease' },
  { name: 'refused-queued', description: 'a try found another request of its process' },
  { name: 'refused-timeout', description: 'a wait ended' },
  { name: 'refused-cancelled', description: 'a request was cancelled' },
  { name: 'refused-unreachable', description: 'a request found no answer' },
];

const OF_KINDS: Readonly<Record<StorageKind, readonly Sometime[]>> = {
  plain: [{ name: 'refused-contended', description: 'a try was overtaken while it contended' }],
  swap: [
    { name: 'lost-swap', description: 'a swap found another record than it had seen' },
    { name: 'record-erased', description: 'a record was erased, and its token kept as a floor' },
  ],
  literal: [],
};

const SHARED: readonly Sometime[] = [
  { name: 'readers-together', description: 'a reader was granted what another reader held' },
  { name: 'writer-after-readers', description: 'a writer was granted what a reader had held last' },
  { name: 'reader-after-writer', description: 'a reader was granted what a writer had held last' },
  { name: 'data-synced', description: 'a holder stored data under its lease' },
  { name: 'sync-refused', description: 'a holder whose end was near did not store its data' },
  { name: 'sync-unknown', description: 'nobody knows whether data was stored' },
  { name: 'fetch-found', description: 'data was read' },
  { name: 'fetch-stale', description: 'older data was found than had been known' },
  { name: 'fetch-unanswered', description: 'a read of data was not answered' },
];

/** Sees readers and writers come and go. */
export class SharedInterest extends HistoryObserver {
  readonly #last = new Map<string, LeaseMode>();
  readonly #readers = new Map<string, number>();

  protected see(record: HistoryRecord): void {
    if (record.kind === 'synced') this.sometimes('data-synced');
    if (record.kind === 'crashed') this.#readers.clear();
    if (record.kind === 'ended') this.#count(record.resource, -1);
    if (record.kind !== 'granted') return;
    const { resource, mode = 'exclusive' } = record;
    const last = this.#last.get(resource);
    if (mode === 'exclusive' && last === 'shared') this.sometimes('writer-after-readers');
    if (mode === 'shared' && last === 'exclusive') this.sometimes('reader-after-writer');
    if (mode === 'shared' && (this.#readers.get(resource) ?? 0) > 0) this.sometimes('readers-together');
    this.#last.set(resource, mode);
    if (mode === 'shared') this.#count(resource, 1);
  }

  #count(resource: string, by: number): void {
    this.#readers.set(resource, Math.max(0, (this.#readers.get(resource) ?? 0) + by));
  }
}

const OF_SHAPES: Readonly<Partial<Record<StorageShape, readonly Sometime[]>>> = {
  weak: named(STORAGE_INTERESTS, ['stale-read', 'early-read']),
  stale: named(STORAGE_INTERESTS, ['stale-read']),
  damaged: [
    ...named(DAMAGE_INTERESTS, ['corrupt-record']),
    { name: 'unreadable-record', description: 'a record could not be read' },
    { name: 'refused-unreadable', description: 'a request met a record that cannot be read' },
  ],
  restored: [
    ...EPOCH_INTERESTS,
    { name: 'epoch-waited', description: 'a process has waited out the epoch of a store that may have lost writes' },
  ],
  repeated: named(DAMAGE_INTERESTS, ['repeated-write']),
  broken: [...named(DAMAGE_INTERESTS, ['repeated-write', 'forgotten-write', 'wiped-unit']), ...named(CLOCK_INTERESTS, ['slew'])],
};

/** What a store can do: plain registers, compare-and-set, or the paper's single register. */
export type StorageKind = 'plain' | 'swap' | 'literal';

export function storageInterests(kind: StorageKind | 'either', shapes: readonly StorageShape[]): readonly Sometime[] {
  const ofKind = kind === 'either' ? [...OF_KINDS.plain, ...OF_KINDS.swap, ...SHARED] : OF_KINDS[kind];
  const all = [...ALWAYS, ...ofKind, ...shapes.flatMap((shape) => OF_SHAPES[shape] ?? [])];
  return all.filter(({ name }, at) => all.findIndex((other) => other.name === name) === at);
}

function named(interests: readonly Sometime[], names: readonly string[]): Sometime[] {
  return interests.filter(({ name }) => names.includes(name));
}
