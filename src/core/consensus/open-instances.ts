/** The instances that are open at a member, and the values that wait for instances which are not. */
import type { Snapshot } from '../contract.ts';
import { Instance } from './instance.ts';
import { valueBytes, valueText } from './values.ts';

export class OpenInstances {
  readonly #open = new Map<number, Instance>();
  readonly #proposals = new Map<number, Uint8Array>();

  get size(): number {
    return this.#open.size;
  }

  get(number: number): Instance | undefined {
    return this.#open.get(number);
  }

  add(instance: Instance): void {
    this.#open.set(instance.number, instance);
  }

  /** The instance is decided. */
  close(number: number): Instance | undefined {
    const instance = this.#open.get(number);
    this.#open.delete(number);
    this.#proposals.delete(number);
    return instance;
  }

  closeUpTo(last: number): void {
    for (const number of [...this.#open.keys(), ...this.#proposals.keys()]) if (number <= last) this.close(number);
  }

  /** The proposal of this round of an instance, if it was adopted there and none since: a round has one proposal. Else null. */
  adoptedIn(number: number, round: number): Uint8Array | null {
    const instance = this.#open.get(number);
    return instance?.adopted === round ? instance.estimate : null;
  }

  inOrder(): Instance[] {
    return [...this.#open.values()].sort((one, other) => one.number - other.number);
  }

  /** The value waits until the instance can be opened. */
  propose(number: number, value: Uint8Array): void {
    this.#proposals.set(number, value);
  }

  /** Null if nothing is proposed for this instance. */
  takeProposal(number: number): Uint8Array | null {
    const value = this.#proposals.get(number) ?? null;
    this.#proposals.delete(number);
    return value;
  }

  get proposedFor(): number[] {
    return [...this.#proposals.keys()].sort((one, other) => one - other);
  }

  snapshot(): Snapshot {
    return {
      open: this.inOrder().map((instance) => instance.snapshot()),
      proposals: this.proposedFor.map((number) => [number, valueText(this.#proposals.get(number) as Uint8Array)] as const),
    };
  }

  restore(snapshot: Snapshot): void {
    const told = snapshot as unknown as { open: readonly Snapshot[]; proposals: readonly (readonly [number, string])[] };
    for (const one of told.open) this.add(Instance.restored(one));
    for (const [number, value] of told.proposals) this.#proposals.set(number, valueBytes(value));
  }
}
