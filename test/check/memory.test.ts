/** What referees remember: a referee restored from a snapshot judges as the one that saw everything, in whatever names the past is told. */
import { describe, expect, it } from 'vitest';
import { Random, stateHash } from '../../src/kernel/index.ts';
import {
  AgreementReferee,
  AnswerReferee,
  AtMostOnceReferee,
  asItIs,
  BeliefReferee,
  ClaimReferee,
  DataReferee,
  DeadlineReferee,
  ExclusionReferee,
  FencingReferee,
  lemmaReferees,
  MandatoryReferee,
  OrderReferee,
  Panel,
  RegularityReferee,
  RequestReferee,
  SequenceReferee,
  TotalOrderReferee,
  Unjudged,
  WallClockReferee,
  type HistoryRecord,
  type Perspective,
  type RecordKind,
  type Referee,
} from '../../src/check/index.ts';
import { start, timed, type Untimed } from './records.ts';

const REFEREES: readonly (readonly [name: string, build: () => Referee])[] = [
  ['exclusion', () => new ExclusionReferee()],
  ['fencing', () => new FencingReferee()],
  ['deadline', () => new DeadlineReferee()],
  ['requests', () => new RequestReferee()],
  ['order', () => new OrderReferee()],
  ['order by clocks that are apart', () => new OrderReferee(5)],
  ['belief, releases heard', () => new BeliefReferee(true)],
  ['belief, releases not heard', () => new BeliefReferee(false)],
  ['agreement', () => new AgreementReferee()],
  ['agreement that forgets', () => new AgreementReferee(2)],
  ['total order', () => new TotalOrderReferee()],
  ['total order that forgets', () => new TotalOrderReferee(2)],
  ['positions', () => new SequenceReferee()],
  ['regularity', () => new RegularityReferee()],
  ['regularity that gives up', () => new RegularityReferee({ writesKept: 1 })],
  ['certain answers', () => new AnswerReferee()],
  ['at most once', () => new AtMostOnceReferee()],
  ['claims', () => new ClaimReferee()],
  ['mandatory', () => new MandatoryReferee('granted-or-open')],
  ['mandatory as in the paper', () => new MandatoryReferee('ever-claimed')],
  ['data, for everybody', () => new DataReferee('everybody')],
  ['data, for each', () => new DataReferee('each')],
  ['wall clocks', () => new WallClockReferee(5)],
  ...lemmaReferees().map(({ property }, index) => [property, () => lemmaReferees()[index] as Referee] as const),
];

const RUNS = 120;
const RECORDS = 40;

/** A record of some kind, drawn so that histories stay lawful for a while. */
class Writer {
  readonly #random: Random;
  readonly #lives = [1, 1, 1];
  #token = 0;
  #op = 0;
  #values = 0;
  #grants: { node: number; incarnation: number; resource: string; token: number; request: number; mode?: 'shared' }[] = [];
  #requests: { node: number; incarnation: number; resource: string; request: number }[] = [];
  #operations: { node: number; incarnation: number; op: number; register: string; action: 'read' | 'write' }[] = [];

  #claims: { node: number; incarnation: number; space: string; claim: number; from: number; to: number }[] = [];
  #questions: { node: number; incarnation: number; query: number }[] = [];

  constructor(random: Random) {
    this.#random = random;
  }

