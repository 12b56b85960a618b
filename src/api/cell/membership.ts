/**
 * The members of a cell, by the number that each keeps, and their addresses: as this process was told at its start, and as the view says that it
 * has heard of since. Addresses that this process was told itself go before a view's: it may reach members another way.
 */
import { compareViews, configsOf, decodeView, encodeView, isIn, MEMBER_NUMBERS, type View, type ViewConfig } from '../../core/index.ts';
import { hashText, NO_BALLOT, quorumOf, TenureError } from '../../kernel/index.ts';
import type { MemberAddress } from '../../transport/index.ts';

/** Clients have numbers from here on. */
export const CLIENT_NUMBER: number = MEMBER_NUMBERS;
/** Of a member that is none yet, and will hear which number it has. */
export const NO_NUMBER = -1;

/** What a view says of a member: its id and its address, one in each line. The core passes it on as bytes. */
export function memberText(id: string, address: string): string {
  return Buffer.from(`${id}\n${address}`, 'utf8').toString('latin1');
}

export function readMemberText(text: string): { id: string; address: string } {
  const [id = '', address = ''] = Buffer.from(text, 'latin1').toString('utf8').split('\n');
  return { id, address };
}

/** Terms and voters of a cell, as its configuration states them. */
export type StatedTerms = Pick<ViewConfig, 'replication' | 'maxTermUs' | 'rateErrorPpm'>;

/** The view that a cell is set up with. */
export function foundingView(members: readonly MemberAddress[], { replication, maxTermUs, rateErrorPpm }: StatedTerms): View {
  const cur = {
    members: members.map(({ number, id, address }) => ({ number, key: hashText(id), text: memberText(id, address) })),
    replication,
    maxTermUs,
    rateErrorPpm,
  };
  return { epoch: 0, id: 0, cur, old: null, floor: NO_BALLOT, isMoved: false };
}

/** A view as `onView` tells it and `joinCell({ view })` takes it: text that says all of it. */
export function viewText(view: View): string {
  return Buffer.from(encodeView(view) ?? []).toString('base64url');
}

export function readViewText(text: string): View {
  const bytes = Buffer.from(text, 'base64url');
  const view = decodeView(bytes, 0, bytes.length);
  if (view === null)
    throw new TenureError('TENURE_BAD_ARGUMENT', 'view is no view of a cell: give it as onView told it, or `tenure members ls --json`');
  return view;
}

export class Membership {
  readonly #told: ReadonlyMap<string, string>;
  #view: View | null = null;
  #places: readonly MemberAddress[];

  constructor(told: readonly MemberAddress[]) {
    this.#told = new Map(told.map(({ id, address }) => [id, address]));
    this.#places = told;
  }

  /** Null as long as only what this process was told is known. */
  get view(): View | null {
    return this.#view;
  }

  /** The members of both sides of the view, in the order of their numbers. */
  get places(): readonly MemberAddress[] {
    return this.#places;
  }

  /** The members that this process goes on with when a change is over. */
  get current(): readonly MemberAddress[] {
    const { view } = this;
    return view === null ? this.#places : this.#places.filter(({ number }) => isIn(view.cur, number));
  }

  get ids(): readonly string[] {
    return this.#places.map(({ id }) => id);
  }

  get quorum(): number {
    return quorumOf(this.current.length);
  }

  idOf(number: number): string | undefined {
    return this.#places.find((place) => place.number === number)?.id;
  }

  numberOf(id: string): number | undefined {
    return this.#places.find((place) => place.id === id)?.number;
  }

  /** True if it has changed: the view is another one. */
  follow(view: View): boolean {
    if (this.#view !== null && compareViews(view, this.#view) === 0) return false;
    this.#view = view;
    this.#places = placesIn(view, this.#told);
    return true;
  }
}

function placesIn(view: View, told: ReadonlyMap<string, string>): MemberAddress[] {
  const places = new Map<number, MemberAddress>();
  for (const { members } of configsOf(view)) {
    for (const { number, text } of members) {
      const { id, address } = readMemberText(text);
      places.set(number, { number, id, address: told.get(id) ?? address });
    }
  }
  return [...places.values()].sort((a, b) => a.number - b.number);
}
