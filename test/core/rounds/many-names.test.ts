/**
 * Many names at once, so that rows and claims rest, are roused, and their ids are used again for other names: lost, late
 * and doubled messages, pauses, restarts, clocks that are set, cores swapped for ones restored from their snapshots.
 */
import { describe, expect, it } from 'vitest';
import { RoundCore } from '../../../src/core/index.ts';
import { encodeName, incarnation, monoUs, nodeId, Random, wallUs } from '../../../src/kernel/index.ts';
import { Cell, SKEW_US, TERM_US, type CellOptions, type Node } from './cell.ts';
import { sized } from '../../support/sizes.ts';

const SEEDS = sized([1], [1, 2, 3]);
const ACTS = 150;
const NODES = 6;

interface Ask {
  readonly node: Node;
  /** The life of the node that asked. */
  readonly core: number;
  readonly lease: number;
  readonly name: Uint8Array;
}

class Storm {
  readonly cell: Cell;
  readonly names = Array.from({ length: 12 }, (_, i) => encodeName(`n${i}`));
  readonly #random: Random;
  readonly #asks: Ask[] = [];
  readonly #lives = new Map<Node, number>();
  readonly #pausedUntil = new Map<Node, number>();
  readonly #tokens = new Map<Uint8Array, number>();
  readonly #under: { at: number; packet: Cell['flying'][number] }[] = [];
  readonly #swayUs: number;
  readonly #heard = new Map<Node, number>();
  readonly #wallUs: number;
  /** What must not be and was. */
  readonly broken: string[] = [];
  isFair = false;
  granted = 0;

