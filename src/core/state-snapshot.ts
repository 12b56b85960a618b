/** State of plain objects, arrays, maps and bytes as a snapshot, and back. Maps are told in the order of their keys, so equal states give equal snapshots. */
import type { Snapshot } from './contract.ts';

export function asSnapshot(value: unknown): Snapshot {
  if (value instanceof Uint8Array) return { bytes: [...value] };
  if (value instanceof Map) {
    const entries = [...(value as Map<string | number, unknown>)].sort(([a], [b]) => (a < b ? -1 : 1));
    return { entries: entries.map(([key, one]) => [key, asSnapshot(one)]) };
  }
  if (Array.isArray(value)) return value.map(asSnapshot);
  if (typeof value !== 'object' || value === null) return value as Snapshot;
  return { fields: Object.fromEntries(Object.entries(value).map(([name, one]) => [name, asSnapshot(one)])) };
}

/** What `asSnapshot` was given: a new one, with nothing shared. */
export function fromSnapshot(snapshot: Snapshot): unknown {
  if (Array.isArray(snapshot)) return (snapshot as readonly Snapshot[]).map(fromSnapshot);
  if (typeof snapshot !== 'object' || snapshot === null) return snapshot;
  const { bytes, entries, fields } = snapshot as Readonly<Record<string, Snapshot>>;
  if (bytes !== undefined) return Uint8Array.from(bytes as readonly number[]);
  if (entries !== undefined)
    return new Map((entries as readonly [string | number, Snapshot][]).map(([key, one]) => [key, fromSnapshot(one)]));
  return Object.fromEntries(Object.entries(fields as Readonly<Record<string, Snapshot>>).map(([name, one]) => [name, fromSnapshot(one)]));
}
