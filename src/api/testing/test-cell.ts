/**
 * A whole cell on virtual time. Members, clients, messages and leases are real; only network and clocks are
 * played.
 */
import { patienceUs, type Timing } from '../../core/index.ts';
import {
  checkOptions,
  incarnation,
  NO_KEY,
  parseDuration,
  SeededChooser,
  TenureError,
  type Chooser,
  type Duration,
  type OptionTable,
} from '../../kernel/index.ts';
import { MemoryHub, type Transport } from '../../transport/index.ts';
import { Cell } from '../cell/cell.ts';
import { CellNode } from '../cell/node.ts';
import { CLIENT_NUMBER, foundingView, Membership } from '../cell/membership.ts';
import { VIEW } from '../cell/options.ts';
import type { Kept, CellSurroundings, NodeOptions } from '../cell/surroundings.ts';
import type { Engine } from '../engines/engine.ts';
import { makeEngine, type EngineOptions } from '../engines/index.ts';
import { termOptions } from '../engines/terms.ts';
import { unsupportedByEngine } from '../leases/engine.ts';
import type { Lease } from '../leases/lease.ts';
import { Observer } from '../observing/observer.ts';
import { SERVICES } from '../services/index.ts';
import { statedServices } from '../services/services.ts';
import { VirtualDisk } from './virtual-disk.ts';
import { VirtualProcess, VirtualClocks, VirtualTime } from './virtual-time.ts';

export interface TestCellOptions {
  /** How many members: 3. They are called a, b, c and so on. */
  readonly members?: number;
  /** The longest term of any lease: 15s. */
  readonly maxTerm?: Duration;
  /** Whether the members begin with their silence, as real members do: no. */
  readonly silent?: boolean;
  /** Whether the members keep their votes on disks, as with a data directory and \`keepVotes\`: no. A restart is then not silent, and the members have claims. */
  readonly keepVotes?: boolean;
  /** Which protocol grants leases: 'quorum'. */
  readonly engine?: EngineOptions;
  /** Where chance begins: 1. */
  readonly seed?: number;
}

const TEST_CELL_OPTIONS: OptionTable<TestCellOptions> = {
  members: 'any',
  maxTerm: 'any',
  silent: 'boolean',
  keepVotes: 'boolean',
  engine: 'any',
  seed: 'number',
};

/** A message is on its way for twice this long: once until it leaves, once until it arrives. */
const HOP_US = 250;
/** So many attempts may follow each other before a call needs `advance` to be answered. */
const ATTEMPTS_ANSWERED = 5;
const MEMBERS_MAX = 26;

/** One member or client, and what it lives on. */
interface TestNode {
  readonly id: string;
  readonly node: CellNode;
  readonly cell: Cell;
  readonly transport: Transport;
  readonly actor: VirtualProcess;
  readonly clocks: VirtualClocks;
}

/** What only Tenure's own tests play with. */
export type TestInternals = Pick<CellSurroundings, 'firstNumber' | 'limits' | 'succession'> & Pick<NodeOptions, 'services'>;

/** All members are up when it resolves. */
export let openTestCell: (options: TestCellOptions, internals?: TestInternals) => Promise<TestCell>;

export class TestCell {
  /** The ids of the members. */
  readonly memberIds: readonly string[];
  readonly #time = new VirtualTime(() => this.#isAsked());
  readonly #engine: Engine;
  readonly #chooser: Chooser;
  readonly #hub: MemoryHub;
  readonly #isSilent: boolean;
  readonly #internals: TestInternals;
  readonly #disks: Map<string, VirtualDisk> | null;
  /** Every process that is up, by id. */
  readonly #nodes = new Map<string, TestNode>();
  readonly #cutOff = new Set<string>();
  #born = 0;
  #clients = 0;

  static {
    openTestCell = async (options, internals = {}) => {
      const cell = new TestCell(options, internals);
      for (const [self, id] of cell.memberIds.entries()) await cell.#enter(id, self, cell.#isSilent);
      return cell;
    };
  }

