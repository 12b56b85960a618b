/**
 * How many log lines strangers may cost. A stranger that reaches a port can be refused thousands of times a second, each time under another identity;
 * so each address has a few lines, all addresses together have some more, and refusals beyond that are counted and told in one line now and then.
 */
export interface RefusalSummary {
  readonly refusals: number;
  /** From how many addresses, as far as they were remembered. */
  readonly addresses: number;
  /** The address that most of them came from. */
  readonly most: string;
  readonly codes: string;
}

export const LINES_AN_ADDRESS = 5;
export const LINES_IN_ALL = 50;
export const PERIOD_MS = 10_000;
/** Strangers come from anywhere: no more of them are remembered than this. */
const ADDRESSES_MAX = 1024;

export class RefusalBudget {
  readonly #nowMs: () => number;
  readonly #spent = new Map<string, number>();
  #spentInAll = 0;
  readonly #leftOut = new Map<string, number>();
  readonly #codes = new Set<string>();
  #count = 0;
  #beganMs = 0;

  constructor(nowMs: () => number = () => performance.now()) {
    this.#nowMs = nowMs;
  }

  /** Whether a line may be written; if not, it is counted. */
  grants(address: string, code: string): boolean {
    const lines = this.#spent.get(address) ?? 0;
    if (lines < LINES_AN_ADDRESS && this.#spentInAll < LINES_IN_ALL && this.#spent.size < ADDRESSES_MAX) {
      this.#spent.set(address, lines + 1);
      this.#spentInAll++;
      return true;
    }
    this.#count++;
    if (this.#leftOut.has(address) || this.#leftOut.size < ADDRESSES_MAX) this.#leftOut.set(address, (this.#leftOut.get(address) ?? 0) + 1);
    this.#codes.add(code);
    return false;
  }

  /** The refusals left out, once a period is over; null before, and if there were none. */
  takeSummary(): RefusalSummary | null {
    const nowMs = this.#nowMs();
    if (nowMs - this.#beganMs < PERIOD_MS) return null;
    this.#beganMs = nowMs;
    this.#spent.clear();
    this.#spentInAll = 0;
    if (this.#count === 0) return null;
    const [most = ''] = [...this.#leftOut].sort(([, a], [, b]) => b - a)[0] ?? [];
    const summary = { refusals: this.#count, addresses: this.#leftOut.size, most, codes: [...this.#codes].sort().join(', ') };
    this.#count = 0;
    this.#leftOut.clear();
    this.#codes.clear();
    return summary;
  }
}
