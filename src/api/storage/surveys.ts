/**
 * Questions about names that no caller asked one by one: lists, and the looks of watches. The core answers for each name; which
 * names there are, the store lists.
 */
import type { LeaseEvent, ListedName, StorageCommand } from '../../core/index.ts';
import { encodeName, RESERVED_NAME_PREFIX } from '../../kernel/index.ts';
import type { SharedUnit } from '../../runtime/index.ts';
import { LEASE_NUMBERS_MAX } from '../leases/service.ts';

export type NameAnswer = Pick<Extract<LeaseEvent, { kind: 'answered' }>, 'holder' | 'certain' | 'meta'>;

interface SurveyGround {
  /** So many names are asked about at once. */
  readonly atOnce: number;
  readonly unit: Pick<SharedUnit, 'list'>;
  readonly command: (command: StorageCommand) => void;
}

export class Surveys {
  readonly #ground: SurveyGround;
  readonly #asking = new Map<number, (answer: NameAnswer) => void>();
  readonly #lists = new Set<number>();
  /** The lease service has the numbers below. */
  #lastNumber = LEASE_NUMBERS_MAX;

  constructor(ground: SurveyGround) {
    this.#ground = ground;
  }

  nextNumber(): number {
    return ++this.#lastNumber;
  }

  ask(name: string, told: (answer: NameAnswer) => void): void {
    const lease = this.nextNumber();
    this.#asking.set(lease, told);
    this.#ground.command({ kind: 'query', lease, name: encodeName(name) });
  }

  /** True if it was a question of this. */
  hear({ lease, holder, certain, meta }: Extract<LeaseEvent, { kind: 'answered' }>): boolean {
    const told = this.#asking.get(lease);
    if (!told) return false;
    this.#asking.delete(lease);
    told({ holder, certain, meta });
    return true;
  }

  /** The names that have a record, held or not; null if the store did not say. */
  names(prefix: string, told: (names: string[] | null) => void): void {
    this.#ground.unit.list(prefix, ({ ok, keys }) => told(ok && keys ? keys.filter((key) => !key.startsWith(RESERVED_NAME_PREFIX)) : null));
  }

  each(names: readonly string[], told: (name: string, answer: NameAnswer) => void, done: () => void): void {
    let [next, left] = [0, names.length];
    const go = (): void => {
      const name = names[next++];
      if (name === undefined) return;
      this.ask(name, (answer) => {
        told(name, answer);
        if (--left === 0) done();
        else go();
      });
    };
    if (left === 0) done();
    else for (let i = 0; i < this.#ground.atOnce; i++) go();
  }

  list(lease: number, prefix: string, told: (event: LeaseEvent) => void, seen: (name: string, answer: NameAnswer) => void): void {
    this.#lists.add(lease);
    const leases: ListedName[] = [];
    const end = (certain: boolean): void => {
      if (this.#lists.delete(lease)) told({ kind: 'listed', lease, leases, certain });
    };
    this.names(prefix, (names) => {
      if (names === null) {
        end(false);
        return;
      }
      let isWhole = true;
      this.each(
        names,
        (name, answer) => {
          seen(name, answer);
          const { holder, certain, meta } = answer;
          if (holder !== null) leases.push({ name: encodeName(name), holder, certain, meta });
          else if (!certain) isWhole = false;
        },
        () => end(isWhole),
      );
    });
  }

  /** Its caller does not wait for it any more. */
  unlist(lease: number): void {
    this.#lists.delete(lease);
  }
}
