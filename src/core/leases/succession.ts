/**
 * How a member that was started takes the place of its earlier life. It asks the other members to note its life, until all
 * have, and counts those that have. How many are enough to vote, and from when on its silence runs, rests on this: a vote of the
 * older life and a vote of the newer are in two quorums that need not meet, unless each quorum with the older life has a
 * voter that has noted the newer, and tells (docs/research/divergence/quorum.md#lives).
 */
import {
  monoAfter,
  monoUs,
  NEVER,
  quorumOf,
  spanUs,
  VoterSet,
  type Incarnation,
  type MonoUs,
  type NodeId,
  type SpanUs,
} from '../../kernel/index.ts';
import type { Boot, Snapshot } from '../contract.ts';
import { FIRST_LIFE, lifeAbove, type Roster } from './roster.ts';

/**
 * `majority`: a majority of the members, itself included, have noted it, and all others that can be reached.
 * `strict`: so many other members have noted it that every quorum of the older life has one of them, whichever can be reached.
 */
export type SuccessionMode = 'majority' | 'strict';

export interface SuccessionConfig {
  readonly mode: SuccessionMode;
  /** One side; two while the members of a cell change. */
  readonly sides: readonly SuccessionSide[];
  /** A NOTE that is not answered is sent again after this, and then after twice as long, and so on. */
  readonly resendUs: SpanUs;
  readonly resendUsMax: SpanUs;
}

/** The members that must note a life, and how many are a quorum of the voters of a name. */
export interface SuccessionSide {
  readonly members: readonly number[];
  readonly quorum: number;
}

/** The part of a step that a succession needs. */
interface Instant {
  readonly monoUs: MonoUs;
  readonly wallUs: number;
}

/** A process that keeps being told of a higher life of its own id, though it goes above each, has a rival. */
const RAISES_MAX = 8;
/** Without a silence in which to hear of them, it waits so many resends for members that do not answer. */
const PATIENT_RESENDS = 8;

export class Succession {
  readonly #config: SuccessionConfig;
  readonly #self: NodeId;
  readonly #who: Incarnation;
  readonly #roster: Roster;
  readonly #isStrict: boolean;
  #sides: readonly SuccessionSide[];
  #others: readonly number[] = [];
  #life = 0;
  readonly #noted = new VoterSet();
  #raises = 0;
  #resendAt: MonoUs = NEVER;
  #gapUs = 0;
  #patientUntil: MonoUs = NEVER;

  constructor(config: SuccessionConfig, { self, incarnation, diskKept }: Boot, roster: Roster) {
    this.#config = config;
    this.#self = self;
    this.#who = incarnation;
    this.#roster = roster;
    // A process that has its predecessor's directory, and its lock, knows that the predecessor is gone.
    this.#isStrict = config.mode === 'strict' && !diskKept;
    this.#sides = config.sides;
    this.#others = this.#othersOf(config.sides);
  }

  #othersOf(sides: readonly SuccessionSide[]): number[] {
    const all = new Set(sides.flatMap(({ members }) => members));
    return [...all].filter((member) => member !== this.#self).sort((a, b) => a - b);
  }

