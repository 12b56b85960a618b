/**
 * What must happen at least once over a campaign: named counters, declared up front. A check that
 * nothing ever reached is worthless, and an undeclared counter is a misspelt one.
 */
import { TenureError } from '../kernel/index.ts';

export interface SometimesDeclaration {
  readonly name: string;
  /** One sentence for a person: what has happened when this counts. */
  readonly description: string;
}

interface Counter extends SometimesDeclaration {
  count: number;
}

export class Sometimes {
  readonly #counters = new Map<string, Counter>();

  constructor(declarations: readonly SometimesDeclaration[]) {
    for (const { name, description } of declarations) {
      if (this.#counters.has(name)) throw new TenureError('TENURE_BAD_ARGUMENT', `sometimes "${name}" is declared twice`, { name });
      this.#counters.set(name, { name, description, count: 0 });
    }
  }

  bump(name: string): void {
    this.#counter(name).count++;
  }

  count(name: string): number {
    return this.#counter(name).count;
  }

  /** Adds the counts of another run, for example what `toJSON` gave in another thread. */
  merge(other: Sometimes | Readonly<Record<string, number>>): void {
    const counts = Object.entries(other instanceof Sometimes ? other.toJSON() : other);
    // All or nothing: a misspelt name must not leave half a run counted.
    for (const [name] of counts) this.#counter(name);
    for (const [name, count] of counts) this.#counter(name).count += count;
  }

  /** What never happened, in the order of declaration. */
  unreached(): readonly SometimesDeclaration[] {
    const missing: SometimesDeclaration[] = [];
    for (const { name, description, count } of this.#counters.values()) if (count === 0) missing.push({ name, description });
    return missing;
  }

  /** Counts by name, in the order of the names. */
  toJSON(): Record<string, number> {
    const names = [...this.#counters.keys()].sort();
    return Object.fromEntries(names.map((name) => [name, this.#counter(name).count]));
  }

  #counter(name: string): Counter {
    const counter = this.#counters.get(name);
    if (counter === undefined) throw new TenureError('TENURE_BAD_ARGUMENT', `sometimes "${name}" was never declared`, { name });
    return counter;
  }
}
