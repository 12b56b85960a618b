/**
 * A history: what happened, one record a line, in the order of `at`. The simulator writes it in true
 * time; real processes write it by their own wall clocks. Referees read nothing else.
 * The schema is documented in `docs/research/simulator.md`; `parseHistory` refuses records that do not fit it.
 */
import type { LeaseMode } from '../kernel/index.ts';

/** What every record says. */
export interface Happened {
  /** Microseconds: true time in a simulated history, the writer's wall clock in a real one. */
  at: number;
  /** The acting node: its number or name. */
  node: number | string;
  /** Which start of that node. */
  incarnation: number;
}

/** Leases. `request` is unique within an incarnation; a lease is known by resource and token. */
export interface Requested extends Happened {
  kind: 'requested';
  resource: string;
  request: number;
  /** `exclusive` where it is absent. */
  mode?: LeaseMode;
}
/** The request stands in line at a majority: a request that begins after this is served after it. */
export interface Queued extends Happened {
  kind: 'queued';
  resource: string;
  request: number;
}
/** The request is dead from here on: cancelled, timed out or answered with a refusal. */
export interface Abandoned extends Happened {
  kind: 'abandoned';
  resource: string;
  request: number;
}
export interface Granted extends Happened {
  kind: 'granted';
  resource: string;
  request: number;
  token: number;
  /** How much longer the holder may act, by its own clock, when the lease was handed to it. */
  remainingUs: number;
  /** `exclusive` where it is absent. */
  mode?: LeaseMode;
}
export interface Renewed extends Happened {
  kind: 'renewed';
  resource: string;
  token: number;
  remainingUs: number;
  /** `exclusive` where it is absent. */
  mode?: LeaseMode;
}
/** The holder acted under the lease. `remainingUs` by its own clocks: negative is past its deadline. */
export interface Used extends Happened {
  kind: 'used';
  resource: string;
  token: number;
  remainingUs: number;
  /** `exclusive` where it is absent. */
  mode?: LeaseMode;
}
export interface Ended extends Happened {
  kind: 'ended';
  resource: string;
  token: number;
  reason: 'released' | 'lost' | 'deadline' | 'crashed';
}

/** A learner, asked at this instant, believes that the lease with this token holds. */
export interface Believed extends Happened {
  kind: 'believed';
  resource: string;
  token: number;
}

/** A question to a quorum: the holder of a name, or the leases under a prefix. Known by node, incarnation and `query`. */
export interface Queried extends Happened {
  kind: 'queried';
  query: number;
  scope: 'name' | 'prefix';
  /** The name or the prefix. */
  resource: string;
}
/** The answer about one name. A list has one for each lease on it, before `listed`. */
export interface Answered extends Happened {
  kind: 'answered';
  query: number;
  resource: string;
  certain: 'yes' | 'no';
  /** The holder's incarnation; absent if there is no holder. */
  holder?: number;
  token?: number;
}
/** The list is complete. */
export interface Listed extends Happened {
  kind: 'listed';
  query: number;
  certain: 'yes' | 'no';
}

/** The store has acknowledged data under the lease with this token. */
export interface Synced extends Happened {
  kind: 'synced';
  resource: string;
  token: number;
}
/** A read of the data began, and ended. Known by node, incarnation and `query`. */
export interface Fetching extends Happened {
  kind: 'fetching';
  resource: string;
  query: number;
}
export interface Fetched extends Happened {
  kind: 'fetched';
  resource: string;
  query: number;
  /** Of the holder that stored it; absent if nothing was stored. */
  token?: number;
}

/** Registers. An operation is known by node, incarnation and `op`; `value` null is "never written". */
export interface Invoked extends Happened {
  kind: 'invoked';
  register: string;
  op: number;
  action: 'read' | 'write';
  /** What is written; absent for a read. */
  value?: string;
}
export interface Responded extends Happened {
  kind: 'responded';
  register: string;
  op: number;
  /** What a read returned; absent for a write. */
  value?: string | null;
}

