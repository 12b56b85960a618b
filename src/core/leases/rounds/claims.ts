/**
 * The claims of one node by the numbers its callers gave them, and the calendar of when to look at each again. A lease
 * that is held and needs nothing until its renewal rests in a table: its claim is made anew when it is asked for.
 */
import { ballotTime, monoUs, NumberMap, wallUs, type MonoUs, type NodeId } from '../../../kernel/index.ts';
import type { Snapshot } from '../../contract.ts';
import { DueHeap, HoldTable, type NameTable } from '../../tables/index.ts';
import { renewAfterUs } from '../timing.ts';
import { Claim } from './claim.ts';

/** Flags of a hold. */
const KEEP = 1;

export interface ClaimGround {
  readonly names: NameTable;
  readonly votersOf: (name: Uint8Array) => readonly NodeId[];
  /** Whether a lease's end is an instant on wall clocks. */
  readonly isAbsolute: boolean;
  readonly renews: boolean;
}

export class Claims {
  readonly #ground: ClaimGround;
  readonly #names: NameTable;
  readonly #awake = new NumberMap<Claim>();
  readonly #resting: HoldTable;
  readonly #due = new DueHeap();
  /** When resting claims are due, by the id of their name. */
  readonly #restingDue = new DueHeap();

  constructor(ground: ClaimGround) {
    this.#ground = ground;
    this.#names = ground.names;
    this.#resting = new HoldTable(ground.names);
  }

