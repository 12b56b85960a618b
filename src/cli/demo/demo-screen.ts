/** Draws a demo as lines for a terminal of a given size. It gets all it draws; the cursor is the caller's. */
import { clip } from '../screen.ts';
import { glance, type Palette } from '../terminal.ts';
import type { Happening } from './chronicle.ts';
import { shortToken, type ContenderState, type ProtectedStore } from './crowd.ts';
import type { HeldView, MemberView } from './demo-cell.ts';

interface LeaseView {
  readonly name: string;
  readonly held: HeldView | null;
  readonly inLine: readonly string[];
  readonly isChosen: boolean;
}

export interface Scene {
  readonly nowMs: number;
  readonly elapsedMs: number;
  readonly termMs: number;
  readonly members: readonly MemberView[];
  readonly leases: readonly LeaseView[];
  /** A majority of the members can tell the holders. */
  readonly isCertain: boolean;
  readonly contenders: readonly { readonly id: string; readonly doing: ContenderState | 'is paused' }[];
  readonly store: ProtectedStore;
  readonly log: readonly Happening[];
  readonly hint: string;
  /** For another terminal. */
  readonly commands: readonly string[];
}

const BAR = 18;
const NAME = 14;
const LOG_MIN = 3;

export function sceneLines(scene: Scene, columns: number, rows: number, palette: Palette): string[] {
  const width = Math.max(1, columns - 1);
  const { bold, dim } = palette;
  const isLow = rows < 28;
  const top = [title(scene, width, palette), ...(isLow ? [] : ['']), ...memberLines(scene, palette), '', ...leaseLines(scene, palette), ''];
  const bottom = [
    '',
    ...wrapped(scene.hint, width - 2).map((line, index) => `${index === 0 ? palette.yellow('»') : ' '} ${palette.yellow(line)}`),
    ...keyLines(width, palette),
    dim('In another terminal:'),
    ...scene.commands.map((command) => `  ${command}`),
  ];
  const crowd = [...crowdLines(scene, width, palette), ''];
  const left = rows - top.length - bottom.length;
  const isRoomy = left - crowd.length >= LOG_MIN + 3;
  const logRows = Math.max(LOG_MIN, left - (isRoomy ? crowd.length : 0));
  const log = scene.log.slice(-logRows).map((happening) => logLine(happening, palette));
  while (log.length < logRows) log.push('');
  const lines = [...top, ...(isRoomy ? crowd : []), ...log, ...bottom].map((line) => clip(line, width));
  if (lines.length <= rows) return lines;
  // A very small window: what happens matters more than what one could do.
  const keys = keyLines(width, palette);
  return [bold('tenure demo') + dim('  (a larger window shows more)'), ...lines.slice(1, Math.max(1, rows - keys.length)), ...keys]
    .slice(0, rows)
    .map((line) => clip(line, width));
}

function title({ elapsedMs, store }: Scene, width: number, { bold, dim }: Palette): string {
  const name = 'tenure demo';
  const what = '  three members and eight contenders, each a process';
  const time = clock(elapsedMs);
  const counts = width >= 110 ? `${store.grants} grants, ${store.writes} writes, ${store.refused} refused   ` : '';
  const gap = Math.max(2, width - name.length - what.length - counts.length - time.length);
  return `${bold(name)}${dim(what)}${' '.repeat(gap)}${dim(counts)}${time}`;
}

function memberLines({ members, termMs }: Scene, palette: Palette): string[] {
  const { bold, dim, green, yellow, red } = palette;
  return members.map(({ id, address, state, silentForMs, roundTripMs }, index) => {
    const trip = roundTripMs === null ? '' : dim(`round trip ${glance(roundTripMs)}`);
    const key = index + 1;
    const shown = {
      votes: `${green('votes'.padEnd(10))} ${trip}`,
      silent: `${yellow('silent'.padEnd(10))} ${yellow(bar(silentForMs / termMs, 10))} ${glance(silentForMs)} more ${dim('until it votes')}`,
      starting: yellow('starting'),
      down: `${red('down'.padEnd(10))} ${dim(`press ${key} to start it`)}`,
    }[state];
    return `  ${bold(`member ${id}`)}  ${dim(address.padEnd(15))} ${shown}`;
  });
}

