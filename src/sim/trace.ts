/**
 * What happened in one run, for people: who did what, and when. It is taken only when a run is
 * replayed, so describing a step may be slow.
 */
import type { Boot } from '../core/index.ts';
import { formatRecord, type HistoryRecord } from '../check/index.ts';
import type { Cut } from './network.ts';
import type { Access } from './storage.ts';

interface Who {
  readonly node: number;
  readonly incarnation: number;
}

export type TraceKind = 'message' | 'step' | 'life' | 'hold' | 'world';

export interface TraceEntry {
  readonly atUs: number;
  /** Null where the world itself acts. */
  readonly node: number | null;
  readonly incarnation: number;
  readonly kind: TraceKind;
  readonly text: string;
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

  told(by: Who, describe: () => string): void {
    this.#add('step', by, `says ${describe()}`);
  }

  completed(by: Who, access: Access): void {
    this.#add('step', by, `learns that its ${access.action} of ${access.key} ${access.ok ? 'is done' : 'failed'}`);
  }

  started(by: Who, boot: Boot): void {
    this.#add('life', by, boot.restarted ? `restarts, its disk ${boot.diskKept ? 'kept' : 'empty'}` : 'starts');
  }

  crashed(by: Who): void {
    this.#add('life', by, 'crashes');
  }

  replaced(by: Who, untilUs: number): void {
    this.#add('life', by, `is taken for dead, but only stalls until ${formatInstant(untilUs).trim()}; a new process starts beside it`);
  }

  stalled(by: Who, untilUs: number): void {
    this.#add('life', by, `stalls until ${formatInstant(untilUs).trim()}`);
  }

  slept(node: number, untilUs: number): void {
    this.note(`the machine of ${this.#nameOf(node)} sleeps until ${formatInstant(untilUs).trim()}`);
  }

  wallStepped(node: number, byUs: number): void {
    this.note(`the wall clock of ${this.#nameOf(node)} jumps by ${byUs} µs`);
  }

  cut({ onSide, oneWay, flapUs }: Cut): void {
    this.note(`the network is cut around ${this.#side(onSide)}${oneWay ? ', one way' : ''}${flapUs > 0 ? ', flapping' : ''}`);
  }

  mended({ onSide }: Cut): void {
    this.note(`the network is whole again around ${this.#side(onSide)}`);
  }

  recorded(record: HistoryRecord): void {
    this.#add('hold', record as Who, describeRecord(record), record);
  }

  note(text: string, kind: TraceKind = 'world'): void {
    this.entries.push({ atUs: this.#now(), node: null, incarnation: 0, kind, text });
  }

  #side(onSide: Uint8Array): string {
    const names: string[] = [];
    onSide.forEach((isOnIt, node) => {
      if (isOnIt === 1) names.push(this.#nameOf(node));
    });
    return names.join(', ') || 'nobody';
  }

  #add(kind: TraceKind, by: Who, text: string, record?: HistoryRecord): void {
    const entry = { atUs: this.#now(), node: by.node, incarnation: by.incarnation, kind, text };
    this.entries.push(record ? { ...entry, record } : entry);
  }
}

function describeRecord(record: HistoryRecord): string {
  switch (record.kind) {
    case 'requested':
      return `wants ${record.resource} (request ${record.request})`;
    case 'abandoned':
      return `gives up its request ${record.request} for ${record.resource}`;
    case 'granted':
      return `HOLDS ${record.resource} with token ${record.token} for ${record.remainingUs} µs`;
    case 'renewed':
      return `holds ${record.resource} (token ${record.token}) for ${record.remainingUs} µs from here`;
    case 'used':
      return `uses ${record.resource} (token ${record.token})`;
    case 'ended':
      return `no longer holds ${record.resource} (token ${record.token}): ${record.reason}`;
    case 'crashed':
      return 'is gone, with all it held';
    default:
      return formatRecord(record);
  }
}

/** One line of a step list. */
export function formatEntry(entry: TraceEntry, nameOf: (node: number) => string): string {
  const who = entry.node === null ? '' : `${nameOf(entry.node)}#${entry.incarnation} `;
  return `${formatInstant(entry.atUs)}  ${who}${entry.text}`;
}

/** Microseconds as seconds, so that columns line up. */
export function formatInstant(atUs: number): string {
  const seconds = Math.floor(atUs / 1_000_000);
  const rest = String(Math.floor(atUs % 1_000_000)).padStart(6, '0');
  return `${seconds}.${rest}`.padStart(12);
}
