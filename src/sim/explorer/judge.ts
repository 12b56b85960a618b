/**
 * The referees for the explorer. A state's past is kept as the little that still matters to them: live
 * requests, open holds, the highest token, and whatever happened to round-based registers. Before a step is judged, fresh referees are told a short history
 * that leaves them as the long one would. Each question is answered once and remembered.
 */
import { invariant, stateHash, type Json, type MonoUs, type WallUs } from '../../kernel/index.ts';
import type { HistoryRecord, Referee } from '../../check/index.ts';
import type { HoldDeadline } from '../protocol.ts';
import { Chronicle, type Told } from '../chronicle.ts';

interface Whose {
  readonly node: number;
  readonly incarnation: number;
  readonly resource: string;
  readonly request: number;
}

interface PastHold extends Whose {
  readonly token: number;
  readonly deadline: HoldDeadline;
}

/** What is left of a history. */
interface Past {
  readonly requests: readonly Whose[];
  readonly holds: readonly PastHold[];
  /** The highest token of each resource, if its lease is over. */
  readonly highest: readonly { readonly resource: string; readonly token: number }[];
  /** In the order in which they came. */
  readonly rounds: readonly RoundRecord[];
}

type RoundRecord = Extract<HistoryRecord, { kind: 'asked' | 'committed' | 'aborted' }>;

/** Stands for whoever had the highest token: to the referees it is all the same who it was. */
const SOMEBODY = { node: -1, incarnation: 0, request: 0, deadline: { monoUs: Infinity as MonoUs, wallUs: Infinity as WallUs } };

export interface InstantClocks {
  monoOf(node: number, instant: number): MonoUs;
  wallOf(node: number, instant: number): WallUs;
}

/** The number of a past; -1 where the step broke a promise. */
export type PastId = number;

export class Judge {
  readonly #referees: () => Referee[];
  readonly #clocks: InstantClocks;
  readonly #pasts: Past[] = [];
  readonly #ids = new Map<string, PastId>();
  readonly #answers = new Map<string, PastId>();

  constructor(referees: () => Referee[], clocks: InstantClocks) {
    this.#referees = referees;
    this.#clocks = clocks;
    this.#intern({ requests: [], holds: [], highest: [], rounds: [] });
  }

  /** The past in which nothing has happened. */
  get nothing(): PastId {
    return 0;
  }

  get count(): number {
    return this.#pasts.length;
  }

  /** A past as it would be if nodes had other numbers, and so their lives. */
  renamed(past: PastId, numbered: (node: number) => number, life: (incarnation: number) => number): Json {
    const told = this.#pasts[past] as Past;
    const renamed = <T extends Whose>(one: T): T => ({ ...one, node: numbered(one.node), incarnation: life(one.incarnation) });
    return { ...told, requests: inOrder(told.requests.map(renamed)), holds: told.holds.map(renamed) } as unknown as Json;
  }

