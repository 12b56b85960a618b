/**
 * Where a register is on a device, for ever: a sector that follows from its key. Nothing is allocated, because without a conditional write two processes could allocate the same.
 * A sector names its key. A sector of another key is never taken for empty: the access fails, and says so.
 */
import { createHash } from 'node:crypto';
import { TenureError } from '../../kernel/index.ts';
import { PARAMETERS_KEY, WAITED_KEY } from '../parameters.ts';
import { openStoreRecord, RECORD_FRAME_BYTES, sealStoreRecord } from '../record.ts';
import { SECTOR_BYTES } from './sectors.ts';

export const IDENTITY_SECTOR = 0;
/** How many sectors the store has: places follow from it, so it stays as when the store was made, though the device may have grown. */
export const LAYOUT_SECTOR = 3;
const LAYOUT_KEY = '_tenure/block/layout';
/** Sectors with a use of their own. */
const FIXED: ReadonlyMap<string, number> = new Map([
  [PARAMETERS_KEY, 1],
  [WAITED_KEY, 2],
]);
const FIRST_PROBE = 8;
const PROBE_PREFIX = '_tenure/probe/';
/** Processes that open the store at once write probes: they have a part of their own, far from everything that counts. */
const PROBES = 1016;
const FIRST_REGISTER: number = FIRST_PROBE + PROBES;
export const SECTORS_MIN: number = FIRST_REGISTER + 1024;

const KEY_BYTES_MAX = 255;
/** The record is framed with the name of its sector, and begins with its key: one byte for its length. */
export const BLOCK_VALUE_BYTES_MAX: number = SECTOR_BYTES - RECORD_FRAME_BYTES - 1 - KEY_BYTES_MAX;

export function sectorOf(key: string, sectors: number): number {
  const fixed = FIXED.get(key);
  if (fixed !== undefined) return fixed;
  const hash = createHash('sha256').update(key).digest().readUIntBE(0, 6);
  return key.startsWith(PROBE_PREFIX) ? FIRST_PROBE + (hash % PROBES) : FIRST_REGISTER + (hash % (sectors - FIRST_REGISTER));
}

export function encodeSector(key: string, value: Uint8Array, sector: number): Buffer {
  const name = Buffer.from(key);
  return sealStoreRecord(frameOf(sector), 'sector', Buffer.concat([Buffer.of(name.length), name, value]));
}

/** What the register of this key holds; null if nothing was ever written there. */
export function decodeSector(key: string, bytes: Buffer, sector: number, url: string): Uint8Array | null {
  if (isBlank(bytes)) return null;
  const payload = openStoreRecord(frameOf(sector), 'sector', recordIn(bytes));
  const end = 1 + (payload[0] ?? 0);
  const name = payload.subarray(1, end).toString('utf8');
  if (name === key) return Uint8Array.from(payload.subarray(end));
  throw new TenureError('TENURE_STORE_FULL', `the sector of '${key}' in ${url} is that of '${name}': use another name, or a larger store`, {
    url,
    name,
  });
}

export function encodeLayout(sectors: number): Buffer {
  return encodeSector(LAYOUT_KEY, Buffer.from(JSON.stringify({ sectors })), LAYOUT_SECTOR);
}

/** How many sectors the store was made with; null if that is not recorded. */
export function decodeLayout(bytes: Buffer, url: string): number | null {
  const found = decodeSector(LAYOUT_KEY, bytes, LAYOUT_SECTOR, url);
  return found && (JSON.parse(Buffer.from(found).toString()) as { readonly sectors: number }).sectors;
}

export function isBlank(bytes: Buffer): boolean {
  return bytes.readUInt32BE(0) === 0 && bytes.every((byte) => byte === 0);
}

/** The record at the beginning of a sector, without the bytes behind it. */
export function recordIn(sector: Buffer): Buffer {
  const length = RECORD_FRAME_BYTES + sector.readUInt32BE(LENGTH_AT);
  return Buffer.from(sector.subarray(0, Math.min(length, sector.length)));
}

/** Where the frame of a record has its length. */
const LENGTH_AT = 6;

function frameOf(sector: number): string {
  return `_tenure/sector/${sector}`;
}
