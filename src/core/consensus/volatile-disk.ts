/** A disk that is none: an inner core's write is answered in the same step and forgotten. For members that keep nothing, whose inner cores are built for members that do. */
import { OWN_DISK, type Completion, type Step, type UnitId, type Version } from '../contract.ts';
import type { MonoUs, NodeId, WallUs } from '../../kernel/index.ts';

export class VolatileDisk<Message, Event> implements Step<Message, Event> {
  #step: Step<Message, Event> | null = null;
  readonly #answers: Completion[] = [];

  /** From here on this disk stands in front of `step`, unless that is this disk itself. */
  before(step: Step<Message, Event>): Step<Message, Event> {
    if (step !== this) this.#step = step;
    return this;
  }

  /** The next answer of the disk that is none. */
  nextAnswer(): Completion | undefined {
    return this.#answers.shift();
  }

  get monoUs(): MonoUs {
    return this.#behind.monoUs;
  }

  get wallUs(): WallUs {
    return this.#behind.wallUs;
  }

  choose(bound: number): number {
    return this.#behind.choose(bound);
  }

  send(to: NodeId, message: Message): void {
    this.#behind.send(to, message);
  }

  emit(event: Event): void {
    this.#behind.emit(event);
  }

  read(unit: UnitId, key: string, op: number): void {
    if (unit === OWN_DISK) this.#answer(op);
    else this.#behind.read(unit, key, op);
  }

  write(unit: UnitId, key: string, value: Uint8Array, op: number): void {
    if (unit === OWN_DISK) this.#answer(op);
    else this.#behind.write(unit, key, value, op);
  }

  erase(unit: UnitId, key: string, op: number): void {
    if (unit === OWN_DISK) this.#answer(op);
    else this.#behind.erase(unit, key, op);
  }

  swap(unit: UnitId, key: string, seen: Version | null, value: Uint8Array | null, op: number): void {
    this.#behind.swap(unit, key, seen, value, op);
  }

  list(unit: UnitId, prefix: string, op: number): void {
    this.#behind.list(unit, prefix, op);
  }

  #answer(op: number): void {
    this.#answers.push({ op, ok: true, isLost: false, value: null, version: null, keys: null });
  }

  get #behind(): Step<Message, Event> {
    return this.#step as Step<Message, Event>;
  }
}
