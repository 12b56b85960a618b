/**
 * How large a small world is. The explorer counts crashes, copies, losses, mishaps of storage and instants; everything else is a bound of the protocol's
 * own: its name, its usual value, what may be said instead, and a line of help.
 */
import { TenureError } from '../../kernel/index.ts';

/** What the explorer itself counts, in every world. */
export interface Budgets {
  readonly crashes: number;
  readonly duplicates: number;
  readonly losses: number;
  /** Accesses to storage that fail; none where nothing is said. */
  readonly failures?: number;
  /** Records that are corrupted, forgotten or wiped, and writes that go astray; none where nothing is said. */
  readonly damages?: number;
  /** The last instant: time goes from 0 to this, in steps of one. */
  readonly instants: number;
}

export interface Bound<Value extends number | boolean = number | boolean> {
  readonly usual: Value;
  /** As on a command line: `--acceptors <n>`, or `--no-release`, which says false. */
  readonly option: string;
  readonly about: string;
  /** Reads the value of the option. Throws TENURE_BAD_ARGUMENT, which names the values it takes. */
  read(text: string): Value;
}

/** The bounds a world has, by name. */
export type BoundsOf<Own> = { readonly [Name in keyof Own]: Bound<Exclude<Own[Name], undefined> & (number | boolean)> };

export function countBound(name: string, [from, to]: readonly [number, number], usual: number, about: string): Bound<number> {
  return {
    usual,
    option: `--${name} <n>`,
    about,
    read(text) {
      const value = Number(text);
      if (/^\d+$/.test(text) && value >= from && value <= to) return value;
      throw new TenureError('TENURE_BAD_ARGUMENT', `a whole number from ${from} to ${to} is needed.`);
    },
  };
}

const PPM = 1_000_000;

/** A share such as 0.1, kept in parts per million. */
export function shareBound(name: string, most: number, about: string): Bound<number> {
  return {
    usual: 0,
    option: `--${name} <share>`,
    about,
    read(text) {
      const value = Number(text);
      if (/^\d*\.?\d+$/.test(text) && value <= most) return Math.round(value * PPM);
      throw new TenureError('TENURE_BAD_ARGUMENT', `a share from 0 to ${most} is needed.`);
    },
  };
}

/** Something that may happen unless it is switched off: `--no-release`. */
export function switchBound(name: string, about: string): Bound<boolean> {
  return { usual: true, option: `--no-${name}`, about, read: () => false };
}

/** The explorer's own bounds, as usual or as a world says. */
export function budgetBounds({ crashes = 0, duplicates = 0, losses = 0, instants = 1 }: Partial<Budgets> = {}): BoundsOf<Budgets> {
  return {
    crashes: countBound('crashes', [0, 8], crashes, 'crashes in all'),
    duplicates: countBound('duplicates', [0, 8], duplicates, 'messages delivered twice, in all'),
    losses: countBound('losses', [0, 8], losses, 'messages dropped, in all (a message that never comes is covered without)'),
    instants: countBound('instants', [0, 15], instants, 'the last instant'),
  };
}

/** What the bounds are when nothing is said. */
export function usualBounds<Own extends Budgets>(bounds: BoundsOf<Own>): Own {
  const usual = Object.entries<Bound>(bounds).map(([name, bound]) => [name, bound.usual]);
  return Object.fromEntries(usual) as Own;
}
