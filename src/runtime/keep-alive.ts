/**
 * Sockets and timers of a cell keep no process alive that wants to exit; a call that the program awaits
 * does. Otherwise `await cell.acquire(…)` would end the program in the middle of the wait.
 */
const FOR_EVER_MS = 2 ** 30;

export class KeepAlive {
  #waits = 0;
  #handle: NodeJS.Timeout | undefined;

  /** The process stays alive until the promise is settled. */
  async during<T>(promise: Promise<T>): Promise<T> {
    this.hold();
    try {
      return await promise;
    } finally {
      this.letGo();
    }
  }

  /** The same for a caller that knows both ends of a wait: until `letGo` was called as often. */
  hold(): void {
    // One timer, held and let go: a call after the other would make and end one for each.
    this.#handle ??= setInterval(() => undefined, FOR_EVER_MS);
    if (this.#waits++ === 0) this.#handle.ref();
  }

  letGo(): void {
    if (--this.#waits === 0) this.#handle?.unref();
  }
}
