/**
 * Lampson's hierarchy: who owns a volume is decided by consensus, one owner after the other, and is never in doubt; below its owner there are light leases.
 * The lease `volume-7/alive` only tells whether the owner is still there. If that is ever wrong, a second owner is decided, with a higher number, and the
 * volume refuses the first one: nothing here relies on time to be safe.
 */
import { mkdirSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openStorage } from 'tenure';
import { initParameters, openStore } from 'tenure/store';

type Storage = Awaited<ReturnType<typeof openStorage>>;

/** Stands for a disk: it takes orders of the owner with the highest number that it has seen, and of no other. */
class Volume {
  #number = 0;
  readonly #files = new Map<string, string>();

  write(number: number, file: string, text: string): boolean {
    if (number < this.#number) return false;
    this.#number = number;
    this.#files.set(file, text);
    return true;
  }
}

/** Becomes the next owner: asks for number after number until one is its own. */
async function own(storage: Storage, name: string): Promise<number> {
  for (let number = 1; ; number++) {
    const owner = Buffer.from(await storage.decide(`volume-7/owner/${number}`, name)).toString();
    if (owner === name) return number;
  }
}

const root = mkdtempSync(join(tmpdir(), 'volumes-'));
const units = ['a', 'b', 'c'].map((name) => join(root, name));
for (const unit of units) mkdirSync(unit);
const url = `replicated:?${units.map((unit) => `unit=file://${unit}?sync=off`).join('&')}`;
const store = await openStore(url, { create: 'init' }); // once, as `tenure store init` does
await initParameters(store);
await store.close();

const volume = new Volume();
const [first, second] = [await openStorage(url), await openStorage(url)];

const alive = await first.acquire('volume-7/alive');
const one = await own(first, 'first');
console.log(`first owns the volume with number ${one}`);
await first.using('volume-7/file/report', async () => {
  console.log(`first writes under a light lease: ${volume.write(one, 'report', 'by first')}`);
});

await alive.release(); // as if it had died, or others believed so
await second.acquire('volume-7/alive');
const two = await own(second, 'second');
console.log(`second owns the volume with number ${two}`);
console.log(`second writes: ${volume.write(two, 'report', 'by second')}`);
console.log(`first writes again: ${volume.write(one, 'report', 'by first')}`);

await first.close();
await second.close();
