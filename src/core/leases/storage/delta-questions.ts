/** Questions about a lease on plain registers: its holder, and its data. Neither requests the lease. */
import { monoAfter, NEVER } from '../../../kernel/index.ts';
import type { StorageClaim } from './claim.ts';
import type { StorageStep } from './config.ts';
import { isSameUid, isUnreadable } from './contents.ts';
import type { DeltaConfig, DeltaDoing, DoingOf } from './delta-config.ts';
import type { DeltaData } from './delta-data.ts';
import { isReleased } from './delta-readers.ts';
import { nameKeyOf } from './keys.ts';
import type { StorageLeases } from './leases.ts';
import type { Sighting } from './sightings.ts';

type DeltaClaim = StorageClaim<DeltaDoing>;

/** How registers are read and watched. */
interface Looks {
  readonly observationUs: (seen: Sighting) => number;
  readonly read: (claim: DeltaClaim, step: StorageStep) => DoingOf<'reading'>;
}

export class DeltaQuestions {
  readonly #config: DeltaConfig;
  readonly #leases: StorageLeases<DeltaDoing>;
  readonly #data: DeltaData;
  readonly #looks: Looks;

  constructor(config: DeltaConfig, leases: StorageLeases<DeltaDoing>, data: DeltaData, looks: Looks) {
    this.#config = config;
    this.#leases = leases;
    this.#data = data;
    this.#looks = looks;
  }

  ask(claim: DeltaClaim, step: StorageStep): void {
    if (claim.wants === 'data') {
      this.#data.fetch(claim, step);
    } else if (claim.wants === 'erasure') {
      this.#leases.ground.desk.remove(claim);
      step.emit({ kind: 'compacted', lease: claim.lease, erased: false });
    } else {
      this.look(claim, null, step);
    }
  }

  look(claim: DeltaClaim, first: DoingOf<'looking'>['first'], step: StorageStep): void {
    const own = this.#leases.ownHolder(claim.name, step);
    if (own !== null) {
      this.#leases.answerOwn(claim, own, step);
      return;
    }
    const { variant, timing } = this.#config;
    const until = variant === 'literal' ? NEVER : monoAfter(step.monoUs, timing.patienceUs);
    const reading = this.#looks.read(claim, step);
    this.#leases.ground.desk.turn(claim, { ...reading, kind: 'looking', first }, until);
  }

  /**
   * One look tells the records; a second that finds the same 2δ later tells that no contender of before the first is about to write. "Nobody" is
   * certain where nothing was written, where the last name written is stated to be released, or has stood for an observation. Another's name is not
   * certain: a void write that landed late may stand over the name of a holder. While an epoch is waited out nothing is certain: the store may have
   * lost a holder's write.
   */
  looked(claim: DeltaClaim, { x, y, first, readMono }: DoingOf<'looking'>, step: StorageStep): void {
    const { sightings, takesFrom, desk } = this.#leases.ground;
    if (isUnreadable(x)) {
      step.emit({ kind: 'unreadable', lease: claim.lease, key: nameKeyOf(claim.name), why: x });
      this.#leases.answer(claim, null, false, null, step);
      return;
    }
    if (x !== null) sightings.note(claim.name, x, step.monoUs);
    if (first === null) {
      const until = monoAfter(step.monoUs, this.#config.timing.pauseUs);
      desk.turn(claim, { kind: 'look-pausing', ops: [], first: { x, y } }, until);
      return;
    }
    const before = isUnreadable(first.x) ? null : first.x;
    const isStopped = isReleased(x, y);
    const isSame = x === null ? before === null : isSameUid(x, before) && isStopped === isReleased(before, first.y);
    const isFree = x === null || isStopped || readMono >= sightings.freeAt(claim.name, this.#looks.observationUs);
    const holder = isFree ? null : this.#leases.hint(claim.name, step);
    const certain = isSame && isFree && this.#config.variant !== 'literal' && readMono >= takesFrom();
    this.#leases.answer(claim, holder, certain, x?.meta ?? null, step);
  }
}
