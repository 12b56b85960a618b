/** How a name is held: by one process alone, or by any number of readers together. A shared hold excludes exclusive holds and no others. */
export type LeaseMode = 'exclusive' | 'shared';

/** Whether two may hold a name at once. */
export function modesClash(a: LeaseMode, b: LeaseMode): boolean {
  return a === 'exclusive' || b === 'exclusive';
}