  constructor(options: CellOptions, seed: number) {
    this.cell = new Cell({ ...options, clients: 3, seed });
    this.#random = new Random(seed);
    this.#wallUs = this.cell.node(0).wallOffsetUs;
    this.#swayUs = options.clocks === 'relative' ? 100 * TERM_US : SKEW_US;
    this.cell.nodes.forEach((node, i) => this.#lives.set(node, 1001 + i));
  }

  ask(node: Node, name: Uint8Array, { termUs = TERM_US, keep = true, waitUs = 0 } = {}): Ask {
    const ask = { node, core: this.#lives.get(node) ?? 0, lease: node.acquire({ name, termUs, keep, waitUs }), name };
    this.#asks.push(ask);
    return ask;
  }

  holds({ node, lease, name }: Ask): boolean {
    return node.core.remainingUs(lease, name, monoUs(node.mono), wallUs(node.wall)) > 0;
  }

  act(): void {
    const random = this.#random;
    const node = this.cell.node(random.below(NODES));
    const termUs = (1 + random.below(20)) * 50_000;
    const own = this.#living().filter((ask) => ask.node === node);
    const ask = own[Math.max(0, own.length - 1 - random.below(6))];
    const kind = random.below(12);
    if (this.#isPaused(node)) return;
    if (kind < 4)
      this.ask(node, this.names[random.below(12)] as Uint8Array, {
        termUs,
        keep: random.below(2) === 0,
        waitUs: random.below(2) * random.below(TERM_US),
      });
    else if (kind === 4) this.#pausedUntil.set(node, this.cell.nowUs + random.below(2 * TERM_US));
    else if (kind === 5) node.wallOffsetUs = this.#wallUs + random.below(this.#swayUs);
    else if (kind === 6) this.#restart(node);
    else if (kind === 7) this.#swap(node);
    else if (ask === undefined) return;
    else if (kind < 10) node.release(ask.lease, random.below(2) * random.below(300_000), ask.name);
    else if (kind === 10) node.command({ kind: 'renew', lease: ask.lease, name: ask.name, termUs });
    else node.command({ kind: 'proclaim', lease: ask.lease, name: ask.name, meta: ask.name, number: random.below(1000) + 1 });
  }

  /** Everyone is well, lets go, and what is left is forgotten. */
  calm(): void {
    this.isFair = true;
    this.#pausedUntil.clear();
    for (const { node, lease, name } of this.#living()) {
      node.command({ kind: 'cancel', lease });
      node.release(lease, 0, name);
    }
    this.run(5 * TERM_US);
  }

  run(us: number): void {
    const end = this.cell.nowUs + us;
    for (;;) {
      this.#send();
      const up = this.cell.nodes.filter((node) => !this.#isPaused(node));
      const due = this.#under.filter(({ packet }) => up.includes(this.cell.node(packet.to)));
      const paused = [...this.#pausedUntil.values()].filter((at) => at > this.cell.nowUs);
      const next = Math.min(end, ...paused, ...up.map(({ core }) => core.wakeAt), ...due.map(({ at }) => at));
      this.cell.nowUs = Math.max(this.cell.nowUs, next);
      this.#check();
      if (next >= end) return;
      for (const one of due.filter(({ at }) => at <= this.cell.nowUs)) {
        this.#under.splice(this.#under.indexOf(one), 1);
        this.cell.hand(one.packet);
        this.#check();
      }
      for (const node of up) {
        if (node.core.wakeAt <= node.mono) node.core.wake(this.cell.step(node));
        this.#check();
      }
    }
  }

  #living(): Ask[] {
    return this.#asks.filter(({ node, core }) => this.#lives.get(node) === core);
  }

  #isPaused(node: Node): boolean {
    return (this.#pausedUntil.get(node) ?? 0) > this.cell.nowUs;
  }

  #restart(node: Node): void {
    if (this.#random.below(4) > 0) return;
    this.#lives.set(node, this.cell.nextIncarnation);
    this.#heard.set(node, 0);
    node.restart();
  }

  #swap(node: Node): void {
    const boot = { self: nodeId(node.id), incarnation: incarnation(this.#lives.get(node) ?? 0), restarted: false, diskKept: false };
    const twin = new RoundCore(this.cell.config, boot);
    twin.restore(structuredClone(node.core.snapshot()));
    if (JSON.stringify(twin.snapshot()) !== JSON.stringify(node.core.snapshot()))
      this.broken.push(`node ${node.id} is restored as another`);
    node.core = twin;
  }

  #send(): void {
    const random = this.#random;
    for (const packet of this.cell.flying) {
      const copies = this.isFair ? 1 : ([0, 1, 1, 1, 1, 1, 1, 1, 1, 2][random.below(10)] ?? 1);
      const delayUs = this.isFair || random.below(10) > 0 ? 4000 : TERM_US;
      for (let i = 0; i < copies; i++) this.#under.push({ at: this.cell.nowUs + 1 + random.below(delayUs), packet });
    }
    this.cell.flying = [];
  }

  #check(): void {
    const held = this.#living().filter((ask) => this.holds(ask));
    if (new Set(held.map(({ name }) => name)).size < held.length) this.broken.push(`two holders at ${this.cell.nowUs}`);
    for (const node of this.cell.nodes) {
      for (const event of node.events.slice(this.#heard.get(node) ?? 0)) {
        const ask = event.kind === 'granted' ? this.#living().find((one) => one.node === node && one.lease === event.lease) : undefined;
        if (event.kind !== 'granted' || ask === undefined) continue;
        if (event.token <= (this.#tokens.get(ask.name) ?? 0)) this.broken.push(`a token fell at ${this.cell.nowUs}`);
        this.#tokens.set(ask.name, event.token);
        this.granted++;
      }
      this.#heard.set(node, node.events.length);
    }
  }
}

const ENGINES: CellOptions[] = [{ engine: 'paxoslease', clocks: 'relative' }, { engine: 'paxoslease' }, { engine: 'flease' }];

describe.each(ENGINES)('many names in a storm: %o', (options) => {
  it.each(SEEDS)('one holder each, rising tokens, nothing left behind, and free again at the end (seed %i)', (seed) => {
    const storm = new Storm(options, seed);
    const random = new Random(seed);
    for (let i = 0; i < ACTS; i++) {
      storm.act();
      storm.run(random.below(random.below(5) === 0 ? TERM_US : 30_000));
    }
    expect(storm.granted).toBeGreaterThan(10);
    storm.calm();
    expect(storm.broken).toEqual([]);
    for (const { core, id } of storm.cell.nodes) {
      expect(core.snapshot()).toMatchObject({ contender: { claims: [] }, acceptor: id < 3 ? { rows: [] } : null });
      expect(core.planned).toBe(0);
    }
    for (const node of storm.cell.nodes) node.wallOffsetUs = storm.cell.node(0).wallOffsetUs;
    const asks = storm.names.map((name, i) => storm.ask(storm.cell.node(i % NODES), name));
    storm.run(5 * TERM_US);
    expect(asks.filter((ask) => storm.holds(ask))).toHaveLength(asks.length);
    expect(storm.broken).toEqual([]);
  });
});
