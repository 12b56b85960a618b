/**
 * What the pongs of one peer tell: a smoothed round trip, how far its wall clock is from ours, and what both monotonic
 * clocks showed. The offset is taken from the quickest of the last few pongs, because a slow one may have waited on either way.
 */
import type { ClockReading } from '../../core/index.ts';
import type { Pong } from '../../wire/index.ts';

const KEPT = 8;
/** Weight of a new sample, as in TCP. */
const GAIN = 1 / 8;

export class RoundTrip {
  rttUs: number | null = null;
  offsetUs: number | null = null;
  clock: ClockReading | null = null;
  readonly #recent: { rttUs: number; offsetUs: number }[] = [];

  /** `nowUs` on the clock of the ping, `wallUs` at the same moment. A pong that cannot be true is left out. */
  sample(pong: Pong, nowUs: number, wallUs: number): void {
    const heldUs = pong.answeredWallUs - pong.receivedWallUs;
    const elapsedUs = nowUs - pong.sentUs;
    if (!(elapsedUs >= 0)) return;
    this.clock = { beforeUs: pong.sentUs, afterUs: nowUs, peerUs: pong.answeredMonoUs };
    // The peer's clock may have stepped while it held the ping.
    const rttUs = heldUs >= 0 && heldUs <= elapsedUs ? elapsedUs - heldUs : elapsedUs;
    this.rttUs = this.rttUs === null ? rttUs : this.rttUs + (rttUs - this.rttUs) * GAIN;
    this.#recent.push({ rttUs, offsetUs: pong.answeredWallUs + rttUs / 2 - wallUs });
    if (this.#recent.length > KEPT) this.#recent.shift();
    let best = this.#recent[0];
    for (const one of this.#recent) if (best === undefined || one.rttUs <= best.rttUs) best = one;
    this.offsetUs = best?.offsetUs ?? null;
  }
}
