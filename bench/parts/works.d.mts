/** For tests, which are compiled. */

/** One process at work, from its grant to its last act. */
export interface Work {
  readonly from: bigint;
  readonly to: bigint;
  readonly token: number;
  /** It was killed before it had noted the end. */
  readonly isCut: boolean;
}

export function worksIn(journal: string, killedAt: bigint | null): Work[];
export function inOrder(works: readonly Work[]): Work[];
export function overlapsOf(works: readonly Work[]): number;
