/**
 * What every transport has to keep, as tests for any test runner. It is given a function that names and runs a
 * test, and a function that makes surroundings: a fresh network with room for the named members and any clients.
 */
import assert from 'node:assert/strict';
import { incarnation, nodeId, TenureError, type Incarnation, type NodeId } from '../kernel/index.ts';
import { LEASE_SERVICE, SERVICE_NUMBER_MAX, type Role } from '../wire/index.ts';
import type { DownReason, Handlers, PeerInfo, Transport } from './contract.ts';

export interface TransportSurroundings {
  /** At least three, in the order of the view. */
  readonly members: readonly string[];
  /** The limit of every transport that `node` makes: more than 1,000 and less than a million bytes. */
  readonly queueBytesMax: number;
  readonly frameBytesMax: number;
  node(role: Role, id: string, incarnation: Incarnation): Transport;
}

export type TestFunction = (name: string, body: () => Promise<void>) => void;

type Event =
  | { kind: 'up'; peer: NodeId; info: PeerInfo }
  | { kind: 'down'; peer: NodeId; why: DownReason; error: Error | null }
  | { kind: 'message'; peer: NodeId; service: number; bytes: Uint8Array }
  | { kind: 'refused'; who: string; error: TenureError };

/** A node that writes down what happens to it. */
export class Witness implements Handlers {
  readonly transport: Transport;
  readonly events: Event[] = [];
  /** Called for each message before it is written down. */
  onMessage: (text: string) => void = () => {};
  /** What a client says to a member that wants to come up. */
  onJudge: (info: PeerInfo) => TenureError | null = () => null;
  #waiting: (() => void)[] = [];

  constructor(transport: Transport) {
    this.transport = transport;
  }

  judge(info: PeerInfo): TenureError | null {
    return this.onJudge(info);
  }

  up(peer: NodeId, info: PeerInfo): void {
    this.#note({ kind: 'up', peer, info });
  }

  down(peer: NodeId, why: DownReason, error: Error | null): void {
    this.#note({ kind: 'down', peer, why, error });
  }

  message(peer: NodeId, service: number, bytes: Uint8Array, start: number, end: number): void {
    const copy = Uint8Array.from(bytes.subarray(start, end));
    this.onMessage(Buffer.from(copy).toString());
    this.#note({ kind: 'message', peer, service, bytes: copy });
  }

  refused(who: string, error: TenureError): void {
    this.#note({ kind: 'refused', who, error });
  }

  /** Resolves with the first event that `wanted` picks, past or future; the runner's own time limit is the limit. */
  async see(wanted: (event: Event) => boolean): Promise<Event> {
    for (let from = 0; ;) {
      for (; from < this.events.length; from++) {
        const event = this.events[from];
        if (event !== undefined && wanted(event)) return event;
      }
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
  }

  isUp(peer: NodeId): boolean {
    const last = this.events.findLast((event) => (event.kind === 'up' || event.kind === 'down') && event.peer === peer);
    return last?.kind === 'up';
  }

  async connected(...peers: readonly NodeId[]): Promise<void> {
    await this.see(() => peers.every((peer) => this.isUp(peer)));
  }

  async refusal(code: string): Promise<TenureError> {
    const event = await this.see((one) => one.kind === 'refused' && one.error.code === code);
    return (event as Extract<Event, { kind: 'refused' }>).error;
  }

  async received(text: string): Promise<void> {
    await this.see((event) => event.kind === 'message' && Buffer.from(event.bytes).toString() === text);
  }

  messages(peer: NodeId): string[] {
    return this.events.flatMap((event) => (event.kind === 'message' && event.peer === peer ? [Buffer.from(event.bytes).toString()] : []));
  }

  /** False when the transport did not take it. */
  send(to: NodeId, text: string | Uint8Array, service?: number): boolean {
    const out = this.transport.begin(to, service);
    if (out === null) return false;
    const bytes = Buffer.from(text as string);
    out.raw(bytes, 0, bytes.length);
    this.transport.end(to);
    return true;
  }

  #note(event: Event): void {
    this.events.push(event);
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const resolve of waiting) resolve();
  }
}

const [A, B] = [nodeId(0), nodeId(1)];
const TURN = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Names a test and says what it does. */
type TransportClaim = (
  name: string,
  body: (place: TransportSurroundings, enter: Enter, newLife: () => Incarnation) => Promise<void>,
) => void;

