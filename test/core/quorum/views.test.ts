/** How a cell goes from view to view: what members, holders and whoever changes it do, with every packet and clock in hand. */
import { describe, expect, it } from 'vitest';
import { ballotTime, encodeName, monoUs } from '../../../src/kernel/index.ts';
import {
  ALL_RULES,
  compareViews,
  decodeView,
  encodeView,
  nextConfig,
  VIEW_NAME,
  ViewInitiator,
  type QuorumRules,
  type View,
  type ViewConfig,
} from '../../../src/core/index.ts';
import { Cell, R, TERM_US, viewHost, type CellOptions, type Node, type Packet } from './cell.ts';

const keys = (numbers: readonly number[]): ViewConfig['members'] => numbers.map((number) => ({ number, key: 1000 + number, text: '' }));

function config(numbers: readonly number[], more: Partial<ViewConfig> = {}): ViewConfig {
  return { members: keys(numbers), replication: numbers.length, maxTermUs: TERM_US, rateErrorPpm: 10_000, ...more };
}

function cellOf(options: CellOptions = {}): Cell {
  const cell = new Cell({ members: 3, numbers: 5, clients: 2, keeps: 'floor', ...options });
  cell.run(2 * TERM_US);
  return cell;
}

/** Whoever changes a cell, on one of its nodes: driven with its clock, and told what its core says. */
class Change {
  readonly initiator: ViewInitiator;
  readonly #node: Node;
  #heard: number;

  constructor(node: Node, target: (cur: ViewConfig) => ViewConfig, rules: QuorumRules = ALL_RULES) {
    this.#node = node;
    this.#heard = node.events.length;
    this.initiator = new ViewInitiator(viewHost(node), target(node.core.view.cur), rules);
    this.initiator.start(monoUs(node.mono));
  }

