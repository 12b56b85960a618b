/**
 * Many runs. A campaign is split into chunks that any number of workers may run in any order: results
 * are added up in the order of the runs, so the outcome does not depend on the workers.
 */
import { deriveSeed } from '../kernel/index.ts';
import type { Simulation } from './run.ts';

export interface FoundViolation {
  readonly seed: number;
  readonly property: string;
  readonly at: number;
  readonly message: string;
}

export interface CampaignResult {
  runs: number;
  events: number;
  grants: number;
  violations: FoundViolation[];
  sometimes: Record<string, number>;
  liveness: { checked: number; failed: number };
}

export function emptyResult(simulation: Simulation): CampaignResult {
  const sometimes = Object.fromEntries(simulation.sometimes.map(({ name }) => [name, 0]));
  return { runs: 0, events: 0, grants: 0, violations: [], sometimes, liveness: { checked: 0, failed: 0 } };
}

/** Runs `count` runs of a campaign, from run number `first` on; stops after the first violation if told to. */
export function runChunk(
  simulation: Simulation,
  mutant: string | null,
  campaignSeed: number,
  first: number,
  count: number,
  stopAtViolation: boolean,
): CampaignResult {
  const result = emptyResult(simulation);
  for (let index = first; index < first + count; index++) {
    const run = simulation.run(deriveSeed(campaignSeed, index), mutant);
    result.runs++;
    result.events += run.events;
    result.grants += run.grants;
    addCounts(result.sometimes, run.sometimes);
    if (run.livenessChecked) result.liveness.checked++;
    const violation = run.violations[0];
    if (!violation) continue;
    // One violation per run: what follows the first is often only its echo.
    if (violation.property === 'liveness') result.liveness.failed++;
    result.violations.push({ seed: run.seed, property: violation.property, at: violation.at, message: violation.message });
    if (stopAtViolation) break;
  }
  return result;
}

/** Adds a chunk's result to the total before it. */
export function addResult(total: CampaignResult, chunk: CampaignResult): void {
  total.runs += chunk.runs;
  total.events += chunk.events;
  total.grants += chunk.grants;
  total.violations.push(...chunk.violations);
  addCounts(total.sometimes, chunk.sometimes);
  total.liveness.checked += chunk.liveness.checked;
  total.liveness.failed += chunk.liveness.failed;
}

function addCounts(total: Record<string, number>, counts: Readonly<Record<string, number>>): void {
  for (const [name, count] of Object.entries(counts)) total[name] = (total[name] ?? 0) + count;
}
