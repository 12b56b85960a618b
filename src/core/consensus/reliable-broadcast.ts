/**
 * Reliable broadcast: of the members that stay up, all deliver a message or none does. A member that gets a message for the first time relays it to all others before it delivers
 * it, so a sender that crashes half-way leaves no member out. Messages are known by numbers; messages at or below the floor were delivered long ago. Channels that lose messages
 * need repetition besides, which is for the user of this module: `ConsensusCore` asks for decisions it lacks.
 */
import type { Snapshot } from '../contract.ts';

export interface BroadcastGround<Payload, S> {
  readonly members: number;
  readonly self: number;
  /** False in a mutant: then only the origin sends. */
  readonly relays: boolean;
  send(to: number, number: number, payload: Payload, step: S): void;
  deliver(number: number, payload: Payload, step: S): void;
}

export class ReliableBroadcast<Payload, S> {
  readonly #ground: BroadcastGround<Payload, S>;
  readonly #delivered = new Set<number>();
  #floor = 0;

  constructor(ground: BroadcastGround<Payload, S>) {
    this.#ground = ground;
  }

  hasDelivered(number: number): boolean {
    return number <= this.#floor || this.#delivered.has(number);
  }

  /** An earlier life has delivered it. */
  note(number: number): void {
    if (number > this.#floor) this.#delivered.add(number);
  }

  /** R-broadcast. Nothing happens if a message of this number was delivered before. */
  broadcast(number: number, payload: Payload, step: S): void {
    this.receive(this.#ground.self, number, payload, step);
  }

  /** A copy came. */
  receive(from: number, number: number, payload: Payload, step: S): void {
    const { members, self, relays } = this.#ground;
    if (this.hasDelivered(number)) return;
    this.#delivered.add(number);
    if (from === self || relays) {
      // In any order: a crash half-way leaves out the members that come last, and relaying makes up for it.
      for (let to = members - 1; to >= 0; to--) if (to !== self && to !== from) this.#ground.send(to, number, payload, step);
    }
    this.#ground.deliver(number, payload, step);
  }

  /** All messages up to this one count as delivered. */
  forgetUpTo(floor: number): void {
    if (floor <= this.#floor) return;
    this.#floor = floor;
    for (const number of this.#delivered) if (number <= floor) this.#delivered.delete(number);
  }

  snapshot(): Snapshot {
    return { floor: this.#floor, delivered: [...this.#delivered].sort((a, b) => a - b) };
  }

  restore(snapshot: Snapshot): void {
    const { floor, delivered } = snapshot as unknown as { floor: number; delivered: readonly number[] };
    this.#floor = floor;
    this.#delivered.clear();
    for (const number of delivered) this.#delivered.add(number);
  }
}
