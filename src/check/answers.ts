/**
 * Certain answers: a certain answer was true at some instant between question and answer. Of a name: that no process holds it; or that no other process
 * does but readers beside a reader, and the named process has asked for it and no process was granted it since. Of a list: every lease that one process held
 * from its beginning to its end is on it. Needs records in true time. An instant lies between two records.
 */
import type { Json, LeaseMode } from '../kernel/index.ts';
import type { Answered, Granted, Happened, HistoryRecord, Listed, Queried, RecordKind } from './history.ts';
import { PerIncarnation } from './incarnations.ts';
import { inOrder, whoSeen, type Perspective, type WhoMemory } from './memory.ts';
import type { Referee, Violation } from './referee.ts';
import { instant, party, quoted } from './wording.ts';

interface Tenure extends Pick<Granted, 'node' | 'incarnation' | 'token'> {
  readonly mode: LeaseMode;
  /** Numbers of records: it lasts from the record that opened it up to the record that closed it. */
  readonly opened: number;
  closed: number;
}

interface Question {
  readonly record: Queried;
  /** The number of its record. */
  readonly began: number;
  /** Names that were on the list so far. */
  readonly listed: Set<string>;
}

/** Numbers of records count back from the newest one; null is the end of an open tenure. */
interface AnswerMemory {
  readonly questions: readonly (readonly [
    who: WhoMemory,
    query: number,
    began: number,
    listed: readonly string[],
    scope: string,
    resource: string,
  ])[];
  readonly tenures: readonly (readonly [
    resource: string,
    who: WhoMemory,
    token: number,
    mode: LeaseMode,
    opened: number,
    closed: number | null,
  ])[];
  readonly askers: readonly (readonly [resource: string, incarnation: number])[];
  readonly newest: readonly (readonly [resource: string, incarnation: number, token: number])[];
  readonly succeeded: readonly (readonly [resource: string, incarnation: number, token: number, at: number])[];
}

export class AnswerReferee implements Referee {
  readonly property = 'certain-answers' as const;
  readonly handles: readonly RecordKind[] = ['requested', 'granted', 'ended', 'crashed', 'queried', 'answered', 'listed'];
  readonly #requestsKnown: boolean;
  #records = 0;
  readonly #questions = new PerIncarnation<Map<number, Question>>();
  /** By resource, in the order of their grants: open tenures, and tenures that were open when an unanswered question began. */
  readonly #tenures = new Map<string, Tenure[]>();
  /** Which incarnations have ever asked for a resource. */
  readonly #askers = new Map<string, Set<number>>();
  /** The newest exclusive grant of each resource; and by resource, incarnation and token the number of the record that granted the next. */
  readonly #newest = new Map<string, string>();
  readonly #succeeded = new Map<string, number>();
  #open = 0;

  /** `requestsKnown`: all processes that ask for leases tell the history. */
  constructor(requestsKnown = true) {
    this.#requestsKnown = requestsKnown;
  }

