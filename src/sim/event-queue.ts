/**
 * Events that are still to happen, in order of true time; events of the same instant, in the order they were
 * scheduled. A binary heap over typed arrays: scheduling and taking allocate nothing.
 */
export const DELIVER = 1;
export const WAKE = 2;
export const USER_TIMER = 3;
export const COMPLETE = 4;
export const FAULT = 5;
export type EventKind = typeof DELIVER | typeof WAKE | typeof USER_TIMER | typeof COMPLETE | typeof FAULT;

export class EventQueue {
  size = 0;
  #times = new Float64Array(1024);
  #orders = new Float64Array(1024);
  #kinds = new Uint8Array(1024);
  #targets = new Int32Array(1024);
  #refs = new Int32Array(1024);
  #scheduled = 0;

  /** The event that `take` took. */
  at = 0;
  kind: EventKind = FAULT;
  target = 0;
  ref = 0;

  schedule(at: number, kind: EventKind, target: number, ref: number): void {
    if (this.size === this.#times.length) this.#grow();
    const order = this.#scheduled++;
    const times = this.#times;
    const orders = this.#orders;
    let hole = this.size++;
    while (hole > 0) {
      const parent = (hole - 1) >> 1;
      if ((times[parent] as number) <= at) break;
      this.#move(parent, hole);
      hole = parent;
    }
    times[hole] = at;
    orders[hole] = order;
    this.#kinds[hole] = kind;
    this.#targets[hole] = target;
    this.#refs[hole] = ref;
  }

  /** Takes the earliest event into `at`, `kind`, `target` and `ref`; false when there is none. */
  take(): boolean {
    if (this.size === 0) return false;
    const times = this.#times;
    const orders = this.#orders;
    this.at = times[0] as number;
    this.kind = this.#kinds[0] as EventKind;
    this.target = this.#targets[0] as number;
    this.ref = this.#refs[0] as number;
    const last = --this.size;
    const lastTime = times[last] as number;
    const lastOrder = orders[last] as number;
    let hole = 0;
    for (;;) {
      let child = 2 * hole + 1;
      if (child >= last) break;
      const right = child + 1;
      if (right < last && this.#before(right, times[child] as number, orders[child] as number)) child = right;
      if (!this.#before(child, lastTime, lastOrder)) break;
      this.#move(child, hole);
      hole = child;
    }
    if (hole !== last) this.#move(last, hole);
    return true;
  }

  #before(index: number, time: number, order: number): boolean {
    const its = this.#times[index] as number;
    return its < time || (its === time && (this.#orders[index] as number) < order);
  }

  #move(from: number, to: number): void {
    this.#times[to] = this.#times[from] as number;
    this.#orders[to] = this.#orders[from] as number;
    this.#kinds[to] = this.#kinds[from] as number;
    this.#targets[to] = this.#targets[from] as number;
    this.#refs[to] = this.#refs[from] as number;
  }

  #grow(): void {
    const capacity = this.#times.length * 2;
    const times = new Float64Array(capacity);
    times.set(this.#times);
    this.#times = times;
    const orders = new Float64Array(capacity);
    orders.set(this.#orders);
    this.#orders = orders;
    const kinds = new Uint8Array(capacity);
    kinds.set(this.#kinds);
    this.#kinds = kinds;
    const targets = new Int32Array(capacity);
    targets.set(this.#targets);
    this.#targets = targets;
    const refs = new Int32Array(capacity);
    refs.set(this.#refs);
    this.#refs = refs;
  }
}
