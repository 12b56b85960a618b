/** Leases that change how they are held: readers that become the only one, and the other way round. Each call waits for its answer. */
import type { LeaseCommand, LeaseEvent } from '../../core/index.ts';
import { checkOptions, parseDuration, TenureError, type OptionTable } from '../../kernel/index.ts';
import type { LeaseObserver } from '../observing/lease-observer.ts';
import { PendingCalls } from '../pending-calls.ts';
import { unsupportedByEngine, type LeaseEngine } from './engine.ts';
import { lost } from './errors.ts';
import type { HeldLease } from './held-lease.ts';
import type { UpgradeOptions } from './upgrade-options.ts';
import type { Refused } from './requests.ts';

const UPGRADE_OPTIONS: OptionTable<UpgradeOptions> = { wait: 'any', signal: 'signal' };

interface ChangeGround {
  readonly command: (command: LeaseCommand) => void;
  readonly nextNumber: () => number;
  readonly engine: LeaseEngine;
  readonly observer: LeaseObserver;
  /** Throws if nothing can be asked for any more. */
  readonly checkOpen: () => void;
  readonly waitUsMax: number;
  /** Why a request came to nothing, in the words of whatever grants leases. */
  readonly explain: (name: string, refused: Refused) => TenureError | Promise<TenureError>;
}

export class ModeChanges {
  readonly #ground: ChangeGround;
  readonly #open = new PendingCalls<void>();

  constructor(ground: ChangeGround) {
    this.#ground = ground;
  }

  get count(): number {
    return this.#open.count;
  }

  async upgrade(held: HeldLease, options: UpgradeOptions): Promise<void> {
    this.#check(held);
    const { command, waitUsMax } = this.#ground;
    const { wait, signal } = checkOptions('upgrade', options, UPGRADE_OPTIONS);
    const waitUs = wait === undefined ? waitUsMax : parseDuration(wait);
    const { number, nameBytes: name } = held.grant;
    signal?.throwIfAborted();
    if (held.mode === 'exclusive') return;
    if (held.slot !== undefined) throw new TenureError('TENURE_BAD_ARGUMENT', `'${held.name}' is held by slot, and slots are not upgraded`);
    if (this.#open.has(number)) throw new TenureError('TENURE_BAD_ARGUMENT', `an upgrade of '${held.name}' is under way already`);
    await this.#open.answer({
      number,
      signal,
      send: () => command({ kind: 'upgrade', lease: number, name, waitUs }),
      abandoned: () => command({ kind: 'cancel-upgrade', lease: number }),
    });
  }

  downgrade(held: HeldLease): void {
    this.#check(held);
    if (held.mode === 'shared') return;
    const { number, nameBytes: name } = held.grant;
    this.#ground.command({ kind: 'downgrade', lease: number, name });
  }

  #check(held: HeldLease): void {
    const { engine, checkOpen } = this.#ground;
    checkOpen();
    if (!engine.can.changeMode)
      throw unsupportedByEngine(engine, 'changeMode', 'does not change how a lease is held', 'release it and acquire it otherwise');
    if (!held.valid) throw lost(held, 'is over');
  }

  hear(event: Extract<LeaseEvent, { kind: 'upgraded' | 'downgraded' | 'upgrade-refused' }>, held: HeldLease | undefined): void {
    if (!held) return;
    if (event.kind === 'upgrade-refused') this.#refused(event, held);
    else this.#done(event, held);
  }

  /** How it is held has changed. In a history, an upgrade is the end of one hold and the beginning of another. */
  #done(event: Extract<LeaseEvent, { kind: 'upgraded' | 'downgraded' }>, held: HeldLease): void {
    const { observer, nextNumber } = this.#ground;
    if (event.kind === 'downgraded') {
      held.retune('shared', held.token);
      observer.downgraded(held);
      return;
    }
    observer.upgrading(held);
    held.retune('exclusive', event.token);
    observer.upgraded(held, nextNumber());
    this.#open.resolve(event.lease);
  }

  #refused(event: Extract<LeaseEvent, { kind: 'upgrade-refused' }>, held: HeldLease): void {
    const reject = (error: unknown): void => this.#open.reject(event.lease, error);
    if (this.#open.has(event.lease)) void Promise.resolve(this.#errorOf(held, event)).then(reject, reject);
  }

  /** The lease is over, or all are. */
  reject(error: unknown, lease?: number): void {
    if (lease === undefined) this.#open.rejectAll(error);
    else this.#open.reject(lease, error);
  }

  #errorOf(
    held: HeldLease,
    { reason, holder, unreached, lease }: Extract<LeaseEvent, { kind: 'upgrade-refused' }>,
  ): TenureError | Promise<TenureError> {
    switch (reason) {
      case 'upgrading':
        return conflict(held, 'another reader waits to have it alone, too: release it, or go on reading', {});
      case 'not-shared':
        return new TenureError('TENURE_LEASE_LOST', `the lease on '${held.name}' is over, or is not shared`);
      case 'held':
      case 'queued':
      case 'contended': {
        const other = holder && holder.owner > 0 ? { incarnation: holder.owner, token: holder.token } : {};
        return conflict(held, 'others read it: wait until they have let go', other);
      }
      default:
        return this.#ground.explain(held.name, { kind: 'refused', lease, reason, holder, unreached });
    }
  }
}

function conflict({ name }: HeldLease, why: string, other: Readonly<Record<string, number>>): TenureError {
  return new TenureError('TENURE_UPGRADE_CONFLICT', `'${name}' stays shared: ${why}`, other);
}
