/**
 * The events of one run, for people: which process did what, and when. It is taken only when a run is
 * replayed, so describing a step may be slow.
 */
import { formatDuration, spanUs } from '../kernel/index.ts';
import type { Boot } from '../core/index.ts';
import { formatRecord, type HistoryRecord } from '../check/index.ts';
import type { Cut } from './network.ts';
import type { Damage } from './registers.ts';
import type { ScheduledAccess } from './storage.ts';

interface Who {
  readonly node: number;
  readonly incarnation: number;
}

export type TraceKind = 'message' | 'step' | 'life' | 'hold' | 'world';

/** What an entry says about the state of its node or of the world, for programs. */
export type TraceFact =
  | { readonly kind: 'up' | 'down' | 'healed' }
  | { readonly kind: 'blocked'; readonly untilUs: number; readonly how: 'stalled' | 'asleep' }
  | { readonly kind: 'cut' | 'mended'; readonly around: readonly number[] };

export interface TraceEntry {
  readonly atUs: number;
  /** Null where the world itself acts. */
  readonly node: number | null;
  /** 0 where it is the machine, not a process on it. */
  readonly incarnation: number;
  readonly kind: TraceKind;
  readonly text: string;
  readonly fact?: TraceFact;
  /** The history record this entry tells of, if it does. */
  readonly record?: HistoryRecord;
}

export class Trace {
  readonly entries: TraceEntry[] = [];
  readonly #nameOf: (node: number) => string;
  readonly #now: () => number;

  constructor(nameOf: (node: number) => string, now: () => number) {
    this.#nameOf = nameOf;
    this.#now = now;
  }

  sent(by: Who, to: number, copies: number, describe: () => string): void {
    const fate = copies === 0 ? ' (lost)' : copies > 1 ? ` (${copies} copies)` : '';
    this.#add('message', by, `sends ${describe()} to ${this.#nameOf(to)}${fate}`);
  }

  received(by: Who, from: number, describe: () => string): void {
    this.#add('message', by, `gets ${describe()} from ${this.#nameOf(from)}`);
  }

  lost(from: number, to: number, describe: () => string): void {
    this.note(`lost on the way from ${this.#nameOf(from)} to ${this.#nameOf(to)}: ${describe()}`, 'message');
  }

  woken(by: Who): void {
    this.#add('step', by, 'wakes');
  }

  commanded(by: Who, describe: () => string): void {
    this.#add('step', by, `is asked to ${describe()}`);
  }

  emitted(by: Who, describe: () => string): void {
    this.#add('step', by, `says ${describe()}`);
  }

  completed(by: Who, access: ScheduledAccess): void {
    const { request, ok, isLost, isVoid } = access;
    const how = isVoid ? 'was refused' : !ok ? 'failed' : isLost ? 'is lost' : 'is done';
    this.#add('step', by, `learns that its ${request.action} of ${request.key} ${how}`);
  }

  damaged(damage: Damage): void {
    const where = 'node' in damage ? `the disk of ${this.#nameOf(damage.node)}` : `unit ${damage.unit}`;
    switch (damage.kind) {
      case 'corrupt':
        return this.note(`${where} corrupts ${damage.key}`);
      case 'forget':
        return this.note(`${where} forgets the last write of ${damage.key}`);
      case 'wipe':
        return this.note(`${where} is wiped`);
      case 'restore':
        return this.note(`${where} goes back by ${damage.changes} changes, and is in another epoch`);
    }
  }

  started(by: Who, boot: Boot): void {
    this.#add('life', by, boot.restarted ? `restarts, its disk ${boot.diskKept ? 'kept' : 'empty'}` : 'starts', { fact: { kind: 'up' } });
  }

  crashed(by: Who): void {
    this.#add('life', by, 'crashes', { fact: { kind: 'down' } });
  }

  replaced(by: Who, untilUs: number): void {
    this.#add('life', by, `is taken for dead, but only stalls until ${formatInstant(untilUs).trim()}; a new process starts beside it`);
  }

  stalled(by: Who, untilUs: number): void {
    const fact = { kind: 'blocked', untilUs, how: 'stalled' } as const;
    this.#add('life', by, `stalls until ${formatInstant(untilUs).trim()}`, { fact });
  }

  slept(node: number, untilUs: number): void {
    const fact = { kind: 'blocked', untilUs, how: 'asleep' } as const;
    this.#add('life', { node, incarnation: 0 }, `falls asleep, machine and all, until ${formatInstant(untilUs).trim()}`, { fact });
  }

