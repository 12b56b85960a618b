/**
 * How far the disks of the members are, as they say when they are asked: for `status`, and for claims that wait for long. When every member has
 * answered, twice in a row, and no claim can be granted with such disks, waiting is in vain.
 */
import type { DiskStanding, IntervalEvent } from '../../core/index.ts';
import { quorumOf } from '../../kernel/index.ts';
import type { Clocks } from '../../runtime/index.ts';
import { MemberAnswers } from '../services/member-answers.ts';
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
const LOOKS_STUCK = 2;

export class DiskLooks {
  readonly #ground: LookGround;
  readonly #answers: MemberAnswers<DiskStanding>;
  #callOff: (() => void) | null = null;
  #stuckLooks = 0;

  constructor(ground: LookGround) {
    this.#ground = ground;
    this.#answers = new MemberAnswers({ ...ground, ask: ground.look });
  }

  get isAsked(): boolean {
    return this.#answers.isAsked;
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
    this.#answers.end();
  }

  hear({ member, phase, generation, noted, copied, needed }: Extract<IntervalEvent, { kind: 'standing' }>): void {
    this.#answers.hear(member, { phase, generation, noted, copied, needed });
  }

  /** Asks these members; by member, null for a member that does not answer. */
  disks(asked: readonly number[]): Promise<(DiskStanding | null)[]> {
    return this.#answers.of(asked);
  }

  #again(): void {
    this.#callOff = this.#ground.clocks.after(LOOK_EVERY_US, () => {
      this.#callOff = null;
      if (!this.#ground.isWaiting()) return;
      this.#judge();
      if (!this.#ground.isWaiting()) return;
      this.#answers.askAll();
      this.#again();
    });
  }

  /** What the last look has brought. */
  #judge(): void {
    const { memberIds, stuck } = this.#ground;
    const disks = memberIds.flatMap((id, member): MemberDisk[] => {
      const disk = this.#answers.heard.get(member);
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
