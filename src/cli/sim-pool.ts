/** Runs a campaign on worker threads. Chunks are added up in their order, so the outcome does not depend on the number of threads. */
import { Worker } from 'node:worker_threads';
import { addResult, emptyResult, type CampaignResult, type Simulation } from '../sim/index.ts';

export interface CampaignOrder {
  readonly simulation: Simulation;
  readonly mutant: string | null;
  readonly runs: number;
  readonly seed: number;
  readonly threads: number;
  readonly stopAtViolation: boolean;
  readonly onProgress?: (runsDone: number, violations: number) => void;
}

export interface ChunkOrder {
  readonly protocol: string;
  readonly mutant: string | null;
  readonly seed: number;
  readonly first: number;
  readonly count: number;
  readonly stopAtViolation: boolean;
}

const CHUNK_RUNS = 25;

export async function runCampaign(order: CampaignOrder): Promise<CampaignResult> {
  const { simulation, mutant, runs, seed, stopAtViolation } = order;
  const total = emptyResult(simulation);
  const waiting = new Map<number, CampaignResult>();
  let nextToSend = 0;
  let nextToAdd = 0;
  let runsDone = 0;
  let violations = 0;
  let hasFailed = false;
  const isOver = (): boolean => hasFailed || (stopAtViolation && total.violations.length > 0);

  const takeOrder = (): ChunkOrder | null => {
    const first = nextToSend;
    if (first >= runs || isOver()) return null;
    nextToSend += CHUNK_RUNS;
    return { protocol: simulation.name, mutant, seed, first, count: Math.min(CHUNK_RUNS, runs - first), stopAtViolation };
  };

  const takeResult = (first: number, result: CampaignResult): void => {
    waiting.set(first, result);
    runsDone += result.runs;
    violations += result.violations.length;
    for (let chunk = waiting.get(nextToAdd); chunk && !isOver(); chunk = waiting.get(nextToAdd)) {
      waiting.delete(nextToAdd);
      addResult(total, chunk);
      nextToAdd += CHUNK_RUNS;
    }
    order.onProgress?.(runsDone, violations);
  };

  const threads = Math.max(1, Math.min(order.threads, Math.ceil(runs / CHUNK_RUNS)));
  const workers = Array.from({ length: threads }, () =>
    work(takeOrder, takeResult).catch((error: unknown) => {
      // The others finish their orders and take no more.
      hasFailed = true;
      throw error;
    }),
  );
  await Promise.all(workers);
  return total;
}

/** One worker, until there are no more orders. */
function work(takeOrder: () => ChunkOrder | null, takeResult: (first: number, result: CampaignResult) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL('./sim-worker.js', import.meta.url));
    let under: ChunkOrder | null = null;
    const next = (): void => {
      under = takeOrder();
      if (under) worker.postMessage(under);
      else void worker.terminate().then(() => resolve());
    };
    worker.on('message', (result: CampaignResult) => {
      if (under) takeResult(under.first, result);
      next();
    });
    worker.on('error', reject);
    next();
  });
}
