/**
 * All that is told about the leases of one process while it works. The lease service says what happened; this observer
 * decides which outlets hear of it. On the way of a lease this costs a few additions.
 */
import { modeWords } from '../../check/index.ts';
import type { RefusalReason } from '../../core/index.ts';
import type { LeaseMode, TenureError } from '../../kernel/index.ts';
import { LeaseTally } from './counters.ts';
import type { Outlets } from './outlets.ts';

/** A lease, as observers are told of it. */
export interface ObservedLease {
  readonly name: string;
  readonly token: number;
  readonly mode: LeaseMode;
  /** Of the request that it came of. */
  readonly number: number;
  remainingMs(): number;
}

export class LeaseObserver {
  readonly tally: LeaseTally = new LeaseTally();
  readonly #outlets: Outlets;

  constructor(outlets: Outlets) {
    this.#outlets = outlets;
  }

  requested(name: string, request: number, mode: LeaseMode): void {
    const outlets = this.#outlets;
    this.tally.requests++;
    outlets.history?.append({ kind: 'requested', resource: name, request, ...modeWords(mode) });
    if (outlets.hears('tenure:lease:requested')) outlets.publish('tenure:lease:requested', { name, request });
  }

  /** It stands in line. */
  queued(name: string, request: number): void {
    this.#outlets.history?.append({ kind: 'queued', resource: name, request });
  }

  granted(lease: ObservedLease, termUs: number, waitUs: number, queued: boolean): void {
    const { history, log } = this.#outlets;
    this.tally.grants++;
    if (queued) this.tally.queuedGrants++;
    this.tally.waitMs.add(waitUs);
    const isLogged = log.wants('debug');
    if (!history && !this.#outlets.hears('tenure:lease:granted') && !isLogged) return;
    const { name, token, number: request, mode } = lease;
    const remainingMs = lease.remainingMs();
    const remainingUs = Math.floor(remainingMs * 1000);
    const [termMs, waitMs] = [termUs / 1000, waitUs / 1000];
    // A lease that had run out before it could be handed over was never held.
    if (remainingUs > 0) history?.append({ kind: 'granted', resource: name, request, token, remainingUs, ...modeWords(mode) });
    else history?.append({ kind: 'abandoned', resource: name, request });
    this.#outlets.publish('tenure:lease:granted', { name, request, token, termMs, remainingMs, waitMs, queued });
    if (isLogged) log.say('debug', { name, token, waitMs }, 'lease granted');
  }

  /** The request came to nothing. */
  refused(name: string, request: number, reason: RefusalReason, waitUs: number): void {
    const { history, log } = this.#outlets;
    const waitMs = waitUs / 1000;
    this.tally.refusals[reason]++;
    history?.append({ kind: 'abandoned', resource: name, request });
    if (this.#outlets.hears('tenure:lease:refused')) this.#outlets.publish('tenure:lease:refused', { name, request, reason, waitMs });
    if (log.wants('debug')) log.say('debug', { name, reason, waitMs }, 'lease refused');
  }

  renewed(lease: ObservedLease): void {
    const { history } = this.#outlets;
    this.tally.renewals++;
    if (!history && !this.#outlets.hears('tenure:lease:renewed')) return;
    const { name, token, mode } = lease;
    const remainingMs = lease.remainingMs();
    const remainingUs = Math.floor(remainingMs * 1000);
    if (remainingUs > 0) history?.append({ kind: 'renewed', resource: name, token, remainingUs, ...modeWords(mode) });
    this.#outlets.publish('tenure:lease:renewed', { name, token, remainingMs });
  }

  /** It is a reader's from here on. */
  downgraded(lease: ObservedLease): void {
    const remainingUs = Math.floor(lease.remainingMs() * 1000);
    const { name, token, mode } = lease;
    if (remainingUs > 0) this.#outlets.history?.append({ kind: 'renewed', resource: name, token, remainingUs, ...modeWords(mode) });
  }

  /** A reader is about to be the only one, with another token. */
  upgrading({ name, token }: ObservedLease): void {
    this.#outlets.history?.append({ kind: 'ended', resource: name, token, reason: 'released' });
  }

  upgraded(lease: ObservedLease, request: number): void {
    const { history } = this.#outlets;
    const remainingUs = Math.floor(lease.remainingMs() * 1000);
    const { name, token, mode } = lease;
    history?.append({ kind: 'requested', resource: name, request });
    if (remainingUs > 0) history?.append({ kind: 'granted', resource: name, request, token, remainingUs, ...modeWords(mode) });
    else history?.append({ kind: 'abandoned', resource: name, request });
  }

  renewalFailed(lease: ObservedLease): void {
    const { log } = this.#outlets;
    this.tally.renewalFailures++;
    const isLogged = log.wants('debug');
    if (!this.#outlets.hears('tenure:lease:renewal-failed') && !isLogged) return;
    const { name, token } = lease;
    const remainingMs = lease.remainingMs();
    this.#outlets.publish('tenure:lease:renewal-failed', { name, token, remainingMs });
    if (isLogged) log.say('debug', { name, token, remainingMs }, 'lease not renewed yet; trying again');
  }

  lost({ name, token }: ObservedLease, holdUs: number, error: TenureError): void {
    const { history, log } = this.#outlets;
    const holdMs = holdUs / 1000;
    this.tally.losses++;
    this.tally.holdMs.add(holdUs);
    history?.append({ kind: 'ended', resource: name, token, reason: error.code === 'TENURE_LEASE_LOST' ? 'deadline' : 'lost' });
    this.#outlets.publish('tenure:lease:lost', { name, token, holdMs, error });
    log.say('warn', { code: error.code, name, token, holdMs }, error.message);
  }

  /** Its holder has stopped. To be called before any other process can hear of it. */
  released({ name, token }: ObservedLease, holdUs: number): void {
    const { history, log } = this.#outlets;
    const holdMs = holdUs / 1000;
    this.tally.releases++;
    this.tally.holdMs.add(holdUs);
    history?.append({ kind: 'ended', resource: name, token, reason: 'released' });
    if (this.#outlets.hears('tenure:lease:released')) this.#outlets.publish('tenure:lease:released', { name, token, holdMs });
    if (log.wants('debug')) log.say('debug', { name, token, holdMs }, 'lease released');
  }
}
