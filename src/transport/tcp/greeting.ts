/**
 * The handshake on a connection, one class for each side. A greeting owns its connection until it is over, one
 * way or the other, and has a time limit. Order matters: nothing about this side but its versions is told to a
 * dialling side that has not proved itself.
 */
import { randomBytes } from 'node:crypto';
import { TenureError } from '../../kernel/index.ts';
import {
  agreeVersion,
  ByteReader,
  ByteWriter,
  CHALLENGE,
  differenceOf,
  GOODBYE,
  HELLO,
  NONCE_BYTES,
  PROOF,
  readChallenge,
  readGoodbye,
  readHello,
  readProof,
  readRefusal,
  readWelcome,
  REFUSAL,
  VERSION_OF_MODES,
  VERSIONS,
  WELCOME,
  writeChallenge,
  writeGoodbye,
  writeHello,
  writeProof,
  writeRefusal,
  writeWelcome,
  type Hello,
  type Proof,
  type Welcome,
} from '../../wire/index.ts';
import type { DownReason, PeerInfo } from '../contract.ts';
import type { Connection, Owner } from './connection.ts';
import { isProved } from './identity.ts';
import type { TcpSettings } from './options.ts';
import { sameProof, Transcript } from './proof.ts';
import * as refusals from './refusals.ts';
import type { RefusalVerdict } from './refusals.ts';

export interface GreetingHandlers {
  /** 'redundant' when both sides have dialled and the other connection is to stay. */
  met(info: PeerInfo): void;
  judge(info: PeerInfo): 'welcome' | 'redundant' | RefusalVerdict;
  /** The connection's owner is to be changed in this call. */
  greeted(connection: Connection, info: PeerInfo): void;
  /** Null: there is nothing to report, as when a connection breaks. */
  failed(connection: Connection, error: TenureError | null, detail: string): void;
}

abstract class Greeting implements Owner {
  protected readonly settings: TcpSettings;
  protected readonly connection: Connection;
  protected readonly transcript: Transcript = new Transcript();
  protected readonly input: ByteReader = new ByteReader();
  protected readonly outcome: GreetingHandlers;
  /** The other side has done with greeting, and reads no refusal any more. */
  protected isWelcomed = false;
  readonly #timer: NodeJS.Timeout;

  constructor(settings: TcpSettings, connection: Connection, outcome: GreetingHandlers) {
    this.settings = settings;
    this.connection = connection;
    this.outcome = outcome;
    const ms = settings.limits.handshakeMs;
    connection.owner = this;
    this.#timer = setTimeout(() => this.#late(ms), ms);
    this.#timer.unref();
  }

  abstract frame(kind: number, bytes: Uint8Array, start: number, end: number): boolean;

