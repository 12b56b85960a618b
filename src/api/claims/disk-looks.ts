/**
 * How far the disks of the members are, as they say when they are asked: for whoever wants to know, and for claims that wait for long. When every member has
 * answered, twice in a row, and no claim can be granted with such disks, waiting is in vain.
 */
import type { DiskStanding, IntervalEvent } from '../../core/index.ts';
import { quorumOf } from '../../kernel/index.ts';
import type { Clocks } from '../../runtime/index.ts';
import type { MemberDisk } from './failures.ts';

interface LookGround {
  readonly memberIds: readonly string[];
  readonly clocks: Clocks;
  /** Asks every member once. */
  readonly look: () => void;
  readonly isWaiting: () => boolean;
  readonly stuck: (disks: readonly MemberDisk[]) => void;
}

const LOOK_EVERY_US = 1_000_000;
/** A question waits so long for members that do not answer. */
const ANSWERS_US = 500_000;
const LOOKS_STUCK = 2;

export class DiskLooks {
  readonly #ground: LookGround;
  readonly #told = new Map<number, DiskStanding>();
  readonly #questions = new Set<{ readonly missing: Set<number>; readonly answered: () => void }>();
  #callOff: (() => void) | null = null;
  #stuckLooks = 0;

  constructor(ground: LookGround) {
    this.#ground = ground;
  }

  get isAsked(): boolean {
    return this.#questions.size > 0;
  }

  /** A claim waits from here on. */
  begin(): void {
    if (this.#callOff !== null) return;
    this.#stuckLooks = 0;
    this.#again();
  }

  end(): void {
    this.#callOff?.();
    this.#callOff = null;
    for (const { answered } of this.#questions) answered();
  }

  told({ member, phase, generation, noted, copied, needed }: Extract<IntervalEvent, { kind: 'standing' }>): void {
    this.#told.set(member, { phase, generation, noted, copied, needed });
    for (const question of this.#questions) {
      question.missing.delete(member);
      if (question.missing.size === 0) question.answered();
    }
  }

  /** Asks these members; by member, null for those that do not answer. */
  async disks(asked: readonly number[]): Promise<(DiskStanding | null)[]> {
    this.#told.clear();
    if (asked.length > 0) await this.#answers(asked);
    return this.#ground.memberIds.map((_, member) => this.#told.get(member) ?? null);
  }

  #answers(asked: readonly number[]): Promise<void> {
    const { clocks, look } = this.#ground;
    return new Promise((resolve) => {
      const answered = (): void => {
        callOff();
        this.#questions.delete(question);
        resolve();
      };
      const question = { missing: new Set(asked), answered };
      const callOff = clocks.after(ANSWERS_US, answered);
      this.#questions.add(question);
      look();
    });
  }

  #again(): void {
    this.#callOff = this.#ground.clocks.after(LOOK_EVERY_US, () => {
      this.#callOff = null;
      if (!this.#ground.isWaiting()) return;
      this.#judge();
      if (!this.#ground.isWaiting()) return;
      this.#told.clear();
      this.#ground.look();
      this.#again();
    });
  }

  /** What the last look has brought. */
  #judge(): void {
    const { memberIds, stuck } = this.#ground;
    const disks = memberIds.flatMap((id, member): MemberDisk[] => {
      const disk = this.#told.get(member);
      return disk ? [{ id, disk }] : [];
    });
    const inUse = disks.filter(({ disk }) => disk.phase === 'ready').length;
    const needed = disks[0]?.disk.needed ?? 0;
    const isWhole = disks.length === memberIds.length && disks.every(({ disk }) => disk.phase !== 'reading');
    const isStuck = isWhole && inUse < quorumOf(memberIds.length) && inUse < needed;
    this.#stuckLooks = isStuck ? this.#stuckLooks + 1 : 0;
    if (this.#stuckLooks >= LOOKS_STUCK) stuck(disks);
  }
}