export function transportConformance(test: TestFunction, surroundings: () => Promise<TransportSurroundings>): void {
  let next = 1;
  const newLife = (): Incarnation => incarnation(next++);
  const claim: TransportClaim = (name, body) =>
    test(name, async () => {
      const place = await surroundings();
      const present: Transport[] = [];
      const enter: Enter = async (role, id, prepare) => {
        const transport = place.node(role, id, newLife());
        present.push(transport);
        const witness = new Witness(transport);
        prepare?.(witness);
        await transport.open(witness);
        return witness;
      };
      try {
        await body(place, enter, newLife);
      } finally {
        await Promise.all(present.map((transport) => transport.close()));
      }
    });

  claimMessages(claim);
  claimBounds(claim);
  claimReturns(claim);
  claimRefusals(claim);
}

function claimMessages(claim: TransportClaim): void {
  claim('members and clients meet, once each, and know who the other is', async ({ members }, enter) => {
    const [a, b, c] = await Promise.all(members.slice(0, 3).map((id) => enter('member', id)));
    const client = await enter('client', 'visitor');
    assert.ok(a && b && c);
    await Promise.all([a.connected(B, nodeId(2)), b.connected(A, nodeId(2)), c.connected(A, B), client.connected(A, B, nodeId(2))]);
    for (const member of [a, b, c]) {
      const met = await member.see((event) => event.kind === 'up' && event.info.role === 'client');
      assert.ok(met.kind === 'up' && met.peer >= members.length && met.info.id === 'visitor');
    }
    const seen = a.events.find((event) => event.kind === 'up' && event.peer === B);
    assert.ok(seen?.kind === 'up' && seen.info.id === members[1] && seen.info.role === 'member' && seen.info.incarnation > 0);
    assert.deepEqual(seen.info.config.members, members);
    // A message both ways shows that the connections which are up stay.
    for (const [from, to, at] of [
      [a, b, B],
      [b, a, A],
    ] as const) {
      assert.ok(from.send(at, 'still there'));
      await to.received('still there');
    }
    for (const member of [a, b, c]) assert.equal(member.events.filter(({ kind }) => kind === 'down').length, 0);
  });

  claim('messages arrive whole and in order, whatever their size', async ({ members, frameBytesMax }, enter) => {
    const [a, b] = [await enter('member', members[0] ?? ''), await enter('member', members[1] ?? '')];
    await Promise.all([a.connected(B), b.connected(A)]);
    const sizes = [0, 1, 3, 4, 5, 255, 256, 1023, 1024, 65_535, 65_536, 100_000].filter((size) => size < frameBytesMax);
    const sent = Array.from({ length: 240 }, (_, index) => `${index}:`.padEnd(sizes[index % sizes.length] ?? 0, 'x'));
    sent.push('');
    for (const text of sent) {
      while (!a.send(B, text)) await TURN();
    }
    while (!a.send(B, 'last')) await TURN();
    await b.received('last');
    assert.deepEqual(b.messages(A), [...sent, 'last']);
  });

  claim('the messages of one turn leave in one write, and none arrives within it', async ({ members }, enter) => {
    const [a, b] = [await enter('member', members[0] ?? ''), await enter('member', members[1] ?? '')];
    await Promise.all([a.connected(B), b.connected(A)]);
    // Whatever a transport says on its own at the start is said before the answer to this.
    a.send(B, 'settled');
    await b.received('settled');
    b.send(A, 'settled');
    await a.received('settled');
    await TURN();
    const before = a.transport.peerStats(B);
    for (let index = 0; index < 50; index++) assert.ok(a.send(B, `${index}`));
    assert.equal(b.messages(A).length, 1);
    await b.received('49');
    const after = a.transport.peerStats(B);
    assert.ok(before && after);
    assert.equal(after.writes - before.writes, 1);
    assert.equal(after.messagesOut - before.messagesOut, 50);
    assert.equal(b.transport.peerStats(A)?.messagesIn, 51);
  });

  claim('a message says which service it is for, and all of them come in the order they were sent', async ({ members }, enter) => {
    const [a, b] = [await enter('member', members[0] ?? ''), await enter('member', members[1] ?? '')];
    await Promise.all([a.connected(B), b.connected(A)]);
    const services = [LEASE_SERVICE, 1, SERVICE_NUMBER_MAX, LEASE_SERVICE, 2];
    for (const [index, service] of services.entries()) a.send(B, `${index}`, service);
    a.send(B, 'last');
    await b.received('last');
    const heard = b.events.flatMap((event) => (event.kind === 'message' ? [event.service] : []));
    assert.deepEqual(heard, [...services, LEASE_SERVICE]);
    assert.deepEqual(b.messages(A), ['0', '1', '2', '3', '4', 'last']);
  });

  claim('there is no way to oneself, to a stranger, or to a member that is not there', async ({ members }, enter) => {
    const a = await enter('member', members[0] ?? '');
    for (const number of [0, 1, 2, 99]) assert.equal(a.transport.begin(nodeId(number)), null);
    a.transport.end(B);
    a.transport.flush();
    assert.equal(a.transport.peerStats(A), null);
    assert.equal(a.transport.peerStats(B)?.connected, false);
    assert.equal(a.transport.peerStats(nodeId(99)), null);
  });
}

