/**
 * Clears the units of a replicated store of leftovers: blocks of lives that are over, and registers that were erased. Offline: while it runs
 * no process may use the store, and no write may be under way. Each unit keeps all that it had of every register, in one block.
 */
import { covers, decodeContent, merged, placeOfKey, UNIT_REGISTERS, type RegisterContent } from '../../core/index.ts';
import { TenureError } from '../../kernel/index.ts';
import type { Store } from '../contract.ts';
import type { ReplicatedStore } from './store.ts';
import { allKeys } from './unit-link.ts';

export interface UnitsCompaction {
  /** The number of registers, erased registers included. */
  readonly registers: number;
  /** Registers that were erased by their users, and are gone now. */
  readonly erased: number;
  /** Blocks of lives that are over. */
  readonly blocks: number;
}

interface UnitAt {
  readonly store: Store;
  readonly canSwap: boolean;
  /** By register, its keys on this unit. */
  readonly places: ReadonlyMap<string, readonly string[]>;
}

export async function compactUnits(store: ReplicatedStore, progress: (registers: number) => void = () => {}): Promise<UnitsCompaction> {
  const units: UnitAt[] = [];
  for (const { store: unit, canSwap } of await store.wholeUnits())
    units.push({ store: unit, canSwap, places: await placesAt(unit, canSwap) });
  const places = new Set(units.flatMap((unit) => [...unit.places.keys()]));
  let [registers, erased, blocks] = [0, 0, 0];
  for (const place of places) {
    const contents = await Promise.all(units.map(async (unit) => await contentsAt(unit, place)));
    let all: RegisterContent | null = null;
    for (const { content } of contents.flat()) all = merged(all, content);
    const isErased = all?.kind === 'stamped' && all.value === null;
    if (isErased) erased++;
    for (const [index, unit] of units.entries()) blocks += await clear(unit, contents[index] ?? [], isErased);
    progress(++registers);
  }
  return { registers, erased, blocks };
}

async function placesAt(store: Store, canSwap: boolean): Promise<Map<string, string[]>> {
  const places = new Map<string, string[]>();
  for (const key of await allKeys(store, UNIT_REGISTERS)) {
    const place = placeOfKey(key, !canSwap)?.place;
    if (place !== undefined) places.set(place, [...(places.get(place) ?? []), key]);
  }
  return places;
}

interface Block {
  readonly key: string;
  readonly content: RegisterContent;
}

async function contentsAt({ store, places }: UnitAt, place: string): Promise<Block[]> {
  const blocks: Block[] = [];
  for (const key of places.get(place) ?? []) {
    const bytes = await store.read(key);
    const content = bytes && decodeContent(place, bytes);
    if (bytes !== null && content === null) {
      throw new TenureError('TENURE_STORE_CORRUPT', `the record ${key} of ${store.url} cannot be read; nothing of it was changed`, { key });
    }
    if (content) blocks.push({ key, content });
  }
  return blocks;
}

/** How many blocks are gone. A block that covers others stays as it is; content that only several blocks have together stays in several. */
async function clear({ store }: UnitAt, blocks: readonly Block[], isErased: boolean): Promise<number> {
  const kept: Block[] = [];
  // The first that covers another makes that one needless; of equals the first stays.
  for (const block of isErased ? [] : blocks) {
    if (kept.some(({ content }) => covers(content, block.content))) continue;
    for (const other of kept.filter(({ content }) => covers(block.content, content))) kept.splice(kept.indexOf(other), 1);
    kept.push(block);
  }
  const gone = blocks.filter((block) => !kept.includes(block));
  for (const { key } of gone) {
    if ((await store.write(key, null)) !== 'done')
      throw store.lastUnknown ?? new TenureError('TENURE_STORE_UNREACHABLE', `${store.url} did not answer`);
  }
  return isErased ? 0 : gone.length;
}