  /** Test cells are made by `testCell`. */
  private constructor(options: TestCellOptions, internals: TestInternals) {
    const {
      members = 3,
      silent = false,
      keepVotes = false,
      engine = 'quorum',
      seed = 1,
    } = checkOptions('testCell', options, TEST_CELL_OPTIONS);
    this.#internals = internals;
    if (!Number.isInteger(members) || members < 1 || members > MEMBERS_MAX) {
      throw new TenureError('TENURE_BAD_ARGUMENT', `a test cell has from 1 to ${MEMBERS_MAX} members, not ${members}`);
    }
    const terms = termOptions(options.maxTerm === undefined ? {} : { maxTerm: options.maxTerm });
    this.memberIds = Array.from({ length: members }, (_, i) => String.fromCodePoint(0x61 + i));
    this.#engine = makeEngine(engine, terms);
    if (keepVotes && !this.#engine.can.dataDir)
      throw unsupportedByEngine(this.#engine, 'dataDir', 'keeps nothing on disk', 'leave keepVotes out');
    this.#chooser = new SeededChooser(seed);
    this.#isSilent = silent;
    this.#disks = keepVotes ? new Map() : null;
    this.#hub = new MemoryHub({
      members: this.memberIds,
      config: { engine: this.#engine.text, ...terms, replication: members, view: VIEW },
      schedule: (task) => this.#hop(null, task),
    });
  }

  /** Milliseconds since the cell began. */
  now(): number {
    return this.#time.nowUs / 1000;
  }

  /** A member, to acquire leases as or to do something to. */
  member(id: string): Cell {
    const node = this.#nodes.get(id);
    if (!node?.cell.isMember) throw new TenureError('TENURE_UNKNOWN_MEMBER', `no member ${id} is up; restart it if it crashed`, { id });
    return node.cell;
  }

  /** A client, as `connect` gives. Any number. */
  async client(): Promise<Cell> {
    return this.#enter(`client-${++this.#clients}`, CLIENT_NUMBER, true);
  }

  /**
   * Lets time pass: renewals, deadlines, signals and messages happen in order, and what waits for them runs in
   * between. A call is answered without it unless its answer takes long: a call that waits for a lease that
   * another holds, or gives one back while cut off, waits until time has passed.
   */
  advance(duration: Duration): Promise<void> {
    return this.#time.advance(parseDuration(duration));
  }

  /** For code under test that sleeps: over when `advance` has gone so far. */
  async sleep(duration: Duration, { signal }: { signal?: AbortSignal } = {}): Promise<void> {
    return this.#time.sleep(parseDuration(duration), signal);
  }

  /** Nothing reaches it and nothing comes from it until it is mended. */
  cutOff(who: Cell): void {
    const { id } = this.#nodeOf(who);
    this.#cutOff.add(id);
    this.#part(id);
  }

  /** Connected again with every process that is not cut off. */
  async mend(who: Cell): Promise<void> {
    const { id } = this.#nodeOf(who);
    this.#cutOff.delete(id);
    this.#join(id);
    await this.#time.idle();
  }

  /** It dies without a word, and its memory with it. Others find its leases taken until they run out. */
  crash(who: Cell): void {
    const { id, node, transport, actor } = this.#nodeOf(who);
    this.#part(id);
    this.#nodes.delete(id);
    actor.isGone = true;
    node.die();
    void transport.close();
  }

  /** Starts a member anew, crashed or not. It knows nothing and keeps silent at first, unless its votes are kept. */
  async restart(id: string): Promise<Cell> {
    const self = this.memberIds.indexOf(id);
    if (self < 0) throw new TenureError('TENURE_UNKNOWN_MEMBER', `no member is called ${id}: ${this.memberIds.join(', ')} are`, { id });
    const before = this.#nodes.get(id);
    if (before) this.crash(before.cell);
    return this.#enter(id, self, true);
  }

  /** It stands still for so long, like a process that the system does not run: it answers no message, and its timers come late. */
  stall(who: Cell, duration: Duration): void {
    const { actor } = this.#nodeOf(who);
    actor.standsUntilUs = Math.max(actor.standsUntilUs, this.#time.nowUs + parseDuration(duration));
  }

  /** Its clocks run at this rate from here on: 1.3 gains three seconds in ten, 1 is right. Beyond what the cell was told of (0.1), the others notice. */
  setClockRate(who: Cell, rate: number): void {
    if (!(rate > 0 && rate < Infinity)) throw new TenureError('TENURE_BAD_ARGUMENT', `a clock's rate is a number above 0, not ${rate}`);
    this.#nodeOf(who).clocks.setRate(rate);
  }

  /** Its holder loses the lease now, as if it had run out: its signal aborts, and others can have it. */
  loseLease(lease: Lease): void {
    for (const { node } of this.#nodes.values()) if (node.lose(lease)) return;
    throw new TenureError('TENURE_BAD_ARGUMENT', `nobody in this cell holds the lease on '${lease.name}' any more`);
  }

  /** Ends everything at once: leases and waits are over, and no time needs to pass. */
  close(): Promise<void> {
    for (const { cell } of this.#nodes.values()) this.crash(cell);
    return this.#time.idle();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #enter(id: string, self: number, restarted: boolean): Promise<Cell> {
    const actor = new VirtualProcess();
    const born = incarnation(++this.#born);
    const role = self < this.memberIds.length ? 'member' : 'client';
    const clocks = new VirtualClocks(this.#time, actor, triesUs(this.#engine.timing));
    const schedule = (task: () => void): void => this.#hop(actor, task);
    const kept = role === 'member' ? this.#keptBy(id, actor) : undefined;
    const { services = SERVICES, ...internals } = this.#internals;
    const stated = statedServices(services, role, kept !== undefined);
    const transport = this.#hub.transport({ role, id, incarnation: born, services: stated, schedule, monoUs: () => clocks.mono() });
    const surroundings = { ...internals, clocks, chooser: this.#chooser, hashKey: NO_KEY, restarted, kept };
    const observer = new Observer({ cell: '', node: id, incarnation: born });
    const places = this.memberIds.map((name, number) => ({ number, id: name, address: '' }));
    const membership = new Membership(places);
    const terms = { replication: places.length, maxTermUs: this.#engine.timing.maxTermUs, rateErrorPpm: this.#engine.timing.rateErrorPpm };
    const start = this.#engine.can.views ? { view: foundingView(places, terms), isStored: true } : undefined;
    const node = new CellNode({
      transport,
      memberIds: this.memberIds,
      membership,
      start,
      self,
      incarnation: born,
      surroundings,
      observer,
      services,
    });
    const cell = new Cell(node);
    this.#nodes.set(id, { id, node, cell, transport, actor, clocks });
    node.begin(this.#engine, this.memberIds.length);
    if (this.#cutOff.has(id)) this.#part(id);
    else this.#join(id);
    for (const other of this.#cutOff) if (other !== id) this.#hub.cut(id, other);
    await node.connect();
    await this.#time.idle();
    return cell;
  }

  #keptBy(id: string, actor: VirtualProcess): Kept | undefined {
    if (this.#disks === null) return undefined;
    const before = this.#disks.get(id);
    const disk = new VirtualDisk((task) => this.#hop(actor, task), before);
    this.#disks.set(id, disk);
    return { disk, keeps: 'votes', isKept: before !== undefined, section: (name) => disk.section(name) };
  }

  /** A task of a node, or of the network, a little later. */
  #hop(actor: VirtualProcess | null, task: () => void): void {
    this.#time.plan(this.#time.nowUs + HOP_US, actor, task);
    this.#time.flow(HOP_US);
  }

  #isAsked(): boolean {
    for (const { node } of this.#nodes.values()) if (node.isAsked) return true;
    return false;
  }

  #part(id: string): void {
    for (const other of this.#nodes.keys()) if (other !== id) this.#hub.cut(id, other);
  }

  #join(id: string): void {
    for (const other of this.#nodes.keys()) if (other !== id && !this.#cutOff.has(other)) this.#hub.heal(id, other);
  }

  #nodeOf(who: Cell): TestNode {
    for (const node of this.#nodes.values()) if (node.cell === who) return node;
    throw new TenureError('TENURE_BAD_ARGUMENT', 'this is no member or client of the test cell, or it has crashed');
  }
}

/** How long a call that is not answered takes to say so: each attempt is more patient than the last. */
function triesUs(timing: Timing): number {
  let us = 0;
  for (let unanswered = 0; unanswered < ATTEMPTS_ANSWERED; unanswered++) us += patienceUs(timing, unanswered);
  return us;
}
