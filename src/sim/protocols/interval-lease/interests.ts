/** What must happen sometimes to claims. */
import { IntervalSet } from '../../../kernel/index.ts';
import type { Claimed, HistoryRecord } from '../../../check/index.ts';
import { DISK_INTERESTS, HistoryObserver, WORLD_INTERESTS } from '../../interest.ts';
import type { Sometime } from '../../protocol.ts';

export const INTERVAL_INTERESTS: readonly Sometime[] = [
  { name: 'grant', description: 'a claim was granted' },
  { name: 'refusal', description: 'a claim was refused' },
  { name: 'call-off', description: 'a claim was called off' },
  { name: 'block-after-refusal', description: 'a block was granted after it was refused elsewhere' },
  { name: 'withdrawn-range-granted', description: 'integers of a claim that was withdrawn were granted to another' },
  { name: 'inside-refused', description: 'a claim inside another was refused' },
  { name: 'open-across-restart', description: 'an acceptor came back and found open claims on its disk' },
  { name: 'bootstrap', description: 'the blank disks of all members began' },
  { name: 'joined', description: 'a member that had lost its disk was in use again' },
  { name: 'copied-member-voted', description: 'a member that had lost its disk acknowledged a claim' },
  { name: 'exhausted', description: 'a block was refused because no majority had room for it' },
  { name: 'fell-silent', description: 'a member whose disk failed said so and answered no more' },
  ...WORLD_INTERESTS.filter(({ name }) => name !== 'twin'),
  ...DISK_INTERESTS,
];

/** Sees what histories tell of claims. */
export class ClaimInterest extends HistoryObserver {
  readonly #claims = new Map<string, Claimed>();
  readonly #withdrawn = new Map<string, IntervalSet>();

  protected see(record: HistoryRecord): void {
    if (!('claim' in record)) return;
    const key = `${record.incarnation} ${record.claim}`;
    const claimed = this.#claims.get(key);
    switch (record.kind) {
      case 'claimed':
        this.#claims.set(key, record);
        return;
      case 'allotted':
        if (this.#withdrawnOf(record.space).overlaps(record.from, record.to)) this.sometimes('withdrawn-range-granted');
        this.#claims.delete(key);
        return;
      case 'denied':
        if (claimed?.from !== undefined && this.#isInside(claimed)) this.sometimes('inside-refused');
        return;
      case 'cleared':
        if (claimed?.from !== undefined && claimed.to !== undefined && claimed.to < Number.MAX_SAFE_INTEGER)
          this.#withdrawnOf(record.space).add(claimed.from, claimed.to);
        this.#claims.delete(key);
        return;
      default:
        return;
    }
  }

  #isInside({ space, from = 0, to = 0, claim, incarnation }: Claimed): boolean {
    for (const other of this.#claims.values()) {
      if (other.space !== space || (other.claim === claim && other.incarnation === incarnation)) continue;
      if ((other.from ?? Infinity) < from && to < (other.to ?? -1)) return true;
    }
    return false;
  }

  #withdrawnOf(space: string): IntervalSet {
    let set = this.#withdrawn.get(space);
    if (set === undefined) this.#withdrawn.set(space, (set = new IntervalSet()));
    return set;
  }
}
