/**
 * What becomes of the requests of one process, on any kind of store: in line, contending, held until a deadline on
 * two clocks, renewed, given back. How the store is read and written is the protocol's.
 */
import {
  invariant,
  monoAfter,
  monoUs,
  NEVER,
  spanUs,
  type BallotTime,
  type Incarnation,
  type LeaseMode,
  type MonoUs,
  type WallUs,
} from '../../../kernel/index.ts';
import type { HolderHint, RefusalReason } from '../contract.ts';
import { renewAfterUs } from '../timing.ts';
import type { StorageClaim, Doing } from './claim.ts';
import type { StorageConfig, StorageStep } from './config.ts';
import type { DataMemory } from './data-memory.ts';
import type { ClaimDesk } from './desk.ts';
import type { FreedRecords } from './freed.ts';
import type { StorageRules } from './rules.ts';
import type { Sighting, Sightings } from './sightings.ts';

/** A try that finds no answer gives up after so many accesses in a row. */
const FAILURES_MAX = 4;

/** How the leases of one kind of store are taken, renewed and given back. */
export interface StorageProtocol<Does extends Doing> {
  readonly idle: Does;
  readonly resting: Does;
  /** It is first in line: begins to contend, or does so again. */
  contend(claim: StorageClaim<Does>, step: StorageStep): void;
  /** Whether a write of the contender left that may yet make it a holder: it cannot just be dropped. */
  isCommitted(claim: StorageClaim<Does>): boolean;
  /** It rests: a hint that the record has changed is of use. */
  isResting(claim: StorageClaim<Does>): boolean;
  renew(claim: StorageClaim<Does>, step: StorageStep): void;
  /** Whether a renewal is under way and does not rest after a failure. */
  isRenewing(claim: StorageClaim<Does>): boolean;
  /** The holder has stopped: gives it back. */
  giveBack(claim: StorageClaim<Does>, step: StorageStep): void;
  /** Whether readers can share a name. */
  readonly canShare: boolean;
  /** Stores data under a lease that is held, and renews it (S9). */
  sync(claim: StorageClaim<Does>, data: Uint8Array, number: number, step: StorageStep): void;
  ask(claim: StorageClaim<Does>, step: StorageStep): void;
  answered(claim: StorageClaim<Does>, completion: Answer, step: StorageStep): void;
  /** Its time has come: an answer did not, or a rest or a pause is over. */
  due(claim: StorageClaim<Does>, step: StorageStep): void;
  /** Knowledge of the store may no longer be true. */
  enterEpoch?(): void;
  /** How long a record that was seen must stay as it is before it is free. */
  observationUs(seen: Sighting): number;
}

/** What an access came to. */
export interface Answer {
  readonly op: number;
  readonly ok: boolean;
  readonly isLost: boolean;
  readonly value: Uint8Array | null;
  readonly version: Uint8Array | null;
}

/** An end on both clocks of its holder. */
export interface Ends {
  readonly mono: MonoUs;
  readonly wall: WallUs;
}

export interface LeasesGround<Does extends Doing> {
  readonly config: StorageConfig;
  readonly owner: Incarnation;
  readonly rules: StorageRules;
  readonly desk: ClaimDesk<Does>;
  readonly sightings: Sightings;
  /** Compare and set only. */
  readonly freed: FreedRecords;
  /** Plain registers only. */
  readonly data: DataMemory;
  /** Since when something may be taken in this epoch. */
  readonly takesFrom: () => MonoUs;
}

export class StorageLeases<Does extends Doing> {
  readonly ground: LeasesGround<Does>;
  readonly #protocol: () => StorageProtocol<Does>;

  constructor(ground: LeasesGround<Does>, protocol: () => StorageProtocol<Does>) {
    this.ground = ground;
    this.#protocol = protocol;
  }

  // ── In line ────────────────────────────────────────────────────────────────────────────────────────

