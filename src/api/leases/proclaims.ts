/** Proclaims under way: holders that changed their metadata, or the data under their lease, and wait until it can be relied on that others are told. */
import type { LeaseCommand } from '../../core/index.ts';
import { TenureError } from '../../kernel/index.ts';
import { PendingCalls } from '../pending-calls.ts';
import { unsupportedByEngine, type LeaseEngine } from './engine.ts';
import { lost } from './errors.ts';
import type { Grant, HeldLease } from './held-lease.ts';
import { copyMeta } from './requests.ts';

interface ProclaimGround {
  readonly command: (command: LeaseCommand) => void;
  readonly nextNumber: () => number;
  readonly engine: LeaseEngine;
  readonly checkOpen: () => void;
  /** Stores data under a lease, where leases have data. */
  readonly sync: ((grant: Grant, data: Uint8Array, number: number) => void) | undefined;
}

export class Proclaims {
  readonly #ground: ProclaimGround;
  readonly #open = new PendingCalls<void>();
  /** The lease that each open one is of. */
  readonly #leases = new Map<number, number>();

  constructor(ground: ProclaimGround) {
    this.#ground = ground;
  }

  get count(): number {
    return this.#open.count;
  }

  async proclaim(lease: HeldLease, meta: Uint8Array | string, signal: AbortSignal | undefined): Promise<void> {
    const { engine, command, nextNumber, checkOpen } = this.#ground;
    checkOpen();
    if (!lease.valid) throw lost(lease, 'is over');
    if (!engine.can.renew) throw unsupportedByEngine(engine, 'renew', 'writes a lease once', 'say it with meta when you acquire');
    const number = nextNumber();
    const bytes = copyMeta(meta);
    const { number: of, nameBytes: name } = lease.grant;
    await this.wait(of, number, signal, () => command({ kind: 'proclaim', lease: of, name, meta: bytes, number }));
  }

  async sync(lease: HeldLease, data: Uint8Array, signal: AbortSignal | undefined): Promise<void> {
    const { engine, sync, nextNumber, checkOpen } = this.#ground;
    checkOpen();
    if (!sync) throw unsupportedByEngine(engine, 'sync', 'keeps no data', 'store it elsewhere, with the fencing token');
    if (!(data instanceof Uint8Array)) throw new TenureError('TENURE_BAD_ARGUMENT', 'data is bytes (a Uint8Array)');
    if (lease.mode === 'shared') throw new TenureError('TENURE_BAD_ARGUMENT', `'${lease.name}' is shared: only a writer stores data`);
    if (!lease.valid) throw lost(lease, 'is over');
    const number = nextNumber();
    const bytes = Uint8Array.from(data);
    await this.wait(lease.number, number, signal, () => sync(lease.grant, bytes, number));
  }

  /** Given up, it may be published all the same. */
  async wait(lease: number, number: number, signal: AbortSignal | undefined, send: () => void): Promise<void> {
    this.#leases.set(number, lease);
    try {
      await this.#open.answer({ number, signal, send });
    } finally {
      this.#leases.delete(number);
    }
  }

  /** Others are told this one: those before it are overtaken, and done. */
  done(lease: number, number: number): void {
    for (const [other, of] of this.#leases) if (of === lease && other <= number) this.#open.resolve(other);
  }

  fail(number: number, error: unknown): void {
    this.#open.reject(number, error);
  }

  /** The lease is over, or all are. */
  reject(error: unknown, lease?: number): void {
    for (const [number, of] of this.#leases) if (lease === undefined || of === lease) this.#open.reject(number, error);
  }
}
