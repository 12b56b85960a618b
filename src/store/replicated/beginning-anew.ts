/**
 * The way out for a replicated store with too few usable units: most lost writes, were wiped, or cannot read a record. Nothing tells what such a store
 * had, so nothing goes on by itself: an operator says that it begins anew (rule 26). It keeps what its units still have of every register, and gets another
 * identity, which is another epoch: its users hold nothing in it any more, and no user takes anything before one observation has passed (rule 23).
 */
import { randomUUID } from 'node:crypto';
import {
  decodeContent,
  decodeMark,
  decodeWhole,
  encodeContent,
  encodeMark,
  encodeWhole,
  blockKeyOf,
  isLaterContent,
  isSameText,
  MARK_KEY,
  merged,
  placeOfKey,
  recordKeyOf,
  UNIT_REGISTERS,
  WHOLE_KEY,
  type RegisterContent,
} from '../../core/index.ts';
import { quorumOf, TenureError } from '../../kernel/index.ts';
import type { AccessOptions, Store } from '../contract.ts';
import { conflicting } from '../failures.ts';
import { isUnreadableRecord } from '../record.ts';
import { checkMembers, decodeMembers, encodeMembers, freshUnitIdentity, writtenTo, type StoreMembers } from './members.ts';
import { allKeys } from './unit-link.ts';

export interface BegunAnew {
  /** How many registers are there. */
  readonly registers: number;
  /** Registers that no unit could read: they are gone. */
  readonly lost: readonly string[];
}

/** What one unit has of all registers. */
interface UnitContents {
  /** By place: what its records that can be read say together. */
  readonly contents: ReadonlyMap<string, RegisterContent>;
  /** Records that cannot be read. */
  readonly damaged: readonly { readonly key: string; readonly place: string }[];
}

/** All units are there, and no other store is named as one. The order of steps lets it be run again whenever it was interrupted. */
export async function beginUnitsAnew(
  url: string,
  stores: readonly Store[],
  units: readonly string[],
  access?: AccessOptions,
): Promise<BegunAnew> {
  const known = await membersOf(url, stores, units, access);
  if (await isUsable(stores, access)) {
    throw conflicting(url, 'enough of its units can be used, and a minority is mended by tenure store repair: nothing was changed');
  }
  const members = { id: randomUUID(), units: known.units, isAnew: true };
  const identities = stores.map(() => freshUnitIdentity());
  // From here on no operation of any process ends: values that were acknowledged before are at the units, and are read below.
  for (const [slot, store] of stores.entries()) {
    const mark = { identity: identities[slot] ?? 0, slot, epoch: Buffer.from(await store.epoch(access)), members: encodeMembers(members) };
    await writtenTo(store, MARK_KEY, encodeMark(mark), access);
  }
  const begun = await spread(stores, access);
  for (const [slot, store] of stores.entries()) await writtenTo(store, WHOLE_KEY, encodeWhole(identities[slot] ?? 0), access);
  return begun;
}

/** Of what store these are the units. Their marks may be of different beginnings: the last one was interrupted. */
async function membersOf(url: string, stores: readonly Store[], units: readonly string[], access?: AccessOptions): Promise<StoreMembers> {
  let members: StoreMembers | null = null;
  for (const store of stores) {
    const bytes = await store.read(MARK_KEY, access);
    const mark = bytes && decodeMark(bytes);
    if (!mark) continue;
    members = decodeMembers(mark.members);
    checkMembers(url, members, units);
  }
  if (members === null) throw conflicting(url, `none of its units says what it belongs to: run tenure store init '${url}'`);
  return members;
}

/** Whether every register can be read at a majority of units that count. */
async function isUsable(stores: readonly Store[], access?: AccessOptions): Promise<boolean> {
  const quorum = quorumOf(stores.length);
  const counting: Store[] = [];
  let members: Uint8Array | null = null;
  for (const [slot, store] of stores.entries()) {
    const [bytes, whole] = [await store.read(MARK_KEY, access), await store.read(WHOLE_KEY, access)];
    const mark = bytes && decodeMark(bytes);
    if (!mark || !whole || decodeWhole(whole) !== mark.identity || mark.slot !== slot) continue;
    if (!isSameText(mark.epoch, Buffer.from(await store.epoch(access)))) continue;
    members ??= mark.members;
    if (isSameText(mark.members, members)) counting.push(store);
  }
  if (counting.length < quorum) return false;
  const unread = new Map<string, number>();
  for (const store of counting) {
    const places = new Set((await contentsOf(store, access)).damaged.map(({ place }) => place));
    for (const place of places) unread.set(place, (unread.get(place) ?? 0) + 1);
  }
  return [...unread.values()].every((count) => counting.length - count >= quorum);
}

async function contentsOf(store: Store, access?: AccessOptions): Promise<UnitContents> {
  const contents = new Map<string, RegisterContent>();
  const damaged: { key: string; place: string }[] = [];
  for (const key of await allKeys(store, UNIT_REGISTERS, access)) {
    const place = placeOfKey(key, !store.can.swap)?.place;
    if (place === undefined) continue;
    const content = await contentAt(store, key, place, access);
    if (content === null) damaged.push({ key, place });
    else if (content !== undefined) contents.set(place, merged(contents.get(place) ?? null, content));
  }
  return { contents, damaged };
}

/** Null if the record cannot be read, undefined if there is none. One of a later version of Tenure is not damaged. */
async function contentAt(store: Store, key: string, place: string, access?: AccessOptions): Promise<RegisterContent | null | undefined> {
  let bytes: Uint8Array | null;
  try {
    bytes = await store.read(key, access);
  } catch (error) {
    if (!(error instanceof TenureError) || error.code !== 'TENURE_STORE_CORRUPT') throw error;
    return null;
  }
  if (bytes === null) return undefined;
  if (isLaterContent(place, bytes)) {
    throw new TenureError(
      'TENURE_STORE_FORMAT',
      `the record ${key} of ${store.url} was written by a later version of Tenure: upgrade this one`,
      { key },
    );
  }
  return decodeContent(place, bytes);
}

/** Every unit gets what any of them has of a register. A record that cannot be read is gone from all of them. */
async function spread(stores: readonly Store[], access?: AccessOptions): Promise<BegunAnew> {
  const all = new Map<string, RegisterContent>();
  const damagedPlaces = new Set<string>();
  for (const store of stores) {
    const { contents, damaged } = await contentsOf(store, access);
    for (const [place, content] of contents) all.set(place, merged(all.get(place) ?? null, content));
    for (const { key, place } of damaged) {
      damagedPlaces.add(place);
      await eraseDamaged(store, key, access);
    }
  }
  // A life of no process: no process writes this block again.
  const life = freshUnitIdentity();
  for (const [place, content] of all) {
    for (const store of stores) {
      const key = store.can.swap ? recordKeyOf(place) : blockKeyOf(place, life, 0);
      await writtenTo(store, key, encodeContent(place, content), access);
    }
  }
  const lost = [...damagedPlaces].filter((place) => !all.has(place)).map((place) => place.slice(1));
  return { registers: all.size, lost: lost.sort() };
}

/** A store that cannot read its own record cannot replace it either: then the unit has to be emptied by hand. */
async function eraseDamaged(store: Store, key: string, access?: AccessOptions): Promise<void> {
  try {
    await writtenTo(store, key, null, access);
  } catch (error) {
    if (!isUnreadableRecord(error)) throw error;
    throw new TenureError(
      'TENURE_STORE_CORRUPT',
      `${store.url} cannot read its own record ${key}, nor replace it: empty this unit, and run this command again; it gets what the others have`,
      { url: store.url, key },
    );
  }
}
