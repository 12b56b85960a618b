/**
 * What this process has seen in the records of others, and since when: on its own monotonic clock, from the answer
 * that first showed this very uid (rule 22). No two clocks are compared.
 */
import { monoUs, NEVER, type MonoUs } from '../../../kernel/index.ts';
import type { Snapshot } from '../../contract.ts';
import { isSameUid, type NameRecord } from './contents.ts';

export interface Sighting extends Omit<NameRecord, 'meta'> {
  readonly since: MonoUs;
  /** When it was last seen. */
  readonly lookedAt: MonoUs;
}

const KEPT_MAX = 1024;

export class Sightings {
  readonly #byName = new Map<string, Sighting>();
  /** Sightings older than this do not show that their writers are alive. */
  readonly #memoryUs: number;
  readonly #observesThisUid: boolean;

  constructor(memoryUs: number, observesThisUid: boolean) {
    this.#memoryUs = memoryUs;
    this.#observesThisUid = observesThisUid;
  }

  of(name: string): Sighting | undefined {
    return this.#byName.get(name);
  }

  /** True if another record was seen here not long ago: another process writes. */
  note(name: string, { owner, lease, seq, token, termUs, mode }: Omit<NameRecord, 'meta'>, now: MonoUs): boolean {
    const before = this.#byName.get(name);
    const isSame = before !== undefined && isSameUid(before, { owner, lease, seq });
    const since = before !== undefined && (isSame || !this.#observesThisUid) ? before.since : now;
    this.#byName.set(name, { owner, lease, seq, token, termUs, ...(mode && { mode }), since, lookedAt: now });
    if (this.#byName.size > KEPT_MAX) this.#sweep(now);
    return before !== undefined && !isSame && now - before.lookedAt <= this.#memoryUs;
  }

  forget(name: string): void {
    this.#byName.delete(name);
  }

  clear(): void {
    this.#byName.clear();
  }

  /** When the record that was seen is free, if it stays as it is; never if none was seen. */
  freeAt(name: string, observationUs: (seen: Sighting) => number): MonoUs {
    const seen = this.#byName.get(name);
    return seen === undefined ? NEVER : monoUs(seen.since + observationUs(seen));
  }

  /** Forgets sightings that were not looked at for long. */
  #sweep(now: MonoUs): void {
    for (const [name, { lookedAt }] of this.#byName) if (now - lookedAt > this.#memoryUs) this.#byName.delete(name);
  }

  snapshot(): Snapshot {
    const all = [...this.#byName].sort(([a], [b]) => (a < b ? -1 : 1));
    return all.map(([name, { owner, lease, seq, token, termUs, mode, since, lookedAt }]) => [
      name,
      { owner, lease, seq, token, termUs, ...(mode && { mode }), since, lookedAt },
    ]);
  }

  restore(snapshot: Snapshot): void {
    this.#byName.clear();
    for (const [name, sighting] of snapshot as unknown as readonly (readonly [string, Sighting])[]) this.#byName.set(name, sighting);
  }
}
