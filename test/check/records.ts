/**
 * Short words for writing histories by hand, and a way to show one to a referee. Times are given by
 * place: the first record is at 10, the next at 20, and so on.
 */
import type { Ended, HistoryRecord, Referee, Violation } from '../../src/check/index.ts';

type Without<T, K extends string> = T extends unknown ? Omit<T, K> : never;
export type Untimed = Without<HistoryRecord, 'at'>;

/** A node's start: `start(1)` is the first of node 1, `start(1, 2)` its second. */
export function start(node: number | string, incarnation = 1) {
  const who = { node, incarnation };
  return {
    requested: (resource: string, request: number): Untimed => ({ ...who, kind: 'requested', resource, request }),
    queued: (resource: string, request: number): Untimed => ({ ...who, kind: 'queued', resource, request }),
    abandoned: (resource: string, request: number): Untimed => ({ ...who, kind: 'abandoned', resource, request }),
    granted: (resource: string, token: number, remainingUs = 1000, request = token): Untimed => ({
      ...who,
      kind: 'granted',
      resource,
      request,
      token,
      remainingUs,
    }),
    renewed: (resource: string, token: number, remainingUs = 1000): Untimed => ({ ...who, kind: 'renewed', resource, token, remainingUs }),
    used: (resource: string, token: number, remainingUs = 1000): Untimed => ({ ...who, kind: 'used', resource, token, remainingUs }),
    ended: (resource: string, token: number, reason: Ended['reason'] = 'released'): Untimed => ({
      ...who,
      kind: 'ended',
      resource,
      token,
      reason,
    }),
    believed: (resource: string, token: number): Untimed => ({ ...who, kind: 'believed', resource, token }),
    asks: (query: number, resource: string): Untimed => ({ ...who, kind: 'queried', query, scope: 'name', resource }),
    lists: (query: number, prefix = ''): Untimed => ({ ...who, kind: 'queried', query, scope: 'prefix', resource: prefix }),
    /** Of whom and with which token; nobody if nothing is said. */
    answered: (query: number, resource: string, of?: readonly [holder: number, token: number], certain: 'yes' | 'no' = 'yes'): Untimed => ({
      ...who,
      kind: 'answered',
      query,
      resource,
      certain,
      ...(of ? { holder: of[0], token: of[1] } : {}),
    }),
    listed: (query: number, certain: 'yes' | 'no' = 'yes'): Untimed => ({ ...who, kind: 'listed', query, certain }),
    reads: (op: number, register = 'x'): Untimed => ({ ...who, kind: 'invoked', register, op, action: 'read' }),
    writes: (op: number, value: string, register = 'x'): Untimed => ({ ...who, kind: 'invoked', register, op, action: 'write', value }),
    gets: (op: number, value: string | null, register = 'x'): Untimed => ({ ...who, kind: 'responded', register, op, value }),
    wrote: (op: number, register = 'x'): Untimed => ({ ...who, kind: 'responded', register, op }),
    asksRead: (op: number, ballot: number, register = 'x'): Untimed => ({ ...who, kind: 'asked', register, op, action: 'read', ballot }),
    asksWrite: (op: number, ballot: number, value: string, register = 'x'): Untimed => ({
      ...who,
      kind: 'asked',
      register,
      op,
      action: 'write',
      ballot,
      value,
    }),
    commits: (op: number, value?: string | null, register = 'x'): Untimed => ({
      ...who,
      kind: 'committed',
      register,
      op,
      ...(value === undefined ? {} : { value }),
    }),
    aborts: (op: number, register = 'x'): Untimed => ({ ...who, kind: 'aborted', register, op }),
    proposed: (instance: number, value: string): Untimed => ({ ...who, kind: 'proposed', instance, value }),
    decided: (instance: number, value: string): Untimed => ({ ...who, kind: 'decided', instance, value }),
    broadcast: (...messages: string[]): Untimed[] => messages.map((message) => ({ ...who, kind: 'broadcast', message })),
    delivered: (...messages: string[]): Untimed[] => messages.map((message) => ({ ...who, kind: 'delivered', message })),
    crashed: (): Untimed => ({ ...who, kind: 'crashed' }),
  };
}

export function timed(records: readonly Untimed[]): HistoryRecord[] {
  return records.map((record, index) => ({ ...record, at: (index + 1) * 10 }));
}

/** All violations of a history. */
export function judge(referee: Referee, records: readonly Untimed[]): Violation[] {
  const history = timed(records);
  const violations = history.map((record) => referee.observe(record)).filter((violation) => violation !== null);
  return [...violations, ...referee.finish(history.length * 10)];
}

/** The violations as `property@at`. */
export function verdicts(referee: Referee, records: readonly Untimed[]): string[] {
  return judge(referee, records).map(({ property, at }) => `${property}@${at}`);
}