function claimBounds(claim: TransportClaim): void {
  claim('a full queue takes nothing more until it has drained', async ({ members, queueBytesMax }, enter) => {
    const [a, b] = [await enter('member', members[0] ?? ''), await enter('member', members[1] ?? '')];
    await Promise.all([a.connected(B), b.connected(A)]);
    const text = 'x'.repeat(500);
    let taken = 0;
    while (a.send(B, text)) {
      taken++;
      assert.ok(taken * 500 <= queueBytesMax, 'the queue has no end');
    }
    assert.ok(taken > 0);
    assert.ok((a.transport.peerStats(B)?.queuedBytes ?? 0) <= queueBytesMax + 600);
    assert.equal(a.transport.peerStats(B)?.dropped, 1);
    while (!a.send(B, 'after')) await TURN();
    await b.received('after');
    assert.equal(b.messages(A).length, taken + 1);
  });

  claim('other services fill half a queue, so that leases have room in the rest', async ({ members, queueBytesMax }, enter) => {
    const [a, b] = [await enter('member', members[0] ?? ''), await enter('member', members[1] ?? '')];
    await Promise.all([a.connected(B), b.connected(A)]);
    const text = 'x'.repeat(500);
    while (a.send(B, text, 1)) assert.ok((a.transport.peerStats(B)?.queuedBytes ?? 0) <= queueBytesMax / 2 + 600);
    assert.ok(a.send(B, 'a lease'));
    await b.received('a lease');
  });

  claim('a message beyond the limit is refused where it is written, and disturbs no other', async (place, enter) => {
    const { members, frameBytesMax } = place;
    const [a, b] = [await enter('member', members[0] ?? ''), await enter('member', members[1] ?? '')];
    await Promise.all([a.connected(B), b.connected(A)]);
    a.send(B, 'before');
    assert.throws(() => a.send(B, new Uint8Array(frameBytesMax)), { code: 'TENURE_FRAME_TOO_LARGE' });
    a.send(B, 'after');
    await b.received('after');
    assert.deepEqual(b.messages(A), ['before', 'after']);
  });

  claim('a message that was begun and not ended is taken back', async ({ members }, enter) => {
    const [a, b] = [await enter('member', members[0] ?? ''), await enter('member', members[1] ?? '')];
    await Promise.all([a.connected(B), b.connected(A)]);
    a.transport.begin(B)?.u32(7);
    a.send(B, 'one');
    a.transport.begin(B)?.u32(7);
    await TURN();
    a.send(B, 'two');
    await b.received('two');
    assert.deepEqual(b.messages(A), ['one', 'two']);
  });
}

function claimReturns(claim: TransportClaim): void {
  claim('a peer that closes says goodbye, after all it had sent', async ({ members }, enter) => {
    const [a, b] = [await enter('member', members[0] ?? ''), await enter('member', members[1] ?? '')];
    await Promise.all([a.connected(B), b.connected(A)]);
    for (let index = 0; index < 20; index++) b.send(A, `${index}`);
    const before = b.events.length;
    await Promise.all([b.transport.close(), b.transport.close()]);
    await b.transport.close();
    const down = await a.see(({ kind }) => kind === 'down');
    assert.ok(down.kind === 'down' && down.peer === B && down.why === 'goodbye');
    assert.equal(a.messages(B).length, 20);
    assert.equal(a.transport.begin(B), null);
    assert.equal(b.transport.begin(A), null);
    assert.equal(b.events.length, before);
  });

  claim('a member that starts again comes up with its new incarnation', async ({ members }, enter) => {
    const [a, b] = [await enter('member', members[0] ?? ''), await enter('member', members[1] ?? '')];
    const client = await enter('client', 'visitor');
    await Promise.all([a.connected(B), b.connected(A), client.connected(A, B)]);
    await b.transport.close();
    await a.see(({ kind }) => kind === 'down');
    const again = await enter('member', members[1] ?? '');
    await Promise.all([again.connected(A), client.see((event) => event.kind === 'down' && event.peer === B)]);
    await Promise.all([a.connected(B), client.connected(B)]);
    const met = a.events.filter((event) => event.kind === 'up' && event.peer === B);
    assert.equal(new Set(met.map((event) => event.kind === 'up' && event.info.incarnation)).size, 2);
    assert.equal(a.transport.peerStats(B)?.reconnects, 1);
    a.send(B, 'welcome back');
    await again.received('welcome back');
  });

  claim('no client gets a number that another had', async ({ members }, enter) => {
    const a = await enter('member', members[0] ?? '');
    const numbers: number[] = [];
    for (const name of ['first', 'second', 'third']) {
      const client = await enter('client', name);
      const met = await a.see((event) => event.kind === 'up' && event.info.id === name);
      numbers.push(met.kind === 'up' ? met.peer : -1);
      await client.connected(A);
      assert.ok(a.send(nodeId(numbers.at(-1) ?? 0), `to ${name}`));
      await client.received(`to ${name}`);
      await client.transport.close();
      await a.see((event) => event.kind === 'down' && event.peer === numbers.at(-1));
      assert.equal(a.transport.peerStats(nodeId(numbers.at(-1) ?? 0)), null);
    }
    assert.equal(new Set(numbers).size, 3);
    assert.ok(numbers.every((number) => number >= members.length));
  });
}

