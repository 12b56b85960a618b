/**
 * A cell of real cores on virtual time in which every node has clocks of its own: ahead, behind, fast or slow. For what an
 * engine does when clocks are wrong, which `testCell` does not play. A seed gives the same run.
 */
import { makeEngine, parseEngine } from '../../dist/api/engine-options.js';
import { QuorumCore, RoundCore } from '../../dist/core/index.js';
import { encodeName, Random } from '../../dist/kernel/index.js';
import { MachineClock } from '../../dist/sim/clock.js';
import { ByteReader, ByteWriter, quorumCodec, roundCodec } from '../../dist/wire/index.js';

const MEMBERS = 3;
const NAME = encodeName('x');
/** Messages take from 0.25 to 0.75 ms. */
const LATENCY_US = 250;
const SPREAD_US = 500;

/** @typedef {{ offsetUs?: number, ppm?: number }} ClockOptions */
/** @typedef {{ kind: string, lease?: number, deadlineMonoUs?: number, deadlineWallUs?: number, reason?: string }} Said */

class Node {
  /** @type {{ atUs: number, event: Said }[]} */
  said = [];
  isGone = false;

  /**
   * @param {number} id
   * @param {any} core
   * @param {MachineClock} clock
   */
  constructor(id, core, clock) {
    this.id = id;
    this.core = core;
    this.clock = clock;
  }

  /** @param {string} kind */
  first(kind) {
    return this.said.find(({ event }) => event.kind === kind);
  }
}

export class ClockedCell {
  nowUs = 1_000_000;
  /** @type {Node[]} */
  nodes = [];
  /** @type {{ atUs: number, to: number, from: number, bytes: Uint8Array }[]} */
  #flying = [];

  /**
   * @param {string} text the engine
   * @param {{ maxTermUs: number, rateErrorPpm: number, seed: number, clocks: ClockOptions[] }} options the clocks of the members, then of the clients
   */
  constructor(text, { maxTermUs, rateErrorPpm, seed, clocks }) {
    const engine = makeEngine(parseEngine(text), { maxTermUs, rateErrorPpm });
    const memberKeys = Array.from({ length: MEMBERS }, (_, i) => i + 1);
    const isQuorum = engine.name === 'quorum';
    this.maxTermUs = maxTermUs;
    this.random = new Random(seed);
    this.codec = isQuorum ? quorumCodec() : roundCodec();
    for (const [self, { offsetUs = 0, ppm = 0 }] of clocks.entries()) {
      const boot = { self, incarnation: 1001 + self, restarted: false, diskKept: false };
      const core = isQuorum
        ? new QuorumCore({ memberKeys, timing: engine.timing }, /** @type {any} */ (boot))
        : new RoundCore(
            /** @type {any} */ ({ engine: engine.name, algorithm: 4, memberKeys, timing: engine.timing }),
            /** @type {any} */ (boot),
          );
      this.nodes.push(new Node(self, core, new MachineClock(0, offsetUs, ppm)));
    }
    for (const node of this.nodes) node.core.start(this.#step(node));
  }

  /** @param {number} client */
  client(client) {
    return /** @type {Node} */ (this.nodes[MEMBERS + client]);
  }

  /**
   * @param {Node} node
   * @param {number} waitUs
   */
  acquire(node, waitUs) {
    node.core.command({ kind: 'acquire', lease: 1, name: NAME, termUs: this.maxTermUs, waitUs, keep: false }, this.#step(node));
  }

  /** @param {Node} node */
  release(node) {
    node.core.command({ kind: 'release', lease: 1, name: NAME }, this.#step(node));
  }

  /** Lets time pass until something is so, or until it is over. @param {() => boolean} isSo @param {number} untilUs */
  runUntil(isSo, untilUs) {
    while (!isSo()) {
      const next = this.#flying.reduce((least, packet) => Math.min(least, packet.atUs), Infinity);
      const alive = this.nodes.filter(({ isGone }) => !isGone);
      const wakes = alive.map(({ core, clock }) => (core.wakeAt === Infinity ? Infinity : clock.trueWhenMono(core.wakeAt, this.nowUs)));
      const at = Math.min(next, ...wakes);
      if (at > untilUs) {
        this.nowUs = untilUs;
        return;
      }
      this.nowUs = Math.max(this.nowUs, at);
      for (const [i, node] of alive.entries()) if (/** @type {number} */ (wakes[i]) <= this.nowUs) node.core.wake(this.#step(node));
      const due = this.#flying.filter(({ atUs }) => atUs <= this.nowUs);
      this.#flying = this.#flying.filter(({ atUs }) => atUs > this.nowUs);
      for (const packet of due) this.#hand(packet);
    }
  }

  /** The true instant at which the owner's own clocks end its lease. @param {Node} owner */
  endOf(owner) {
    const { deadlineMonoUs = Infinity, deadlineWallUs = Infinity } = owner.first('granted')?.event ?? {};
    const byMonoUs = owner.clock.trueWhenMono(/** @type {any} */ (deadlineMonoUs), this.nowUs);
    let byWallUs = this.nowUs + (deadlineWallUs - owner.clock.wallAt(this.nowUs));
    // Clocks that run fast or slow: nearer and nearer.
    for (let i = 0; i < 20; i++) byWallUs += deadlineWallUs - owner.clock.wallAt(byWallUs);
    return Math.min(byMonoUs, byWallUs);
  }

  /** @param {{ to: number, from: number, bytes: Uint8Array }} packet */
  #hand({ to, from, bytes }) {
    const node = this.nodes[to];
    if (!node || node.isGone) return;
    const reader = new ByteReader();
    reader.reset(bytes, 0, bytes.length);
    const message = this.codec.decode(reader);
    if (message) node.core.receive(from, message, this.#step(node));
  }

  /** @param {Node} node */
  #step(node) {
    return {
      monoUs: node.clock.monoAt(this.nowUs),
      wallUs: node.clock.wallAt(this.nowUs),
      /** @param {number} bound */
      choose: (bound) => this.random.below(bound),
      /** @param {number} to @param {any} message */
      send: (to, message) => {
        const writer = new ByteWriter();
        this.codec.encode(message, writer);
        const atUs = this.nowUs + (to === node.id ? 0 : LATENCY_US + this.random.below(SPREAD_US));
        this.#flying.push({ atUs, to, from: node.id, bytes: writer.bytes.slice(0, writer.length) });
      },
      read() {},
      write() {},
      swap() {},
      erase() {},
      list() {},
      /** @param {Said} event */
      emit: (event) => void node.said.push({ atUs: this.nowUs, event }),
    };
  }
}
