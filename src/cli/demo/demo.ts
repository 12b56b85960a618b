/**
 * `tenure demo`, from its first process to its last: members, contenders, the view of them or their story, and in the end
 * the referees' judgement of what happened. Whatever ends it, nothing is left behind.
 */
import { mkdtempSync, readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, relative } from 'node:path';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { EXIT } from '../exit-codes.ts';
import { printJson } from '../terminal.ts';
import { Actions } from './actions.ts';
import { Children, program } from './children.ts';
import { DemoChronicle, type Happening } from './chronicle.ts';
import { Crowd } from './crowd.ts';
import { DemoCell } from './demo-cell.ts';
import type { Scene } from './demo-screen.ts';
import { Live } from './live.ts';
import { configIn, CONTENDER_IDS, historiesIn, LEASES, TERM_MS } from './parts.ts';
import { playStory, tellStory } from './story.ts';

export interface DemoOptions {
  /** Without it until the viewer has seen enough. */
  readonly forMs: number | undefined;
  readonly isLive: boolean;
  readonly isJson: boolean;
}

const LOG_MOST = 200;
const ENDS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

interface Verdict {
  readonly records: number;
  readonly violations: readonly { readonly property: string; readonly message: string }[];
}

export async function runDemo(options: DemoOptions): Promise<number> {
  const ending = new AbortController();
  const end = (): void => ending.abort();
  for (const signal of ENDS) process.on(signal, end);
  const folder = mkdtempSync(join(tmpdir(), 'tenure-demo-'));
  const children = new Children(folder, options.isLive);
  const chronicle = new DemoChronicle();
  const cell = new DemoCell(folder, children, chronicle);
  const crowd = new Crowd(folder, children, chronicle);
  const live = options.isLive ? new Live(end) : null;
  let verdict: Verdict | null = null;
  try {
    if (!live) tellStory(chronicle, options.isJson);
    else process.stdout.write('starting three members and eight contenders …\n');
    await cell.start(ending.signal);
    const addresses = cell.members.map(({ id, address }) => `${id} ${address}`).join(', ');
    chronicle.announce('ready', `three members vote (${addresses}), terms of ${TERM_MS / 1000} s; eight contenders start`, {
      tone: 'good',
    });
    crowd.start();
    const actions = new Actions(cell, crowd);
    const log: Happening[] = [];
    chronicle.listen((happening) => {
      if (happening.event !== 'refused') log.push(happening);
      if (log.length > LOG_MOST) log.shift();
    });
    const commands = tryIt(folder);
    if (live) live.begin(() => sceneOf(cell, crowd, actions, chronicle, log, commands), actions);
    else playStory(actions, ending.signal);
    const timer = options.forMs === undefined ? undefined : setTimeout(end, options.forMs);
    await over(ending.signal);
    clearTimeout(timer);
  } catch (error) {
    if (!ending.signal.aborted) throw error;
  } finally {
    live?.end();
    await cell.end();
    await crowd.end();
    verdict = await judge(folder).catch(() => null);
    await children.end();
    for (const signal of ENDS) process.off(signal, end);
  }
  return tellEnd(crowd, verdict, options.isJson);
}

function sceneOf(cell: DemoCell, crowd: Crowd, actions: Actions, chronicle: DemoChronicle, log: Happening[], commands: string[]): Scene {
  const nowMs = performance.now();
  const { held } = cell;
  // What the viewer takes in another terminal is shown too.
  const names = [...LEASES, ...[...(held?.keys() ?? [])].filter((name) => !LEASES.includes(name)).slice(0, 3)];
  return {
    nowMs,
    elapsedMs: nowMs - chronicle.startedMs,
    termMs: TERM_MS,
    members: cell.members,
    leases: names.map((name) => ({
      name,
      held: held?.get(name) ?? null,
      inLine: crowd.waitersFor(name),
      isChosen: name === actions.lease,
    })),
    isCertain: held !== null,
    contenders: CONTENDER_IDS.map((id) => ({ id, doing: crowd.doing(id) })),
    store: crowd.store,
    log,
    hint: actions.hint(nowMs),
    commands,
  };
}

/** Three to copy, and the line that makes them find this cell. */
function tryIt(folder: string): string[] {
  const script = program();
  const here = relative(process.cwd(), script);
  const me = basename(script) !== 'tenure.js' ? 'tenure' : `node ${here.startsWith('..') ? script : here}`;
  return [
    `export TENURE_CONFIG=${configIn(folder)}`,
    `${me} holder leader`,
    `${me} run jobs/report -- sh -c 'echo $TENURE_TOKEN; sleep 3'`,
    `${me} watch jobs/`,
  ];
}

/** Every contender wrote down its holds; the referees compare them. */
async function judge(folder: string): Promise<Verdict | null> {
  const histories = historiesIn(folder);
  const files = readdirSync(histories).map((name) => join(histories, name));
  if (files.length === 0) return null;
  const child = spawn(process.execPath, [program(), 'check', '--json', ...files], { stdio: ['ignore', 'pipe', 'ignore'] });
  let text = '';
  child.stdout.on('data', (part: Buffer) => (text += part.toString()));
  await once(child, 'close');
  return text === '' ? null : (JSON.parse(text) as Verdict);
}

function tellEnd({ store }: Crowd, verdict: Verdict | null, isJson: boolean): number {
  const { grants, writes, refused } = store;
  const violations = verdict?.violations ?? [];
  if (isJson) printJson({ event: 'end', grants, writes, writesRefused: refused, records: verdict?.records ?? 0, violations });
  else {
    const lines = [
      `${grants} leases were granted. ${writes} writes were taken, ${refused} with an old token refused.`,
      ...(verdict === null ? [] : [judgement(verdict)]),
      'All processes are ended and all files removed.',
    ];
    process.stdout.write(`${lines.join('\n')}\n`);
  }
  return violations.length > 0 ? EXIT.violation : EXIT.ok;
}

function judgement({ records, violations }: Verdict): string {
  const [first] = violations;
  if (first) return `The referees object: ${first.property}: ${first.message}`;
  return `The referees read ${records} records of the contenders: never two holders at once, and tokens always rose.`;
}

function over(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
