/** Worlds in which bundles matter most: links that are cut for a term or more, one after the other; and processes that stand still. */
import type { Chooser } from '../../../kernel/index.ts';
import { noFaults, type FaultPlan } from '../../faults.ts';

export type BundleShape = 'severed' | 'stalled';

const SHAPES: Record<BundleShape, (chooser: Chooser, termUs: number) => Partial<FaultPlan>> = {
  /** Votes and bundles run out at one voter, then at another, while their holder goes on with the rest. */
  severed: (chooser, termUs) => ({
    latencyUsMin: 500,
    latencyUsSpread: 1 + chooser.below(6_000),
    lossPpm: chooser.below(60_000),
    duplicatePpm: chooser.below(2) * 100_000,
    cutEveryUs: Math.floor(termUs / 16) + chooser.below(Math.floor(termUs / 4)),
    cutUsMax: termUs + chooser.below(termUs),
    oneWayPpm: 300_000,
  }),
  /** Answers are looked at late, and holders stand still until others have what they held. */
  stalled: (chooser, termUs) => ({
    latencyUsMin: 200,
    latencyUsSpread: 1 + chooser.below(2_000),
    lossPpm: chooser.below(2) * 30_000,
    stallEveryUs: Math.floor(termUs / 20) + chooser.below(Math.floor(termUs / 4)),
    stallUsMax: Math.floor(termUs * 1.3),
  }),
};

export function bundleFaults(shape: BundleShape, chooser: Chooser, termUs: number): FaultPlan {
  return { ...noFaults(), ...SHAPES[shape](chooser, termUs) };
}
