/**
 * Clears a store of the records of leases that were given back. The floor of tokens is raised above all that will go, and only then each record is
 * erased, on the condition that it is still the record that was seen. The next creator reads the floor after that, so tokens rise on.
 */
import { decodeLeaseRecord, isUnreadable } from '../core/index.ts';
import { RESERVED_NAME_PREFIX, TenureError } from '../kernel/index.ts';
import { LIST_LIMIT_MAX, raiseFloor, readFloor, readParameters, type Store } from '../store/index.ts';

export interface CompactionResult {
  /** Records of leases that were looked at. */
  readonly records: number;
  readonly erased: number;
  /** A process holds these, or did and vanished. */
  readonly held: number;
  /** Given back, and taken or changed before they could be erased; or no answer told whether they were. */
  readonly changed: number;
  /** Names whose records cannot be read. They stay. */
  readonly unreadable: readonly string[];
  /** Every token of a record that is created from now on is higher. */
  readonly floor: number;
}

interface FreeRecord {
  readonly name: string;
  readonly bytes: Uint8Array;
  readonly token: number;
}

type Sight = FreeRecord | 'held' | 'gone' | 'unreadable';

/** So many accesses are under way at once. */
const AT_ONCE = 16;

export async function compactStore(store: Store, progress: (records: number) => void = () => {}): Promise<CompactionResult> {
  const isPlain = !store.can.swap || (await readParameters(store))?.isPlain === true;
  if (isPlain || !store.can.list) {
    const why = isPlain
      ? 'has plain leases, without compare-and-set, and nobody can tell for certain that one is not used'
      : 'cannot list what is in it';
    throw new TenureError('TENURE_UNSUPPORTED', `the store ${store.url} cannot be compacted: it ${why}`, { url: store.url });
  }
  let [records, erased, held, changed] = [0, 0, 0, 0];
  const unreadable: string[] = [];
  for await (const names of pagesOf(store)) {
    const sights = await inTurns(names, async (name) => await look(store, name));
    const free = sights.filter((sight) => typeof sight === 'object');
    if (free.length > 0) await raiseFloor(store, Math.max(...free.map(({ token }) => token)));
    const outcomes = await inTurns(free, async ({ name, bytes }) => await store.swap(name, bytes, null));
    const won = outcomes.filter((outcome) => outcome === 'won').length;
    records += sights.filter((sight) => sight !== 'gone').length;
    erased += won;
    changed += outcomes.length - won;
    held += sights.filter((sight) => sight === 'held').length;
    unreadable.push(...names.filter((_, index) => sights[index] === 'unreadable'));
    progress(records);
  }
  return { records, erased, held, changed, unreadable, floor: await readFloor(store) };
}

async function* pagesOf(store: Store): AsyncGenerator<string[]> {
  for (let after: string | undefined; ;) {
    const page = await store.list('', after === undefined ? {} : { after });
    yield page.filter((key) => !key.startsWith(RESERVED_NAME_PREFIX));
    if (page.length < LIST_LIMIT_MAX) return;
    after = page.at(-1);
  }
}

async function look(store: Store, name: string): Promise<Sight> {
  const bytes = await store.read(name);
  const record = decodeLeaseRecord(name, bytes);
  if (bytes === null || record === null) return 'gone';
  if (isUnreadable(record)) return 'unreadable';
  // Data that was stored under a lease stays.
  return record.isHeld || record.data ? 'held' : { name, bytes, token: record.token };
}

async function inTurns<Item, Outcome>(items: readonly Item[], act: (item: Item) => Promise<Outcome>): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  for (let at = 0; at < items.length; at += AT_ONCE) outcomes.push(...(await Promise.all(items.slice(at, at + AT_ONCE).map(act))));
  return outcomes;
}
