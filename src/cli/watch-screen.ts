/** Draws a `WatchView` as lines for a terminal of a given size. Colours only; the cursor is the caller's. */
import { formatInstant, type TraceEntry } from '../sim/index.ts';
import { clip } from './screen.ts';
import type { WatchedNode, ResourceView, WatchView } from './watch-view.ts';

const BOLD = 1;
const DIM = 2;
const RED = 31;
const GREEN = 32;
const YELLOW = 33;
const BLUE = 34;

const STATE_COLOURS = { up: GREEN, down: RED, silent: YELLOW, stalled: YELLOW, asleep: BLUE } as const;
/** What the first letter of a node's name stands for. */
const GROUPS: Readonly<Record<string, string>> = { m: 'members', c: 'clients', n: 'nodes' };

export interface Frame {
  readonly title: string;
  readonly nowUs: number;
  readonly endUs: number;
  readonly view: WatchView;
  readonly log: readonly string[];
}

export function frameLines(frame: Frame, columns: number, rows: number): string[] {
  const { view, nowUs, log } = frame;
  const width = Math.max(20, columns - 1);
  const head = [paint(frame.title, BOLD), timeLine(frame, width), networkLine(view), ''];
  const leases = [...view.resources.values()]
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .slice(0, 6)
    .map((resource) => resourceLine(view, resource, nowUs));
  // The other rows are shared: the nodes get what they need, the story at least six lines.
  const left = rows - head.length - leases.length - 3;
  const nodes = nodeLines(view.nodes, Math.max(3, left - 6));
  const story = log.slice(-Math.max(3, left - nodes.length));
  const lines = [...head, ...nodes, '', ...leases, ...(leases.length > 0 ? [''] : []), ...story];
  return lines.slice(0, rows - 1).map((line) => clip(line, width));
}

function timeLine({ nowUs, endUs, view }: Frame, width: number): string {
  const barWidth = Math.max(10, Math.min(40, width - 60));
  const full = Math.min(barWidth, Math.round((nowUs / Math.max(1, endUs)) * barWidth));
  const bar = `${'━'.repeat(full)}${paint('─'.repeat(barWidth - full), DIM)}`;
  const phase = view.healed ? paint('healed: everybody must get on', GREEN) : paint('under faults', YELLOW);
  return `${seconds(Math.min(nowUs, endUs))} s ${bar} ${seconds(endUs)} s  ${phase}  ${view.messages} messages`;
}

function networkLine({ cuts, nodes }: WatchView): string {
  if (cuts.length === 0) return paint('network whole', DIM);
  return cuts.map((around) => paint(`cut around ${around.map((node) => nodes[node]?.name).join(' ') || 'nobody'}`, RED)).join('   ');
}

function nodeLines(nodes: readonly WatchedNode[], most: number): string[] {
  const groups = new Set(nodes.map(({ name }) => name.charAt(0)));
  const lines: string[] = [];
  let group = '';
  for (const view of nodes) {
    const initial = view.name.charAt(0);
    if (initial !== group && groups.size > 1) lines.push(paint(GROUPS[initial] ?? initial, DIM));
    group = initial;
    lines.push(
      `  ${view.name.padEnd(9)} ${paint(view.state.padEnd(8), STATE_COLOURS[view.state])} ${paint(view.state === 'down' ? '' : view.doing, DIM)}`,
    );
  }
  if (lines.length <= most) return lines;
  const down = nodes.filter(({ state }) => state !== 'up').length;
  return [...lines.slice(0, most - 1), paint(`  … ${nodes.length} nodes in all, ${down} of them not up`, DIM)];
}

function resourceLine({ nodes }: WatchView, { name, holders, waiting }: ResourceView, nowUs: number): string {
  const held = [...holders.values()].map(({ node, token, untilUs }) => {
    const leftUs = Math.max(0, untilUs - nowUs);
    const bar = '█'.repeat(Math.min(10, Math.ceil(leftUs / 100_000))).padEnd(10, '░');
    return `${paint(nodes[node]?.name ?? '', BOLD)} ${paint(bar, holders.size > 1 ? RED : YELLOW)} ${(leftUs / 1_000_000).toFixed(1)} s ${paint(`token …${String(token).slice(-7)}`, DIM)}`;
  });
  const who = held.length > 0 ? held.join('  and  ') : paint('free', GREEN);
  const names = [...new Set(waiting.values())].map((node) => nodes[node]?.name);
  return `${paint(name.padEnd(10), BOLD)} ${who}${names.length > 0 ? paint(`   asked by ${names.join(' ')}`, DIM) : ''}`;
}

function seconds(us: number): string {
  return (us / 1_000_000).toFixed(1);
}

function paint(text: string, code: number): string {
  return text === '' ? '' : `\x1b[${code}m${text}\x1b[0m`;
}

export function storyLine(atUs: number, who: string | null, text: string): string {
  return `${formatInstant(atUs).trim().slice(0, -3).padStart(8)}  ${who === null ? '' : `${who} `}${text}`;
}

/** So that the eye finds grants, losses and faults in the story. */
export function coloured({ record, fact, kind }: TraceEntry, line: string): string {
  if (record?.kind === 'granted') return paint(line, YELLOW);
  if (fact?.kind === 'down' || fact?.kind === 'cut') return paint(line, RED);
  if (fact?.kind === 'healed') return paint(line, GREEN);
  return kind === 'life' || kind === 'world' ? line : paint(line, DIM);
}
