/**
 * Which parts of a core's snapshot may name nodes. A renaming copies those parts, and nothing else: so a part that is still the same object names nobody, and need
 * not be hashed once more for each renumbering. Looked at are the parts of a snapshot, and the parts of these.
 */
import { invariant, type Json } from '../../kernel/index.ts';

/** A core's snapshot. */
export type Parts = Readonly<Record<string, Json>>;
/** Where a part is: its key, and that of the part of it. */
type Place = readonly [key: string, inner: string | null];

export class Renamings {
  readonly #before: Parts;
  readonly #kept: Place[] = [];
  readonly #copied: Place[] = [];

  /** `renamed` is the snapshot after any renaming: all copy the same parts. */
  constructor(before: Parts, renamed: Parts) {
    this.#before = before;
    for (const key of Object.keys(renamed).sort()) {
      const [part, was] = [renamed[key] as Json, before[key] as Json];
      if (part === was || !isParts(part) || !isParts(was)) this.#place(part === was, key, null);
      else for (const inner of Object.keys(part).sort()) this.#place(part[inner] === was[inner], key, inner);
    }
  }

  #place(isKept: boolean, key: string, inner: string | null): void {
    (isKept ? this.#kept : this.#copied).push([key, inner]);
  }

  /** With where each part is, so that this says all of it. */
  get kept(): Json[] {
    return [this.#copied, this.#kept, this.#kept.map((place) => partAt(this.#before, place))];
  }

  /** The parts that may name nodes, as they are after a renaming. */
  copied(renamed: Parts): Json[] {
    for (const place of this.#kept)
      invariant(partAt(renamed, place) === partAt(this.#before, place), 'a renaming copies what another one keeps');
    return this.#copied.map((place) => partAt(renamed, place));
  }
}

function partAt(parts: Parts, [key, inner]: Place): Json {
  const part = parts[key] as Json;
  return inner === null ? part : ((part as Parts)[inner] as Json);
}

function isParts(part: Json): part is Parts {
  return typeof part === 'object' && part !== null && !Array.isArray(part);
}
