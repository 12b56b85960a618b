/** Things that wait for an event of the queue, which knows them by number. */
export class Parked<T> {
  readonly #things: (T | null)[] = [];
  readonly #free: number[] = [];

  park(thing: T): number {
    const number = this.#free.pop() ?? this.#things.length;
    this.#things[number] = thing;
    return number;
  }

  get(number: number): T {
    return this.#things[number] as T;
  }

  take(number: number): T {
    const thing = this.#things[number] as T;
    this.#things[number] = null;
    this.#free.push(number);
    return thing;
  }
}