function leaseLines(scene: Scene, palette: Palette): string[] {
  const { bold, dim, yellow, red } = palette;
  const head = `  ${'LEASE'.padEnd(NAME)}${'HOLDER'.padEnd(NAME)}${'RUNS OUT UNLESS RENEWED'.padEnd(BAR + 8)}${'TOKEN'.padEnd(11)}IN LINE`;
  const rows = scene.leases.map(({ name, held, inLine, isChosen }) => {
    const mark = isChosen ? yellow('▸') : ' ';
    const label = bold(name.padEnd(NAME));
    const line = dim(inLine.join(', '));
    const blank = ' '.repeat(BAR + 8 + 11);
    if (!scene.isCertain) return `${mark} ${label}${red('nobody can tell: no majority'.padEnd(NAME + BAR + 8 + 11))}${line}`;
    if (held === null) return `${mark} ${label}${dim('free'.padEnd(NAME))}${blank}${line}`;
    const leftMs = Math.max(0, held.untilMs - scene.nowMs);
    const share = leftMs / scene.termMs;
    const paint = share > 0.5 ? palette.green : share > 0.25 ? yellow : red;
    const who = held.who.length < NAME ? held.who.padEnd(NAME) : `${held.who.slice(0, NAME - 2)}… `;
    return `${mark} ${label}${who}${paint(bar(share, BAR))} ${glance(leftMs).padEnd(7)}${dim(shortToken(held.token).padEnd(11))}${line}`;
  });
  return [dim(head), ...rows];
}

function crowdLines({ contenders }: Scene, width: number, { dim, red, yellow }: Palette): string[] {
  const words = contenders.map(({ id, doing }) => {
    const paint = doing === 'is dead' ? red : doing === 'is paused' || doing === 'stalls' ? yellow : dim;
    return { shown: `${id} ${paint(doing)}`, length: id.length + doing.length + 1 };
  });
  return inLines(words, dim(' · '), width - 2).map((line) => `  ${line}`);
}

function logLine({ atMs, text, tone, event, token }: Happening, { dim, red, green }: Palette): string {
  const paint = { routine: dim, news: (plain: string) => plain, good: green, bad: red }[tone];
  const fence = event === 'granted' && token !== null ? dim(`, token ${shortToken(token)}`) : '';
  return `  ${dim(clock(atMs, true))}  ${paint(text)}${fence}`;
}

function keyLines(width: number, { bold, dim }: Palette): string[] {
  const keys = [
    ['1 2 3', 'kill or start a member'],
    ['↑ ↓', 'choose a lease'],
    ['k', 'kill its holder'],
    ['p', 'pause it, resume'],
    ['q', 'quit'],
  ] as const;
  const words = keys.map(([key, does]) => ({ shown: `${bold(key)} ${dim(does)}`, length: key.length + does.length + 1 }));
  return inLines(words, '   ', width);
}

/** As many as fit into each line, with three columns between two. */
function inLines(words: readonly { readonly shown: string; readonly length: number }[], between: string, width: number): string[] {
  const lines: string[] = [];
  let room = 0;
  for (const { shown, length } of words) {
    if (lines.length > 0 && room >= length + 3) {
      lines[lines.length - 1] += `${between}${shown}`;
      room -= length + 3;
    } else {
      lines.push(shown);
      room = width - length;
    }
  }
  return lines;
}

function bar(share: number, width: number): string {
  const full = Math.min(width, Math.max(0, Math.ceil(share * width)));
  return '█'.repeat(full) + '░'.repeat(width - full);
}

/** `1:07`, or `1:07.3`. */
function clock(ms: number, isExact = false): string {
  const seconds = Math.floor(ms / 1000) % 60;
  const tenths = isExact ? `.${Math.floor(ms / 100) % 10}` : '';
  return `${Math.floor(ms / 60_000)}:${String(seconds).padStart(2, '0')}${tenths}`;
}

function wrapped(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    if (line !== '' && line.length + word.length + 1 > width) {
      lines.push(line);
      line = word;
    } else line = line === '' ? word : `${line} ${word}`;
  }
  return [...lines, line];
}