/** Round-based registers. A ballot is `ballot`, then the incarnation; an operation is known by node, incarnation and `op`. */
export interface Asked extends Happened {
  kind: 'asked';
  register: string;
  op: number;
  action: 'read' | 'write';
  ballot: number;
  /** What is written; absent for a read. */
  value?: string;
}
export interface Committed extends Happened {
  kind: 'committed';
  register: string;
  op: number;
  /** What a read returned; absent for a write. */
  value?: string | null;
}
export interface Aborted extends Happened {
  kind: 'aborted';
  register: string;
  op: number;
}

/** Consensus and broadcast. */
export interface Proposed extends Happened {
  kind: 'proposed';
  instance: number;
  value: string;
}
export interface Decided extends Happened {
  kind: 'decided';
  instance: number;
  value: string;
}
export interface Broadcast extends Happened {
  kind: 'broadcast';
  message: string;
}
export interface Delivered extends Happened {
  kind: 'delivered';
  message: string;
  /** Where it is in the sequence: the first message is at 1. Absent where positions are not counted. */
  position?: number;
  /** The reader knows that it has left out positions before this one. */
  gap?: 'gone' | 'name';
}
/** The publisher of the message was told that it is at this position, for good. */
export interface Acknowledged extends Happened {
  kind: 'acknowledged';
  message: string;
  position: number;
}
/** The group was begun anew by an operator: messages after this position are lost, acknowledged or not. */
export interface Reset extends Happened {
  kind: 'reset';
  epoch: number;
  position: number;
}

/** Interval leases. A claim is known by node, incarnation and `claim`; intervals include both ends. */
export interface Claimed extends Happened {
  kind: 'claimed';
  space: string;
  claim: number;
  /** The interval that is asked for; absent where any block will do. */
  from?: number;
  to?: number;
  /** How many integers the block has that is asked for; absent where an interval is. */
  size?: number;
}
/** These integers are the claimant's, for ever. */
export interface Allotted extends Happened {
  kind: 'allotted';
  space: string;
  claim: number;
  from: number;
  to: number;
}
export interface DeniedClaim extends Happened {
  kind: 'denied';
  space: string;
  claim: number;
  why: 'overlap' | 'limit' | 'exhausted';
}
/** The claimant gave its claim up before it was answered. */
export interface Recalled extends Happened {
  kind: 'recalled';
  space: string;
  claim: number;
}
/** Nothing of the claim is left anywhere but its allotment. */
export interface Cleared extends Happened {
  kind: 'cleared';
  space: string;
  claim: number;
}

/** A member whose disk was lost is in use again: integers it copied from others are taken for good, claims under way included. */
export interface Rejoined extends Happened {
  kind: 'rejoined';
  generation: number;
}

/** The node stopped: everything it held or had under way is over. */
export interface Crashed extends Happened {
  kind: 'crashed';
}

export type HistoryRecord =
  | Requested
  | Queued
  | Abandoned
  | Granted
  | Renewed
  | Used
  | Ended
  | Believed
  | Queried
  | Answered
  | Listed
  | Synced
  | Fetching
  | Fetched
  | Invoked
  | Responded
  | Asked
  | Committed
  | Aborted
  | Proposed
  | Decided
  | Broadcast
  | Delivered
  | Acknowledged
  | Reset
  | Claimed
  | Allotted
  | DeniedClaim
  | Recalled
  | Cleared
  | Rejoined
  | Crashed;

export type RecordKind = HistoryRecord['kind'];

/** What a record says of a mode: nothing where the lease is exclusive. */
export function modeWords(mode: LeaseMode | undefined): { mode?: LeaseMode } {
  return mode === undefined || mode === 'exclusive' ? {} : { mode };
}

/** Whether it is about a question, and so about everything that is held at that instant. */
export function isOfQuestion(kind: RecordKind): boolean {
  return kind === 'queried' || kind === 'answered' || kind === 'listed';
}