  wallStepped(node: number, byUs: number): void {
    this.#add(
      'life',
      { node, incarnation: 0 },
      `has its wall clock set ${byUs > 0 ? 'forward' : 'back'} by ${formatDuration(spanUs(Math.abs(byUs)))}`,
    );
  }

  cut({ onSide, oneWay, flapUs }: Cut): void {
    const around = side(onSide);
    const how = `${oneWay ? ', one way' : ''}${flapUs > 0 ? ', flapping' : ''}`;
    this.note(`the network is cut around ${this.#names(around)}${how}`, 'world', { kind: 'cut', around });
  }

  mended({ onSide }: Cut): void {
    const around = side(onSide);
    this.note(`the network is whole again around ${this.#names(around)}`, 'world', { kind: 'mended', around });
  }

  healed(): void {
    this.note('the world heals', 'world', { kind: 'healed' });
  }

  recorded(record: HistoryRecord): void {
    this.#add('hold', record as Who, describeRecord(record), { record });
  }

  note(text: string, kind: TraceKind = 'world', fact?: TraceFact): void {
    this.entries.push({ atUs: this.#now(), node: null, incarnation: 0, kind, text, ...(fact && { fact }) });
  }

  #names(nodes: readonly number[]): string {
    return nodes.map((node) => this.#nameOf(node)).join(', ') || 'nobody';
  }

  #add(kind: TraceKind, by: Who, text: string, more: Pick<TraceEntry, 'fact' | 'record'> = {}): void {
    this.entries.push({ atUs: this.#now(), node: by.node, incarnation: by.incarnation, kind, text, ...more });
  }
}

function side(onSide: Uint8Array): number[] {
  return [...onSide.keys()].filter((node) => onSide[node] === 1);
}

function describeRecord(record: HistoryRecord): string {
  switch (record.kind) {
    case 'requested':
      return `wants ${record.resource} (request ${record.request})`;
    case 'queued':
      return `stands in line for ${record.resource} (request ${record.request})`;
    case 'abandoned':
      return `gives up its request ${record.request} for ${record.resource}`;
    case 'granted':
      return `HOLDS ${record.resource}${record.mode === 'shared' ? ' with others' : ''} with token ${record.token} for ${formatDuration(spanUs(record.remainingUs))}`;
    case 'renewed':
      return `holds ${record.resource} (token ${record.token}) for ${formatDuration(spanUs(record.remainingUs))} from here`;
    case 'used':
      return `uses ${record.resource} (token ${record.token})`;
    case 'ended':
      return `no longer holds ${record.resource} (token ${record.token}): ${record.reason}`;
    case 'crashed':
      return 'is gone, with all it held';
    case 'queried':
      return record.scope === 'name' ? `asks who holds ${record.resource}` : `asks what is held under '${record.resource}'`;
    case 'answered': {
      const who = record.holder === undefined ? 'nobody holds' : `#${record.holder} with token ${record.token} holds`;
      return `is told${record.certain === 'yes' ? ' for certain' : ''} that ${who} ${record.resource}`;
    }
    case 'listed':
      return `has been told ${record.certain === 'yes' ? 'for certain ' : ''}all that is held (question ${record.query})`;
    case 'believed':
      return `believes that ${record.resource} is held (token ${record.token})`;
    case 'invoked':
      return `${record.value === undefined ? `reads ${record.register}` : `writes "${record.value}" to ${record.register}`} (operation ${record.op})`;
    case 'asked':
      return `${record.value === undefined ? 'READs' : `WRITEs "${record.value}"`} with ballot ${record.ballot} (operation ${record.op})`;
    case 'responded':
    case 'committed':
      return `${record.value === undefined ? 'has written' : `has read ${record.value === null ? 'nothing' : `"${record.value}"`}`} (operation ${record.op})`;
    case 'claimed':
      return `claims ${record.size === undefined ? `[${record.from}, ${record.to}]` : `a block of ${record.size}`} of ${record.space} (claim ${record.claim})`;
    case 'allotted':
      return `HAS [${record.from}, ${record.to}] of ${record.space} (claim ${record.claim})`;
    case 'denied':
      return `is refused its claim ${record.claim} of ${record.space}: ${record.why}`;
    case 'recalled':
      return `gives up its claim ${record.claim} of ${record.space}`;
    case 'cleared':
      return `has nothing of its claim ${record.claim} of ${record.space} left anywhere but what it was given`;
    case 'rejoined':
      return `is in use again with another disk, of generation ${record.generation}`;
    case 'aborted':
      return `is aborted (operation ${record.op})`;
    default:
      return formatRecord(record);
  }
}

/** One line of a step list. */
export function formatEntry(entry: TraceEntry, nameOf: (node: number) => string): string {
  const start = entry.incarnation > 0 ? `#${entry.incarnation}` : '';
  const who = entry.node === null ? '' : `${nameOf(entry.node)}${start} `;
  return `${formatInstant(entry.atUs)}  ${who}${entry.text}`;
}

/** Microseconds as seconds, so that columns line up. */
export function formatInstant(atUs: number): string {
  const seconds = Math.floor(atUs / 1_000_000);
  const rest = String(Math.floor(atUs % 1_000_000)).padStart(6, '0');
  return `${seconds}.${rest}`.padStart(12);
}
