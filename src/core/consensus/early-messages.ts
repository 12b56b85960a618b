/** Messages for instances beyond the window, of members that are ahead: kept until the window reaches them, so many at most, the oldest dropped first. */
import type { Snapshot } from '../contract.ts';
import type { InstanceMessage } from './messages.ts';
import { valueBytes, valueText } from './values.ts';

interface EarlyMessage {
  readonly from: number;
  readonly message: InstanceMessage;
}

export class EarlyMessages {
  readonly #most: number;
  #kept: EarlyMessage[] = [];

  constructor(most: number) {
    this.#most = most;
  }

  keep(from: number, message: InstanceMessage): void {
    if (this.#kept.length >= this.#most) this.#kept.shift();
    this.#kept.push({ from, message: 'value' in message ? { ...message, value: message.value.slice() } : { ...message } });
  }

  /** Those for instances up to `last`, in the order in which they came; they are kept no more. */
  take(last: number): EarlyMessage[] {
    if (this.#kept.length === 0) return [];
    const taken = this.#kept.filter(({ message }) => message.instance <= last);
    this.#kept = this.#kept.filter(({ message }) => message.instance > last);
    return taken;
  }

  snapshot(): Snapshot {
    return this.#kept.map(({ from, message }) => ({
      from,
      message: 'value' in message ? { ...message, value: valueText(message.value) } : { ...message },
    }));
  }

  restore(snapshot: Snapshot): void {
    const told = snapshot as unknown as readonly {
      readonly from: number;
      readonly message: InstanceMessage & { readonly value?: unknown };
    }[];
    this.#kept = told.map(({ from, message }) => ({
      from,
      message: typeof message.value === 'string' ? ({ ...message, value: valueBytes(message.value) } as InstanceMessage) : message,
    }));
  }
}