  /** Other members from here on: new members are asked, too. */
  setSides(sides: readonly SuccessionSide[], { monoUs: now }: Instant): void {
    this.restoreSides(sides);
    if (this.#life === 0 || this.missing.length === 0) return;
    this.#resendAt = now;
    this.#gapUs = this.#config.resendUs;
  }

  restoreSides(sides: readonly SuccessionSide[]): void {
    this.#sides = sides;
    this.#others = this.#othersOf(sides);
  }

  /** Whether so many have noted it as must. */
  get hasEnough(): boolean {
    return this.#sides.every(({ members, quorum }) => {
      const noted = members.filter((member) => member !== this.#self && this.#noted.has(member)).length;
      const own = members.includes(this.#self) ? 1 : 0;
      const size = members.length;
      return noted >= (this.#isStrict ? Math.min(size - own, size + 1 - quorum) : quorumOf(size) - own);
    });
  }

  /** The number of this life; 0 before it began. */
  get life(): number {
    return this.#life;
  }

  get wakeAt(): MonoUs {
    return monoUs(Math.min(this.#resendAt, this.#patientUntil));
  }

  /** The members that have not noted it. */
  get missing(): number[] {
    return this.#others.filter((member) => !this.#noted.has(member));
  }

  /** `kept` is the number of its last life that a kept disk knows. */
  begin(restarted: boolean, kept: number, { monoUs: now, wallUs }: Instant): void {
    const heard = Math.max(kept, this.#roster.lifeOf(this.#self));
    this.#take(restarted ? lifeAbove(heard, wallUs, this.#who) : FIRST_LIFE, now);
  }

  /** Whether enough have noted it. Without a silence it waits a moment for the others: during one they have time to answer. */
  isEnough(isSilent: boolean, { monoUs: now }: Instant): boolean {
    if (!this.hasEnough) return false;
    return isSilent || this.#patientUntil === NEVER || now >= this.#patientUntil || this.missing.length === 0;
  }

  /** True if this member had not noted this life before. */
  notedBy(member: NodeId): boolean {
    if (!this.#noted.add(member)) return false;
    if (this.missing.length === 0) {
      this.#resendAt = NEVER;
      this.#patientUntil = NEVER;
    }
    return true;
  }

  /** A member has begun another life, and may have forgotten. True if it had noted this one. */
  forgottenBy(member: NodeId, { monoUs: now }: Instant): boolean {
    if (!this.#noted.delete(member)) return false;
    this.#resendAt = now;
    this.#gapUs = this.#config.resendUs;
    return true;
  }

  /** A member knows of another process with this life or a later one. Goes above it; false if that was in vain too often. */
  rise({ monoUs: now, wallUs }: Instant): boolean {
    if (++this.#raises > RAISES_MAX) return false;
    this.#take(lifeAbove(Math.max(this.#life, this.#roster.lifeOf(this.#self)), wallUs, this.#who), now);
    return true;
  }

  /** A life that has been outlived asks for nothing any more. */
  end(): void {
    this.#resendAt = NEVER;
    this.#patientUntil = NEVER;
  }

  /** Calls `ask` for each member that is to be asked now. */
  wake({ monoUs: now }: Instant, ask: (member: NodeId) => void): void {
    if (now >= this.#patientUntil) this.#patientUntil = NEVER;
    if (now < this.#resendAt) return;
    const { missing } = this;
    if (missing.length === 0) return this.end();
    for (const member of missing) ask(member as NodeId);
    this.#resendAt = monoAfter(now, spanUs(this.#gapUs));
    this.#gapUs = Math.min(this.#gapUs * 2, this.#config.resendUsMax);
  }

  #take(life: number, now: MonoUs): void {
    this.#life = life;
    this.#roster.note(this.#self, life, this.#who);
    this.#noted.clear();
    this.#gapUs = this.#config.resendUs;
    this.#resendAt = this.#others.length > 0 ? now : NEVER;
    this.#patientUntil = monoAfter(now, spanUs(this.#config.resendUs * PATIENT_RESENDS));
  }

  snapshot(): Snapshot {
    return [this.#life, this.#noted.toArray(), this.#raises, this.#resendAt, this.#gapUs, this.#patientUntil];
  }

  restore(snapshot: Snapshot): void {
    const [life, noted, raises, resendAt, gapUs, patientUntil] = snapshot as unknown as [number, number[], number, MonoUs, number, MonoUs];
    this.#life = life;
    for (const member of noted) this.#noted.add(member);
    this.#raises = raises;
    this.#resendAt = resendAt;
    this.#gapUs = gapUs;
    this.#patientUntil = patientUntil;
  }
}
