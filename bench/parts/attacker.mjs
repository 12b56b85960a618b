/**
 * Somebody who has a client's secret, and sends whatever well-formed messages it likes over as many connections as it likes. It
 * tells how the members answered: every refusal by its reason, and how many connections they ended.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { PROPOSE, QUERY, QuorumMessage, REASONS, REFUSED, WAIT, WATCH } from '../../dist/core/index.js';
import { nodeId } from '../../dist/kernel/index.js';
import { Identity, TcpTransport } from '../../dist/transport/index.js';
import { ByteReader, quorumCodec } from '../../dist/wire/index.js';
import { collidingNames } from './colliding-names.mjs';
import { serve } from './processes.mjs';

const MEMBERS = 3;
/** Of messages that are sent before the network is given a turn. */
const BATCH = 200;
const AGAIN_MS = 4000;

/** @type {Record<string, number>} */
const answers = {};
const count = (/** @type {string} */ what) => (answers[what] = (answers[what] ?? 0) + 1);

/** One connection to each member. */
class RawClient {
  #codec = quorumCodec();
  #reader = new ByteReader();
  #message = new QuorumMessage();
  #up = 0;
  /** @type {() => void} */
  #ready = () => undefined;
  /** @type {TcpTransport} */
  #transport;

  /** @param {{ cell: string, members: Record<string, string>, clientSecret: string }} reach */
  constructor({ cell, members, clientSecret }) {
    const identity = new Identity();
    this.#message.owner = identity.incarnation;
    this.#transport = new TcpTransport({
      cell,
      role: 'client',
      id: 'attacker',
      identity,
      members: Object.entries(members).map(([id, address]) => ({ id, address })),
      config: { view: 1 },
      secrets: { client: clientSecret },
    });
  }

  async open() {
    const ready = new Promise((/** @type {(value: void) => void} */ resolve) => (this.#ready = resolve));
    await this.#transport.open({
      up: () => {
        if (++this.#up === MEMBERS) this.#ready();
      },
      down: (_peer, why) => count(`connection ended: ${why}`),
      message: (_peer, bytes, start, end) => {
        this.#reader.reset(bytes, start, end);
        const message = this.#codec.decode(this.#reader);
        if (message?.kind === REFUSED) count(REASONS[message.reason] ?? '');
      },
      refused: (_who, error) => count(error.code),
    });
    await ready;
  }

  /**
   * To every member; waits while they do not read.
   * @param {Partial<QuorumMessage>} fields @param {Uint8Array} name
   */
  async say(fields, name) {
    Object.assign(this.#message, fields);
    this.#message.setName(name, 0, name.length);
    for (let member = 0; member < MEMBERS; member++) {
      let out = this.#transport.begin(nodeId(member));
      while (out === null) {
        await pause(5);
        out = this.#transport.begin(nodeId(member));
      }
      this.#codec.encode(this.#message, out);
      this.#transport.end(nodeId(member));
    }
  }
}

/** @type {RawClient[]} */
const clients = [];
/** @type {Uint8Array[]} */
let chosen = [];
const bytesOf = (/** @type {string} */ text) => Buffer.from(text);
const ballot = () => /** @type {QuorumMessage['ballot']} */ (Date.now() * 1000);

/**
 * Says `times` things on every connection, over and over; resolves when each was said once.
 * @param {number} times @param {number} againMs @param {(client: RawClient, i: number) => Promise<void>} say
 */
function overAndOver(times, againMs, say) {
  const round = async (/** @type {RawClient} */ client) => {
    for (let i = 0; i < times; i++) {
      await say(client, i);
      if (i % BATCH === 0) await pause(0);
    }
  };
  return Promise.all(
    clients.map(async (client) => {
      await round(client);
      void (async () => {
        for (;;) {
          await pause(againMs);
          await round(client);
        }
      })();
    }),
  );
}

serve({
  /** @param {{ reach: ConstructorParameters<typeof RawClient>[0], connections: number }} details */
  async open({ reach, connections }) {
    for (let i = 0; i < connections; i++) {
      const client = new RawClient(reach);
      await client.open();
      clients.push(client);
    }
  },

  /** @param {{ watches: number }} details */
  async watch({ watches }) {
    await overAndOver(watches, AGAIN_MS, (client, i) => client.say({ kind: WATCH, lease: i, termUs: 1 }, bytesOf(`attack/${i}/`)));
  },

  /** @param {{ name: string, waiters: number }} details */
  async wait({ name, waiters }) {
    const ticket = ballot();
    await overAndOver(waiters, AGAIN_MS, (client, i) => client.say({ kind: WAIT, flags: 0, lease: i + 1, ballot: ticket }, bytesOf(name)));
  },

  /** Questions, as fast as they are read. */
  async flood() {
    await overAndOver(10_000, 0, (client, i) => client.say({ kind: QUERY, flags: 0, lease: i }, bytesOf(`attack/${i}`)));
  },

  /** To be asked before there are connections: meanwhile nothing is sent. @param {{ names: number }} details */
  choose({ names }) {
    chosen = collidingNames(names);
  },

  /** @param {{ termMs: number }} details */
  async collide({ termMs }) {
    await overAndOver(chosen.length, AGAIN_MS, (client, i) => {
      const now = ballot();
      return client.say(
        { kind: PROPOSE, flags: 0, lease: i + 1, ballot: now, token: now, termUs: termMs * 1000 },
        chosen[i] ?? bytesOf('x'),
      );
    });
  },

  answers: () => answers,
});
