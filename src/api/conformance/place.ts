/**
 * Where the suite of lease services runs: what a place has to offer, and how a test waits in it, be its time
 * real or virtual.
 */
import assert from 'node:assert/strict';
import type { LeaseClient } from '../leases/client.ts';
import type { Lease } from '../leases/lease.ts';
import type { HolderAnswer } from '../leases/questions.ts';

/** So many terms after its grant a lease that was not renewed has ended. Terms are the longest there are: machines that run tests stand still for a second. */
export const BEYOND_A_TERM = 1.2;

export interface LeasePlace {
  /** The longest term there is. */
  readonly maxTermMs: number;
  /** How long it takes at most, from the crash of a holder whose term is half of the longest, until a waiter has its lease: three such terms unless told otherwise. */
  readonly takeOverMs?: number;
  /** How many leases a long list has: 700 unless told otherwise. */
  readonly listLength?: number;
  /** The code that says that nothing can be reached: TENURE_NO_QUORUM unless told otherwise. */
  readonly unreachableCode?: string;
  /** Whether it is never certain that another holds a lease, as on plain registers: then it is enough to be told of it. */
  readonly isUnsureOfOthers?: boolean;
  /** Another client, as if from another process. */
  client(): Promise<LeaseClient>;
  /** Lets so much time pass. */
  pass(ms: number): Promise<void>;
  /** Whether a client can be cut off: from here on it reaches no member or store. Others perhaps neither. */
  cutOff?(client: LeaseClient): void | Promise<void>;
  mend?(client: LeaseClient): void | Promise<void>;
  /** A process that can be killed takes a lease; `crash` kills it, without a word. */
  holder?(name: string, termMs: number): Promise<{ readonly token: number; crash(): void | Promise<void> }>;
  /** The test is over. Ends all clients of this place, whatever state they are in. */
  close(): Promise<void>;
}

/** Patience with a busy machine. */
export const PATIENCE_MS = 15_000;
const MOMENT_MS = 20;
/** What a busy machine may spoil now and then is tried so often. */
export const ROUNDS_MAX = 8;

/** Names a test and says what it does. */
export type LeaseTestClaim = (name: string, body: (kit: LeaseTestKit) => Promise<void>) => void;

/** A place, a name of its own, and ways to wait in it. */
export class LeaseTestKit {
  readonly place: LeasePlace;
  readonly name: string;

  constructor(place: LeasePlace, name: string) {
    this.place = place;
    this.name = name;
  }

  async clients(): Promise<[LeaseClient, LeaseClient]> {
    return Promise.all([this.place.client(), this.place.client()]);
  }

  /** What comes of a promise while time passes, a moment at a time. */
  async outcome<T>(promise: Promise<T>, withinMs: number = PATIENCE_MS): Promise<T> {
    let isOver = false;
    const end = (): void => {
      isOver = true;
    };
    promise.then(end, end);
    for (let passedMs = 0; !isOver && passedMs < withinMs; passedMs += MOMENT_MS) await this.place.pass(MOMENT_MS);
    assert.ok(isOver, `nothing came of it within ${withinMs} ms`);
    return promise;
  }

  async isPending(promise: Promise<unknown>, forMs: number): Promise<boolean> {
    let isOver = false;
    const end = (): void => {
      isOver = true;
    };
    promise.then(end, end);
    await this.place.pass(forMs);
    return !isOver;
  }

  async refusal(promise: Promise<unknown>, code: string): Promise<void> {
    await assert.rejects(this.outcome(promise), (error: unknown) => {
      assert.equal((error as { code?: unknown }).code, code);
      return true;
    });
  }

  /** The holder of the name, from a client that is sure of it. */
  async holder(client: LeaseClient): Promise<HolderAnswer> {
    for (let tries = 1; ; tries++) {
      const answer = await this.outcome(client.holder(this.name));
      if (answer.certain || (answer.holder !== null && this.isUnsureOfOthers)) return answer;
      assert.ok(tries < ROUNDS_MAX, 'too few answered to be sure');
    }
  }

  /**
   * Whether a released name has no holder, by the client that is asked. A place that is sure of others says so at once. On plain registers a busy
   * machine may state a release too late: the name that is left there runs out.
   */
  async isFreed(nobodyHolds: () => Promise<boolean>): Promise<boolean> {
    const runsOutMs = this.isUnsureOfOthers ? (this.place.takeOverMs ?? 3 * this.place.maxTermMs) : 0;
    for (let passedMs = 0; ; passedMs += MOMENT_MS) {
      if (await nobodyHolds()) return true;
      if (passedMs >= runsOutMs) return false;
      await this.place.pass(MOMENT_MS);
    }
  }

  get isUnsureOfOthers(): boolean {
    return this.place.isUnsureOfOthers ?? false;
  }

  get unreachableCode(): string {
    return this.place.unreachableCode ?? 'TENURE_NO_QUORUM';
  }

  async cutOff(client: LeaseClient): Promise<void> {
    await this.place.cutOff?.(client);
  }

  async mend(client: LeaseClient): Promise<void> {
    await this.place.mend?.(client);
  }

  async over(lease: Lease): Promise<void> {
    for (let passedMs = 0; lease.valid && passedMs < PATIENCE_MS; passedMs += MOMENT_MS) await this.place.pass(MOMENT_MS);
    assert.equal(lease.valid, false);
  }
}