  get nextAt(): MonoUs {
    return monoUs(Math.min(this.#due.nextAt, this.#restingDue.nextAt));
  }

  /** How many entries the calendar has. */
  get planned(): number {
    return this.#due.size + this.#restingDue.size;
  }

  /** An awake claim: resting claims have no round under way. */
  get(lease: number): Claim | undefined {
    return this.#awake.get(lease);
  }

  /** Any, awake from here on. */
  find(lease: number, name: Uint8Array): Claim | undefined {
    const id = this.#restingOn(lease, name);
    if (id < 0) return this.#awake.get(lease);
    const claim = this.#rouse(id);
    this.#enter(claim);
    return claim;
  }

  /** A look at any, which changes nothing. */
  peek(lease: number, name: Uint8Array): Claim | undefined {
    const id = this.#restingOn(lease, name);
    return id >= 0 ? this.#unpack(id) : this.#awake.get(lease);
  }

  add(claim: Claim): void {
    this.#awake.set(claim.lease, claim);
  }

  delete(lease: number): void {
    this.#awake.delete(lease);
  }

  /** The numbers of all held claims, which are claims no more. A claim that is being given back and has stopped is not held. */
  takeHeld(): number[] {
    const held = this.#awake.values().filter((claim) => claim.phase === 'holding' || (claim.endsLater && !claim.isStopped));
    const leases = held.map(({ lease }) => lease);
    for (const lease of leases) this.#awake.delete(lease);
    for (let id = 0; id < this.#names.idLimit; id++) {
      if (!this.#resting.has(id)) continue;
      leases.push(this.#resting.lease(id));
      this.#resting.remove(id);
    }
    return leases.sort((a, b) => a - b);
  }

  snapshot(): Snapshot {
    const claims = this.#awake.values();
    for (let id = 0; id < this.#names.idLimit; id++) if (this.#resting.has(id)) claims.push(this.#unpack(id));
    return claims.sort((a, b) => a.lease - b.lease).map((claim) => claim.snapshot());
  }

  restore(snapshot: Snapshot): void {
    for (const one of snapshot as readonly Snapshot[]) {
      const claim = Claim.restore(one);
      this.add(claim);
      this.plan(claim, claim.until);
    }
  }

  /** Looks at it at this instant, or when its caller's patience ends. */
  plan(claim: Claim, at: MonoUs): void {
    claim.until = at;
    if (this.#rest(claim)) return;
    this.#enter(claim);
    if (this.#due.isOvergrown(this.#awake.size, 0)) this.#sweep();
  }

  /** The next claim that is due. Skips stale heap entries: snapshots keep only the current deadline. */
  take(now: MonoUs): Claim | null {
    for (let at = this.nextAt; at <= now; at = this.nextAt) {
      if (this.#due.nextAt === at) {
        const claim = this.#awake.get(this.#due.take(now));
        if (claim && at === firstOf(claim)) return claim;
      } else {
        const id = this.#restingDue.take(now);
        // A claim that was renewed since has an entry of its own.
        if (this.#resting.has(id) && at === this.#dueAt(id)) return this.#rouse(id);
      }
    }
    return null;
  }

  #enter(claim: Claim): void {
    const first = firstOf(claim);
    if (first !== Infinity) this.#due.push(first, claim.lease);
  }

  #sweep(): void {
    this.#due.clear();
    for (const claim of this.#awake.values()) this.#enter(claim);
  }

  // ── Resting claims ─────────────────────────────────────────────────────────────────────────────────

  /** False if it does more than hold, or says more than the table has room for. */
  #rest(claim: Claim): boolean {
    const { lease, name, termUs, keep, token, written, deadlineMono, deadlineWall, until } = claim;
    if (claim.phase !== 'holding' || claim.round !== null || claim.isStopped || claim.endsLater) return false;
    if (claim.meta !== undefined || claim.proclaiming > 0 || termUs % 1000 !== 0 || claim.untilUs !== this.#untilOf(claim)) return false;
    const id = this.#names.intern(name, 0, name.length);
    // An earlier lease of this process on the name, which has ended and was not looked at since.
    if (this.#resting.has(id)) return false;
    this.#resting.add(id, lease, token, written, deadlineMono, deadlineWall, termUs / 1000, keep ? KEEP : 0);
    if (this.#dueAt(id) !== until) {
      this.#resting.remove(id);
      return false;
    }
    this.#awake.delete(lease);
    this.#restingDue.push(until, id);
    if (this.#restingDue.isOvergrown(this.#resting.count, this.#names.idLimit)) this.#sweepResting();
    return true;
  }

  #sweepResting(): void {
    this.#restingDue.clear();
    for (let id = 0; id < this.#names.idLimit; id++) if (this.#resting.has(id)) this.#restingDue.push(this.#dueAt(id), id);
  }

  #restingOn(lease: number, name: Uint8Array): number {
    const id = this.#names.find(name, 0, name.length);
    return id >= 0 && this.#resting.has(id) && this.#resting.lease(id) === lease ? id : -1;
  }

  #rouse(id: number): Claim {
    const claim = this.#unpack(id);
    this.#resting.remove(id);
    this.#awake.set(claim.lease, claim);
    return claim;
  }

  #unpack(id: number): Claim {
    const holds = this.#resting;
    const name = this.#names.toBytes(id);
    const keep = (holds.flags(id) & KEEP) !== 0;
    const claim = new Claim(holds.lease(id), name, this.#ground.votersOf(name), holds.termMs(id) * 1000, keep, undefined, false, monoUs(0));
    claim.phase = 'holding';
    claim.token = ballotTime(holds.token(id));
    claim.written = ballotTime(holds.ballot(id));
    claim.deadlineMono = monoUs(holds.deadlineMono(id));
    claim.deadlineWall = wallUs(holds.deadlineWall(id));
    claim.untilUs = this.#untilOf(claim);
    claim.until = this.#dueAt(id);
    return claim;
  }

  /** What acceptors know of the end of a lease that was last written by its owner. */
  #untilOf({ deadlineWall, termUs }: Claim): number {
    return this.#ground.isAbsolute ? deadlineWall : termUs;
  }

  /** When it is to be renewed, or ends. */
  #dueAt(id: number): MonoUs {
    const holds = this.#resting;
    const endMono = holds.deadlineMono(id);
    if (!this.#ground.renews || (holds.flags(id) & KEEP) === 0) return monoUs(endMono);
    const termUs = holds.termMs(id) * 1000;
    return monoUs(endMono - termUs + renewAfterUs(termUs));
  }
}

function firstOf({ until, waits, phase, waitUntil }: Claim): MonoUs {
  return waits && (phase === 'asking' || phase === 'resting') ? monoUs(Math.min(until, waitUntil)) : until;
}