  observe(record: HistoryRecord): Violation | null {
    this.#records++;
    switch (record.kind) {
      case 'requested':
        this.#asksFor(record.resource, record.incarnation);
        return null;
      case 'granted':
        this.#asksFor(record.resource, record.incarnation);
        this.#grant(record);
        return null;
      case 'ended':
        this.#close(record.resource, (one) => isOf(one, record) && one.token === record.token);
        return null;
      case 'crashed':
        for (const resource of this.#tenures.keys()) this.#close(resource, (one) => isOf(one, record));
        this.#open -= this.#questions.take(record)?.size ?? 0;
        return null;
      case 'queried':
        this.#ask(record);
        return null;
      case 'answered':
        return this.#answer(record);
      case 'listed':
        return this.#list(record);
      default:
        return null;
    }
  }

  finish(_at: number): readonly Violation[] {
    return [];
  }

  snapshot(seen: Perspective): Json {
    const back = (record: number): number => this.#records - record;
    const oldest = Math.min(...[...this.#questions.entries()].flatMap(([, open]) => [...open.values()].map(({ began }) => began)));
    const questions = [...this.#questions.entries()].flatMap(([who, open]) =>
      [...open].map(([query, { record, began, listed }]): AnswerMemory['questions'][number] => [
        whoSeen(who, seen),
        query,
        back(began),
        [...listed].sort(),
        record.scope,
        record.resource,
      ]),
    );
    const tenures = [...this.#tenures].flatMap(([resource, all]) =>
      all
        // Ended tenures matter to questions that began before their end.
        .filter(({ closed }) => closed === Infinity || closed > oldest)
        .map((one): AnswerMemory['tenures'][number] => [
          resource,
          whoSeen(one, seen),
          one.token,
          one.mode,
          back(one.opened),
          one.closed === Infinity ? null : back(one.closed),
        ]),
    );
    const lease = (key: string): [string, number, number] => {
      const [incarnation, token, ...words] = key.split(' ');
      return [words.join(' '), seen.incarnation(Number(incarnation)), Number(token)];
    };
    const memory: AnswerMemory = {
      questions: inOrder(questions),
      // Tenures of a resource stay in the order of their grants.
      tenures: tenures.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)),
      askers: inOrder(
        [...this.#askers].flatMap(([resource, all]) => [...all].map((one): [string, number] => [resource, seen.incarnation(one)])),
      ),
      newest: inOrder([...this.#newest.values()].map(lease)),
      succeeded: inOrder([...this.#succeeded].map(([key, at]): [string, number, number, number] => [...lease(key), back(at)])),
    };
    return memory as unknown as Json;
  }

  restore(memory: Json, now: number): void {
    const { questions, tenures, askers, newest, succeeded } = memory as unknown as AnswerMemory;
    for (const [[node, incarnation], query, began, listed, scope, resource] of questions) {
      const record: Queried = { kind: 'queried', at: now, node, incarnation, query, scope: scope as Queried['scope'], resource };
      const open = this.#questions.get(record) ?? new Map<number, Question>();
      this.#questions.set(record, open);
      open.set(query, { record, began: this.#records - began, listed: new Set(listed) });
      this.#open++;
    }
    for (const [resource, [node, incarnation], token, mode, opened, closed] of tenures) {
      const all = this.#tenures.get(resource) ?? [];
      this.#tenures.set(resource, all);
      const [from, to] = [this.#records - opened, closed === null ? Infinity : this.#records - closed];
      all.push({ node, incarnation, token, mode, opened: from, closed: to });
    }
    for (const [resource, incarnation] of askers) this.#asksFor(resource, incarnation);
    for (const [resource, incarnation, token] of newest) this.#newest.set(resource, keyOf(resource, incarnation, token));
    for (const [resource, incarnation, token, at] of succeeded)
      this.#succeeded.set(keyOf(resource, incarnation, token), this.#records - at);
  }

  #asksFor(resource: string, incarnation: number): void {
    const askers = this.#askers.get(resource);
    if (askers) askers.add(incarnation);
    else this.#askers.set(resource, new Set([incarnation]));
  }

  #grant({ resource, node, incarnation, token, mode = 'exclusive' }: Granted): void {
    const before = this.#newest.get(resource);
    const key = keyOf(resource, incarnation, token);
    if (before !== undefined && before !== key && !this.#succeeded.has(before)) this.#succeeded.set(before, this.#records);
    // Readers come beside each other, not after each other.
    if (mode === 'exclusive') this.#newest.set(resource, key);
    // Where a store has lost writes, a token can come again: this lease has no successor yet.
    this.#succeeded.delete(key);
    const tenures = this.#tenures.get(resource) ?? [];
    // Ended tenures are dropped while no question is open.
    const kept = this.#open > 0 ? tenures : tenures.filter(({ closed }) => closed === Infinity);
    kept.push({ node, incarnation, token, mode, opened: this.#records, closed: Infinity });
    this.#tenures.set(resource, kept);
  }

  #close(resource: string, which: (one: Tenure) => boolean): void {
    for (const one of this.#tenures.get(resource) ?? []) if (one.closed === Infinity && which(one)) one.closed = this.#records;
  }

  #ask(record: Queried): void {
    let open = this.#questions.get(record);
    if (open === undefined) this.#questions.set(record, (open = new Map()));
    if (!open.has(record.query)) this.#open++;
    open.set(record.query, { record, began: this.#records, listed: new Set() });
  }

  #answer(record: Answered): Violation | null {
    const open = this.#questions.get(record);
    const question = open?.get(record.query);
    if (!question) return null;
    if (question.record.scope === 'name' && open?.delete(record.query)) this.#open--;
    question.listed.add(record.resource);
    if (record.certain === 'no') return null;
    const { holder, token, resource } = record;
    if (holder !== undefined && this.#requestsKnown && this.#askers.get(resource)?.has(holder) !== true)
      return this.#violation(record, question, `is held by #${holder} with token ${token}, who never asked for it`);
    const next = holder === undefined || token === undefined ? undefined : this.#succeeded.get(keyOf(resource, holder, token));
    if (next !== undefined && next < question.began)
      return this.#violation(
        record,
        question,
        `is held by #${holder} with token ${token}, though it was granted to another before the question`,
      );
    const tenures = this.#tenures.get(resource) ?? [];
    const isNamed = (one: Tenure): boolean => one.incarnation === holder && one.token === token;
    // A tenure that is over by now was perhaps a reader's.
    const mayRead = holder !== undefined && !tenures.some((one) => isNamed(one) && one.mode === 'exclusive');
    const others = tenures.filter((one) => !isNamed(one) && !(mayRead && one.mode === 'shared'));
    if (!covers(others, question.began, this.#records)) return null;
    const other = others.findLast(({ opened }) => opened < this.#records) as Tenure;
    const said = holder === undefined ? 'is free' : `is held by #${holder} with token ${token}`;
    return this.#violation(record, question, `${said}, though ${party(other)} held it with token ${other.token} all the while`);
  }

  #list(record: Listed): Violation | null {
    const open = this.#questions.get(record);
    const question = open?.get(record.query);
    if (!question || !open?.delete(record.query)) return null;
    this.#open--;
    if (record.certain === 'no') return null;
    const prefix = question.record.resource;
    for (const [resource, tenures] of this.#tenures) {
      const held = tenures.find(({ opened, closed }) => opened < question.began && closed === Infinity);
      if (!held || !resource.startsWith(prefix) || question.listed.has(resource)) continue;
      return this.#violation(
        record,
        question,
        `has no ${quoted(resource)}, which ${party(held)} held with token ${held.token} all the while`,
      );
    }
    return null;
  }

  #violation(record: Happened & { readonly kind: 'answered' | 'listed' }, { record: asked }: Question, what: string): Violation {
    const about = record.kind === 'listed' ? `a list of ${quoted(asked.resource)}` : quoted((record as Answered).resource);
    const message = `${party(record)}, which asked at ${instant(asked.at)}, was told for certain at ${instant(record.at)} that ${about} ${what}`;
    return { property: this.property, at: record.at, message };
  }
}

function keyOf(resource: string, incarnation: number, token: number): string {
  return `${incarnation} ${token} ${resource}`;
}

function isOf(one: Tenure, { node, incarnation }: Pick<Happened, 'node' | 'incarnation'>): boolean {
  return one.node === node && one.incarnation === incarnation;
}

/** Whether the tenures leave no instant free from one record to another. They are in the order of their grants. */
function covers(tenures: readonly Tenure[], from: number, to: number): boolean {
  let covered = from;
  for (const { opened, closed } of tenures) {
    if (opened > covered) return false;
    covered = Math.max(covered, closed);
    if (covered >= to) return true;
  }
  return false;
}
