/**
 * `tenure sim --watch`: plays one simulated world back at a speed a person can follow. On a terminal the
 * nodes and what they hold stay on the screen; elsewhere the story is printed as it goes.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { formatInstant, type Simulation, type TracedRun, type TraceEntry } from '../sim/index.ts';
import { EXIT } from './exit-codes.ts';

interface NodeView {
  state: string;
  /** Resource to token and the simulated instant at which it ends. */
  readonly holds: Map<string, { token: number; untilUs: number }>;
  doing: string;
}

const FRAME_MS = 60;
const LOG_LINES = 12;

export async function watchRun(simulation: Simulation, mutant: string | null, seed: number, speed: number): Promise<number> {
  const run = simulation.replay(seed, mutant);
  const interactive = process.stdout.isTTY === true;
  const nodes: NodeView[] = run.nodeNames.map(() => ({ state: 'up', holds: new Map(), doing: '' }));
  const title = `${simulation.name}, a simulated cell of ${nodes.length}, seed ${seed}${mutant === null ? '' : `, without ${mutant}`}`;
  const log: string[] = [];
  let messages = 0;
  let quit = false;
  const stop = (): void => {
    quit = true;
  };
  process.once('SIGINT', stop);
  if (interactive) process.stdout.write('\x1b[?25l\x1b[2J');
  else process.stdout.write(`${title}\n`);

  let next = 0;
  const endUs = run.entries.at(-1)?.atUs ?? 0;
  const stepUs = (FRAME_MS * 1000 * speed) / 1;
  for (let nowUs = 0; nowUs <= endUs + stepUs && !quit; nowUs += stepUs) {
    for (let entry = run.entries[next]; entry && entry.atUs <= nowUs; entry = run.entries[++next]) {
      if (entry.kind === 'message') messages++;
      apply(nodes, entry);
      const line = tell(run, entry);
      if (line === null) continue;
      if (interactive) log.push(line);
      else process.stdout.write(`${line}\n`);
    }
    if (interactive) {
      draw(title, run, nodes, log.slice(-LOG_LINES), nowUs, messages);
      await sleep(FRAME_MS);
    }
  }
  process.off('SIGINT', stop);
  if (interactive) process.stdout.write('\x1b[?25h');
  process.stdout.write(`${summary(run, messages)}\n`);
  return run.violations.length > 0 ? EXIT.violation : EXIT.ok;
}

function apply(nodes: readonly NodeView[], { node, kind, text, record, atUs }: TraceEntry): void {
  const view = node === null ? undefined : nodes[node];
  if (!view) return;
  if (record?.kind === 'granted' || record?.kind === 'renewed') {
    view.holds.set(record.resource, { token: record.token, untilUs: atUs + record.remainingUs });
  } else if (record?.kind === 'ended') {
    view.holds.delete(record.resource);
  } else if (record?.kind === 'crashed') {
    view.holds.clear();
  } else if (kind === 'life') {
    view.state = text.startsWith('crashes') ? 'down' : 'up';
  }
  if (kind === 'step' && text !== 'wakes') view.doing = text;
}

/** What is worth a line of the story. */
function tell(run: TracedRun, entry: TraceEntry): string | null {
  const uses = entry.record?.kind === 'used' || entry.record?.kind === 'requested' || entry.record?.kind === 'crashed';
  if (entry.kind === 'message' || entry.kind === 'step' || uses) return null;
  const who = entry.node === null ? 'the world' : run.nodeNames[entry.node];
  return `${formatInstant(entry.atUs)}  ${String(who).padEnd(9)} ${entry.node === null ? `: ${entry.text}` : entry.text}`;
}

function draw(title: string, run: TracedRun, nodes: readonly NodeView[], log: readonly string[], nowUs: number, messages: number): void {
  const width = Math.min(process.stdout.columns, 120);
  const lines = [`\x1b[1m${title}\x1b[0m`, `${formatInstant(nowUs).trim()} s simulated, ${messages} messages sent and received    Ctrl-C stops`, ''];
  nodes.forEach((view, node) => {
    const name = (run.nodeNames[node] ?? '').padEnd(10);
    const state = view.state === 'down' ? '\x1b[31mdown\x1b[0m' : '\x1b[32mup\x1b[0m  ';
    const holds = [...view.holds].map(([resource, { token, untilUs }]) => {
      const left = Math.max(0, (untilUs - nowUs) / 1_000_000);
      return `\x1b[33m${resource}\x1b[0m ${'█'.repeat(Math.min(20, Math.ceil(left * 10)))} ${left.toFixed(1)} s (token …${String(token).slice(-7)})`;
    });
    lines.push(`  ${name} ${state}  ${holds.length > 0 ? holds.join('  ') : `\x1b[2m${view.doing}\x1b[0m`}`);
  });
  lines.push('', ...log.map((line) => line.slice(0, width)));
  process.stdout.write(`\x1b[H${lines.map((line) => `${line}\x1b[K`).join('\n')}\x1b[J`);
}

function summary(run: TracedRun, messages: number): string {
  const found = run.violations[0];
  const lines = ['', `${messages} messages, ${run.grants} leases granted.`];
  if (found) lines.push(`The referees object: ${found.property}: ${found.message}`);
  else lines.push('The referees found nothing to object to.');
  return lines.join('\n');
}
