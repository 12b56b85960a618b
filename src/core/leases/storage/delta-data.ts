/**
 * Data under a lease on plain registers (S9): it has a register of its own, because a sync that lands late must not wipe a name. Nothing there refuses an older
 * write, so a holder whose deadline is near does not write, and a reader that knows newer data refuses older. What remains: a sync that hung lands over newer
 * data, and a process that has not seen the newer takes the older for the newest.
 */
import { monoAfter } from '../../../kernel/index.ts';
import type { StorageClaim } from './claim.ts';
import type { StorageStep } from './config.ts';
import { decodeDataRecord, encodeDataRecord, isUnreadable } from './contents.ts';
import type { DeltaConfig, DeltaDoing, DoingOf } from './delta-config.ts';
import { dataKeyOf } from './keys.ts';
import type { Answer, StorageLeases } from './leases.ts';

type DeltaClaim = StorageClaim<DeltaDoing>;

export class DeltaData {
  readonly #config: DeltaConfig;
  readonly #leases: StorageLeases<DeltaDoing>;

  constructor(config: DeltaConfig, leases: StorageLeases<DeltaDoing>) {
    this.#config = config;
    this.#leases = leases;
  }

  /** Sends the data that waits, once (rule 20); null if none does, or there is no time left for it. */
  store(claim: DeltaClaim, step: StorageStep): DoingOf<'storing'> | null {
    const { desk, owner } = this.#leases.ground;
    const { name, lease, token, data: bytes, proclaiming: number } = claim;
    if (bytes === null) return null;
    claim.data = null;
    if (this.#leases.remainingUs(claim, step.monoUs, step.wallUs) <= this.#config.timing.deltaUs) {
      this.#fail(claim, number, true, step);
      return null;
    }
    const data = { owner, lease, seq: desk.nextSeq(), token, bytes };
    const op = desk.nextOp();
    step.write(this.#config.unit, dataKeyOf(name), encodeDataRecord(name, data), op);
    return { kind: 'storing', ops: [op], data, number };
  }

  /** False if the holder has something else to do now: the answer did not come, or was no good. */
  stored(claim: DeltaClaim, { data, number }: DoingOf<'storing'>, ok: boolean, step: StorageStep): boolean {
    if (ok) {
      this.#leases.ground.data.note(claim.name, data);
      return claim.phase === 'holding';
    }
    this.#fail(claim, number, false, step);
    if (claim.phase === 'holding') this.#leases.failRenewal(claim, step);
    return false;
  }

  #fail(claim: DeltaClaim, number: number, refused: boolean, step: StorageStep): void {
    if (claim.proclaiming === number) claim.proclaiming = 0;
    step.emit({ kind: 'sync-failed', lease: claim.lease, number, refused });
  }

  fetch(claim: DeltaClaim, step: StorageStep): void {
    const { desk } = this.#leases.ground;
    const op = desk.nextOp();
    step.read(this.#config.unit, dataKeyOf(claim.name), op);
    desk.turn(claim, { kind: 'fetching', ops: [op] }, monoAfter(step.monoUs, this.#config.timing.patienceUs));
  }

  /** Null: no answer came. */
  fetched(claim: DeltaClaim, answer: Answer | null, step: StorageStep): void {
    const { lease, name } = claim;
    this.#leases.ground.desk.remove(claim);
    if (!answer?.ok) {
      step.emit({ kind: 'fetched', lease, outcome: 'unanswered', data: null });
      return;
    }
    const found = decodeDataRecord(name, answer.value);
    if (isUnreadable(found)) {
      step.emit({ kind: 'unreadable', lease, key: dataKeyOf(name), why: found });
      step.emit({ kind: 'fetched', lease, outcome: 'unreadable', data: null });
    } else {
      const isStale = found === null ? this.#leases.ground.data.knows(name) : !this.#leases.ground.data.note(name, found);
      step.emit({ kind: 'fetched', lease, outcome: isStale ? 'stale' : 'found', data: isStale ? null : found });
    }
  }
}
