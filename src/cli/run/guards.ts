/**
 * The guards of one command: the dead-man's switch, and on Linux a last resort that is no Node. Each holds the deadline by itself,
 * so any one of `tenure run`, switch and last resort ends the command in time, be the others killed or stopped. The switch holds
 * the input of the last resort open too: it ends when neither process that could still give the command its grace is left.
 */
import type { TenureError } from '../../kernel/index.ts';
import { deadMansSwitch } from './dead-mans-switch.ts';
import { Guard } from './guard.ts';
import { lastResort } from './last-resort.ts';
import type { Order } from './orders.ts';

export interface GuardsEvents {
  /** One of them tells the command to stop, or kills it. */
  onActs(): void;
  /** There is no switch, and none can be started: the command must not go on without a switch to give it its grace. */
  onHopeless(error: TenureError): void;
}

export class Guards {
  readonly #switch: Guard;
  readonly #lastResort: Guard | null;

  constructor(order: Order, patienceMs: number, events: GuardsEvents) {
    const onActs = (): void => events.onActs();
    const kind = lastResort(order);
    // A new last resort has a new input: a new switch holds it open.
    const onReplaced = (): void => this.#switch.replace();
    this.#lastResort = kind && new Guard(kind, order, patienceMs, { onActs, onReplaced, onHopeless: () => {} });
    const switchKind = deadMansSwitch(() => this.#lastResort?.input ?? null);
    this.#switch = new Guard(switchKind, order, patienceMs, {
      onActs,
      onReplaced: () => {},
      onHopeless: (error) => events.onHopeless(error),
    });
  }

  /** Resolves when the command is guarded, or cannot be. */
  present(): Promise<void> {
    return this.#switch.present();
  }

  giveOrder(order: Order, patienceMs: number): void {
    this.#switch.giveOrder(order, patienceMs);
    this.#lastResort?.giveOrder(order, patienceMs);
  }

  /** Resolves when they are gone. */
  async dismiss(): Promise<void> {
    await Promise.all([this.#switch.dismiss(), this.#lastResort?.dismiss()]);
  }
}
