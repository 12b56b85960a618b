/**
 * The failure detector ◇S: every member sends heartbeats, and suspects each member that it has not heard of for that member's time-out. A time-out grows with
 * each mistake, so once messages and processes keep to some bound, known or not, no member that is up is suspected for ever. A crashed member falls silent
 * and is suspected for good. What the heartbeats carry besides is not for this file.
 */
import { monoAfter, NEVER, NOBODY, spanUs, type Incarnation, type MonoUs, type SpanUs } from '../../kernel/index.ts';
import type { Snapshot } from '../contract.ts';

export interface DetectorTiming {
  /** How often a member says that it is up. */
  readonly heartbeatUs: SpanUs;
  /** After how long a silence a member is suspected at first; each mistake adds as much. */
  readonly timeoutUs: SpanUs;
}

/** What is known of one other member. */
interface Watched {
  /** Which of its lives was heard last. */
  life: Incarnation;
  timeoutUs: SpanUs;
  /** It is suspected from here on, unless it is heard of. */
  deadline: MonoUs;
  isSuspected: boolean;
}

export class FailureDetector {
  readonly #timing: DetectorTiming;
  readonly #watched: (Watched | null)[];
  #beatAt: MonoUs = NEVER;
  #ranAt: MonoUs = NEVER;

  constructor(members: number, self: number, timing: DetectorTiming) {
    this.#timing = timing;
    const { timeoutUs } = timing;
    this.#watched = Array.from({ length: members }, (_, member) =>
      member === self ? null : { life: NOBODY, timeoutUs, deadline: NEVER, isSuspected: false },
    );
  }

  /** The first heartbeat is due at once. Others are given their time-outs from here on. */
  start(now: MonoUs): void {
    this.#beatAt = now;
    this.#ranAt = now;
    for (const watched of this.#watched) if (watched) watched.deadline = monoAfter(now, watched.timeoutUs);
  }

  /** Never of itself. */
  suspects(member: number): boolean {
    return this.#watched[member]?.isSuspected ?? false;
  }

  get suspected(): number[] {
    return this.#watched.flatMap((watched, member) => (watched?.isSuspected ? [member] : []));
  }

  /** When it wants `run`. */
  get wakeAt(): MonoUs {
    let earliest = this.#beatAt;
    for (const watched of this.#watched) {
      if (watched && !watched.isSuspected && watched.deadline < earliest) earliest = watched.deadline;
    }
    return earliest;
  }

  /** A heartbeat of a life of a member came. True if that member was suspected. Of a life that was not suspected before, suspecting the last one was no mistake. */
  heard(member: number, life: Incarnation, now: MonoUs): boolean {
    const watched = this.#watched[member];
    if (!watched) return false;
    const wasSuspected = watched.isSuspected;
    if (wasSuspected && watched.life === life) watched.timeoutUs = spanUs(watched.timeoutUs + this.#timing.timeoutUs);
    watched.life = life;
    watched.isSuspected = false;
    watched.deadline = monoAfter(now, watched.timeoutUs);
    return wasSuspected;
  }

  /** Time has passed. Whether a heartbeat is due now, and the members that are suspected since this call. */
  run(now: MonoUs): { readonly beats: boolean; readonly suspected: readonly number[] } {
    this.#forgiveOwnDelay(now);
    const suspected: number[] = [];
    for (const [member, watched] of this.#watched.entries()) {
      if (!watched || watched.isSuspected || now < watched.deadline) continue;
      watched.isSuspected = true;
      suspected.push(member);
    }
    const beats = now >= this.#beatAt;
    if (beats) this.#beatAt = monoAfter(now, this.#timing.heartbeatUs);
    return { beats, suspected };
  }

  /** A process that stood still has not read what others sent meanwhile: its own delay is not their silence. */
  #forgiveOwnDelay(now: MonoUs): void {
    const lateUs = spanUs(now - this.#ranAt - this.#timing.heartbeatUs);
    this.#ranAt = now;
    if (lateUs <= this.#timing.heartbeatUs) return;
    for (const watched of this.#watched) if (watched) watched.deadline = monoAfter(watched.deadline, lateUs);
  }

  snapshot(): Snapshot {
    return { beatAt: this.#beatAt, ranAt: this.#ranAt, watched: this.#watched.map((watched) => watched && { ...watched }) };
  }

  restore(snapshot: Snapshot): void {
    const { beatAt, ranAt, watched } = snapshot as unknown as { beatAt: MonoUs; ranAt: MonoUs; watched: readonly (Watched | null)[] };
    this.#beatAt = beatAt;
    this.#ranAt = ranAt;
    for (const [member, told] of watched.entries()) this.#watched[member] = told && { ...told };
  }
}