  gone(why: DownReason, error: Error | null): void {
    clearTimeout(this.#timer);
    const refusal = error instanceof TenureError ? error : null;
    this.outcome.failed(this.connection, refusal, error?.message ?? `the connection was ${why} during the handshake`);
  }

  /** Ends it without a word to the peer or the owner. */
  abandon(): void {
    clearTimeout(this.#timer);
    this.connection.drop();
  }

  /** A machine that does not answer is unreachable; a process that answers no hello is at fault. */
  #late(ms: number): void {
    if (!this.connection.socket.connecting) {
      this.refuse(refusals.tooSlow(this.connection.remote, ms));
      return;
    }
    this.abandon();
    this.outcome.failed(this.connection, null, `no connection within ${ms} ms`);
  }

  protected say(write: (out: ByteWriter) => void): void {
    const out = new ByteWriter();
    write(out);
    const frame = out.bytes.subarray(0, out.length);
    this.transcript.add(frame);
    this.connection.out.raw(frame, 0, frame.length);
  }

  /** Proves that this side knows the secret, and that it is the process whose incarnation it claims. */
  protected sayProof(secret: Uint8Array | undefined, side: 'dial' | 'accept'): void {
    const proof = this.transcript.prove(secret, side);
    const signature = this.settings.identity.sign(this.transcript.toSign(side));
    this.say((out) => writeProof(out, { proof, signature }));
  }

  protected isProved({ incarnation, key }: Hello | Welcome, { signature }: Proof, side: 'dial' | 'accept'): boolean {
    return isProved(incarnation, key, this.transcript.toSign(side), signature);
  }

  protected refuse({ error, told }: RefusalVerdict): false {
    clearTimeout(this.#timer);
    if (this.isWelcomed) writeGoodbye(this.connection.out, 'closing');
    else if (told !== null) writeRefusal(this.connection.out, told);
    this.connection.finish();
    this.outcome.failed(this.connection, error, error.message);
    return false;
  }

  protected quit(detail: string): false {
    clearTimeout(this.#timer);
    this.connection.leave('redundant');
    this.outcome.failed(this.connection, null, detail);
    return false;
  }

  /** A side that is in another view than the first is not understood by versions that know none. */
  protected isBeforeViews({ version }: PeerInfo): boolean {
    return version < VERSION_OF_MODES && this.settings.config.viewBytes !== undefined;
  }

  protected judged(info: PeerInfo): boolean {
    const verdict = this.outcome.judge(info);
    if (verdict === 'welcome') return true;
    return verdict === 'redundant' ? this.quit('another connection to it stays') : this.refuse(verdict);
  }

  protected done(info: PeerInfo): boolean {
    clearTimeout(this.#timer);
    const { frameBytesMax, clientFrameBytesMax } = this.settings.limits;
    this.connection.splitter.bytesMax = info.role === 'client' ? Math.min(clientFrameBytesMax, frameBytesMax) : frameBytesMax;
    this.outcome.greeted(this.connection, info);
    return true;
  }
}

export class Dialling extends Greeting {
  readonly #to: string;
  #version = 0;
  #welcome: Welcome | null = null;

  constructor(settings: TcpSettings, connection: Connection, to: string, outcome: GreetingHandlers) {
    super(settings, connection, outcome);
    this.#to = to;
  }

  /** The socket is connected. */
  begin(): void {
    const { cell, role, id, incarnation, key, config, services } = this.settings;
    const nonce = randomBytes(NONCE_BYTES);
    this.say((out) => writeHello(out, { versions: VERSIONS, nonce, cell, role, id, incarnation, key, to: this.#to, config, services }));
    this.connection.flush();
  }

  frame(kind: number, bytes: Uint8Array, start: number, end: number): boolean {
    const { remote } = this.connection;
    this.input.reset(bytes, start, end);
    if (kind === REFUSAL) {
      const refusal = readRefusal(this.input);
      return this.refuse(refusal ? { error: refusals.refusedBy(this.#to, remote, refusal), told: null } : refusals.notOurs(remote));
    }
    if (kind === GOODBYE) return this.quit(`it left: ${readGoodbye(this.input)}`);
    if (kind === CHALLENGE && this.#version === 0) return this.#challenged(bytes, start, end);
    if (kind === WELCOME && this.#version > 0 && this.#welcome === null) {
      this.#welcome = readWelcome(this.input, this.#version);
      this.isWelcomed = true;
      this.transcript.addReceived(kind, bytes, start, end);
      return this.#welcome !== null || this.refuse(refusals.notOurs(remote));
    }
    if (kind === PROOF && this.#welcome !== null) return this.#proved(this.#welcome, readProof(this.input));
    return this.refuse(refusals.notOurs(remote));
  }

  #challenged(bytes: Uint8Array, start: number, end: number): boolean {
    const challenge = readChallenge(this.input);
    if (challenge === null) return this.refuse(refusals.notOurs(this.connection.remote));
    const version = agreeVersion(VERSIONS, challenge.versions);
    if (version === null) return this.refuse(refusals.otherVersion(this.connection.remote, VERSIONS, challenge.versions));
    this.#version = version;
    this.transcript.addReceived(CHALLENGE, bytes, start, end);
    this.sayProof(this.settings.secrets[this.settings.role], 'dial');
    this.connection.flush();
    return true;
  }

  /** Its identity counts only once the proof over it is good. */
  #proved(welcome: Welcome, proved: Proof | null): boolean {
    const { settings, connection } = this;
    const expected = this.transcript.prove(settings.secrets[settings.role], 'accept');
    if (proved === null) return this.refuse(refusals.notOurs(connection.remote));
    if (!sameProof(expected, proved.proof)) {
      const { error } = refusals.otherSecret(connection.remote, { ...this.#asHello(welcome), role: settings.role }, 'its proof is wrong');
      return this.refuse({ error, told: null });
    }
    if (!this.isProved(welcome, proved, 'accept')) return this.refuse(refusals.otherKey(connection.remote, welcome));
    if (welcome.id !== this.#to) {
      return this.refuse(refusals.otherAddressee(connection.remote, welcome.id, { ...this.#asHello(welcome), id: settings.id }));
    }
    const info: PeerInfo = { ...welcome, role: 'member', version: this.#version };
    if (this.isBeforeViews(info)) return this.refuse(refusals.beforeViews(connection.remote, info));
    const difference = differenceOf(settings.config, welcome.config, settings.role === 'member');
    if (difference) return this.refuse(refusals.otherConfig(connection.remote, welcome.id, difference));
    this.outcome.met(info);
    const isOut = settings.role === 'member' && !settings.members.some(({ id }) => id === settings.id);
    if (isOut) return this.refuse({ error: refusals.noMember(settings.id, welcome.id), told: null });
    return this.judged(info) && this.done(info);
  }

  #asHello(welcome: Welcome): Hello {
    return { ...welcome, versions: VERSIONS, nonce: new Uint8Array(0), cell: this.settings.cell, role: 'member', to: this.#to };
  }
}

export class Accepting extends Greeting {
  #hello: Hello | null = null;

  frame(kind: number, bytes: Uint8Array, start: number, end: number): boolean {
    this.input.reset(bytes, start, end);
    if (kind === HELLO && this.#hello === null) return this.#greeted(bytes, start, end);
    if (kind === PROOF && this.#hello !== null) return this.#proved(this.#hello, bytes, start, end);
    if (kind === GOODBYE || kind === REFUSAL) return this.quit('it left during the handshake');
    return this.refuse(refusals.notOurs(this.connection.remote));
  }

  #greeted(bytes: Uint8Array, start: number, end: number): boolean {
    const { settings } = this;
    const { remote } = this.connection;
    const hello = readHello(this.input);
    if (hello === null) return this.refuse(refusals.notOurs(remote));
    if (!('cell' in hello)) return this.refuse(refusals.otherVersion(remote, VERSIONS, hello));
    if (hello.cell !== settings.cell) return this.refuse(refusals.otherCell(remote, settings.cell, hello));
    if (hello.to !== settings.id) return this.refuse(refusals.otherAddressee(remote, settings.id, hello));
    const known = settings.secrets[hello.role] ?? settings.secrets.member;
    if (!settings.insecure && settings.secure === null && known === undefined) {
      return this.refuse(refusals.otherSecret(remote, hello, `there is no ${hello.role} secret here`));
    }
    this.#hello = hello;
    this.transcript.addReceived(HELLO, bytes, start, end);
    const nonce = randomBytes(NONCE_BYTES);
    this.say((out) => writeChallenge(out, { versions: VERSIONS, nonce }));
    this.connection.flush();
    return true;
  }

  #proved(hello: Hello, bytes: Uint8Array, start: number, end: number): boolean {
    const { settings } = this;
    const { remote } = this.connection;
    const proved = readProof(this.input);
    if (proved === null) return this.refuse(refusals.notOurs(remote));
    const { proof } = proved;
    const { member } = settings.secrets;
    // A client may prove the members' secret instead of the clients'.
    const mayProve = hello.role === 'client' && (member !== undefined || settings.insecure);
    const isAdmin = mayProve && sameProof(this.transcript.prove(member, 'dial'), proof);
    const secret = isAdmin ? member : settings.secrets[hello.role];
    if (secret === undefined && member !== undefined && settings.secure === null) {
      return this.refuse(refusals.otherSecret(remote, hello, `there is no ${hello.role} secret here`));
    }
    if (!sameProof(this.transcript.prove(secret, 'dial'), proof)) {
      const why = proof.length === 0 ? 'it has no secret' : secret === undefined ? 'there is no secret here' : 'its proof is wrong';
      return this.refuse(refusals.otherSecret(remote, hello, why));
    }
    if (!this.isProved(hello, proved, 'dial')) return this.refuse(refusals.otherKey(remote, hello));
    const version = agreeVersion(VERSIONS, hello.versions) ?? VERSIONS.max;
    const { role, id, incarnation, config, services } = hello;
    const info: PeerInfo = { role, id, incarnation, version, config, services, isAdmin };
    if (this.isBeforeViews(info)) return this.refuse(refusals.beforeViews(remote, info));
    this.outcome.met(info);
    const welcome = (): void => {
      this.transcript.addReceived(PROOF, bytes, start, end);
      this.say((out) => writeWelcome(out, settings));
      this.sayProof(secret, 'accept');
    };
    if (role === 'member') {
      const ids = settings.members.map((one) => one.id);
      if (id === settings.id) return this.refuse(refusals.myOwnId(remote, hello));
      if (!ids.includes(id) && settings.config.viewBytes === undefined) return this.refuse(refusals.unknownMember(remote, hello, ids));
      // It hears of the view in which it is none.
      if (!ids.includes(id)) {
        welcome();
        this.isWelcomed = true;
        return this.refuse({ error: refusals.takenOut(remote, id), told: null });
      }
    }
    const difference = differenceOf(settings.config, config, role === 'member');
    if (difference) return this.refuse(refusals.otherConfig(remote, id, difference));
    if (!this.judged(info)) return false;
    welcome();
    this.connection.flush();
    return this.done(info);
  }
}