  /** Runs until it is done, for so many terms at most. */
  run(terms = 30, pick?: Parameters<Cell['run']>[1]): this {
    for (let part = 0; part < terms * 20 && this.initiator.state.kind !== 'done'; part++) {
      this.#node.cell.run(TERM_US / 20, pick);
      for (const event of this.#node.events.slice(this.#heard)) this.initiator.event(event, monoUs(this.#node.mono));
      this.#heard = this.#node.events.length;
      this.initiator.wake(monoUs(this.#node.mono));
    }
    return this;
  }
}

const to =
  (numbers: readonly number[], more: Partial<ViewConfig> = {}) =>
  (cur: ViewConfig): ViewConfig => ({
    ...cur,
    members: numbers.map((number) => cur.members.find((member) => member.number === number) ?? { number, key: 1000 + number, text: '' }),
    replication: numbers.length,
    ...more,
  });

const numbersIn = ({ cur }: View): number[] => cur.members.map(({ number }) => number);
const viewOf = (epoch: number, cur: ViewConfig, old: ViewConfig | null = null, id = 7): View => ({
  epoch,
  id,
  cur,
  old,
  floor: ballotTime(0),
  isMoved: false,
});

it('whoever gives up a change gives the lease of views back, also one that it has not heard of yet', () => {
  const cell = cellOf();
  const change = new Change(cell.node(5), to([0, 1, 2, 3]));
  cell.run(TERM_US / 20);
  expect(cell.node(5).said('granted')).toHaveLength(1);
  change.initiator.giveUp();
  cell.settle();
  expect(change.initiator.state.kind).toBe('done');
  expect(cell.node(5).said('released').at(-1)?.byQuorum).toBe(true);
});

it('a proposal that was parked in one view is not voted for in the next', () => {
  const cell = new Cell({ members: 3, numbers: 5, clients: 2 });
  const [holder, heir] = [cell.node(5), cell.node(6)];
  const lease = holder.acquire({ keep: true });
  cell.settle();
  heir.acquire({ waitUs: 9 * TERM_US });
  cell.settle();
  holder.command({ kind: 'hand-over', lease, name: R, to: null });
  cell.settle(({ kind }) => kind !== 'RELEASE');
  expect(holder.said('handed-over')).toHaveLength(1);
  cell.tell(1, 0, viewOf(1, config([0, 1, 2, 3]), config([0, 1, 2])));
  const marked = cell.sent.length;
  cell.deliver(({ kind, to: target }) => kind === 'RELEASE' && target === 0);
  expect(cell.sent.slice(marked).filter(({ from, to: target, kind }) => from === 0 && target === heir.id && kind === 'ACCEPTED')).toEqual(
    [],
  );
});

describe('a view', () => {
  it('is read back as it was written', () => {
    const members = [
      { number: 0, key: 4_000_000_000, text: 'a@10.0.0.1:4100' },
      { number: 63, key: 1, text: '' },
    ];
    const view = { ...viewOf(9, { ...config([]), members, replication: 2 }, config([0, 5, 63])), floor: ballotTime(1_800_000_000_000_001) };
    const sides = {
      ...view,
      old: { ...config([0, 5, 63]), members: [members[0], { number: 5, key: 1005, text: '' }, members[1]] },
    } as View;
    const bytes = encodeView(sides) as Uint8Array;
    expect(decodeView(bytes, 0, bytes.length)).toEqual(sides);
  });

  it('is not read from bytes that are cut off, or of another format', () => {
    const bytes = encodeView(viewOf(1, config([0, 1, 2]))) as Uint8Array;
    for (let end = 0; end < bytes.length; end++) expect(decodeView(bytes, 0, end)).toBeNull();
    expect(decodeView(Uint8Array.of(99, ...bytes.slice(1)), 0, bytes.length)).toBeNull();
  });

  it('has as many members and voters as it can, and terms as an engine may have them', () => {
    for (const bad of [{ replication: 4 }, { replication: 0 }, { maxTermUs: 1 }, { rateErrorPpm: 900_000 }]) {
      const bytes = encodeView(viewOf(1, config([0, 1, 2], bad))) as Uint8Array;
      expect(decodeView(bytes, 0, bytes.length)).toBeNull();
    }
  });

  it('is higher by its epoch, then by its id', () => {
    expect(compareViews({ epoch: 2, id: 1 }, { epoch: 1, id: 9 })).toBeGreaterThan(0);
    expect(compareViews({ epoch: 2, id: 1 }, { epoch: 2, id: 9 })).toBeLessThan(0);
  });

  it('is too much to write down with texts that are too long', () => {
    const members = Array.from({ length: 5 }, (_, number) => ({ number, key: number, text: 'x'.repeat(250) }));
    expect(encodeView(viewOf(1, { ...config([]), members, replication: 5 }))).toBeNull();
  });

  it('changes by one member at a time, then by its voters, then by its terms', () => {
    const from = config([0, 1, 2]);
    const steps: (ViewConfig | null)[] = [];
    const target = config([0, 2, 3, 4], { replication: 2, maxTermUs: TERM_US / 2 });
    for (let at: ViewConfig | null = nextConfig(from, target); at !== null; at = nextConfig(at, target)) steps.push(at);
    expect(steps.map((step) => [step?.members.map(({ number }) => number).join(''), step?.replication, step?.maxTermUs])).toEqual([
      ['023', 3, TERM_US],
      ['0234', 3, TERM_US],
      ['0234', 2, TERM_US],
      ['0234', 2, TERM_US / 2],
    ]);
    expect(nextConfig(target, target)).toBeNull();
  });
});

describe('a cell under leases', () => {
  it('grows, has members replaced and shrinks, and its holders lose nothing', () => {
    const cell = cellOf();
    const [holder, administrator] = [cell.node(5), cell.node(6)];
    const lease = holder.acquire({ keep: true });
    cell.run(1000);
    const { token } = holder.last('granted');
    for (const members of [
      [0, 1, 2, 3, 4],
      [0, 3, 4],
      [0, 1, 2],
    ]) {
      new Change(administrator, to(members)).run();
      expect(numbersIn(administrator.core.view)).toEqual(members);
      expect(holder.holds(lease)).toBe(true);
      for (const member of members) expect(cell.node(member).core.view).toEqual(administrator.core.view);
    }
    expect(holder.said('lost')).toEqual([]);
    holder.release(lease);
    cell.run(TERM_US);
    administrator.acquire();
    cell.run(1000);
    expect(administrator.last('granted').token).toBeGreaterThan(token);
  });

  it('halves its terms and doubles them, and its holders follow', () => {
    const cell = cellOf();
    const [holder, administrator] = [cell.node(5), cell.node(6)];
    const lease = holder.acquire({ keep: true });
    cell.run(1000);
    for (const maxTermUs of [TERM_US / 2, TERM_US * 2]) {
      new Change(administrator, (cur) => ({ ...cur, maxTermUs })).run(60);
      expect(administrator.core.view.cur.maxTermUs).toBe(maxTermUs);
      expect(holder.holds(lease)).toBe(true);
      cell.run(4 * TERM_US);
      expect(holder.remaining(lease)).toBeLessThanOrEqual(maxTermUs);
    }
    expect(holder.said('lost')).toEqual([]);
  });

  it('lets fewer members vote on a name, and more again', () => {
    const cell = cellOf({ members: 5 });
    const [holder, administrator] = [cell.node(5), cell.node(6)];
    const lease = holder.acquire({ keep: true });
    cell.run(1000);
    for (const replication of [3, 5]) {
      new Change(administrator, (cur) => ({ ...cur, replication })).run(60);
      expect(administrator.core.view.cur.replication).toBe(replication);
      expect(holder.holds(lease)).toBe(true);
    }
    expect(holder.said('lost')).toEqual([]);
  });

  it('answers a client that knows of no change, without a call that fails', () => {
    const cell = cellOf();
    const [late, administrator] = [cell.node(5), cell.node(6)];
    new Change(administrator, to([1, 2, 3])).run();
    expect(late.core.view.epoch).toBe(0);
    const lease = late.acquire();
    cell.run(TERM_US / 4);
    expect(late.holds(lease)).toBe(true);
    expect(late.said('refused')).toEqual([]);
    expect(late.core.view).toEqual(administrator.core.view);
    late.query();
    late.list('');
    cell.run(TERM_US / 4);
    expect(late.last('answered')).toMatchObject({ certain: true, holder: { token: late.last('granted').token } });
    expect(late.last('listed')).toMatchObject({ certain: true, leases: [{ certain: true }] });
  });
});

it('a lease is kept though the new member does not vote yet, and one of the others takes longer to answer than a renewal waits', () => {
  const cell = cellOf();
  const [holder, administrator] = [cell.node(5), cell.node(6)];
  const lease = holder.acquire({ keep: true });
  cell.run(1000);
  const slowUs = 2 * cell.timing.attemptUs;
  const seen = new Map<Packet, number>();
  const isThere = (packet: Packet): boolean => {
    if (packet.from === 3 || packet.to === 3) return false;
    if (packet.from !== 2) return true;
    seen.set(packet, seen.get(packet) ?? cell.nowUs);
    return cell.nowUs >= (seen.get(packet) as number) + slowUs;
  };
  new Change(administrator, to([0, 1, 2, 3])).run(4, isThere);
  for (let part = 0; part < 40; part++) cell.run(TERM_US / 20, isThere);
  expect(holder.said('lost')).toEqual([]);
  expect(holder.holds(lease)).toBe(true);
  expect(administrator.core.view).toMatchObject({ epoch: 2, old: null });
  expect(holder.core.view).toEqual(administrator.core.view);
});

describe('whoever changes a cell', () => {
  it('waits until so many members have stored the joint view that no quorum of before is left', () => {
    const cell = cellOf({ keeps: 'nothing' });
    const change = new Change(cell.node(6), to([0, 1, 2, 3])).run(2);
    const { epoch, id } = cell.node(2).last('view-adopted').view;
    cell.node(2).command({ kind: 'view-stored', epoch, id });
    expect(change.run(6).initiator.state).toEqual({ kind: 'stored', epoch: 1, missing: [0, 1] });
    cell.node(0).command({ kind: 'view-stored', epoch, id });
    expect(change.run().initiator.state).toEqual({ kind: 'done' });
    expect(cell.node(6).core.view.old).toBeNull();
  });

  it('can go away anywhere: the next one finishes what it finds', () => {
    for (let parts = 1; parts < 40; parts += 3) {
      const cell = cellOf();
      const lease = cell.node(0).acquire({ keep: true });
      const first = new Change(cell.node(5), to([0, 1, 2, 3])).run(parts / 20);
      cell.node(5).command({ kind: 'lapse', lease: first.initiator.lease, name: VIEW_NAME });
      cell.node(5).command({ kind: 'cancel', lease: first.initiator.lease });
      new Change(cell.node(6), to([0, 1, 2, 4])).run(60);
      expect(numbersIn(cell.node(6).core.view)).toEqual([0, 1, 2, 4]);
      expect(cell.node(0).holds(lease)).toBe(true);
    }
  });

  it('is a member or proves the members’ secret', () => {
    const cell = cellOf();
    const change = new Change(cell.node(5), to([0, 1, 2, 3]));
    const [packet] = cell.sent.filter(({ kind, from }) => kind === 'PROPOSE' && from === 5).slice(-1);
    expect(packet).toBeDefined();
    expect(change.initiator.lease).toBeGreaterThan(0);
    expect(cell.admits(packet as NonNullable<typeof packet>, false)).toBe(false);
    expect(cell.admits(packet as NonNullable<typeof packet>, true)).toBe(true);
  });
});

describe('a member', () => {
  it('reads the view back that it had stored, and is in it before anybody tells', () => {
    const cell = cellOf();
    new Change(cell.node(6), to([0, 1, 2, 3])).run();
    const member = cell.node(1);
    member.restart();
    expect(member.core.view).toEqual(cell.node(6).core.view);
  });

  it('that is out, and is started with its old configuration, is told and harms nobody', () => {
    const cell = cellOf();
    new Change(cell.node(6), to([1, 2, 3])).run();
    const out = cell.node(0);
    out.disk.clear();
    out.restart();
    cell.node(1).command({ kind: 'greet', member: 0 });
    cell.run(3 * TERM_US);
    expect(numbersIn(out.last('view-adopted').view)).toEqual([1, 2, 3]);
    const lease = out.acquire();
    cell.run(1000);
    expect(out.holds(lease)).toBe(true);
  });

  it('takes views from nobody but whoever has its vote to make them', () => {
    for (const [rules, isTaken] of [
      [ALL_RULES, false],
      [{ ...ALL_RULES, gossipYields: false }, true],
    ] as const) {
      const cell = cellOf({ rules });
      new Change(cell.node(5), to([0, 1, 2, 3])).run(1 / 10);
      const member = cell.node(1);
      const { epoch } = member.core.votesIn as View;
      const told = viewOf(epoch + 1, config([0, 1]), null, 9e15);
      cell.tell(2, 1, told);
      expect(compareViews(member.core.votesIn as View, told) === 0).toBe(isTaken);
    }
  });

  it('falls silent again in a view with longer terms than its silence was for', () => {
    const cell = cellOf({ keeps: 'nothing', restarted: true });
    const member = cell.node(1);
    expect(member.core.silentForUs(monoUs(member.mono))).toBe(0);
    cell.tell(2, 1, viewOf(1, config([0, 1, 2], { maxTermUs: 10 * TERM_US }), config([0, 1, 2])));
    expect(member.core.silentForUs(monoUs(member.mono))).toBeGreaterThan(5 * TERM_US);
  });

  it('votes in a joint view for no longer terms than either side has', () => {
    for (const sides of [
      [4, 1],
      [1, 4],
    ] as const) {
      const cell = cellOf({ keeps: 'nothing' });
      const [cur, old] = sides.map((terms) => config([0, 1, 2], { maxTermUs: terms * TERM_US })) as [ViewConfig, ViewConfig];
      for (const member of [0, 1, 2]) cell.tell((member + 1) % 3, member, viewOf(1, cur, old));
      const client = cell.node(5);
      client.acquire({ keep: true });
      cell.run(1000);
      expect(client.remaining(client.last('granted').lease)).toBeLessThanOrEqual(TERM_US);
    }
  });

  it('goes above the tokens of the view before', () => {
    const cell = cellOf({ keeps: 'nothing' });
    const floor = ballotTime(cell.node(5).wall + 60_000_000);
    for (const member of [0, 1, 2]) cell.tell((member + 1) % 3, member, { ...viewOf(1, config([0, 1, 2])), floor });
    const client = cell.node(5);
    client.acquire({ waitUs: TERM_US });
    cell.run(TERM_US);
    expect(client.last('granted').token).toBeGreaterThan(floor);
  });

  it('votes for whoever makes views with tokens above the id of its view only', () => {
    const cell = cellOf({ keeps: 'nothing' });
    const id = cell.node(5).wall + 60_000_000;
    for (const member of [0, 1, 2]) cell.tell((member + 1) % 3, member, viewOf(1, config([0, 1, 2]), null, id));
    new Change(cell.node(5), to([0, 1, 2, 3])).run(2);
    expect(
      cell
        .node(5)
        .said('granted')
        .map(({ token }) => token > id),
    ).toEqual([true]);
  });

  it('tells what it has stored only once enough members of its view have noted its life', () => {
    const cell = cellOf({ succession: 'majority' });
    cell.node(1).restart();
    cell.run(3 * TERM_US);
    for (const member of [0, 1, 2, 3, 4]) cell.tell((member + 1) % 3, member, viewOf(1, config([1, 3, 4]), config([0, 1, 2])));
    const heard = (pick: (packet: Packet) => boolean): number[] => {
      const change = new Change(cell.node(5), to([0, 1, 2, 3]));
      change.run(2, pick);
      change.initiator.giveUp();
      cell.run(TERM_US / 20, pick);
      return cell
        .node(5)
        .said('view-vote')
        .flatMap(({ member, epoch }) => (member === 1 ? [epoch] : []));
    };
    const unnoted = heard(({ kind }) => kind !== 'NOTED');
    expect(unnoted).not.toEqual([]);
    expect(unnoted.filter((epoch) => epoch > 0)).toEqual([]);
    expect(heard(() => true).at(-1)).toBeGreaterThan(0);
  });
});

it('in a joint view a quorum of one side grants nothing', () => {
  for (const deaf of [0, 2]) {
    const cell = new Cell({ members: 4, numbers: 4, clients: 1 });
    const joint = viewOf(1, config([2, 3], { replication: 2 }), config([0, 1], { replication: 2 }));
    for (const member of [0, 1, 2, 3]) cell.tell((member + 1) % 4, member, joint);
    const client = cell.node(4);
    const lease = client.acquire({ waitUs: TERM_US });
    cell.run(TERM_US / 2, ({ from, to: target }) => from !== deaf && target !== deaf);
    expect(client.holds(lease)).toBe(false);
    cell.run(TERM_US / 2);
    expect(client.holds(lease)).toBe(true);
  }
});

it('a client goes back from a view that nobody else knows of', () => {
  for (const [wayBack, isServed] of [
    [true, true],
    [false, false],
  ] as const) {
    const cell = cellOf({ rules: { ...ALL_RULES, wayBack } });
    const client = cell.node(5);
    client.command({ kind: 'enter-view', view: viewOf(3, config([0, 1, 2, 3])) });
    const lease = client.acquire({ waitUs: 2 * TERM_US, keep: true });
    cell.run(TERM_US);
    expect(client.holds(lease)).toBe(isServed);
  }
});

it('a renewal that was refused in one view is asked for at once in the next', () => {
  const cell = cellOf();
  const holder = cell.node(5);
  const lease = holder.acquire({ keep: true });
  cell.run(1000);
  cell.drop();
  holder.command({ kind: 'enter-view', view: viewOf(3, config([0, 1, 2, 3])) });
  holder.renew(lease);
  cell.deliver();
  cell.deliver(({ kind, from }) => kind === 'REFUSED' && from < 2);
  expect(holder.said('renewal-failed')).toHaveLength(1);
  cell.deliver(({ kind, from }) => kind === 'REFUSED' && from === 2);
  expect(holder.core.view.epoch).toBe(0);
  expect(cell.flying.filter(({ kind, from }) => kind === 'PROPOSE' && from === 5).map(({ to: target }) => target)).toEqual([0, 1, 2]);
});

it('nobody goes back from a view for what a member said before it voted there', () => {
  const cell = cellOf();
  const client = cell.node(5);
  const view = viewOf(1, config([0, 1, 2], { maxTermUs: 2 * TERM_US }), config([0, 1, 2]));
  client.command({ kind: 'enter-view', view });
  client.acquire();
  cell.deliver();
  for (const member of [0, 1, 2]) cell.tell((member + 1) % 3, member, view);
  cell.deliver(({ kind, from }) => kind === 'REFUSED' && from === 0);
  client.acquire({ name: encodeName('another') });
  cell.deliver(({ kind, to: target }) => kind === 'PROPOSE' && target === 0);
  expect(cell.deliver(({ kind }) => kind === 'ACCEPTED')).toHaveLength(1);
  cell.deliver(({ kind, from }) => kind === 'REFUSED' && from === 1);
  expect(client.core.view).toEqual(view);
});

it('a release under way goes on at those who vote on the name by now', () => {
  const cell = cellOf();
  const holder = cell.node(5);
  const lease = holder.acquire({ keep: true });
  cell.run(1000);
  holder.release(lease);
  cell.drop(({ kind }) => kind === 'RELEASE');
  new Change(cell.node(6), to([1, 2, 3])).run();
  expect(holder.last('released')).toMatchObject({ lease, byQuorum: true });
  const next = cell.node(6).acquire({ name: R });
  cell.run(1000);
  expect(cell.node(6).holds(next)).toBe(true);
});