function claimRefusals(claim: TransportClaim): void {
  claim(
    'a client is asked before a member comes up, and nothing passes between it and one that it turns away',
    async ({ members }, enter) => {
      const odd = new TenureError('TENURE_CONFIG_MISMATCH', 'it keeps to something else');
      const [a, b] = [await enter('member', members[0] ?? ''), await enter('member', members[1] ?? '')];
      const client = await enter('client', 'visitor', (witness) => {
        witness.onJudge = ({ id, role, config }) => {
          assert.equal(role, 'member');
          assert.deepEqual(config.members, members);
          return id === members[0] ? odd : null;
        };
      });
      await client.connected(B);
      const refused = await client.see(({ kind }) => kind === 'refused');
      assert.ok(refused.kind === 'refused' && refused.who === members[0] && refused.error === odd);
      assert.equal(client.transport.begin(A), null);
      assert.ok(!client.events.some((event) => event.kind === 'up' && event.peer === A));
      // Members ask no handler: they agree, or refuse each other by themselves.
      await Promise.all([a.connected(B), b.connected(A)]);
    },
  );

  claim('a client turns a member away that is up: it goes down and is refused', async ({ members }, enter) => {
    const odd = new TenureError('TENURE_CONFIG_MISMATCH', 'it keeps to something else');
    const [a, b] = [await enter('member', members[0] ?? ''), await enter('member', members[1] ?? '')];
    const client = await enter('client', 'visitor');
    await client.connected(A, B);
    const met = await a.see((event) => event.kind === 'up' && event.info.role === 'client');
    client.onJudge = ({ id }) => (id === members[0] ? odd : null);
    client.transport.turnAway(A, odd);
    client.transport.turnAway(A, odd);
    client.transport.turnAway(nodeId(99), odd);
    assert.equal(client.transport.begin(A), null);
    const kinds = client.events.slice(-2).map((event) => [event.kind, event.kind === 'down' && event.why]);
    assert.deepEqual(kinds, [
      ['down', 'refused'],
      ['refused', false],
    ]);
    const down = await a.see(({ kind }) => kind === 'down');
    assert.ok(down.kind === 'down' && met.kind === 'up' && down.peer === met.peer && down.error === null);
    client.send(B, 'still there');
    await b.received('still there');
  });

  claim('a handler that throws costs its connection and nothing else', async ({ members }, enter) => {
    const [a, b, c] = await Promise.all(members.slice(0, 3).map((id) => enter('member', id)));
    assert.ok(a && b && c);
    await Promise.all([a.connected(B, nodeId(2)), b.connected(A), c.connected(A)]);
    a.onMessage = (text) => {
      if (text === 'bad') throw new Error('the handler is broken');
    };
    b.send(A, 'bad');
    const down = await a.see((event) => event.kind === 'down' && event.peer === B);
    assert.ok(down.kind === 'down' && down.why === 'failed' && down.error?.message === 'the handler is broken');
    c.send(A, 'good');
    await a.received('good');
  });

  claim('a transport can be closed before it was opened, and is opened once', async (place, _enter, newLife) => {
    const { members } = place;
    const unopened = place.node('member', members[0] ?? '', newLife());
    await unopened.close();
    await assert.rejects(unopened.open(new Witness(unopened)), { code: 'TENURE_BAD_ARGUMENT' });
    const transport = place.node('member', members[1] ?? '', newLife());
    const opening = transport.open(new Witness(transport));
    await assert.rejects(transport.open(new Witness(transport)), { code: 'TENURE_BAD_ARGUMENT' });
    await transport.close();
    await opening;
  });
}

type Enter = (role: Role, id: string, prepare?: (witness: Witness) => void) => Promise<Witness>;
