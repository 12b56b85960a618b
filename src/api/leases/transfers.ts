/** Leases that are handed over to a waiter, and the question for the waiters. A lease is held until its heir is sure to be there, and goes on if there is none. */
import type { LeaseCommand, LeaseEvent, LineWaiter } from '../../core/index.ts';
import { checkName, checkOptions, encodeName, NumberMap, TenureError, type Incarnation } from '../../kernel/index.ts';
import type { KeepAlive } from '../../runtime/index.ts';
import { PendingCalls } from '../pending-calls.ts';
import { SIGNAL_ONLY, type SignalOnly } from '../signals.ts';
import { unsupportedByEngine, type LeaseEngine } from './engine.ts';
import { lost } from './errors.ts';
import type { HeldLease } from './held-lease.ts';
import type { LeaseWaiter } from './lease-waiter.ts';

interface TransferGround {
  readonly command: (command: LeaseCommand) => void;
  readonly nextNumber: () => number;
  readonly engine: LeaseEngine;
  readonly alive: KeepAlive;
  /** Throws if nothing can be asked for any more. */
  readonly checkOpen: () => void;
}

interface Transfer {
  readonly promise: Promise<boolean>;
  readonly resolve: (isHandedOver: boolean) => void;
  readonly reject: (error: unknown) => void;
}

/** A question that too few answered in time is asked again so often. */
const QUESTIONS_AGAIN = 2;

type Line = Extract<LeaseEvent, { kind: 'line-told' }>;

export class Transfers {
  readonly #ground: TransferGround;
  readonly #open = new NumberMap<Transfer>();
  readonly #questions = new PendingCalls<Line>();

  constructor(ground: TransferGround) {
    this.#ground = ground;
  }

  get count(): number {
    return this.#open.size + this.#questions.count;
  }

  /** Throws TENURE_UNSUPPORTED. */
  checkEngine(): void {
    const { engine } = this.#ground;
    if (!engine.can.handOver) throw unsupportedByEngine(engine, 'handOver', 'hands no lease over', 'release it');
  }

  async transfer(held: HeldLease, to: LeaseWaiter | undefined): Promise<boolean> {
    this.#ground.checkOpen();
    this.checkEngine();
    if (!held.valid) throw lost(held, 'is over');
    if (held.above) throw new TenureError('TENURE_BAD_ARGUMENT', `'${held.name}' is held together with its collection: release it`);
    return this.offer(held, to === undefined ? null : keyOf(to));
  }

  /** A second call while one is under way gets the result of that. */
  offer({ grant: { number, nameBytes } }: HeldLease, to: { readonly owner: Incarnation; readonly lease: number } | null): Promise<boolean> {
    const open = this.#open.get(number);
    if (open) return open.promise;
    let resolve: Transfer['resolve'] = () => {};
    let reject: Transfer['reject'] = () => {};
    const promise = new Promise<boolean>((resolved, rejected) => {
      resolve = resolved;
      reject = rejected;
    });
    this.#open.set(number, { promise, resolve, reject });
    this.#ground.command({ kind: 'hand-over', lease: number, name: nameBytes, to });
    return this.#ground.alive.during(promise);
  }

  /** The first waiters, in order, as a majority of the members tell. */
  async waiters(name: string, options: SignalOnly = {}): Promise<LeaseWaiter[]> {
    const { signal } = checkOptions('waiters', options, SIGNAL_ONLY);
    checkName(name);
    this.#ground.checkOpen();
    this.checkEngine();
    for (let again = QUESTIONS_AGAIN; ; again--) {
      const { waiters, certain } = await this.#askLine(encodeName(name), signal);
      if (certain) return waiters.map(tellWaiter);
      if (again === 0)
        throw new TenureError('TENURE_NO_QUORUM', `too few members told who waits for '${name}'; ask again, or mend the network`);
    }
  }

  #askLine(name: Uint8Array, signal: AbortSignal | undefined): Promise<Line> {
    const { command, nextNumber } = this.#ground;
    const number = nextNumber();
    return this.#questions.answer({ number, signal, send: () => command({ kind: 'line', lease: number, name }) });
  }

  hear(event: Line | Extract<LeaseEvent, { kind: 'hand-over-failed' }>): void {
    if (event.kind === 'line-told') this.#questions.resolve(event.lease, event);
    else this.ended(event.lease, false);
  }

  /** It was given to its heir, or nothing came of it. */
  ended(lease: number, isHandedOver: boolean): void {
    this.#open.get(lease)?.resolve(isHandedOver);
    this.#open.delete(lease);
  }

  rejectAll(error: unknown): void {
    for (const { reject } of this.#open.values()) reject(error);
    this.#questions.rejectAll(error);
    this.#open.clear();
  }
}

function keyOf(waiter: LeaseWaiter): { readonly owner: Incarnation; readonly lease: number } {
  const { incarnation, request } = waiter ?? {};
  if (!Number.isSafeInteger(incarnation) || !Number.isSafeInteger(request) || incarnation <= 0 || request <= 0)
    throw new TenureError('TENURE_BAD_ARGUMENT', 'an heir is a waiter that waiters() told of');
  return { owner: incarnation as Incarnation, lease: request };
}

function tellWaiter({ owner, lease, mode, slots }: LineWaiter): LeaseWaiter {
  const told = { incarnation: owner, request: lease, mode };
  return slots === 0 ? told : { ...told, slots };
}
