/** What a viewer can do to a demo, by a key each, and what to watch for afterwards. The story of a demo without a viewer does the same. */
import { quorumOf } from '../../kernel/index.ts';
import type { Crowd } from './crowd.ts';
import type { DemoCell } from './demo-cell.ts';
import { CONTENDERS, LEASES, MEMBERS, TERM_MS, type MemberId } from './parts.ts';

const TERM = `${TERM_MS / 1000} s`;
const SHOWN_FOR_MS = 15_000;
const EACH_FOR_MS = 9000;

/** Shown while nothing was pressed. */
const INVITATIONS = [
  `press k: the leader is killed. Nobody can tell the cell, so its lease has to run out (${TERM} at most); then the other leads`,
  'press 2: one member of three is killed. Two are a majority: nothing else happens',
  'press p: the leader is paused. Wait until the other leads, press p again, and see it learn that it was replaced',
  'press 1 and 2: without a majority nobody gets or keeps a lease. Start them again with the same keys',
  'sleepy holds jobs/import and stands still until it has lost it; its late write has an old token and is refused',
];

export class Actions {
  readonly #cell: DemoCell;
  readonly #crowd: Crowd;
  #chosen = 0;
  #hint = '';
  #hintedMs = -Infinity;

  constructor(cell: DemoCell, crowd: Crowd) {
    this.#cell = cell;
    this.#crowd = crowd;
  }

  /** The lease whose holder is killed or paused. */
  get lease(): string {
    return LEASES[this.#chosen] ?? '';
  }

  hint(nowMs: number): string {
    if (nowMs - this.#hintedMs < SHOWN_FOR_MS) return this.#hint;
    return INVITATIONS[Math.floor(nowMs / EACH_FOR_MS) % INVITATIONS.length] ?? '';
  }

  choose(step: 1 | -1): void {
    this.#chosen = (this.#chosen + step + LEASES.length) % LEASES.length;
  }

  toggleMember(id: MemberId): void {
    const majority = quorumOf(MEMBERS.length);
    if (this.#cell.isRunning(id)) {
      const left = this.#cell.running - 1;
      this.#cell.killMember(id);
      if (left >= majority)
        this.#say(`${id} is gone. ${left} of ${MEMBERS.length} are a majority: leases are granted and renewed as before`);
      else this.#say(`no majority: nobody gets a lease, and who has one loses it within ${TERM}, and stops before`);
    } else {
      this.#cell.startMember(id);
      this.#say(`${id} cannot know what it voted for before, so it votes for nobody until that is over: ${TERM} of silence`);
    }
  }

  killHolder(): void {
    const { lease } = this;
    const holder = this.#crowd.holderOf(lease);
    if (holder === null) return this.#say(`nobody of the demo holds ${lease} right now: try again in a moment`);
    this.#crowd.kill(holder);
    this.#say(
      `${holder} is dead and could tell nobody: the bar of ${lease} runs down, then ${this.#next(lease)} gets it, with a higher token`,
    );
  }

  pauseOrResume(): void {
    const { paused } = this.#crowd;
    if (paused !== null) {
      this.#crowd.resume(paused);
      return this.#say(
        `${paused} goes on as if nothing had been. If another has ${CONTENDERS[paused].lease} by now, its writes are refused and it learns so`,
      );
    }
    if (process.platform === 'win32') return this.#say('Windows cannot pause a process');
    const holder = this.#crowd.holderOf(this.lease);
    if (holder === null) return this.#say(`nobody of the demo holds ${this.lease} right now: try again in a moment`);
    this.#crowd.pause(holder);
    this.#say(`${holder} is frozen and cannot renew: within ${TERM} ${this.lease} goes to ${this.#next(this.lease)}. Then press p again`);
  }

  #next(lease: string): string {
    return this.#crowd.waitersFor(lease)[0] ?? 'whoever asks next';
  }

  #say(hint: string): void {
    this.#hint = hint;
    this.#hintedMs = performance.now();
  }
}
