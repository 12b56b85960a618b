/**
 * The worlds in which Flease and PaxosLease are played. Most are drawn from everything that can go wrong. A few have a
 * shape: only what one rule is about goes wrong in them, so that it is that rule which is judged.
 */
import type { Chooser } from '../../../kernel/index.ts';
import { drawFaults, noFaults, type FaultPlan, type FaultScale } from '../../faults.ts';

export type RoundShape =
  /** Anything within the bounds the cell was told. */
  | 'any'
  /** Wall clocks are further apart than the cell was told, and jump. */
  | 'wild'
  /** Clocks that show the same everywhere: ε = S = 0. */
  | 'perfect'
  /** No node crashes; clocks are as far apart as they may be; messages overtake each other, but none is late by half a term. */
  | 'steady'
  /** Members crash and come back; one client's clock goes from ε ahead to ε behind. Messages come in time. */
  | 'sway'
  /** Members crash and come back at once, over and over. */
  | 'restarts'
  /** Members come and go, and messages they sent before a crash arrive long after it: the papers wait for them for ever. */
  | 'long-memory'
  /** No node crashes and every message comes in time: the first word is heard first. */
  | 'punctual'
  /** One client has a lease for a moment. Messages are lost, so that a minority may keep a lease that was given back; the world heals soon. */
  | 'leftovers'
  /** Anything within the bounds, and clients that lie. */
  | 'liars'
  /** One clock at a time runs far too fast or too slow for a while: whose it is notices, and stops before it does harm. */
  | 'slewed';

const LATENCY_US_MAX = 20_000;

export interface RoundScale extends FaultScale {
  readonly skewUs: number;
  readonly isAbsolute: boolean;
}

export function roundFaults(shape: RoundShape, chooser: Chooser, scale: RoundScale): FaultPlan {
  const { termUs, skewUs } = scale;
  const between = (min: number, max: number): number => min + chooser.below(max - min + 1);
  const calm = (): FaultPlan => ({
    ...noFaults(),
    latencyUsMin: between(1, 5_000),
    latencyUsSpread: between(0, 5_000),
    offsetUsMax: skewUs / 2,
  });
  switch (shape) {
    case 'any':
    case 'liars':
    case 'wild':
    case 'perfect':
      return swarm(shape, chooser, scale);
    case 'steady':
      // Doubled twelve times at most: a quarter of a term, and more than ε.
      return { ...calm(), latencyUsMin: 20, latencyUsSpread: 40, tailPpm: between(500_000, 850_000), duplicatePpm: 100_000 };
    case 'sway':
      return {
        ...calm(),
        offsetUsMax: 0,
        crashEveryUs: between(Math.floor(termUs / 10), termUs),
        downUsMax: 1_000,
        afterVotePpm: 100_000,
        wallSwayEveryUs: between(Math.floor(termUs / 5), termUs),
        wallSwayUs: skewUs,
      };
    case 'restarts':
      return {
        ...calm(),
        offsetUsMax: scale.offsetUsMax,
        lossPpm: between(0, 200_000),
        crashEveryUs: between(Math.floor(termUs / 8), termUs),
        downUsMax: between(1, Math.floor(termUs / 10)),
        afterVotePpm: between(0, 60_000),
      };
    case 'long-memory':
      return {
        ...calm(),
        latePpm: 200_000,
        crashEveryUs: termUs * 5 + chooser.below(termUs * 4),
        downUsMax: 10_000,
        afterVotePpm: between(200_000, 300_000),
        lastWordsLatePpm: 1_000_000,
      };
    case 'slewed':
      return {
        ...calm(),
        offsetUsMax: scale.offsetUsMax,
        lossPpm: between(0, 50_000),
        crashEveryUs: chooser.below(2) * between(termUs, termUs * 3),
        downUsMax: Math.floor(termUs / 4),
        slewEveryUs: between(Math.floor(termUs / 2), termUs),
        slewUsMax: termUs * 4,
      };
    case 'punctual': {
      const latencyUsMin = between(3_000, 6_000);
      return {
        ...noFaults(),
        latencyUsMin,
        latencyUsSpread: Math.floor(latencyUsMin * 2.5),
        offsetUsMax: skewUs / 4,
        duplicatePpm: 50_000,
      };
    }
    default:
      // Leftovers.
      return { ...noFaults(), latencyUsMin: between(500, 3_000), latencyUsSpread: 0, lossPpm: between(50_000, 100_000) };
  }
}

function swarm(shape: 'any' | 'liars' | 'wild' | 'perfect', chooser: Chooser, scale: RoundScale): FaultPlan {
  const faults = drawFaults(chooser, scale);
  if (shape === 'perfect') faults.offsetUsMax = faults.ratePpmMax = 0;
  if (shape !== 'wild' && (scale.isAbsolute || shape === 'perfect')) {
    faults.wallStepEveryUs = faults.wallSetAtBootPpm = faults.sleepEveryUs = 0;
    faults.rateChangeEveryUs = 0;
    // No clock is set here: a lease that has ended by it does not come back.
    faults.wallStepsBack = false;
  }
  faults.latencyUsMin = Math.min(faults.latencyUsMin, LATENCY_US_MAX / 2);
  faults.latencyUsSpread = Math.min(faults.latencyUsSpread, LATENCY_US_MAX / 2);
  return faults;
}
