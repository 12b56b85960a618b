/** Messages under way on a stage, in the order in which they were sent. */
import type { Incarnation } from '../../kernel/index.ts';
import { bad, type MessageRef } from './actions.ts';

export interface Flight extends MessageRef {
  /** Of the process that sent it. */
  readonly life: Incarnation;
  readonly bytes: Uint8Array;
  copies: number;
  /** When it arrives where all goes well, if not after the usual time. */
  dueUs?: number;
}

export class Flights {
  readonly all: Flight[] = [];
  /** How many of each kind were sent on each link. */
  readonly #ordinals = new Map<string, number>();

  send({
    from,
    to,
    label,
    topic,
    life,
    bytes,
  }: Omit<Flight, 'ordinal' | 'copies' | 'dueUs' | 'topic'> & { readonly topic: string }): Flight {
    const key = `${from} ${to} ${label}`;
    const ordinal = (this.#ordinals.get(key) ?? 0) + 1;
    this.#ordinals.set(key, ordinal);
    const flight = { from, to, label, ordinal, topic, life, bytes, copies: 1 };
    this.all.push(flight);
    return flight;
  }

  /** Throws TENURE_BAD_ARGUMENT, about this line, if it is not under way. */
  get({ from, to, label, ordinal }: MessageRef, line: string): Flight {
    const found = this.all.find(
      (flight) => flight.from === from && flight.to === to && flight.label === label && flight.ordinal === ordinal,
    );
    if (found) return found;
    const sent = this.#ordinals.get(`${from} ${to} ${label}`) ?? 0;
    throw bad(line, sent < ordinal ? `only ${sent} of them were sent` : 'it is not under way any more');
  }

  find(from: number, to: number, bytes: Uint8Array): Flight | null {
    const isThis = (flight: Flight): boolean =>
      flight.from === from &&
      flight.to === to &&
      flight.bytes.length === bytes.length &&
      flight.bytes.every((byte, i) => byte === bytes[i]);
    return this.all.find(isThis) ?? null;
  }

  /** Removes one copy of the message. */
  consume(flight: Flight): void {
    if (--flight.copies === 0) this.all.splice(this.all.indexOf(flight), 1);
  }

  dropAll(): void {
    const kept = this.all.filter(({ dueUs }) => dueUs !== undefined);
    this.all.splice(0, this.all.length, ...kept);
  }
}
