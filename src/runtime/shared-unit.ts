/** What a driver needs of a shared unit: accesses by key that are answered later, never within the call, or never. */
import type { Completion, Version } from '../core/index.ts';

/** A completion, but for the number that the core gave the access. */
export type UnitAnswer = (answer: Omit<Completion, 'op'>) => void;

/** Bytes that are handed in are copied before the call returns; bytes that are handed out belong to the core. */
export interface SharedUnit {
  read(key: string, done: UnitAnswer): void;
  write(key: string, value: Uint8Array, done: UnitAnswer): void;
  swap(key: string, seen: Version | null, value: Uint8Array | null, done: UnitAnswer): void;
  erase(key: string, done: UnitAnswer): void;
  list(prefix: string, done: UnitAnswer): void;
}
