/**
 * How a name may be held, as one number: alone, together with other readers, or one slot of it. Rows of one acceptor never clash:
 * two clash unless both are readers' or they are of different slots.
 */
import type { Incarnation, LeaseMode } from '../../../kernel/index.ts';

export const EXCLUSIVE = 0;
export const SHARED = 1;
/** Slot i is this and i. */
const FIRST_SLOT = 2;
/** What a voter tells of free slots is one bit each, and fits what metadata may take. */
export const SLOTS_MAX = 8192;

export function slotMode(slot: number): number {
  return FIRST_SLOT + slot;
}

/** -1 where a mode is of no slot. */
export function slotOf(mode: number): number {
  return mode >= FIRST_SLOT ? mode - FIRST_SLOT : -1;
}

export function clash(a: number, b: number): boolean {
  if (a === EXCLUSIVE || b === EXCLUSIVE) return true;
  return a === SHARED ? b !== SHARED : a === b || b === SHARED;
}

export function modeNumber(mode: LeaseMode | undefined): number {
  return mode === 'shared' ? SHARED : EXCLUSIVE;
}

/** A request, or the lease that came of it. */
export interface LeaseKey {
  readonly owner: Incarnation;
  readonly lease: number;
}

/** A live vote. */
export interface LiveVote extends LeaseKey {
  readonly mode: number;
}

/** What a request wants of a name: a mode, or any of so many slots. */
export interface WantedMode {
  readonly mode: number;
  /** 0 where it wants no slot. */
  readonly slots: number;
}

export const WANTS_ALL: WantedMode = { mode: EXCLUSIVE, slots: 0 };

export function countSlots(bits: Uint8Array): number {
  let count = 0;
  for (const byte of bits) for (let left = byte; left > 0; left >>= 1) count += left & 1;
  return count;
}

/** Bits of slots, lowest first. */
export function isSlotIn(bits: Uint8Array, slot: number): boolean {
  return (((bits[slot >> 3] ?? 0) >> (slot & 7)) & 1) === 1;
}
