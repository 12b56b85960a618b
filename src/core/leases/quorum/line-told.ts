/** A line as its acceptors tell it: the first waiters, in order, as bytes that fit the metadata of a message. */
import { ballotTime, type BallotTime, type Incarnation } from '../../../kernel/index.ts';
import { META_BYTES_MAX } from '../limits.ts';
import type { WantedMode } from './modes.ts';

const WAITER_BYTES = 32;
/** The others wait all the same. */
export const WAITERS_TOLD_MAX: number = Math.floor(META_BYTES_MAX / WAITER_BYTES);

export interface ToldWaiter {
  readonly owner: Incarnation;
  readonly lease: number;
  readonly ticket: BallotTime;
  readonly wanted: WantedMode;
}

export function lineBytes(waiters: readonly ToldWaiter[]): Uint8Array {
  const told = waiters.slice(0, WAITERS_TOLD_MAX);
  const bytes = new Uint8Array(told.length * WAITER_BYTES);
  const view = new DataView(bytes.buffer);
  told.forEach(({ owner, lease, ticket, wanted }, i) => {
    const at = i * WAITER_BYTES;
    view.setFloat64(at, owner);
    view.setFloat64(at + 8, lease);
    view.setFloat64(at + 16, ticket);
    view.setUint32(at + 24, wanted.mode);
    view.setUint32(at + 28, wanted.slots);
  });
  return bytes;
}

/** Waiters that make no sense are left out. */
export function lineIn(bytes: Uint8Array): ToldWaiter[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const waiters: ToldWaiter[] = [];
  for (let at = 0; at + WAITER_BYTES <= bytes.length; at += WAITER_BYTES) {
    const [owner, lease, ticket] = [view.getFloat64(at), view.getFloat64(at + 8), view.getFloat64(at + 16)];
    if (![owner, lease, ticket].every((number) => Number.isSafeInteger(number) && number >= 0)) continue;
    const wanted = { mode: view.getUint32(at + 24), slots: view.getUint32(at + 28) };
    waiters.push({ owner: owner as Incarnation, lease, ticket: ballotTime(ticket), wanted });
  }
  return waiters;
}
