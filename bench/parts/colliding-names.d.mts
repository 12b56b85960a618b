/** For tests, which are compiled. */
export function collidingNames(count: number): Uint8Array[];
