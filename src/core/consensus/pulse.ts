/**
 * A member's knowledge of the others by their heartbeats: whether they are up, which members they accuse, up to where each knows all decisions, and from which instance on each takes
 * part. The failure detector and the choice of the leader are kept here together, since heartbeats carry both.
 */
import { quorumOf, type Incarnation, type MonoUs } from '../../kernel/index.ts';
import type { Snapshot } from '../contract.ts';
import { FailureDetector, type DetectorTiming } from './failure-detector.ts';
import { LeaderChoice } from './leader-choice.ts';
import type { ConsensusMessage } from './messages.ts';

export type Heartbeat = Extract<ConsensusMessage, { readonly kind: 'heartbeat' }>;

/** From which instance on a member takes part that does not know it yet. */
export const NEVER_VOTES: number = Number.MAX_SAFE_INTEGER;

export class Pulse {
  readonly #self: number;
  readonly #life: Incarnation;
  readonly #detector: FailureDetector;
  readonly #choice: LeaderChoice;
  /** Up to where each member knows all decisions. */
  readonly #decidedBy: number[];
  /** Below that instance each takes no part. */
  readonly #votesFrom: number[];
  #isStopped = false;

  constructor(
    members: number,
    { self, incarnation }: { readonly self: number; readonly incarnation: Incarnation },
    timing: DetectorTiming,
  ) {
    this.#self = self;
    this.#life = incarnation;
    this.#detector = new FailureDetector(members, self, timing);
    this.#choice = new LeaderChoice(members);
    this.#decidedBy = Array.from({ length: members }, () => 0);
    this.#votesFrom = Array.from({ length: members }, () => 0);
  }

  get wakeAt(): MonoUs {
    return this.#detector.wakeAt;
  }

  get leader(): number {
    return this.#choice.leader;
  }

  get suspected(): readonly number[] {
    return this.#detector.suspected;
  }

  suspects(member: number): boolean {
    return this.#detector.suspects(member);
  }

  /** Up to where this member is known to know all decisions. */
  decidedBy(member: number): number {
    return this.#decidedBy[member] as number;
  }

  start(now: MonoUs): void {
    this.#detector.start(now);
  }

  /** Time has passed: the members that are suspected since this call, and whether to send a heartbeat now. */
  run(now: MonoUs): { readonly suspected: readonly number[]; readonly beats: boolean } {
    const { beats, suspected } = this.#detector.run(now);
    const hasAccused = suspected.length > 0 && this.#accuse();
    return { suspected, beats: beats || hasAccused };
  }

  /** True if it makes this member accuse another: the others' accusations may put a member in the lead that this one suspects. */
  hear(from: number, { life, decided, votesFrom, counts }: Heartbeat, now: MonoUs): boolean {
    this.#detector.heard(from, life, now);
    this.#decidedBy[from] = Math.max(decided, this.#decidedBy[from] as number);
    this.#votesFrom[from] = votesFrom;
    return this.#choice.merge(counts) && this.#accuse();
  }

  #accuse(): boolean {
    return this.#choice.accuse((member) => this.#detector.suspects(member));
  }

  heartbeat(decided: number, votesFrom: number): Heartbeat {
    this.#decidedBy[this.#self] = decided;
    this.#votesFrom[this.#self] = votesFrom;
    return { kind: 'heartbeat', life: this.#life, decided, votesFrom, counts: this.#choice.counts };
  }

  /** So many members take no part in the next instance that it is never decided. */
  get isStopped(): boolean {
    return this.#isStopped;
  }

  /** Whether that has changed since the last call: these members, or an empty list if none is missing any more. Null if it has not. */
  judge(decided: number): readonly number[] | null {
    const without = this.#missing(decided);
    if (without.length > 0 === this.#isStopped) return null;
    this.#isStopped = !this.#isStopped;
    return without;
  }

  /** A member that takes no part in the next instance never will. These members, if the others are no majority: that instance is never decided. */
  #missing(decided: number): readonly number[] {
    const members = this.#votesFrom.length;
    const next = Math.max(decided, ...this.#decidedBy) + 1;
    const without = this.#votesFrom.flatMap((from, member) => (from > next ? [member] : []));
    return without.length > members - quorumOf(members) ? without : [];
  }

  /** The other members that know the most decisions, if they know more than `decided`; only members that are not suspected, if there are such. */
  ahead(decided: number): { readonly most: number; readonly members: readonly number[] } {
    const others = this.#decidedBy.flatMap((theirs, member) => (member === this.#self || theirs <= decided ? [] : [{ theirs, member }]));
    const most = others.reduce((highest, { theirs }) => Math.max(highest, theirs), decided);
    const members = others.flatMap(({ theirs, member }) => (theirs === most ? [member] : []));
    const up = members.filter((member) => !this.#detector.suspects(member));
    return { most, members: up.length > 0 ? up : members };
  }

  snapshot(): Snapshot {
    return {
      detector: this.#detector.snapshot(),
      choice: this.#choice.snapshot(),
      decidedBy: [...this.#decidedBy],
      votesFrom: [...this.#votesFrom],
      isStopped: this.#isStopped,
    };
  }

  restore(snapshot: Snapshot): void {
    const told = snapshot as unknown as {
      detector: Snapshot;
      choice: Snapshot;
      decidedBy: readonly number[];
      votesFrom: readonly number[];
      isStopped: boolean;
    };
    this.#detector.restore(told.detector);
    this.#choice.restore(told.choice);
    this.#isStopped = told.isStopped;
    for (const [member, decided] of told.decidedBy.entries()) this.#decidedBy[member] = decided;
    for (const [member, from] of told.votesFrom.entries()) this.#votesFrom[member] = from;
  }
}
