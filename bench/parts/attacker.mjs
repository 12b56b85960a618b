/**
 * Somebody who has a client's secret, and sends whatever well-formed messages it likes over as many connections as it likes. It
 * tells how the members answered: every refusal by its reason, and how many connections they ended.
 */
import { setTimeout as pause } from 'node:timers/promises';
import {
  ACCEPTED,
  ANSWER,
  HAS_LEASE,
  LEARN,
  LEARNED,
  PREPARE,
  PROPOSE,
  QUERY,
  QuorumMessage,
  REASONS,
  REFUSED,
  RELEASE,
  WAIT,
  WATCH,
} from '../../dist/core/index.js';
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

/** Whoever was last said to hold something. @type {{ holder: QuorumMessage['owner'], lease: number, token: number } | null} */
let holder = null;

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

  /**
   * @param {{ cell: string, members: Record<string, string>, clientSecret: string }} reach
   * @param {QuorumMessage['owner']} [claimed] the incarnation of another process, if it claims one
   */
  constructor({ cell, members, clientSecret }, claimed) {
    const own = new Identity();
    this.own = own.incarnation;
    this.#message.owner = own.incarnation;
    const thief = { key: own.key, incarnation: claimed, sign: (/** @type {Uint8Array} */ bytes) => own.sign(bytes) };
    const identity = claimed === undefined ? own : /** @type {Identity} */ (/** @type {unknown} */ (thief));
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

  /** Resolves when it is connected everywhere, or was refused somewhere. */
  async open() {
    const ready = new Promise((/** @type {(value: void) => void} */ resolve) => (this.#ready = resolve));
    await this.#transport.open({
      up: () => {
        if (++this.#up === MEMBERS) this.#ready();
      },
      down: (_peer, why, error) => count(error !== null && 'code' in error ? String(error.code) : `connection ended: ${why}`),
      message: (_peer, _service, bytes, start, end) => {
        this.#reader.reset(bytes, start, end);
        const message = this.#codec.decode(this.#reader);
        if (message?.kind === REFUSED) count(REASONS[message.reason] ?? '');
        if (message?.kind === ANSWER && (message.flags & HAS_LEASE) !== 0)
          holder = { holder: message.holder, lease: message.holderLease, token: message.token };
      },
      refused: (_who, error) => {
        count(error.code);
        this.#ready();
      },
    });
    await ready;
  }

  /**
   * To every member, or to the first so many of them; waits while they do not read.
   * @param {Partial<QuorumMessage>} fields @param {Uint8Array} name
   */
  async say(fields, name, members = MEMBERS) {
    Object.assign(this.#message, fields);
    this.#message.setName(name, 0, name.length);
    for (let member = 0; member < members; member++) {
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
/** A lease that the honest client keeps. */
const victim = (/** @type {number} */ i) => Buffer.from(`honest/kept/${i % 10}`);
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

  /** Ballots from the end of time, in every kind of message that carries one. @param {{ members: number }} details */
  async far({ members }) {
    const kinds = [PREPARE, PROPOSE, RELEASE, WAIT, LEARN];
    const far = /** @type {QuorumMessage['ballot']} */ (8_500_000_000_000_000);
    await overAndOver(100, 200, (client, i) => {
      const kind = kinds[i % kinds.length] ?? PREPARE;
      const fields = { kind, owner: client.own, flags: 0, lease: i + 1, ballot: far, token: far, termUs: 1_000_000 };
      return client.say(fields, victim(i), members);
    });
  },

  /** Ballots at the very edge of what members believe, for names of its own. @param {{ aheadUsMax: number }} details */
  async edge({ aheadUsMax }) {
    await overAndOver(100, 200, (client, i) => {
      const edge = /** @type {QuorumMessage['ballot']} */ (ballot() + aheadUsMax - 1000);
      return client.say({ kind: PROPOSE, flags: 0, lease: i + 1, ballot: edge, token: edge, termUs: 1000 }, bytesOf(`attack/${i}`));
    });
  },

  /** Answers that nobody asked for: refusals with clocks from the end of time, votes, and leases that last for years. */
  async answer() {
    const far = /** @type {QuorumMessage['ballot']} */ (8_500_000_000_000_000);
    const kinds = [REFUSED, ACCEPTED, LEARNED];
    await overAndOver(3, 200, (client, i) =>
      client.say(
        { kind: kinds[i] ?? REFUSED, reason: 4, flags: HAS_LEASE, lease: 1, ballot: far, clock: far, token: far, remainingUs: 1e15 },
        victim(i),
      ),
    );
  },

  /** Asks who holds a lease of the honest client. */
  async spy() {
    while (holder === null) {
      for (const client of clients) await client.say({ kind: QUERY, flags: 0, lease: 1 }, victim(0));
      await pause(20);
    }
  },

  /** Gives back in the name of whoever holds it. */
  async release() {
    const far = /** @type {QuorumMessage['ballot']} */ (ballot() + 60_000_000);
    await overAndOver(2, 200, (client) =>
      client.say({ kind: RELEASE, owner: holder?.holder, flags: 0, lease: holder?.lease ?? 0, ballot: far }, victim(0)),
    );
  },

  /** Connects as whoever holds it. @param {{ reach: ConstructorParameters<typeof RawClient>[0] }} details */
  async takeOver({ reach }) {
    await new RawClient(reach, holder?.holder).open();
  },

  answers: () => answers,
});
