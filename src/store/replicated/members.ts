/**
 * Which units make up a replicated store: written into the mark of each when the store is set up, together with what each can do. All users name the same units;
 * a user with other units would count other majorities.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { decodeMark, decodeWhole, encodeMark, encodeWhole, MARK_KEY, UNIT_REGISTERS, WHOLE_KEY, type UnitMark } from '../../core/index.ts';
import { TenureError } from '../../kernel/index.ts';
import type { AccessOptions, Store } from '../contract.ts';
import { conflicting } from '../failures.ts';

export interface StoreMembers {
  /** The identity of the replicated store. */
  readonly id: string;
  /** In the order of their URLs. */
  readonly units: readonly { readonly url: string; readonly swap: boolean }[];
  /** Its units had lost their registers, and it has begun anew: it may have forgotten anything that was written before. */
  readonly isAnew?: boolean;
}

const FORMAT = 1;

export function encodeMembers({ id, units, isAnew }: StoreMembers): Uint8Array {
  const anew = isAnew === true ? { isAnew } : {};
  return Buffer.from(JSON.stringify({ format: FORMAT, id, units: units.map(({ url, swap }) => ({ url, swap })), ...anew }));
}

export function decodeMembers(bytes: Uint8Array): StoreMembers {
  const { format, id, units, isAnew } = JSON.parse(Buffer.from(bytes).toString()) as Partial<StoreMembers> & { readonly format?: number };
  if (format !== FORMAT || id === undefined || units === undefined) {
    throw new TenureError('TENURE_STORE_FORMAT', 'a later version of Tenure set up these units: upgrade this one');
  }
  return { id, units, ...(isAnew === true ? { isAnew } : {}) };
}

/** No identity is drawn twice. */
export function freshUnitIdentity(): number {
  return 1 + randomBytes(6).readUIntBE(0, 6);
}

/** What a unit says of itself; null if it says nothing. */
async function readMark(store: Store, access?: AccessOptions): Promise<UnitMark | null> {
  const bytes = await store.read(MARK_KEY, access);
  return bytes && decodeMark(bytes);
}

/** Throws unless these are the units that the store was set up with. */
export function checkMembers(url: string, members: StoreMembers, units: readonly string[]): void {
  const theirs = members.units.map((unit) => unit.url);
  if (theirs.length === units.length && theirs.every((one, index) => one === units[index])) return;
  throw conflicting(url, `its units are ${theirs.join(', ')}, and ${units.join(', ')} were asked for`);
}

/** What the marks of these units say they are; null if none has a mark. A unit of other units is refused. */
export async function membersIn(
  url: string,
  stores: readonly (Store | null)[],
  units: readonly string[],
  access?: AccessOptions,
): Promise<StoreMembers | null> {
  let members: StoreMembers | null = null;
  for (const store of stores) {
    const mark = store && (await readMark(store, access).catch(() => null));
    if (!mark) continue;
    const found = decodeMembers(mark.members);
    checkMembers(url, found, units);
    if (members !== null && members.id !== found.id) {
      throw conflicting(
        url,
        `its units were set up at different times, for different stores; ${store.url} is one of another. If it was begun anew and that was interrupted, do it again: tenure store repair --begin-anew`,
      );
    }
    members = found;
  }
  return members;
}

/**
 * Names all units, before anything was written to any of them. It may be run again if it was interrupted. Where something was written, a unit
 * without its name has lost its content: that is for `tenure store repair`.
 */
export async function setUpUnits(
  url: string,
  stores: readonly Store[],
  units: readonly string[],
  access?: AccessOptions,
): Promise<StoreMembers> {
  const able = stores.map(({ can }, index) => ({ url: units[index] ?? '', swap: can.swap }));
  const members = (await membersIn(url, stores, units, access)) ?? { id: randomUUID(), units: able };
  const unnamed: { readonly store: Store; readonly slot: number }[] = [];
  for (const [slot, store] of stores.entries()) if (!(await isNamed(store, access))) unnamed.push({ store, slot });
  if (unnamed.length === 0) return members;
  for (const store of stores) {
    if ((await store.list(UNIT_REGISTERS, { ...access, limit: 1 })).length === 0) continue;
    const lost = unnamed.map(({ store: { url: one } }) => one).join(', ');
    throw conflicting(url, `it is in use, and ${lost} lost what it had, or was never a part of it: run tenure store repair`);
  }
  for (const { store, slot } of unnamed) {
    const identity = freshUnitIdentity();
    const epoch = Buffer.from(await store.epoch(access));
    await writtenTo(store, MARK_KEY, encodeMark({ identity, slot, epoch, members: encodeMembers(members) }), access);
    await writtenTo(store, WHOLE_KEY, encodeWhole(identity), access);
  }
  return members;
}

async function isNamed(store: Store, access?: AccessOptions): Promise<boolean> {
  const whole = await store.read(WHOLE_KEY, access);
  const mark = await readMark(store, access);
  return whole !== null && mark !== null && decodeWhole(whole) === mark.identity;
}

/** Null erases it. Throws unless it is known to be done. */
export async function writtenTo(store: Store, key: string, bytes: Uint8Array | null, access?: AccessOptions): Promise<void> {
  if ((await store.write(key, bytes, access)) === 'done') return;
  throw store.lastUnknown ?? new TenureError('TENURE_STORE_UNREACHABLE', `${store.url} did not answer`, { url: store.url });
}
