/** A progress line on a terminal, for anything that takes more than a moment. Writes nothing elsewhere. */
export class Progress {
  readonly #stream: NodeJS.WriteStream;
  readonly #startedMs = performance.now();
  #shownMs = 0;
  #shown = false;

  constructor(stream: NodeJS.WriteStream = process.stderr) {
    this.#stream = stream;
  }

  update(done: number, outOf: number, note: string): void {
    const nowMs = performance.now();
    if (!this.#stream.isTTY || nowMs - this.#startedMs < 300 || nowMs - this.#shownMs < 80) return;
    this.#shownMs = nowMs;
    this.#shown = true;
    const width = 30;
    const full = Math.floor((done / outOf) * width);
    const leftS = done > 0 ? Math.ceil((((nowMs - this.#startedMs) / done) * (outOf - done)) / 1000) : 0;
    this.#stream.write(`\r\x1b[2K[${'#'.repeat(full)}${'.'.repeat(width - full)}] ${done}/${outOf}  ${note}  ${leftS} s left`);
  }

  /** For work without a known end: a line of text, from the second second on. */
  say(text: string): void {
    const nowMs = performance.now();
    if (!this.#stream.isTTY || nowMs - this.#startedMs < 2000 || nowMs - this.#shownMs < 200) return;
    this.#shownMs = nowMs;
    this.#shown = true;
    this.#stream.write(`\r\x1b[2K${text}`);
  }

  clear(): void {
    if (this.#shown) this.#stream.write('\r\x1b[2K');
  }
}
