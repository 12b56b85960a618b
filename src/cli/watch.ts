/**
 * `tenure sim --watch`: plays one simulated world back at a speed a person can follow. On a terminal the
 * nodes and their leases stay on the screen; elsewhere the story is printed as it goes.
 */
import { basename } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { deriveSeed } from '../kernel/index.ts';
import type { Simulation, TracedRun, TraceEntry } from '../sim/index.ts';
import { EXIT } from './exit-codes.ts';
import { ALTERNATE_SCREEN, MAIN_SCREEN, redrawn } from './screen.ts';
import { coloured, frameLines, storyLine, type Frame } from './watch-screen.ts';
import { WatchView } from './watch-view.ts';

const FRAME_MS = 50;
/** A world worth watching lasts about this long. */
const LASTS_US = { min: 12_000_000, max: 28_000_000 };
const WORLDS_TRIED = 80;

/** Of some worlds drawn from a seed, the seed of the world in which the most different things happen in a time that a person waits. */
export function worldWorthWatching(simulation: Simulation, mutant: string | null, seed: number): number {
  let best = { seed: deriveSeed(seed, 0), score: -1 };
  for (let index = 0; index < WORLDS_TRIED; index++) {
    const run = simulation.run(deriveSeed(seed, index), mutant);
    const kinds = Object.values(run.sometimes).filter((count) => count > 0).length;
    const lastsWell = run.endedUs >= LASTS_US.min && run.endedUs <= LASTS_US.max;
    const takesOver = (run.sometimes['take-over-after-crash'] ?? 0) > 0;
    const score = kinds + (lastsWell ? 20 : 0) + (takesOver ? 5 : 0) + (run.violations.length > 0 ? 10 : 0);
    if (score > best.score) best = { seed: run.seed, score };
  }
  return best.seed;
}

export async function watchRun(simulation: Simulation, mutant: string | null, seed: number, speed: number): Promise<number> {
  const run = simulation.replay(seed, mutant);
  const title = `${simulation.name}${mutant === null ? '' : ` without ${mutant}`}: a simulated world of ${run.nodeNames.length} nodes, seed ${seed}`;
  const wasStopped = process.stdout.isTTY ? await play(run, title, speed) : print(run, title);
  process.stdout.write(`${summary(simulation, run, wasStopped).join('\n')}\n`);
  return run.violations.length > 0 ? EXIT.violation : EXIT.ok;
}

function print(run: TracedRun, title: string): false {
  const lines = run.entries.flatMap((entry) => lineOf(run, entry) ?? []);
  process.stdout.write(`${[title, ...lines].join('\n')}\n`);
  return false;
}

/** Shows the run in the time it takes; true if the viewer stopped it. */
async function play(run: TracedRun, title: string, speed: number): Promise<boolean> {
  const view = new WatchView(run);
  const log: string[] = [];
  const { stdout } = process;
  let stopped = false;
  const stop = (): void => {
    stopped = true;
  };
  // Whatever ends the process, the terminal is the viewer's again.
  const restore = (): void => void stdout.write(MAIN_SCREEN);
  process.on('SIGINT', stop);
  process.on('SIGTERM', stop);
  process.on('exit', restore);
  stdout.write(ALTERNATE_SCREEN);

  const startedMs = performance.now();
  const endUs = run.endedUs;
  let next = 0;
  let frame: Frame = { title, nowUs: 0, endUs, view, log };
  for (let nowUs = 0; !stopped; nowUs = (performance.now() - startedMs) * 1000 * speed) {
    for (let entry = run.entries[next]; entry && entry.atUs <= nowUs; entry = run.entries[++next]) {
      view.apply(entry);
      const line = lineOf(run, entry);
      if (line !== null) log.push(coloured(entry, line));
    }
    view.endPassed(nowUs);
    frame = { ...frame, nowUs: Math.min(nowUs, endUs) };
    const lines = [...frameLines(frame, stdout.columns, stdout.rows), '\x1b[2mCtrl-C stops\x1b[0m'];
    stdout.write(redrawn(lines));
    if (nowUs > endUs + 1_000_000 * speed) break;
    await sleep(FRAME_MS);
  }

  process.off('SIGINT', stop);
  process.off('SIGTERM', stop);
  process.off('exit', restore);
  restore();
  stdout.write(`${frameLines({ ...frame, log: log.slice(-4) }, stdout.columns, Infinity).join('\n')}\n`);
  return stopped;
}

/** A line of the story, or null if the entry is not worth one. */
function lineOf(run: TracedRun, entry: TraceEntry): string | null {
  const { record } = entry;
  if (entry.kind === 'message' || entry.kind === 'step') return null;
  if (record && record.kind !== 'granted' && record.kind !== 'ended') return null;
  return storyLine(entry.atUs, entry.node === null ? null : String(run.nodeNames[entry.node]), entry.text);
}

function summary(simulation: Simulation, run: TracedRun, wasStopped: boolean): string[] {
  const me = basename(process.argv[1] ?? '') === 'tenure.js' ? 'node bin/tenure.js' : 'tenure';
  const seen = Object.entries(run.sometimes).flatMap(([name, count]) => (count > 0 ? [`${name} ${count}`] : []));
  const [found] = run.violations;
  const lines = ['', wasStopped ? 'Stopped. The whole run, seen or not:' : 'Seen:', ...wrapped(seen)];
  if (found) lines.push('', `The referees object: ${found.property}: ${found.message}`);
  else lines.push('', 'The referees found nothing to object to, and when the world had healed everybody got on.');
  const next = [
    [`${me} sim ${simulation.name} --replay ${run.seed}`, 'this world, step by step'],
    [`${me} sim quorum --runs 2000`, 'two thousand such worlds, judged'],
    [`${me} sim toy --watch`, 'a naive protocol, until it breaks'],
  ] as const;
  const width = Math.max(...next.map(([command]) => command.length));
  return [...lines, '', 'Next:', ...next.map(([command, shows]) => `  ${command.padEnd(width)}   ${shows}`)];
}

/** Words with commas, in lines of a readable length. */
function wrapped(words: readonly string[]): string[] {
  const lines: string[] = [];
  let line = '';
  words.forEach((word, index) => {
    const part = index < words.length - 1 ? `${word},` : word;
    if (line !== '' && line.length + part.length > 84) {
      lines.push(`  ${line}`);
      line = '';
    }
    line += line === '' ? part : ` ${part}`;
  });
  return [...lines, `  ${line}`];
}
