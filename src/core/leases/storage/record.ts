/** The frame of every record of a lease on storage, and which kinds of records there are. A record that cannot be read is never taken for "nothing there": that would make a held lease free. */
import { openRecord, sealRecord, type OpenedRecord, type Unreadable } from '../../sealed-record.ts';

/** These numbers never change. */
export const LEASE_RECORD_KINDS = {
  /** x: the name in a plain register. */
  name: 1,
  /** y: what a writer states of its name. */
  statement: 2,
  /** ⊥ as the literal variant writes it. */
  nothing: 3,
  /** The one record of a store that can compare and set. */
  lease: 4,
  /** How high the tokens of erased records went. */
  floor: 5,
  /** What a holder has stored under its lease, on plain registers. */
  data: 6,
} as const;

export type LeaseRecordKind = keyof typeof LEASE_RECORD_KINDS;

/** `TNLS`. */
const MAGIC = 0x54_4e_4c_53;

export function sealLeaseRecord(name: string, kind: LeaseRecordKind, content: Uint8Array): Uint8Array {
  return sealRecord({ magic: MAGIC, place: name, kind: LEASE_RECORD_KINDS[kind], content });
}

export function openLeaseRecord(name: string, record: Uint8Array): OpenedRecord | Unreadable {
  return openRecord(MAGIC, name, record);
}
