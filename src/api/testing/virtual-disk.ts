/** A disk for the testing kit: writes that were answered are there after a crash; writes under way at the crash are not. */
import type { Disk, DiskAnswer, DiskSection } from '../../runtime/index.ts';

export class VirtualDisk implements Disk {
  readonly #values: Map<string, Uint8Array>;
  readonly #sections: Map<string, VirtualDisk>;
  readonly #schedule: (task: () => void) => void;

  /** `before` is the same disk in an earlier life of its member. */
  constructor(schedule: (task: () => void) => void, before?: VirtualDisk) {
    this.#schedule = schedule;
    this.#values = before ? before.#values : new Map();
    this.#sections = before ? before.#sections : new Map();
  }

  section(name: string): DiskSection {
    const before = this.#sections.get(name);
    const disk = new VirtualDisk(this.#schedule, before);
    this.#sections.set(name, disk);
    return { disk, isKept: before !== undefined };
  }

  read(key: string, done: DiskAnswer): void {
    this.#schedule(() => done(true, this.#values.get(key) ?? null));
  }

  write(key: string, value: Uint8Array, done: DiskAnswer): void {
    const copy = value.slice();
    this.#schedule(() => {
      this.#values.set(key, copy);
      done(true, null);
    });
  }

  erase(key: string, done: DiskAnswer): void {
    this.#schedule(() => {
      this.#values.delete(key);
      done(true, null);
    });
  }
}
