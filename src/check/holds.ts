/**
 * The holds open now, by resource: opened by `granted`, closed by `ended` or by the crash of their
 * incarnation. A closed hold leaves nothing behind. What an overlap means is for the referees.
 */
import type { Granted, Happened } from './history.ts';

export interface Hold extends Pick<Granted, 'node' | 'incarnation' | 'token'> {
  /** `at` of its grant. */
  readonly since: number;
  /** The next older hold of the same resource; null in every correct history. */
  next: Hold | null;
}

type Holding = Pick<Granted, 'node' | 'incarnation' | 'resource' | 'token'>;

function isOf(hold: Hold, act: Holding): boolean {
  return hold.token === act.token && hold.node === act.node && hold.incarnation === act.incarnation;
}

export class OpenHolds {
  readonly #newest = new Map<string, Hold>();

  /** The newest open hold of a resource; older ones follow by `next`. */
  newest(resource: string): Hold | undefined {
    return this.#newest.get(resource);
  }

  /** The open hold an act belongs to: same resource, incarnation and token. */
  find(act: Holding): Hold | undefined {
    let hold = this.#newest.get(act.resource) ?? null;
    while (hold !== null && !isOf(hold, act)) hold = hold.next;
    return hold ?? undefined;
  }

  open(grant: Granted): void {
    const { node, incarnation, token, at, resource } = grant;
    this.#newest.set(resource, { node, incarnation, token, since: at, next: this.#newest.get(resource) ?? null });
  }

  /** Closes one hold; one that is not open stays so. */
  close(act: Holding): void {
    const first = this.#newest.get(act.resource);
    if (first === undefined) return;
    if (isOf(first, act)) {
      this.#replaceNewest(act.resource, first.next);
      return;
    }
    for (let hold = first; hold.next !== null; hold = hold.next) {
      if (!isOf(hold.next, act)) continue;
      hold.next = hold.next.next;
      return;
    }
  }

  closeAllOf(who: Pick<Happened, 'node' | 'incarnation'>): void {
    for (const [resource, first] of this.#newest) {
      let kept: Hold | null = null;
      let tail: Hold | null = null;
      for (let hold: Hold | null = first; hold !== null; hold = hold.next) {
        if (hold.node === who.node && hold.incarnation === who.incarnation) continue;
        if (tail === null) kept = hold;
        else tail.next = hold;
        tail = hold;
      }
      if (tail !== null) tail.next = null;
      if (kept !== first) this.#replaceNewest(resource, kept);
    }
  }

  #replaceNewest(resource: string, hold: Hold | null): void {
    if (hold === null) this.#newest.delete(resource);
    else this.#newest.set(resource, hold);
  }
}
