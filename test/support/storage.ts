/** Parts of a step for tests of cores: storage that never answers, and what an own disk answers. */
import type { Completion } from '../../src/core/index.ts';

const nothing = (): void => {};

export const NO_STORAGE = { read: nothing, write: nothing, swap: nothing, erase: nothing, list: nothing } as const;

export function diskCompletion(op: number, ok: boolean, value: Uint8Array | null): Completion {
  return { op, ok, isLost: false, value, version: null, keys: null };
}