  /** Puts the claim in line. A claim that does not wait is refused where it would have to, unless the claim before it is about to be gone. */
  enter(claim: StorageClaim<Does>, step: StorageStep): void {
    const { desk } = this.ground;
    const first = desk.firstFor(claim.name);
    if (first?.phase === 'holding' && this.isOver(first, step)) this.lose(first, step);
    if (!claim.waits && this.#isHeldHere(claim, step)) return;
    if (claim.mode === 'shared') {
      desk.enqueue(claim);
      this.#begin(claim, step);
      return;
    }
    const ahead = desk.firstFor(claim.name);
    const isGoing = ahead?.phase === 'releasing' || ahead?.isCalledOff;
    if (ahead !== undefined && !claim.waits && !(isGoing && desk.wantedBy(claim.name) === 1)) {
      const reason = ahead.phase === 'holding' ? 'held' : 'queued';
      step.emit({ kind: 'refused', lease: claim.lease, reason, holder: this.#ownHint(ahead, step), unreached: [] });
      return;
    }
    desk.enqueue(claim);
    if (ahead !== undefined) {
      claim.hasWaited = true;
      desk.plan(claim, claim.waits ? claim.waitUntil : NEVER);
      return;
    }
    this.#begin(claim, step);
  }

  /** A try need not ask the store whether it may have what this very process holds. */
  #isHeldHere({ lease, name, mode }: StorageClaim<Does>, step: StorageStep): boolean {
    const { desk } = this.ground;
    const own = [mode === 'shared' ? desk.firstFor(name) : undefined, ...(mode === 'shared' ? [] : desk.readersOf(name))];
    const holder = own.find((one) => one?.phase === 'holding' && !this.isOver(one, step));
    if (holder !== undefined) {
      step.emit({ kind: 'refused', lease, reason: 'held', holder: this.#ownHint(holder, step), unreached: [] });
    }
    return holder !== undefined;
  }

  #begin(claim: StorageClaim<Does>, step: StorageStep): void {
    claim.phase = 'contending';
    this.#protocol().contend(claim, step);
  }

  /** Nothing is left of it: the next in line begins. */
  end(claim: StorageClaim<Does>, step: StorageStep): void {
    const next = this.ground.desk.remove(claim);
    if (next !== undefined) this.#begin(next, step);
  }

  // ── Contending ─────────────────────────────────────────────────────────────────────────────────────

  /** Looks again then, or when its caller's patience ends. */
  rest(claim: StorageClaim<Does>, until: MonoUs, step: StorageStep): void {
    if (claim.isCalledOff) {
      this.end(claim, step);
      return;
    }
    if (claim.waits && step.monoUs >= claim.waitUntil) {
      this.refuse(claim, claim.failures > 0 ? 'unreachable' : 'timeout', step);
      return;
    }
    if (claim.failures === 0) claim.hasWaited = true;
    this.ground.desk.turn(claim, this.#protocol().resting, claim.waits ? monoUs(Math.min(until, claim.waitUntil)) : until);
  }

  /** It has tried, and may lose to others for ever: its caller does not wait as long. */
  isOutOfTime({ waits, trips, waitUntil }: StorageClaim<Does>, { monoUs: now }: Pick<StorageStep, 'monoUs'>): boolean {
    return waits && trips > 0 && now >= waitUntil;
  }

  /** An access failed, was late or was not answered. */
  stumble(claim: StorageClaim<Does>, step: StorageStep): void {
    claim.failures++;
    if (!claim.waits && !claim.isCalledOff && claim.failures >= FAILURES_MAX) this.refuse(claim, 'unreachable', step);
    else this.rest(claim, this.later(this.ground.config.timing.retryUs, step), step);
  }

  /** Never all at the same moment. */
  later(aboutUs: number, step: StorageStep): MonoUs {
    return monoAfter(step.monoUs, spanUs(Math.ceil(aboutUs / 2) + step.choose(aboutUs)));
  }

  refuse(claim: StorageClaim<Does>, reason: RefusalReason, step: StorageStep): void {
    if (!claim.isCalledOff) {
      step.emit({ kind: 'refused', lease: claim.lease, reason, holder: this.hint(claim.name, step), unreached: [] });
    }
    this.end(claim, step);
  }

  /** The caller wants it no more. A claim that may yet become a lease goes on, and is given back if it does. */
  callOff(claim: StorageClaim<Does>, step: StorageStep): void {
    if (claim.isCalledOff || (claim.phase !== 'contending' && claim.phase !== 'queued')) return;
    if (claim.phase === 'queued' || !this.#protocol().isCommitted(claim)) {
      this.refuse(claim, 'cancelled', step);
      return;
    }
    claim.isCalledOff = true;
    step.emit({ kind: 'refused', lease: claim.lease, reason: 'cancelled', holder: null, unreached: [] });
  }

  // ── Holding ────────────────────────────────────────────────────────────────────────────────────────

  /** It is ours until these ends, which have not come. */
  grant(claim: StorageClaim<Does>, token: BallotTime, ends: Ends, step: StorageStep): void {
    invariant(claim.phase === 'contending', 'a lease was granted that no request contends for');
    invariant(token > 0, 'a lease was granted without a token');
    invariant(ends.mono <= step.monoUs + claim.termUs, 'a lease was granted for longer than its term');
    claim.token = token;
    claim.failures = 0;
    this.#setEnds(claim, ends);
    invariant(!this.isOver(claim, step), 'a lease was granted that is over');
    this.ground.sightings.forget(claim.name);
    if (claim.isCalledOff) {
      claim.phase = 'releasing';
      claim.isQuiet = true;
      this.#protocol().giveBack(claim, step);
      return;
    }
    claim.phase = 'holding';
    this.#hold(claim);
    const { lease, trips, hasWaited } = claim;
    step.emit({ kind: 'granted', lease, token, ...this.#deadlines(claim), trips, waited: hasWaited });
  }

  /** A renewal that carried this proclaim has ended well. The deadline never goes back, and a lease that is over stays over. */
  extend(claim: StorageClaim<Does>, ends: Ends, carried: number, step: StorageStep): void {
    const { rules } = this.ground;
    invariant(claim.phase === 'holding', 'a lease was renewed that is not held');
    if (rules.endIsFinal && this.isOver(claim, step)) {
      this.lose(claim, step);
      return;
    }
    if (ends.mono >= claim.deadlineMono || !rules.endIsFinal) {
      // The wall clock was set forward meanwhile: the lease may live on, but the new end has passed.
      if (rules.holderWatchesWall && rules.endIsFinal && step.wallUs >= ends.wall) {
        this.failRenewal(claim, step);
        return;
      }
      this.#setEnds(claim, ends);
    }
    invariant(!this.isOver(claim, step) || !rules.endIsFinal, 'a lease was renewed that is over');
    const { lease } = claim;
    this.#hold(claim);
    step.emit({ kind: 'renewed', lease, ...this.#deadlines(claim) });
    if (carried > 0) step.emit({ kind: 'proclaimed', lease, number: carried });
    if (claim.proclaiming > carried) this.#protocol().renew(claim, step);
    else {
      claim.proclaiming = 0;
      claim.data = null;
    }
  }

  /** The old deadline stands, and it is tried again until that has passed. */
  failRenewal(claim: StorageClaim<Does>, step: StorageStep): void {
    step.emit({ kind: 'renewal-failed', lease: claim.lease });
    this.pursue(claim, this.#protocol().resting, this.later(this.ground.config.timing.retryUs, step));
  }

  /** Part of a renewal: never past the deadline, so that a lost lease is reported as lost. */
  pursue(claim: StorageClaim<Does>, doing: Does, until: MonoUs): void {
    const isCut = this.ground.rules.endIsFinal;
    this.ground.desk.turn(claim, doing, isCut ? monoUs(Math.min(until, claim.deadlineMono)) : until);
  }

  #hold(claim: StorageClaim<Does>): void {
    this.ground.desk.turn(claim, this.#protocol().idle, claim.keep ? this.#renewAt(claim) : claim.deadlineMono);
  }

  #renewAt({ deadlineMono, termUs }: StorageClaim<Does>): MonoUs {
    return monoUs(deadlineMono - termUs + renewAfterUs(termUs));
  }

  #setEnds(claim: StorageClaim<Does>, { mono, wall }: Ends): void {
    claim.deadlineMono = mono;
    claim.deadlineWall = wall;
  }

  /** Both ends, as the caller may go by them. */
  #deadlines({ deadlineMono, deadlineWall }: StorageClaim<Does>): { deadlineMonoUs: MonoUs; deadlineWallUs: WallUs } {
    const deadlineWallUs = this.ground.rules.holderWatchesWall ? deadlineWall : (Infinity as WallUs);
    return { deadlineMonoUs: deadlineMono, deadlineWallUs };
  }

  /** Computed from the clocks when asked (rule 11), and by both of them (rule 12). */
  remainingUs({ deadlineMono, deadlineWall }: StorageClaim<Does>, mono: MonoUs, wall: WallUs): number {
    const byMono = deadlineMono - mono;
    return this.ground.rules.holderWatchesWall ? Math.min(byMono, deadlineWall - wall) : byMono;
  }

  isOver(claim: StorageClaim<Does>, { monoUs: mono, wallUs: wall }: Pick<StorageStep, 'monoUs' | 'wallUs'>): boolean {
    return this.remainingUs(claim, mono, wall) <= 0;
  }

  // ── Ends ───────────────────────────────────────────────────────────────────────────────────────────

  /** The holder has stopped before the first word of it leaves. */
  release(claim: StorageClaim<Does>, step: StorageStep): void {
    invariant(claim.phase === 'holding', 'a lease was released that is not held');
    claim.phase = 'releasing';
    step.emit({ kind: 'stopped', lease: claim.lease });
    this.#protocol().giveBack(claim, step);
  }

  /** Past its deadline the holder has stopped, and no claim need wait for its record. */
  lose(claim: StorageClaim<Does>, step: StorageStep): void {
    invariant(claim.phase === 'holding', 'a lease was lost that is not held');
    claim.phase = 'releasing';
    claim.isQuiet = true;
    step.emit({ kind: 'lost', lease: claim.lease });
    this.#protocol().giveBack(claim, step);
  }

  released(claim: StorageClaim<Does>, isKnown: boolean, step: StorageStep): void {
    if (!claim.isQuiet) step.emit({ kind: 'released', lease: claim.lease, byQuorum: isKnown });
    this.end(claim, step);
  }

  // ── Time ───────────────────────────────────────────────────────────────────────────────────────────

  due(claim: StorageClaim<Does>, step: StorageStep): void {
    const protocol = this.#protocol();
    switch (claim.phase) {
      case 'queued':
        this.refuse(claim, 'timeout', step);
        return;
      case 'contending':
        // A rest ends early for a claim whose patience has ended.
        if (protocol.isResting(claim) && claim.waits && step.monoUs >= claim.waitUntil) this.rest(claim, NEVER, step);
        else protocol.due(claim, step);
        return;
      case 'holding':
        this.#dueHold(claim, step);
        return;
      default:
        protocol.due(claim, step);
    }
  }

  #dueHold(claim: StorageClaim<Does>, step: StorageStep): void {
    const protocol = this.#protocol();
    const isRenewing = protocol.isRenewing(claim);
    if (this.isOver(claim, step) && (this.ground.rules.endIsFinal || !isRenewing)) this.lose(claim, step);
    else if (isRenewing) protocol.due(claim, step);
    else if (claim.keep || claim.doing.kind !== protocol.idle.kind) protocol.renew(claim, step);
    else this.ground.desk.plan(claim, claim.deadlineMono);
  }

  // ── Hints ──────────────────────────────────────────────────────────────────────────────────────────

  /** The holder as the record that was last seen tells it; it cannot last longer than until that is free. */
  hint(name: string, { monoUs: now }: Pick<StorageStep, 'monoUs'>): HolderHint | null {
    const seen = this.ground.sightings.of(name);
    if (seen === undefined) return null;
    const remainingUsMax = seen.since + this.#protocol().observationUs(seen) - now;
    return remainingUsMax > 0 ? { owner: seen.owner, token: seen.token, remainingUsMax, ...modeOf(seen) } : null;
  }

  #ownHint(claim: StorageClaim<Does>, step: StorageStep): HolderHint | null {
    if (claim.phase !== 'holding') return this.hint(claim.name, step);
    const remainingUsMax = this.remainingUs(claim, step.monoUs, step.wallUs);
    return { owner: this.ground.owner, token: claim.token, remainingUsMax, ...modeOf(claim) };
  }

  /** If this process itself holds the name, nothing need be read. */
  ownHolder(name: string, step: StorageStep): StorageClaim<Does> | null {
    const first = this.ground.desk.firstFor(name);
    const isHolding = (one: StorageClaim<Does> | undefined): boolean => one?.phase === 'holding' && !this.isOver(one, step);
    if (first !== undefined && isHolding(first)) return first;
    return this.ground.desk.readersOf(name).find(isHolding) ?? null;
  }

  /** This process holds it, and says so. */
  answerOwn(claim: StorageClaim<Does>, own: StorageClaim<Does>, step: StorageStep): void {
    this.answer(claim, this.#ownHint(own, step), true, own.meta, step);
  }

  answer(claim: StorageClaim<Does>, holder: HolderHint | null, certain: boolean, meta: Uint8Array | null, step: StorageStep): void {
    this.ground.desk.remove(claim);
    step.emit({ kind: 'answered', lease: claim.lease, holder, certain, meta: holder === null ? null : meta });
  }
}

/** What a hint says of a mode: nothing where the lease is exclusive. */
function modeOf({ mode }: { readonly mode?: LeaseMode }): { mode?: LeaseMode } {
  return mode === 'shared' ? { mode } : {};
}
