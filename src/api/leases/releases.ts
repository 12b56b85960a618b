/** Leases that are being given back: each release waits for its answer, and a caller that gives back in passing waits no longer than it must. */
import type { LeaseCommand } from '../../core/index.ts';
import { NumberMap } from '../../kernel/index.ts';
import type { Clocks, KeepAlive } from '../../runtime/index.ts';
import type { HeldLease } from './held-lease.ts';

/** A release in passing is waited for as long as so many attempts take. */
const GIVE_BACK_ATTEMPTS = 4;

interface ReleaseGround {
  readonly command: (command: LeaseCommand) => void;
  readonly clocks: Clocks;
  readonly alive: KeepAlive;
  readonly attemptUs: number;
}

/** How a lease service is left. */
export interface LeaveOptions {
  readonly timeoutUs?: number | undefined;
  readonly handsOver?: boolean;
}

export class Releases {
  readonly #ground: ReleaseGround;
  readonly #open = new NumberMap<() => void>();

  constructor(ground: ReleaseGround) {
    this.#ground = ground;
  }

  get count(): number {
    return this.#open.size;
  }

  /** Resolves when it is answered. */
  send({ grant: { number, nameBytes } }: HeldLease, inUs: number): Promise<void> {
    return new Promise<void>((resolve) => {
      this.#ground.alive.hold();
      this.#open.set(number, resolve);
      this.#ground.command({ kind: 'release', lease: number, name: nameBytes, inUs });
    });
  }

  answered(number: number): void {
    const done = this.#open.get(number);
    if (!done) return;
    this.#open.delete(number);
    this.#ground.alive.letGo();
    done();
  }

  /** Releases that were not answered end by themselves, without us. */
  abandonAll(): void {
    for (const number of this.#open.keys()) this.answered(number);
  }

  /**
   * Gives leases back and waits for the answers, but not for an engine that does not answer: as long as answers
   * keep coming, or at most for the time given. Leases without an answer by then end by themselves. A lease that goes to an heir needs no release.
   */
  async giveBack(
    leases: readonly HeldLease[],
    timeoutUs?: number,
    heirs: { offer(lease: HeldLease, to: null): Promise<boolean> } | null = null,
  ): Promise<void> {
    let left = leases.length;
    const all = Promise.all(
      leases.map(async (lease) => {
        const isGone = heirs !== null && !lease.isOver && lease.above === undefined && (await heirs.offer(lease, null).catch(() => false));
        if (!isGone) await lease.release();
        left--;
      }),
    );
    const patienceUs = GIVE_BACK_ATTEMPTS * this.#ground.attemptUs;
    for (let before = Infinity; left > 0 && left < before;) {
      before = timeoutUs === undefined ? left : 0;
      await this.atMost(all, timeoutUs ?? patienceUs);
    }
  }

  async atMost(promise: Promise<unknown>, delayUs: number): Promise<void> {
    if (delayUs <= 0) return;
    let enough = (): void => {};
    const passed = new Promise<void>((resolve) => {
      enough = this.#ground.clocks.after(delayUs, resolve);
    });
    await Promise.race([promise, passed]);
    enough();
  }
}
