/** One line at the bottom of a terminal that is written over; nothing elsewhere. A caller that prints something else clears it first. */
export class StatusLine {
  readonly #stream: NodeJS.WriteStream;
  #isDrawn = false;

  constructor(stream: NodeJS.WriteStream = process.stdout) {
    this.#stream = stream;
  }

  /** Whether it can be seen. */
  get isShown(): boolean {
    return this.#stream.isTTY;
  }

  bar(done: number, note: string): void {
    if (!this.isShown) return;
    const width = 30;
    const full = Math.floor(Math.min(1, Math.max(0, done)) * width);
    this.#stream.write(`\r\x1b[2K[${'#'.repeat(full)}${'.'.repeat(width - full)}] ${note}`);
    this.#isDrawn = true;
  }

  clear(): void {
    if (this.#isDrawn) this.#stream.write('\r\x1b[2K');
    this.#isDrawn = false;
  }
}
