/**
 * The holds open now, by resource: opened by `granted`, closed by `ended` or by the crash of their
 * incarnation. A closed hold leaves nothing behind. What an overlap means is for the referees.
 */
import type { Json, LeaseMode } from '../kernel/index.ts';
import type { Granted } from './history.ts';
import { inOrder, whoSeen, type Perspective, type Who, type WhoMemory } from './memory.ts';

export interface Hold extends Pick<Granted, 'node' | 'incarnation' | 'token'> {
  /** `at` of its grant, for messages; null where that was not remembered. */
  readonly since: number | null;
  mode: LeaseMode;
  /** The next older hold of the same resource; in a correct history both are shared. */
  next: Hold | null;
}

type HoldMemory = readonly [resource: string, who: WhoMemory, token: number, mode: LeaseMode];

type Holding = Pick<Granted, 'node' | 'incarnation' | 'resource' | 'token' | 'mode'>;

function isOf(hold: Hold, act: Holding): boolean {
  return hold.token === act.token && hold.node === act.node && hold.incarnation === act.incarnation;
}

export class OpenHolds {
  readonly #newest = new Map<string, Hold>();

  /** The newest open hold of a resource; older holds follow by `next`. */
  newest(resource: string): Hold | undefined {
    return this.#newest.get(resource);
  }

  /** The open hold an act belongs to: same resource, incarnation and token. */
  find(act: Holding): Hold | undefined {
    let hold = this.#newest.get(act.resource) ?? null;
    while (hold !== null && !isOf(hold, act)) hold = hold.next;
    return hold ?? undefined;
  }

  open({ at, ...grant }: Granted): void {
    this.#open(grant, at);
  }

  /** A holder may have become a reader. */
  retune(act: Holding): void {
    const hold = this.find(act);
    if (hold) hold.mode = act.mode ?? 'exclusive';
  }

  /** Closes one hold; a hold that is not open stays so. */
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

  closeAllOf(who: Who): void {
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

  /** Which of several holds of a resource is the newest makes a difference to messages only. */
  snapshot(seen: Perspective): Json {
    const holds: HoldMemory[] = [];
    for (const [resource, newest] of this.#newest) {
      for (let hold: Hold | null = newest; hold !== null; hold = hold.next) {
        holds.push([resource, whoSeen(hold, seen), hold.token, hold.mode]);
      }
    }
    return inOrder(holds);
  }

  restore(memory: Json): void {
    for (const [resource, [node, incarnation], token, mode] of memory as readonly HoldMemory[])
      this.#open({ node, incarnation, resource, token, mode }, null);
  }

  #open({ node, incarnation, token, resource, mode = 'exclusive' }: Holding, since: number | null): void {
    this.#newest.set(resource, { node, incarnation, token, mode, since, next: this.#newest.get(resource) ?? null });
  }

  #replaceNewest(resource: string, hold: Hold | null): void {
    if (hold === null) this.#newest.delete(resource);
    else this.#newest.set(resource, hold);
  }
}
