/**
 * The log of a cell: a logger that the caller brings (pino's shape), and what keeps it readable. A peer that is
 * refused dials again every few seconds; it is logged when the reason is new, and strangers have only a few lines (`refusal-budget.ts`).
 */
import type { TenureError } from '../../kernel/index.ts';
import { PERIOD_MS, RefusalBudget } from './refusal-budget.ts';

/** What pino, and most others, look like. `fields` are facts for programs, `message` is for people. */
export interface Logger {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
  /** Where there is one, lines of a level that is off cost nothing. */
  isLevelEnabled?(level: string): boolean;
}

export type Level = 'debug' | 'info' | 'warn' | 'error';

/** Strangers come from anywhere: no more of them are remembered than this. */
const REMEMBERED_MAX = 1024;

export class Log {
  readonly #logger: Logger | undefined;
  readonly #always: object;
  /** Why each peer was refused last. */
  readonly #refusals = new Map<string, string>();
  readonly #budget: RefusalBudget;
  #isSumming = false;

  constructor(logger: Logger | undefined, always: object, budget: RefusalBudget = new RefusalBudget()) {
    this.#budget = budget;
    this.#logger = logger;
    this.#always = always;
  }

  wants(level: Level): boolean {
    return this.#logger !== undefined && (this.#logger.isLevelEnabled?.(level) ?? true);
  }

  say(level: Level, fields: object, message: string): void {
    if (!this.#logger) return;
    try {
      this.#logger[level]({ ...this.#always, ...fields }, message);
    } catch (thrown) {
      // A logger that fails must not cost a lease.
      process.emitWarning(thrown instanceof Error ? thrown : String(thrown));
    }
  }

  /** Once for each peer and reason, until the reason changes or the peer is welcome. */
  refusal(who: string, error: TenureError): void {
    if (!this.#logger) return;
    const peer = peerOf(who, error);
    const reason = `${error.code} ${String(error.details['field'] ?? '')}`;
    if (this.#refusals.get(peer) === reason) return;
    this.#refusals.delete(peer);
    this.#refusals.set(peer, reason);
    if (this.#refusals.size > REMEMBERED_MAX) for (const oldest of this.#refusals.keys()) if (this.#refusals.delete(oldest)) break;
    this.sumUp();
    if (this.#budget.grants(machineOf(who), error.code)) {
      this.say('warn', { code: error.code, peer: who, details: error.details }, error.message);
      return;
    }
    // Told also if no further peer is refused.
    if (this.#isSumming) return;
    this.#isSumming = true;
    setTimeout(() => {
      this.#isSumming = false;
      this.sumUp();
    }, PERIOD_MS).unref();
  }

  /** Tells how many refusals were not logged one by one, once in a while. */
  sumUp(): void {
    const summary = this.#budget.takeSummary();
    if (summary === null) return;
    const { refusals, addresses, most } = summary;
    this.say('warn', { ...summary }, `${refusals} more were refused, from ${addresses} addresses, most from ${most}: too many to log each`);
  }

  /** The peer was let in: if it is refused again, that is news. */
  welcome(id: string): void {
    for (const peer of this.#refusals.keys()) if (peer === id || peer.startsWith(`${id} `)) this.#refusals.delete(peer);
  }
}

/** Where a connection came from, whatever its port; a member that was dialled is its own. */
function machineOf(who: string): string {
  return /^(.+):\d+$/.exec(who)?.[1] ?? who;
}

/** The member that was dialled; or the id a peer states and the machine it came from: its port is another one each time. */
function peerOf(who: string, error: TenureError): string {
  const machine = machineOf(who);
  if (machine === who) return who;
  const { id } = error.details;
  return typeof id === 'string' ? `${id} ${machine}` : machine;
}
