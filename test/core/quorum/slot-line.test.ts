/** Many clients contend for few slots: what each grant costs in messages, in virtual time over a network with delays. */
import { expect, it } from 'vitest';
import { deriveTiming } from '../../../src/core/index.ts';
import { Random } from '../../../src/kernel/index.ts';
import { Cell, R, TERM_US, type Node } from './cell.ts';

const MEMBERS = 3;
const QUARANTINE_US = TERM_US / 2;
const DELAY_US_MIN = 500;
const DELAY_US_MAX = 5000;

interface Due {
  readonly at: number;
  readonly act: () => void;
}

/** Clients that use a slot for a while, let go of it, and ask again a while later. */
class Crowd {
  readonly cell: Cell;
  grants = 0;
  messages = 0;
  readonly #slots: number;
  readonly #random = new Random(7);
  readonly #due: Due[] = [];
  readonly #lastOn = new Map<string, number>();
  readonly #planned = new Map<number, number>();
  #lease = 1;

  constructor(clients: number, slots: number) {
    const timing = deriveTiming({ maxTermUs: TERM_US + QUARANTINE_US, rateErrorPpm: 100_000, rttUs: 10_000 });
    this.cell = new Cell({ clients, timing });
    this.#slots = slots;
    for (const client of this.cell.nodes.slice(MEMBERS)) this.#ask(client);
  }

  run(us: number): void {
    const end = this.cell.nowUs + us;
    for (let next = this.#due[0]; next && next.at <= end; next = this.#due[0]) {
      this.#due.shift();
      this.cell.nowUs = Math.max(this.cell.nowUs, next.at);
      next.act();
    }
    this.cell.nowUs = end;
  }

  #plan(at: number, act: () => void): void {
    let place = this.#due.length;
    while (place > 0 && (this.#due[place - 1] as Due).at > at) place--;
    this.#due.splice(place, 0, { at, act });
  }

  /** After each step of a node: what it said, what it sent, and when it wants to be woken. */
  #stepped(node: Node): void {
    for (const event of node.events.splice(0)) {
      if (event.kind === 'granted') this.#granted(node, event.lease);
      else if (event.kind === 'refused') this.#later(() => this.#ask(node));
    }
    for (const packet of this.cell.flying.splice(0)) {
      this.messages++;
      const link = `${packet.from}>${packet.to}`;
      const delayUs = DELAY_US_MIN + this.#random.below(DELAY_US_MAX - DELAY_US_MIN);
      // Connections keep the order of what is sent on them.
      const at = Math.max(this.cell.nowUs + delayUs, (this.#lastOn.get(link) ?? 0) + 1);
      this.#lastOn.set(link, at);
      this.#plan(at, () => {
        this.cell.hand(packet);
        this.#stepped(this.cell.node(packet.to));
      });
    }
    this.cell.sent = [];
    const { wakeAt } = node.core;
    if (wakeAt === Infinity || this.#planned.get(node.id) === wakeAt) return;
    this.#planned.set(node.id, wakeAt);
    this.#plan(Math.max(wakeAt, this.cell.nowUs), () => {
      if (this.#planned.get(node.id) !== wakeAt) return;
      this.#planned.delete(node.id);
      node.wake();
      this.#stepped(node);
    });
  }

  #later(act: () => void): void {
    this.#plan(this.cell.nowUs + this.#random.below(TERM_US), act);
  }

  #ask(client: Node): void {
    const wish = { slots: this.#slots, quarantineUs: QUARANTINE_US, termUs: TERM_US, waitUs: 20 * TERM_US, keep: true };
    client.command({ kind: 'acquire', lease: this.#lease++, name: R, ...wish });
    this.#stepped(client);
  }

  #granted(client: Node, lease: number): void {
    this.grants++;
    this.#later(() => {
      client.release(lease);
      this.#later(() => this.#ask(client));
      this.#stepped(client);
    });
  }
}

it('a grant of a slot costs few messages however many wait, and goes on costing as few', () => {
  const crowd = new Crowd(90, 24);
  // All ask at once, and most of them come to stand in line.
  crowd.run(2 * TERM_US);
  const before = { grants: crowd.grants, messages: crowd.messages };
  crowd.run(6 * TERM_US);
  const grants = crowd.grants - before.grants;
  // Each slot is used for half a term, and rests for half a term.
  expect(grants).toBeGreaterThan(6 * 24 * 0.75);
  // Votes, renewals and releases of a grant are a dozen or two; those who wait say so three times in a term.
  expect((crowd.messages - before.messages) / grants).toBeLessThan(80);
});
