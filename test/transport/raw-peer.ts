/** A peer made of bare bytes: it greets as it should and then does whatever a test wants. */
import { connect, type Socket } from 'node:net';
import { Identity } from '../../src/transport/index.ts';
import { Transcript } from '../../src/transport/tcp/proof.ts';
import {
  beginFrame,
  ByteReader,
  ByteWriter,
  CHALLENGE,
  endFrame,
  FrameSplitter,
  kindOfService,
  LEASE_SERVICE,
  MESSAGE,
  NONCE_BYTES,
  PROOF,
  readRefusal,
  REFUSAL,
  VERSIONS,
  writeHello,
  writeProof,
  type Hello,
  type Refusal,
} from '../../src/wire/index.ts';

export class RawPeer {
  readonly socket: Socket;
  readonly refusals: Refusal[] = [];
  readonly closed: Promise<void>;
  messages = 0;
  /** Everything it sent, for whoever wants to say it again. */
  readonly sent: Uint8Array[] = [];
  readonly identity: Identity;
  /** By kind, the last frame that came, header and all. */
  readonly #frames = new Map<number, Uint8Array>();
  #wake: () => void = () => {};
  /** Called for every frame. */
  onFrame: (kind: number, bytes: Uint8Array, start: number, end: number) => void = () => {};

  constructor(port: number, identity: Identity = new Identity()) {
    this.identity = identity;
    this.socket = connect({ host: '127.0.0.1', port });
    this.socket.on('error', () => {});
    this.closed = new Promise((resolve) =>
      this.socket.once('close', () => {
        resolve();
        this.#wake();
      }),
    );
    const splitter = new FrameSplitter();
    const reader = new ByteReader();
    this.socket.on('data', (chunk) => {
      splitter.push(chunk, {
        frame: (kind, bytes, start, end) => {
          reader.reset(bytes, start, end);
          if (kind === MESSAGE) this.messages++;
          const refusal = kind === REFUSAL ? readRefusal(reader) : null;
          if (refusal) this.refusals.push(refusal);
          this.#frames.set(kind, Uint8Array.from([...header(end - start + 1), kind, ...bytes.subarray(start, end)]));
          this.#wake();
          this.onFrame(kind, bytes, start, end);
          return true;
        },
      });
    });
  }

  /** Resolves when a frame of this kind has come or the connection is closed. */
  async frame(kind: number): Promise<Uint8Array> {
    while (!this.#frames.has(kind) && !this.socket.destroyed) {
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
    return this.#frames.get(kind) ?? new Uint8Array(0);
  }

  say(write: (out: ByteWriter) => void): void {
    const out = new ByteWriter();
    write(out);
    this.bytes(out.bytes.slice(0, out.length));
  }

  bytes(bytes: Uint8Array): void {
    this.sent.push(bytes);
    this.socket.write(bytes);
  }

  hello(changes: Partial<Hello> = {}): void {
    const nonce = new Uint8Array(NONCE_BYTES);
    this.say((out) =>
      writeHello(out, {
        versions: VERSIONS,
        nonce,
        cell: 'orders',
        role: 'client',
        id: 'raw',
        incarnation: this.identity.incarnation,
        key: this.identity.key,
        to: 'a',
        config: {},
        services: [],
        ...changes,
      }),
    );
  }

  async greet(changes: Partial<Hello> = {}): Promise<this> {
    this.hello(changes);
    await this.prove();
    await this.frame(PROOF);
    return this;
  }

  /** With the secret, if there is one, and with its key. */
  async prove(secret?: string): Promise<void> {
    const transcript = new Transcript();
    for (const frame of [...this.sent, await this.frame(CHALLENGE)]) transcript.add(frame);
    const proof = transcript.prove(secret === undefined ? undefined : Buffer.from(secret), 'dial');
    this.say((out) => writeProof(out, { proof, signature: this.identity.sign(transcript.toSign('dial')) }));
  }

  /** A message of leases, or of another service. */
  message(body: Uint8Array, service: number = LEASE_SERVICE): Uint8Array {
    const out = new ByteWriter();
    const start = beginFrame(out, kindOfService(service));
    out.raw(body, 0, body.length);
    endFrame(out, start);
    return out.bytes.slice(0, out.length);
  }
}

function header(length: number): Uint8Array {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(length);
  return bytes;
}