  /** What a node told in one step; `toldId` is a number for the list, for remembering. */
  told(past: PastId, instant: number, node: number, incarnation: number, told: readonly Told[], toldId: number): PastId {
    return this.#answer(`${past} ${instant} ${node} ${incarnation} ${toldId}`, past, instant, (chronicle) => {
      for (const one of told) chronicle.tell(node, incarnation, one);
    });
  }

  crashed(past: PastId, instant: number, node: number, incarnation: number): PastId {
    return this.#answer(`${past} ${instant} ${node} ${incarnation} crashed`, past, instant, (chronicle) =>
      chronicle.crashed(node, incarnation),
    );
  }

  /** Holds that are over by the clocks of their holders are over. */
  settled(past: PastId, instant: number): PastId {
    return this.#answer(`${past} ${instant}`, past, instant, (chronicle) => {
      for (const { resource } of (this.#pasts[past] as Past).holds) chronicle.settle(resource);
    });
  }

  #answer(key: string, before: PastId, instant: number, act: (chronicle: Chronicle) => void): PastId {
    const known = this.#answers.get(key);
    if (known !== undefined) return known;
    const past = this.#pasts[before] as Past;
    const after = { requests: [...past.requests], holds: [...past.holds], highest: [...past.highest], rounds: [...past.rounds] };
    let isPrimed = false;
    const clocks = {
      // Before the short history is told, no time has passed: what it grants is not over yet.
      now: (): number => 0,
      monoOf: (node: number): MonoUs => (isPrimed ? this.#clocks.monoOf(node, instant) : (-Infinity as MonoUs)),
      wallOf: (node: number): WallUs => (isPrimed ? this.#clocks.wallOf(node, instant) : (-Infinity as WallUs)),
    };
    const chronicle = new Chronicle(this.#referees(), clocks, (record, deadline) => {
      if (isPrimed) keep(record, deadline, after);
    });
    this.#prime(chronicle, past);
    invariant(chronicle.panel.violationCount === 0, 'the short history of a state is not clean');
    isPrimed = true;
    act(chronicle);
    const answer = chronicle.panel.violationCount > 0 ? -1 : this.#intern(after);
    this.#answers.set(key, answer);
    return answer;
  }

  #prime(chronicle: Chronicle, { requests, holds, highest, rounds }: Past): void {
    for (const { resource, token } of highest) {
      this.#grant(chronicle, { ...SOMEBODY, resource, token });
      chronicle.tell(SOMEBODY.node, SOMEBODY.incarnation, { kind: 'ended', resource, token, reason: 'lost' });
    }
    for (const hold of holds) this.#grant(chronicle, hold);
    for (const { node, incarnation, resource, request } of requests) {
      chronicle.tell(node, incarnation, { kind: 'record', record: { kind: 'requested', resource, request } });
    }
    for (const { node, incarnation, ...record } of rounds) chronicle.tell(Number(node), incarnation, { kind: 'record', record });
  }

  #grant(chronicle: Chronicle, { node, incarnation, ...hold }: PastHold): void {
    const { resource, request } = hold;
    chronicle.tell(node, incarnation, { kind: 'record', record: { kind: 'requested', resource, request } });
    chronicle.tell(node, incarnation, { ...hold, kind: 'granted' });
  }

  #intern(past: Past): PastId {
    const sorted = { ...past, requests: inOrder(past.requests) };
    const key = stateHash(sorted as unknown as Json);
    const known = this.#ids.get(key);
    if (known !== undefined) return known;
    this.#ids.set(key, this.#pasts.length);
    return this.#pasts.push(sorted) - 1;
  }
}

function inOrder(requests: readonly Whose[]): Whose[] {
  return requests.toSorted((a, b) => a.incarnation - b.incarnation || a.request - b.request);
}

interface Growing {
  readonly requests: Whose[];
  readonly holds: PastHold[];
  readonly highest: { resource: string; token: number }[];
  readonly rounds: RoundRecord[];
}

/** What a record leaves behind. */
function keep(record: HistoryRecord, deadline: HoldDeadline | null, { requests, holds, highest, rounds }: Growing): void {
  const node = Number(record.node);
  const { incarnation } = record;
  switch (record.kind) {
    case 'requested':
      requests.push({ node, incarnation, resource: record.resource, request: record.request });
      return;
    case 'abandoned':
      removeWhere(requests, (one) => one.incarnation === incarnation && one.request === record.request);
      return;
    case 'granted': {
      const { resource, request, token } = record;
      invariant(deadline !== null, 'a grant without a deadline');
      removeWhere(requests, (one) => one.incarnation === incarnation && one.request === request);
      removeWhere(highest, (one) => one.resource === resource);
      holds.push({ node, incarnation, resource, request, token, deadline });
      return;
    }
    case 'renewed': {
      const at = holds.findIndex((hold) => hold.incarnation === incarnation && hold.token === record.token);
      const hold = holds[at];
      if (hold && deadline) holds[at] = { ...hold, deadline };
      return;
    }
    case 'ended':
    case 'crashed': {
      const isOver = (hold: PastHold): boolean =>
        hold.incarnation === incarnation && (record.kind === 'crashed' || hold.token === record.token);
      for (const { resource, token } of holds.filter(isOver)) highest.push({ resource, token });
      removeWhere(holds, isOver);
      if (record.kind === 'crashed') removeWhere(requests, (one) => one.incarnation === incarnation);
      return;
    }
    case 'asked':
    case 'committed':
    case 'aborted':
      rounds.push(record);
      return;
    default:
      return;
  }
}

function removeWhere<T>(list: T[], isGone: (one: T) => boolean): void {
  for (let i = list.length - 1; i >= 0; i--) if (isGone(list[i] as T)) list.splice(i, 1);
}
