/**
 * The end of an unused record: the floor of tokens is raised to its token first, then it is erased on the condition that it is
 * still the record that was seen. The next creator reads the floor after that, so tokens rise on.
 */
import { monoAfter } from '../../../kernel/index.ts';
import type { CasDoing, CasDoingOf } from './cas-config.ts';
import type { StorageClaim } from './claim.ts';
import type { StorageConfig, StorageStep } from './config.ts';
import { decodeFloorRecord, decodeLeaseRecord, encodeFloorRecord, isUnreadable } from './contents.ts';
import type { ClaimDesk } from './desk.ts';
import { FLOOR_KEY, nameKeyOf } from './keys.ts';
import type { Answer } from './leases.ts';

/** The floor is contended by others that erase; after so many tries this one is left for later. */
const TRIES_MAX = 8;

type CasClaim = StorageClaim<CasDoing>;
type CompactionDoing = CasDoingOf<'finding' | 'finding-floor' | 'raising-floor' | 'erasing'>;

export class Compaction {
  readonly #config: StorageConfig;
  readonly #desk: ClaimDesk<CasDoing>;

  constructor(config: StorageConfig, desk: ClaimDesk<CasDoing>) {
    this.#config = config;
    this.#desk = desk;
  }

  begin(claim: CasClaim, step: StorageStep): void {
    const op = this.#desk.nextOp();
    step.read(this.#config.unit, nameKeyOf(claim.name), op);
    this.#go(claim, { kind: 'finding', ops: [op] }, step);
  }

  answered(claim: CasClaim, doing: CompactionDoing, answer: Answer, step: StorageStep): void {
    if (doing.kind === 'raising-floor') {
      // Lost and unknown alike: the next read tells.
      if (answer.ok && !answer.isLost) this.#erase(claim, doing, step);
      else this.#findFloor(claim, doing, step);
    } else if (!answer.ok) {
      this.#end(claim, false, step);
    } else if (doing.kind === 'finding') {
      const found = decodeLeaseRecord(claim.name, answer.value);
      if (isUnreadable(found)) step.emit({ kind: 'unreadable', lease: claim.lease, key: nameKeyOf(claim.name), why: found });
      if (found === null || isUnreadable(found) || found.isHeld || found.data || found.wanted) this.#end(claim, false, step);
      else this.#findFloor(claim, { seen: { record: found, version: answer.version } }, step);
    } else if (doing.kind === 'finding-floor') {
      this.#raise(claim, doing, answer, step);
    } else {
      this.#end(claim, !answer.isLost, step);
    }
  }

  /** It is left as it is: an erasure that was not answered may happen yet, and its floor is in place. */
  due(claim: CasClaim, step: StorageStep): void {
    this.#end(claim, false, step);
  }

  #findFloor(claim: CasClaim, { seen }: Pick<CasDoingOf<'finding-floor'>, 'seen'>, step: StorageStep): void {
    if (++claim.failures > TRIES_MAX) {
      this.#end(claim, false, step);
      return;
    }
    const op = this.#desk.nextOp();
    step.read(this.#config.unit, FLOOR_KEY, op);
    this.#go(claim, { kind: 'finding-floor', ops: [op], seen }, step);
  }

  #raise(claim: CasClaim, doing: Pick<CasDoingOf<'finding-floor'>, 'seen'>, { value, version }: Answer, step: StorageStep): void {
    const floor = decodeFloorRecord(value);
    if (typeof floor === 'string') {
      step.emit({ kind: 'unreadable', lease: claim.lease, key: FLOOR_KEY, why: floor });
      this.#end(claim, false, step);
    } else if (floor >= doing.seen.record.token) {
      this.#erase(claim, doing, step);
    } else {
      const op = this.#desk.nextOp();
      step.swap(this.#config.unit, FLOOR_KEY, version, encodeFloorRecord(doing.seen.record.token), op);
      this.#go(claim, { kind: 'raising-floor', ops: [op], seen: doing.seen }, step);
    }
  }

  #erase(claim: CasClaim, { seen }: Pick<CasDoingOf<'finding-floor'>, 'seen'>, step: StorageStep): void {
    const op = this.#desk.nextOp();
    step.swap(this.#config.unit, nameKeyOf(claim.name), seen.version, null, op);
    this.#go(claim, { kind: 'erasing', ops: [op] }, step);
  }

  #end(claim: CasClaim, erased: boolean, step: StorageStep): void {
    this.#desk.remove(claim);
    step.emit({ kind: 'compacted', lease: claim.lease, erased });
  }

  #go(claim: CasClaim, doing: CasDoing, step: StorageStep): void {
    this.#desk.turn(claim, doing, monoAfter(step.monoUs, this.#config.timing.patienceUs));
  }
}
