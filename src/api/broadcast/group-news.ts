/**
 * How the members of a group stand, as they say when they are asked: for `status`, for callers that wait until the log can be used, and for calls that wait for long. When members have
 * said twice in a row that so many of them have lost their memory that nothing can be decided, waiting is in vain.
 */
import type { BroadcastEvent, BroadcastStanding } from '../../core/index.ts';
import { quorumOf, type TenureError } from '../../kernel/index.ts';
import type { Clocks } from '../../runtime/index.ts';
import { MemberAnswers } from '../services/member-answers.ts';
import { onAbort } from '../signals.ts';
import { logStopped } from './failures.ts';

export type Surveyed = Extract<BroadcastEvent, { kind: 'surveyed' }>;

/** A member and its part of the log. */
export interface MemberLog {
  readonly standing: BroadcastStanding;
  /** Rises when the group is begun anew. */
  readonly epoch: number;
  /** The positions that it keeps: none if the first is above the last. */
  readonly first: number;
  readonly last: number;
}

export interface GroupGround {
  readonly memberIds: readonly string[];
  /** This member; null for a client. */
  readonly self: number | null;
  readonly clocks: Clocks;
  /** Asks every member once. */
  readonly survey: () => void;
  /** Whether a call waits for the members. */
  readonly isWaiting: () => boolean;
  readonly stuck: (error: TenureError) => void;
}

const LOOK_EVERY_US = 1_000_000;
const LOOKS_STUCK = 2;

export class GroupNews {
  readonly #ground: GroupGround;
  readonly #answers: MemberAnswers<Surveyed>;
  /** Told that something has changed, or why waiting is in vain. */
  readonly #waiters = new Set<(vain: TenureError | null) => void>();
  #without: readonly number[] = [];
  #standing: BroadcastStanding | null = null;
  #callOff: (() => void) | null = null;
  #stuckLooks = 0;
  #over: TenureError | null = null;

  constructor(ground: GroupGround) {
    this.#ground = ground;
    this.#answers = new MemberAnswers({ ...ground, ask: ground.survey });
  }

  get isAsked(): boolean {
    return this.#answers.isAsked || this.#waiters.size > 0;
  }

  /** This member votes, and has the log; for a client, a majority of members do. */
  get isReady(): boolean {
    const { self, memberIds } = this.#ground;
    if (self !== null) return this.#standing === 'ready' && this.#without.length === 0;
    const ready = [...this.#answers.heard.values()].filter(({ standing, without }) => standing === 'ready' && without.length === 0);
    return ready.length >= quorumOf(memberIds.length);
  }

  /** Whether the next member may be stopped: this one takes its part, or the group stands still anyway. */
  get isSettled(): boolean {
    return this.#standing === 'ready' || this.#standing === 'failed' || this.#without.length > 0;
  }

  /** A call waits from here on. */
  begin(): void {
    if (this.#callOff !== null || this.#over) return;
    this.#stuckLooks = 0;
    this.#again();
  }

  stands(standing: BroadcastStanding): void {
    this.#standing = standing;
    this.#wakeAll();
  }

  stopped(without: readonly number[]): void {
    this.#without = without;
    this.#wakeAll();
  }

  hear(surveyed: Surveyed): void {
    this.#answers.hear(surveyed.member, surveyed);
    this.#wakeAll();
  }

  /** Resolves once the log can be used here. Rejects with TENURE_NOT_BEGUN if that can never be. */
  async ready(signal: AbortSignal | undefined): Promise<void> {
    while (!this.isReady) {
      signal?.throwIfAborted();
      if (this.#over) throw this.#over;
      this.begin();
      await this.#news(signal);
    }
  }

  /** Asks these members; by member, null for a member that does not answer. */
  async members(asked: readonly number[]): Promise<(MemberLog | null)[]> {
    const answers = await this.#answers.of(asked);
    return answers.map((answer) => answer && { standing: answer.standing, epoch: answer.epoch, first: answer.first, last: answer.last });
  }

  end(error: TenureError): void {
    this.#over ??= error;
    this.#callOff?.();
    this.#callOff = null;
    this.#answers.end();
    this.#wakeAll();
  }

  // ── Calls that wait in vain ────────────────────────────────────────────────────────────────────────

  #again(): void {
    this.#answers.askAll();
    this.#callOff = this.#ground.clocks.after(LOOK_EVERY_US, () => this.#looked());
  }

  #looked(): void {
    this.#callOff = null;
    const { isWaiting, stuck } = this.#ground;
    if (!isWaiting() && this.#waiters.size === 0) return;
    const forgetful = this.#forgetful;
    this.#stuckLooks = forgetful.length > 0 ? this.#stuckLooks + 1 : 0;
    if (this.#stuckLooks < LOOKS_STUCK) return this.#again();
    const error = logStopped(forgetful, this.#ground.memberIds.length);
    this.#wakeAll(error);
    stuck(error);
  }

  /** Members that do not remember anything, if without them there is no majority and every member has said how it stands. */
  get #forgetful(): readonly string[] {
    const { memberIds } = this.#ground;
    const without = new Set<number>();
    for (const [member, told] of this.#answers.heard) {
      if (told.standing === 'blank' || told.standing === 'asking') without.add(member);
      for (const one of told.without) without.add(one);
    }
    if (this.#answers.heard.size < memberIds.length || memberIds.length - without.size >= quorumOf(memberIds.length)) return [];
    return memberIds.filter((_, member) => without.has(member));
  }

  #wakeAll(vain: TenureError | null = null): void {
    for (const wake of this.#waiters) wake(vain);
  }

  #news(signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const calm = onAbort(signal, (reason) => {
        this.#waiters.delete(wake);
        reject(reason);
      });
      const wake = (vain: TenureError | null): void => {
        this.#waiters.delete(wake);
        calm();
        if (vain) reject(vain);
        else resolve();
      };
      this.#waiters.add(wake);
    });
  }
}