  #below(bound: number): number {
    return this.#random.below(bound);
  }

  #pick<T>(from: readonly T[]): T | undefined {
    return from[this.#below(Math.max(1, from.length))];
  }

  next(kinds: readonly RecordKind[]): Untimed {
    const kind = this.#pick(kinds) as RecordKind;
    const node = this.#below(3);
    const who = { node, incarnation: this.#lives[node] as number };
    const resource = this.#pick(['r', 's']) as string;
    const request = this.#pick(this.#requests);
    const hold = this.#pick(this.#grants.slice(-2)) ?? { ...who, resource, token: 1, request: 1 };
    const operation = this.#pick(this.#operations) ?? { ...who, op: 0, register: resource, action: 'read' };
    switch (kind) {
      case 'requested': {
        const made = { ...who, resource, request: ++this.#op };
        this.#requests.push(made);
        return { ...made, kind };
      }
      case 'queued':
        return { ...(request ?? { ...who, resource, request: 0 }), kind };
      case 'abandoned':
      case 'granted': {
        const asked = request ?? { ...who, resource, request: 0 };
        this.#requests = this.#requests.filter((one) => one !== asked);
        if (kind === 'abandoned') return { ...asked, kind };
        this.#token += this.#below(8) > 0 ? 1 : 0;
        const mode = this.#below(3) === 0 ? { mode: 'shared' as const } : {};
        const granted = { ...asked, token: Math.max(1, this.#token), ...mode };
        this.#grants.push(granted);
        return { ...granted, kind, remainingUs: 20 };
      }
      case 'renewed':
      case 'used':
        return { ...hold, kind, remainingUs: 20 };
      case 'ended':
        return { ...hold, kind, reason: this.#pick(['released', 'lost', 'deadline'] as const) ?? 'lost' };
      case 'queried': {
        const asked = { ...who, query: ++this.#op };
        this.#questions.push(asked);
        return { ...asked, kind, scope: this.#pick(['name', 'prefix'] as const) ?? 'name', resource };
      }
      case 'answered':
      case 'listed': {
        const asked = this.#pick(this.#questions) ?? { ...who, query: 0 };
        if (kind === 'listed') return { ...asked, kind, certain: 'yes' };
        const named = this.#below(3) === 0 ? {} : { holder: hold.incarnation, token: hold.token };
        return { ...asked, kind, resource: hold.resource, certain: 'yes', ...named };
      }
      case 'synced':
        return { ...who, kind, resource, token: ++this.#token };
      case 'fetching': {
        const asked = { ...who, query: ++this.#op };
        this.#questions.push(asked);
        return { ...asked, kind, resource };
      }
      case 'fetched':
        return {
          ...(this.#pick(this.#questions) ?? { ...who, query: 0 }),
          kind,
          resource,
          token: Math.max(1, this.#token - this.#below(2)),
        };
      case 'believed':
        return { ...who, kind, resource: hold.resource, token: hold.token };
      case 'invoked':
      case 'asked': {
        const action = this.#pick(['read', 'write'] as const) ?? 'read';
        const begun = { ...who, register: resource, op: ++this.#op, action };
        this.#operations.push(begun);
        const value = action === 'write' ? { value: `v${++this.#values}` } : {};
        return kind === 'invoked' ? { ...begun, ...value, kind } : { ...begun, ...value, kind, ballot: 1 + this.#below(20) };
      }
      case 'responded':
      case 'committed':
      case 'aborted': {
        const { action, ...done } = operation;
        this.#operations = this.#operations.filter((one) => one !== operation);
        if (kind === 'aborted') return { ...done, kind };
        const found = this.#below(4) === 0 ? null : `v${Math.max(1, this.#values - this.#below(2))}`;
        return { ...done, kind, ...(action === 'read' ? { value: found } : {}) };
      }
      case 'proposed':
      case 'decided':
        return { ...who, kind, instance: this.#below(4), value: kind === 'proposed' ? (this.#pick(['a', 'b'] as const) ?? 'a') : 'a' };
      case 'broadcast':
        return { ...who, kind, message: `m${++this.#values}` };
      case 'delivered':
        return {
          ...who,
          kind,
          message: `m${Math.max(1, this.#values - this.#below(2))}`,
          ...(this.#below(2) === 0 ? { position: 1 + this.#below(9) } : {}),
        };
      case 'acknowledged':
        return { ...who, kind, message: `m${Math.max(1, this.#values)}`, position: 1 + this.#below(9) };
      case 'reset':
        return { ...who, kind, epoch: this.#below(3), position: this.#below(9) };
      case 'claimed': {
        const from = this.#below(30);
        const made = { ...who, space: resource, claim: ++this.#op, from, to: from + this.#below(4) };
        this.#claims.push(made);
        return { ...made, kind };
      }
      case 'allotted':
      case 'denied':
      case 'recalled':
      case 'cleared': {
        const { from, to, ...about } = this.#pick(this.#claims) ?? { ...who, space: resource, claim: 0, from: 0, to: 0 };
        if (kind === 'allotted') return { ...about, kind, from, to };
        return kind === 'denied' ? { ...about, kind, why: 'overlap' } : { ...about, kind };
      }
      case 'rejoined':
        return { ...who, kind, generation: 2 };
      default:
        this.#lives[node] = (this.#lives[node] as number) + 1;
        this.#requests = this.#requests.filter((one) => one.node !== node);
        this.#grants = this.#grants.filter((one) => one.node !== node);
        this.#operations = this.#operations.filter((one) => one.node !== node);
        this.#questions = this.#questions.filter((one) => one.node !== node);
        this.#claims = this.#claims.filter((one) => one.node !== node);
        return { ...who, kind };
    }
  }
}

/** A history up to the first fault, or of so many records. */
function draw(build: () => Referee, seed: number, random: Random = new Random(seed)): HistoryRecord[] {
  const writer = new Writer(random);
  const referee = build();
  // Crashes are rare, or there were nothing else.
  const kinds = referee.handles.flatMap((kind) => (kind === 'crashed' ? [kind] : [kind, kind, kind]));
  const records: HistoryRecord[] = [];
  for (let at = 0; records.length < RECORDS; at += random.below(3) * 10) {
    const record = { ...writer.next(kinds), at };
    records.push(record);
    if (referee.observe(record) !== null) break;
  }
  return records;
}

const named = (violation: { readonly property: string } | null): string | null => violation?.property ?? null;

/** Nodes 0 and 1 change places; incarnations go along, as in the explorer. */
const SWAPPED: Perspective = {
  now: 0,
  node: (node) => (node === 0 ? 1 : node === 1 ? 0 : node),
  incarnation: (incarnation) => incarnation + 100,
};

describe.each(REFEREES)('the referee of %s', (_name, build) => {
  it('judges the same when it is restored from a snapshot before each record', () => {
    let violations = 0;
    for (let seed = 1; seed <= RUNS; seed++) {
      const whole = build();
      let memory = build().snapshot(asItIs(0));
      let now = 0;
      for (const record of draw(build, seed)) {
        const restored = build();
        restored.restore(memory, now);
        const verdict = named(whole.observe(record));
        expect(named(restored.observe(record))).toBe(verdict);
        now = record.at;
        // What is left counts from the present, and is the same for both.
        expect(stateHash(restored.snapshot(asItIs(now)))).toBe(stateHash(whole.snapshot(asItIs(now))));
        memory = restored.snapshot(asItIs(now));
        const atEnd = named(whole.finish(now)[0] ?? null);
        expect(named(restored.finish(now)[0] ?? null)).toBe(atEnd);
        if (verdict !== null || atEnd !== null) violations++;
      }
    }
    expect(violations).toBeGreaterThan(2);
  });

  it('tells its past in other names as it would if nodes had had those names', () => {
    for (let seed = 1; seed <= RUNS / 4; seed++) {
      const [own, renamed] = [build(), build()];
      for (const record of draw(build, seed)) {
        own.observe(record);
        renamed.observe({ ...record, node: SWAPPED.node(record.node), incarnation: SWAPPED.incarnation(record.incarnation) });
        expect(stateHash(own.snapshot({ ...SWAPPED, now: record.at }))).toBe(stateHash(renamed.snapshot(asItIs(record.at))));
      }
    }
  });

  it('remembers the same of what happened at another time', () => {
    for (let seed = 1; seed <= RUNS / 4; seed++) {
      const [early, late] = [build(), build()];
      for (const record of draw(build, seed)) {
        early.observe(record);
        late.observe({ ...record, at: record.at + 1_000_000 });
        expect(stateHash(early.snapshot(asItIs(record.at)))).toBe(stateHash(late.snapshot(asItIs(record.at + 1_000_000))));
      }
    }
  });
});

const a = start(1);
const b = start(2);

function remembered(referee: Referee, records: readonly Untimed[]): unknown {
  for (const record of timed(records)) referee.observe(record);
  return referee.snapshot(asItIs(1000));
}

describe('what is over', () => {
  it.each<readonly [string, () => Referee, readonly Untimed[], readonly Untimed[]]>([
    ['a hold, but for its token', () => new FencingReferee(), [a.granted('r', 1), a.ended('r', 1), b.granted('r', 2)], [b.granted('r', 2)]],
    ['a hold', () => new ExclusionReferee(), [a.granted('r', 1), a.renewed('r', 1), a.ended('r', 1)], []],
    ['a request', () => new RequestReferee(), [a.requested('r', 1), a.granted('r', 1)], []],
    ['a place in line', () => new OrderReferee(), [a.requested('r', 1), a.queued('r', 1), a.granted('r', 1)], []],
    [
      'a write that was overwritten',
      () => new RegularityReferee(),
      [a.writes(1, 'v'), a.wrote(1), b.writes(1, 'w'), b.wrote(1)],
      [b.writes(1, 'w'), b.wrote(1)],
    ],
    [
      'the order in which two were asked',
      () => new RequestReferee(),
      [a.requested('r', 1), b.requested('r', 1)],
      [b.requested('r', 1), a.requested('r', 1)],
    ],
    [
      'which of two decided first',
      () => new AgreementReferee(),
      [a.proposed(1, 'v'), a.decided(1, 'v'), b.decided(1, 'v')],
      [a.proposed(1, 'v'), b.decided(1, 'v'), a.decided(1, 'v')],
    ],
  ])('%s leaves nothing behind', (_what, build, past, same) => {
    expect(remembered(build(), past)).toEqual(remembered(build(), same));
  });
});

describe('a panel', () => {
  it('refuses a kind of record that none of its referees handles, and names it', () => {
    const panel = new Panel([new ExclusionReferee()]);
    const [record] = timed([a.decided(1, 'v')]) as [HistoryRecord];
    expect(() => panel.observe(record)).toThrow("a record of kind 'decided' was written, and no referee here handles it");
    const told = new Panel([new ExclusionReferee(), new Unjudged(['decided'], 'nobody asked')]);
    expect(told.observe(record)).toBe(true);
    expect(told.finish(10)).toEqual([]);
  });

  it('goes on from what its referees remember', () => {
    const referees = (): Referee[] => [new ExclusionReferee(), new FencingReferee(), new Unjudged(['believed'], 'nobody asked')];
    const before = new Panel(referees());
    for (const record of timed([a.granted('r', 2), a.believed('r', 2)])) before.observe(record);
    const after = new Panel(referees());
    after.restore(before.snapshot(asItIs(20)), 20);
    const [grant] = timed([b.granted('r', 1)]) as [HistoryRecord];
    expect(after.observe(grant)).toBe(false);
    expect(after.violations.map(({ property }) => property)).toEqual(['exclusion', 'fencing']);
    expect(after.violations[0]?.message).toBe('node 2#1 was granted "r" with token 1 at 10µs, while node 1#1 holds it with token 2');
  });
});
