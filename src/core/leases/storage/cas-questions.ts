/** Questions about a lease, where the store can compare and set: its holder, and its data; and the end of unused records. None of them requests the lease. */
import { monoAfter, type MonoUs } from '../../../kernel/index.ts';
import type { CasDoing, CasDoingOf } from './cas-config.ts';
import type { StorageClaim } from './claim.ts';
import type { ReaderWatch } from './cas-readers.ts';
import { Compaction } from './compaction.ts';
import type { StorageConfig, StorageStep } from './config.ts';
import { decodeLeaseRecord, isUnreadable, type Found, type LeaseRecord } from './contents.ts';
import { nameKeyOf } from './keys.ts';
import type { Answer, StorageLeases } from './leases.ts';
import type { Sighting } from './sightings.ts';

type CasClaim = StorageClaim<CasDoing>;

export class CasQuestions {
  readonly #config: StorageConfig;
  readonly #leases: StorageLeases<CasDoing>;
  readonly #compaction: Compaction;
  readonly #readers: ReaderWatch;
  readonly #observationUs: (seen: Sighting) => number;

  constructor(config: StorageConfig, leases: StorageLeases<CasDoing>, readers: ReaderWatch, observationUs: (seen: Sighting) => number) {
    this.#config = config;
    this.#leases = leases;
    this.#compaction = new Compaction(config, leases.ground.desk);
    this.#readers = readers;
    this.#observationUs = observationUs;
  }

  ask(claim: CasClaim, step: StorageStep): void {
    if (claim.wants === 'erasure') {
      this.#compaction.begin(claim, step);
      return;
    }
    const { desk } = this.#leases.ground;
    const own = claim.wants === 'data' ? null : this.#leases.ownHolder(claim.name, step);
    if (own !== null) {
      this.#leases.answerOwn(claim, own, step);
      return;
    }
    const op = desk.nextOp();
    step.read(this.#config.unit, nameKeyOf(claim.name), op);
    const until = monoAfter(step.monoUs, this.#config.timing.patienceUs);
    const doing: CasDoing =
      claim.wants === 'data' ? { kind: 'fetching', ops: [op] } : { kind: 'looking', ops: [op], readMono: step.monoUs };
    desk.turn(claim, doing, until);
  }

  answered(
    claim: CasClaim,
    doing: CasDoingOf<'looking' | 'fetching' | 'finding' | 'finding-floor' | 'raising-floor' | 'erasing'>,
    answer: Answer,
    step: StorageStep,
  ): void {
    if (doing.kind === 'fetching') this.#fetched(claim, answer, step);
    else if (doing.kind !== 'looking') this.#compaction.answered(claim, doing, answer, step);
    else if (answer.ok) this.#looked(claim, doing.readMono, decodeLeaseRecord(claim.name, answer.value), step);
    else this.due(claim, step);
  }

  /** No answer came. */
  due(claim: CasClaim, step: StorageStep): void {
    if (claim.wants === 'erasure') this.#compaction.due(claim, step);
    else if (claim.wants === 'data') this.#fetched(claim, null, step);
    else this.#leases.answer(claim, this.#leases.hint(claim.name, step), false, null, step);
  }

  /**
   * A read is certain. Where the record is free, no process held the lease at that instant: a holder's record stays until the holder has
   * stopped, or its deadline has passed for the process that watched it. Where it is held, no process but its owner held it. Not so while
   * an epoch is waited out: the store may have lost a holder's write.
   */
  #looked(claim: CasClaim, readMono: MonoUs, found: Found<LeaseRecord>, step: StorageStep): void {
    if (isUnreadable(found)) {
      step.emit({ kind: 'unreadable', lease: claim.lease, key: nameKeyOf(claim.name), why: found });
      this.#leases.answer(claim, null, false, null, step);
      return;
    }
    const { sightings, takesFrom } = this.#leases.ground;
    const isHeld = found !== null && found.isHeld;
    if (isHeld) sightings.note(claim.name, found, step.monoUs);
    if (isHeld && found.readers) {
      this.#read(claim, readMono, found, step);
      return;
    }
    // The read says nothing of the time after it began: the record may have been renewed before the answer came.
    const isFree = !isHeld || readMono >= sightings.freeAt(claim.name, this.#observationUs);
    const holder = isFree ? null : this.#leases.hint(claim.name, step);
    const certain = (isFree || holder !== null) && readMono >= takesFrom();
    this.#leases.answer(claim, holder, certain, found?.meta ?? null, step);
  }

  /** Readers hold it: the answer names one reader that may still hold it. */
  #read(claim: CasClaim, readMono: MonoUs, record: LeaseRecord, step: StorageStep): void {
    const { name } = claim;
    this.#readers.note(name, record, step.monoUs);
    const row = this.#readers.living(name, record, readMono).at(-1);
    const remainingUsMax = this.#readers.heldUntil(name, record) - step.monoUs;
    const holder = row ? { owner: row.owner, token: row.token, remainingUsMax, mode: 'shared' as const } : null;
    this.#leases.answer(claim, holder, readMono >= this.#leases.ground.takesFrom(), record.meta, step);
  }

  /** The data of the last write, by the holder of that time. Null: no answer came. */
  #fetched(claim: CasClaim, answer: Answer | null, step: StorageStep): void {
    const { lease, name } = claim;
    this.#leases.ground.desk.remove(claim);
    if (!answer?.ok) {
      step.emit({ kind: 'fetched', lease, outcome: 'unanswered', data: null });
      return;
    }
    const found = decodeLeaseRecord(name, answer.value);
    if (isUnreadable(found)) {
      step.emit({ kind: 'unreadable', lease, key: nameKeyOf(name), why: found });
      step.emit({ kind: 'fetched', lease, outcome: 'unreadable', data: null });
    } else {
      step.emit({ kind: 'fetched', lease, outcome: 'found', data: found?.data ?? null });
    }
  }
}
