/**
 * Watches of names on a store that tells no client of its changes: it is looked at again and again, and where it gives hints, at
 * once when one comes. Differences from the last look are told. A lease that comes and goes between two looks is
 * not seen.
 */
import type { LeaseEvent } from '../../core/index.ts';
import { encodeName } from '../../kernel/index.ts';
import type { Clocks } from '../../runtime/index.ts';
import type { NameAnswer, Surveys } from './surveys.ts';

/** From the end of a look to the next. A look at a prefix reads a record for each name that was ever used under it. */
const NAME_LOOK_US = 200_000;
const PREFIX_LOOK_US = 1_000_000;

interface LookoutGround {
  readonly surveys: Surveys;
  readonly clocks: Pick<Clocks, 'after'>;
  readonly told: (event: LeaseEvent) => void;
  /** Something may have been missed. */
  readonly gap: () => void;
}

/** A name, or all names with a prefix, and how many watches are of it. */
interface Target {
  readonly text: string;
  readonly isExact: boolean;
  watches: number;
  callOff: () => void;
}

interface KnownHolder {
  readonly owner: number;
  readonly token: number;
  readonly meta: Uint8Array | null;
}

export class Lookouts {
  readonly #ground: LookoutGround;
  readonly #names = new Map<string, Target>();
  readonly #prefixes = new Map<string, Target>();
  /** The holders as they were last told: of watched names only. */
  readonly #known = new Map<string, KnownHolder>();
  /** Names that a hint has come for and that are being asked about; true if another came meanwhile. */
  readonly #hinted = new Map<string, boolean>();
  #hasTrouble = false;
  /** How many accesses have failed. */
  #troubles = 0;

  constructor(ground: LookoutGround) {
    this.#ground = ground;
  }

  begin(text: string, isExact: boolean): void {
    const targets = isExact ? this.#names : this.#prefixes;
    const target = targets.get(text) ?? { text, isExact, watches: 0, callOff: () => {} };
    targets.set(text, target);
    // A caller that begins to watch asks for the held leases: that is the first look.
    if (target.watches++ === 0) this.#plan(target);
  }

  end(text: string, isExact: boolean): void {
    const targets = isExact ? this.#names : this.#prefixes;
    const target = targets.get(text);
    if (!target || --target.watches > 0) return;
    target.callOff();
    targets.delete(text);
    for (const name of this.#known.keys()) if (!this.#isWatched(name)) this.#known.delete(name);
  }

  /** Is to be told the answers to the next question. An answer that comes after an access has failed may not be the store's. */
  listener(): (name: string, answer: NameAnswer) => void {
    const troubles = this.#troubles;
    return (name, answer) => this.#note(name, answer, answer.certain || troubles === this.#troubles);
  }

  /**
   * An answer about a name, whichever caller asked. That another process holds a lease is never certain on plain registers: it is told as the
   * hint it is, if the store did answer. That no process holds it has to be certain.
   */
  #note(name: string, { holder, certain, meta }: NameAnswer, hasAnswered: boolean): void {
    if (!this.#isWatched(name) || !(holder === null ? certain : hasAnswered)) return;
    if (this.#hasTrouble) {
      this.#hasTrouble = false;
      this.#ground.gap();
    }
    const before = this.#known.get(name);
    if (holder === null) {
      if (before) this.#announce(name, null, null);
      this.#known.delete(name);
      return;
    }
    const { owner, token } = holder;
    if (before && before.owner === owner && before.token === token && isSame(before.meta, meta)) return;
    this.#known.set(name, { owner, token, meta });
    this.#announce(name, holder, meta);
  }

  /** The record of this name has perhaps changed. */
  hint(name: string): void {
    if (!this.#isWatched(name)) return;
    if (this.#hinted.has(name)) {
      this.#hinted.set(name, true);
      return;
    }
    this.#hinted.set(name, false);
    const heard = this.listener();
    this.#ground.surveys.ask(name, (answer) => {
      heard(name, answer);
      const again = this.#hinted.get(name) === true;
      this.#hinted.delete(name);
      if (again) this.hint(name);
    });
  }

  /** An access failed: looks may have come too late. */
  noteTrouble(): void {
    this.#troubles++;
    this.#hasTrouble = this.#names.size + this.#prefixes.size > 0;
  }

  stop(): void {
    for (const targets of [this.#names, this.#prefixes]) {
      for (const target of targets.values()) {
        // A look that is under way plans no other.
        target.watches = 0;
        target.callOff();
      }
      targets.clear();
    }
  }

  #isWatched(name: string): boolean {
    if (this.#names.has(name)) return true;
    for (const prefix of this.#prefixes.keys()) if (name.startsWith(prefix)) return true;
    return false;
  }

  #plan(target: Target): void {
    target.callOff = this.#ground.clocks.after(target.isExact ? NAME_LOOK_US : PREFIX_LOOK_US, () => this.#look(target));
  }

  #look(target: Target): void {
    const { surveys } = this.#ground;
    const done = (): void => {
      if (target.watches > 0) this.#plan(target);
    };
    const seen = this.listener();
    if (target.isExact) {
      surveys.each([target.text], seen, done);
      return;
    }
    surveys.names(target.text, (names) => {
      // A record that was erased is no longer listed.
      const known = [...this.#known.keys()].filter((name) => name.startsWith(target.text));
      surveys.each(names === null ? [] : [...new Set([...names, ...known])], seen, done);
    });
  }

  #announce(name: string, holder: NameAnswer['holder'], meta: Uint8Array | null): void {
    this.#ground.told({ kind: 'learned', name: encodeName(name), holder, meta });
  }
}

function isSame(a: Uint8Array | null, b: Uint8Array | null): boolean {
  return Buffer.compare(a ?? new Uint8Array(0), b ?? new Uint8Array(0)) === 0;
}
