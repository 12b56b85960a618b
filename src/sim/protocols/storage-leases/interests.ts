/** What must happen sometimes in the worlds of leases on storage: each kind of store, and each shape of world, says what it brings. */
import {
  CLOCK_INTERESTS,
  DAMAGE_INTERESTS,
  EPOCH_INTERESTS,
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

export function storageInterests(kind: StorageKind, shapes: readonly StorageShape[]): readonly Sometime[] {
  const all = [...ALWAYS, ...OF_KINDS[kind], ...shapes.flatMap((shape) => OF_SHAPES[shape] ?? [])];
  return all.filter(({ name }, at) => all.findIndex((other) => other.name === name) === at);
}

function named(interests: readonly Sometime[], names: readonly string[]): Sometime[] {
  return interests.filter(({ name }) => names.includes(name));
}
