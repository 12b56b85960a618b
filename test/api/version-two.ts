/**
 * A node of protocol version 2, spoken by hand: it says hello as that version did, knows of leases only, and takes any other kind of frame for an
 * error. It runs the quorum core, whose messages have not changed since.
 */
import { deriveTiming, QuorumCore, type LeaseCommand, type LeaseEvent, type QuorumMessage } from '../../src/core/index.ts';
import { hashText, NO_KEY, nodeId, SeededChooser, type NodeId } from '../../src/kernel/index.ts';
import { Driver, SystemClocks } from '../../src/runtime/index.ts';
import { Identity } from '../../src/transport/index.ts';
import {
  beginFrame,
  ByteReader,
  ByteWriter,
  endFrame,
  GOODBYE,
  HELLO,
  MESSAGE,
  PING,
  PONG,
  PROOF,
  quorumCodec,
  WELCOME,
  writePong,
} from '../../src/wire/index.ts';
import { RawPeer } from '../transport/raw-peer.ts';
import { SECRETS, type ServiceCell } from './service-cell.ts';

const KNOWN_KINDS: readonly number[] = [MESSAGE, PING, PONG, GOODBYE, 17, PROOF, WELCOME, 20];
const MAX_TERM_US = 1_000_000;
const RATE_ERROR_PPM = 100_000;

export class VersionTwo {
  readonly events: LeaseEvent[] = [];
  readonly driver: Driver<QuorumMessage, LeaseCommand, LeaseEvent>;
  /** Kinds of frames that version 2 would have closed the connection for. */
  readonly unknownKinds: number[] = [];
  readonly #peers = new Map<NodeId, RawPeer>();
  readonly #identity = new Identity();
  #changed: () => void = () => {};

  private constructor(ids: readonly string[], self: NodeId) {
    const timing = deriveTiming({ rttUs: 2000, maxTermUs: MAX_TERM_US, rateErrorPpm: RATE_ERROR_PPM });
    const { incarnation } = this.#identity;
    const out = new ByteWriter();
    let start = 0;
    this.driver = new Driver({
      core: new QuorumCore(
        { memberKeys: ids.map(hashText), timing, hashKey: NO_KEY },
        { self, incarnation, restarted: false, diskKept: false },
      ),
      codec: quorumCodec(),
      ownCodec: quorumCodec(),
      self,
      link: {
        begin: (to) => {
          if (!this.#peers.has(to)) return null;
          out.reset();
          start = beginFrame(out, MESSAGE);
          return out;
        },
        end: (to) => {
          endFrame(out, start);
          this.#peers.get(to)?.socket.write(out.bytes.slice(0, out.length));
        },
      },
      clocks: new SystemClocks(),
      chooser: new SeededChooser(3),
      senderOf: (peer) => ({ node: peer, incarnation: this.#lives.get(peer) ?? incarnation, isAdmin: false }),
      onEvent: (event) => {
        this.events.push(event);
        this.#changed();
      },
      onFailure: (error) => {
        throw error;
      },
    });
  }

  readonly #lives = new Map<NodeId, LeaseIncarnation>();

  /** Connected to every member that is up, by `dialled`. */
  static async enter(cell: ServiceCell, id: string, dialled: readonly string[]): Promise<VersionTwo> {
    const ids = Object.keys(cell.options.members).sort();
    const isMember = ids.includes(id);
    const node = new VersionTwo(ids, nodeId(isMember ? ids.indexOf(id) : ids.length));
    for (const to of dialled) await node.#dial(cell, { id, to, ids, isMember });
    node.driver.start();
    if (isMember) for (const member of node.#peers.keys()) node.driver.command({ kind: 'greet', member });
    return node;
  }

  /** Resolves with the first event of this kind. */
  async event(kind: LeaseEvent['kind']): Promise<LeaseEvent> {
    for (;;) {
      const found = this.events.find((event) => event.kind === kind);
      if (found) return found;
      await new Promise<void>((resolve) => (this.#changed = resolve));
    }
  }

  leave(): void {
    this.driver.stop();
    for (const peer of this.#peers.values()) peer.socket.destroy();
  }

  async #dial(
    cell: ServiceCell,
    { id, to, ids, isMember }: { id: string; to: string; ids: readonly string[]; isMember: boolean },
  ): Promise<void> {
    const peer = new RawPeer(cell.port(to), this.#identity);
    const number = nodeId(ids.indexOf(to));
    const input = new ByteReader();
    peer.onFrame = (kind, bytes, start, end) => {
      input.reset(bytes, start, end);
      if (!KNOWN_KINDS.includes(kind)) this.unknownKinds.push(kind);
      if (kind === MESSAGE) this.driver.receive(number, bytes, start, end);
      if (kind === PING) this.#pong(peer, input.u53());
      if (kind === WELCOME) {
        input.skip(input.u8());
        this.#lives.set(number, input.u53() as LeaseIncarnation);
      }
    };
    peer.bytes(this.#hello(id, to, ids, isMember));
    await peer.prove(isMember ? SECRETS.secret : SECRETS.clientSecret);
    await peer.frame(PROOF);
    this.#peers.set(number, peer);
  }

  #pong(peer: RawPeer, sentUs: number): void {
    const out = new ByteWriter();
    const nowUs = Date.now() * 1000;
    writePong(out, { sentUs, receivedWallUs: nowUs, answeredWallUs: nowUs, answeredMonoUs: Math.round(performance.now() * 1000) });
    peer.socket.write(out.bytes.slice(0, out.length));
  }

  /** As version 2 wrote it: nothing follows the configuration. */
  #hello(id: string, to: string, ids: readonly string[], isMember: boolean): Uint8Array {
    const out = new ByteWriter();
    const text = (value: string): void => {
      const bytes = Buffer.from(value);
      out.u8(bytes.length);
      out.raw(bytes, 0, bytes.length);
    };
    const field = (name: string, write: () => void): void => {
      text(name);
      const at = out.length;
      out.u16(0);
      write();
      out.bytes[at] = out.length - at - 2;
    };
    const start = beginFrame(out, HELLO);
    out.u32(0x52554e54);
    out.u16(2);
    out.u16(2);
    out.raw(new Uint8Array(32), 0, 32);
    text('test');
    out.u8(isMember ? 1 : 2);
    text(id);
    out.u53(this.#identity.incarnation);
    out.raw(this.#identity.key, 0, 32);
    text(to);
    const numbers = { maxTermUs: MAX_TERM_US, rateErrorPpm: RATE_ERROR_PPM, replication: ids.length, view: 1 };
    out.u8(isMember ? 6 : 0);
    if (isMember) {
      field('engine', () => text('quorum'));
      for (const [name, value] of Object.entries(numbers)) field(name, () => out.u53(value));
      field('members', () => ids.forEach(text));
    }
    endFrame(out, start);
    return out.bytes.slice(0, out.length);
  }
}

type LeaseIncarnation = Identity['incarnation'];
