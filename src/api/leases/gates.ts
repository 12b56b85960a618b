/** Leases whose holders are asked before each renewal: `renewWhile`. A holder that says no, throws or does not answer lets its lease run out. */
import type { LeaseCommand } from '../../core/index.ts';
import { NumberMap } from '../../kernel/index.ts';
import type { HeldLease } from './held-lease.ts';
import type { Lease, RenewWhile } from './lease.ts';

interface Gate {
  readonly held: HeldLease;
  readonly lease: Lease;
  readonly mayGoOn: RenewWhile;
  isAsked: boolean;
}

export class Gates {
  readonly #command: (command: LeaseCommand) => void;
  readonly #open = new NumberMap<Gate>();

  constructor(command: (command: LeaseCommand) => void) {
    this.#command = command;
  }

  begin(held: HeldLease, lease: Lease, mayGoOn: RenewWhile): void {
    this.#open.set(held.number, { held, lease, mayGoOn, isAsked: false });
  }

  forget(number: number): void {
    if (this.#open.size > 0) this.#open.delete(number);
  }

  /** The lease is due for its renewal. One question at a time: a holder that has not answered the last question is not asked again. */
  due(number: number): void {
    const gate = this.#open.get(number);
    if (!gate || gate.isAsked) return;
    gate.isAsked = true;
    // Until it says to go on, this is what will have ended the lease.
    gate.held.endingBy = 'renewWhile';
    void this.#ask(gate);
  }

  async #ask(gate: Gate): Promise<void> {
    const { held, lease, mayGoOn } = gate;
    const { number, nameBytes: name, termUs } = held.grant;
    // Callers may be plain JavaScript: anything but true is no.
    let goesOn: unknown = false;
    try {
      goesOn = await mayGoOn(lease);
    } catch (thrown) {
      process.emitWarning(thrown instanceof Error ? thrown : String(thrown));
    }
    gate.isAsked = false;
    if (this.#open.get(number) !== gate || held.isOver) return;
    const isAllowed = goesOn === true;
    if (isAllowed) held.endingBy = undefined;
    else this.forget(number);
    this.#command(isAllowed ? { kind: 'renew', lease: number, name, termUs } : { kind: 'lapse', lease: number, name });
  }
}
