/**
 * The events a cell publishes through `node:diagnostics_channel`: the names of the channels and the facts sent on
 * each. A tracer or a meter subscribes, without touching the code that holds leases; without
 * subscribers, no facts are made.
 */
import { channel, subscribe, unsubscribe, type Channel } from 'node:diagnostics_channel';
import type { BroadcastStanding, ClaimRefusal, DiskStanding, RefusalReason } from '../../core/index.ts';
import type { TenureError } from '../../kernel/index.ts';
import type { CellState } from '../cell/state.ts';

/** Whose event it is: of every payload. */
export interface Origin {
  readonly cell: string;
  /** The member's id, or the client's name. */
  readonly node: string;
  readonly incarnation: number;
}

/** A lease by its name and fencing token. */
interface OfLease extends Origin {
  readonly name: string;
  readonly token: number;
}

/** A claim of this process by its space and number. */
interface OfClaim extends Origin {
  readonly space: string;
  readonly claim: number;
}

/** Every channel, and its events. */
export interface TenureEvents {
  'tenure:lease:requested': Origin & { readonly name: string; readonly request: number };
  /** `queued`: it had to wait for others. */
  'tenure:lease:granted': OfLease & {
    readonly request: number;
    readonly termMs: number;
    readonly remainingMs: number;
    readonly waitMs: number;
    readonly queued: boolean;
  };
  'tenure:lease:refused': Origin & {
    readonly name: string;
    readonly request: number;
    readonly reason: RefusalReason;
    readonly waitMs: number;
  };
  'tenure:lease:renewed': OfLease & { readonly remainingMs: number };
  /** One attempt failed; others follow until the term is over. */
  'tenure:lease:renewal-failed': OfLease & { readonly remainingMs: number };
  'tenure:lease:lost': OfLease & { readonly holdMs: number; readonly error: TenureError };
  /** Its holder has stopped; the others hear of it next. */
  'tenure:lease:released': OfLease & { readonly holdMs: number };
  'tenure:claim:granted': OfClaim & { readonly from: number; readonly to: number; readonly attempts: number; readonly waitMs: number };
  'tenure:claim:refused': OfClaim & { readonly reason: ClaimRefusal; readonly waitMs: number };
  /** How far the disk is that this member answers claims from. */
  'tenure:claim:disk': Origin & DiskStanding;
  /** A message of this process is in the log. */
  'tenure:broadcast:published': Origin & { readonly number: number; readonly position: number; readonly waitMs: number };
  /** How this member takes part in broadcast. */
  'tenure:broadcast:standing': Origin & { readonly standing: BroadcastStanding };
  /** Without these members, which have lost their memory, nothing is decided; none when it goes on. */
  'tenure:broadcast:stopped': Origin & { readonly without: readonly string[] };
  'tenure:cell:state': Origin & { readonly state: CellState; readonly before: CellState };
  'tenure:cell:peer': Origin & { readonly peer: string; readonly connected: boolean; readonly reason: string | null };
  /** A peer that could not be trusted or understood: at every attempt. */
  'tenure:cell:refused': Origin & { readonly peer: string; readonly error: TenureError };
  /** The restart silence of this member began, or is over. */
  'tenure:cell:silence': Origin & { readonly silent: boolean; readonly ms: number };
  /** The event loop stood still, the machine slept, or its wall clock was set back. */
  'tenure:cell:stall': Origin & { readonly kind: 'stall' | 'sleep' | 'wall-step'; readonly ms: number };
  /** The clock of this process or of a member runs too fast or too slow; null when this process's own is fine again. */
  'tenure:cell:clock-rate': Origin & { readonly error: TenureError | null };
  /** A term is shorter than ten round trips: it may be lost over nothing. Once for each cell. */
  'tenure:cell:short-term': Origin & { readonly termMs: number; readonly rttMs: number };
  /** This node broke one of its own rules and fell silent. */
  'tenure:cell:failure': Origin & { readonly error: TenureError };
  /** The history file ends here. */
  'tenure:history:failed': Origin & { readonly error: TenureError };
}

export type TenureChannel = keyof TenureEvents;

/** Every channel, by its name: `hasSubscribers` tells whether facts need to be made for it. */
export const CHANNELS: { readonly [K in TenureChannel]: Channel } = {
  'tenure:lease:requested': channel('tenure:lease:requested'),
  'tenure:lease:granted': channel('tenure:lease:granted'),
  'tenure:lease:refused': channel('tenure:lease:refused'),
  'tenure:lease:renewed': channel('tenure:lease:renewed'),
  'tenure:lease:renewal-failed': channel('tenure:lease:renewal-failed'),
  'tenure:lease:lost': channel('tenure:lease:lost'),
  'tenure:lease:released': channel('tenure:lease:released'),
  'tenure:claim:granted': channel('tenure:claim:granted'),
  'tenure:claim:refused': channel('tenure:claim:refused'),
  'tenure:claim:disk': channel('tenure:claim:disk'),
  'tenure:broadcast:published': channel('tenure:broadcast:published'),
  'tenure:broadcast:standing': channel('tenure:broadcast:standing'),
  'tenure:broadcast:stopped': channel('tenure:broadcast:stopped'),
  'tenure:cell:state': channel('tenure:cell:state'),
  'tenure:cell:peer': channel('tenure:cell:peer'),
  'tenure:cell:refused': channel('tenure:cell:refused'),
  'tenure:cell:silence': channel('tenure:cell:silence'),
  'tenure:cell:stall': channel('tenure:cell:stall'),
  'tenure:cell:clock-rate': channel('tenure:cell:clock-rate'),
  'tenure:cell:short-term': channel('tenure:cell:short-term'),
  'tenure:cell:failure': channel('tenure:cell:failure'),
  'tenure:history:failed': channel('tenure:history:failed'),
};

/** Hears every event of one channel, of all cells of this process, typed. Returns a function that ends it. */
export function observe<K extends TenureChannel>(name: K, listener: (event: TenureEvents[K]) => void): () => void {
  // The channels carry what the table above says: only this package publishes on them.
  const hear = (event: unknown): void => listener(event as TenureEvents[K]);
  subscribe(name, hear);
  return () => void unsubscribe(name, hear);
}
