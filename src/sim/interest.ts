/**
 * What must happen sometimes in a campaign, so that one in which nothing interesting happened is noticed:
 * what the world does by itself, for any protocol to take into its list, and an observer of lease histories.
 */
import type { Json } from '../kernel/index.ts';
import type { HistoryRecord, RecordKind, Referee, Violation } from '../check/index.ts';
import type { Sometime } from './protocol.ts';

/** Counted by the world as plain fields: some of them change with every other message. */
const NO_COUNTS = {
  crash: 0,
  'crash-mid-step': 0,
  'restart-with-disk': 0,
  'restart-without-disk': 0,
  twin: 0,
  outlived: 0,
  stall: 0,
  sleep: 0,
  'wall-step': 0,
  slew: 0,
  loss: 0,
  duplicate: 0,
  cut: 0,
  'late-message': 0,
  'crash-after-vote': 0,
  'lost-answer': 0,
  'late-access': 0,
  'failed-access': 0,
  'stale-read': 0,
  'early-read': 0,
  'write-outlives-writer': 0,
  'lost-swap': 0,
  'weak-list': 0,
  'misdirected-write': 0,
  'repeated-write': 0,
  'corrupt-record': 0,
  'forgotten-write': 0,
  'wiped-unit': 0,
  'restored-unit': 0,
  'refused-access': 0,
  'disk-hung': 0,
  'disk-answer-lost': 0,
  'disk-failed': 0,
  'disk-damaged': 0,
};

export type WorldCounts = Record<keyof typeof NO_COUNTS, number>;

export function noCounts(): WorldCounts {
  return { ...NO_COUNTS };
}

interface WorldSometime extends Sometime {
  readonly name: keyof WorldCounts;
}

/** What happens to processes and machines. */
export const PROCESS_INTERESTS: readonly WorldSometime[] = [
  { name: 'crash', description: 'a process crashed' },
  { name: 'crash-mid-step', description: 'a process crashed between two effects of one step' },
  { name: 'restart-with-disk', description: 'a process came back and found its disk' },
  { name: 'restart-without-disk', description: 'a process came back and its disk was empty' },
  { name: 'twin', description: 'a process was taken for dead and lived on beside its successor' },
  { name: 'stall', description: 'a process stood still' },
  { name: 'sleep', description: 'a machine slept' },
  { name: 'wall-step', description: 'a wall clock jumped' },
];

/** What happens to messages. */
const NETWORK_INTERESTS: readonly WorldSometime[] = [
  { name: 'loss', description: 'a message was lost' },
  { name: 'duplicate', description: 'a message came more than once' },
  { name: 'cut', description: 'a message was lost because its link was cut' },
  { name: 'late-message', description: 'a message arrived more than a term after it was sent' },
  { name: 'crash-after-vote', description: 'a process crashed just after it had voted' },
];

/** What happens to accesses of shared storage. */
export const STORAGE_INTERESTS: readonly WorldSometime[] = [
  { name: 'lost-answer', description: 'an access took effect and its answer was lost' },
  { name: 'late-access', description: 'an access took up to some terms' },
  { name: 'failed-access', description: 'a unit said that an access failed' },
  { name: 'stale-read', description: 'a read found a value that was overwritten already, as a regular register allows' },
  { name: 'early-read', description: 'a read found a value before its write took effect, as a regular register allows' },
  { name: 'write-outlives-writer', description: 'a write took effect after its writer had crashed' },
];

/** What damages the records of shared storage. */
export const DAMAGE_INTERESTS: readonly WorldSometime[] = [
  { name: 'misdirected-write', description: 'a write to a shared unit went to another key' },
  { name: 'repeated-write', description: 'a change of a shared unit took effect twice' },
  { name: 'corrupt-record', description: 'a record of a shared unit was corrupted' },
  { name: 'forgotten-write', description: 'a shared unit forgot the last change of a record' },
  { name: 'wiped-unit', description: 'a shared unit lost every record' },
];

/** Where units go back to an earlier state and say so. */
export const EPOCH_INTERESTS: readonly WorldSometime[] = [
  { name: 'restored-unit', description: 'a shared unit went back to an earlier state, in another epoch' },
  { name: 'refused-access', description: 'an access of an earlier epoch was refused' },
];

/** Where clocks leave their bound and processes compare them. */
export const CLOCK_INTERESTS: readonly Sometime[] = [
  { name: 'slew', description: 'a clock ran far too fast or too slow for a while' },
  { name: 'clock-fast', description: 'a process noticed that its clock runs too fast' },
  { name: 'clock-slow', description: 'a process noticed that its clock runs too slow, and what it held was over' },
  { name: 'clock-of-member-off', description: "a process noticed that a member's clock is off" },
];

/** What happens to accesses of the own disk. */
export const DISK_INTERESTS: readonly WorldSometime[] = [
  { name: 'disk-hung', description: 'an access to the own disk took up to some terms' },
  { name: 'disk-answer-lost', description: 'an access to the own disk was never answered' },
  { name: 'disk-failed', description: 'the own disk said that an access failed' },
];

/** For every protocol that sends messages. */
export const WORLD_INTERESTS: readonly WorldSometime[] = [...PROCESS_INTERESTS, ...NETWORK_INTERESTS];

export const LEASE_INTERESTS: readonly Sometime[] = [
  { name: 'grant', description: 'a lease was granted' },
  { name: 'renewal', description: 'a lease was renewed' },
  { name: 'release', description: 'a holder gave its lease back' },
  { name: 'lapse', description: 'a lease ran out on its holder' },
  { name: 'use', description: 'a holder acted under its lease' },
  { name: 'take-over-after-crash', description: 'a lease was granted whose last holder had crashed holding it' },
  { name: 'take-over-after-lapse', description: 'a lease was granted whose last holder had let it run out' },
];

/** Not a judge: it sees the history and never objects. */
export abstract class HistoryObserver implements Referee {
  readonly property = 'interest';
  readonly handles: readonly RecordKind[] = [];
  protected readonly sometimes: (name: string) => void;

  constructor(sometimes: (name: string) => void) {
    this.sometimes = sometimes;
  }

  protected abstract see(record: HistoryRecord): void;

  observe(record: HistoryRecord): Violation | null {
    this.see(record);
    return null;
  }

  finish(): readonly Violation[] {
    return [];
  }

  // What an observer has seen makes no difference to any judgement.
  snapshot(): Json {
    return null;
  }

  restore(): void {}
}

export class LeaseInterest extends HistoryObserver {
  /** How the last hold of each resource ended. */
  readonly #lastEnd = new Map<string, string>();
  readonly #holders = new Map<string, { node: number | string; incarnation: number }>();

  protected see(record: HistoryRecord): void {
    switch (record.kind) {
      case 'granted': {
        this.sometimes('grant');
        const end = this.#lastEnd.get(record.resource);
        if (end === 'crashed') this.sometimes('take-over-after-crash');
        if (end === 'deadline' || end === 'lost') this.sometimes('take-over-after-lapse');
        this.#holders.set(record.resource, record);
        return;
      }
      case 'renewed':
        return this.sometimes('renewal');
      case 'used':
        return this.sometimes('use');
      case 'ended':
        this.sometimes(record.reason === 'released' ? 'release' : 'lapse');
        this.#lastEnd.set(record.resource, record.reason);
        this.#holders.delete(record.resource);
        return;
      case 'crashed':
        for (const [resource, holder] of this.#holders) {
          if (holder.node !== record.node || holder.incarnation !== record.incarnation) continue;
          this.#holders.delete(resource);
          this.#lastEnd.set(resource, 'crashed');
        }
        return;
      default:
        return;
    }
  }
}
