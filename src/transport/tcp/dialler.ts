/**
 * Keeps trying to reach one member: looks its address up afresh, connects, greets; after a failure waits a
 * jittered, growing while. It rests while a connection is up, whichever side dialled it.
 */
import { lookup } from 'node:dns';
import { connect, isIP, type LookupFunction, type Socket } from 'node:net';
import type { TenureError } from '../../kernel/index.ts';
import type { PeerInfo } from '../contract.ts';
import { HANDSHAKE_BYTES_MAX } from '../../wire/index.ts';
import { isLoopback, type Address } from './address.ts';
import { Connection } from './connection.ts';
import { Dialling, type GreetingHandlers } from './greeting.ts';
import type { TcpSettings } from './options.ts';
import { insecureAddress } from './refusals.ts';
import type { Rota } from './rota.ts';

export interface DiallerEvents {
  /** A socket that has to be closed before the transport is. */
  opened(socket: Socket): void;
  met: GreetingHandlers['met'];
  judge: GreetingHandlers['judge'];
  greeted(connection: Connection, info: PeerInfo): void;
  /** `refusal` is null when the member could not be reached at all. */
  failed(refusal: TenureError | null, detail: string): void;
}

export class Dialler {
  readonly #settings: TcpSettings;
  readonly #rota: Rota;
  readonly #id: string;
  readonly #address: Address;
  readonly #events: DiallerEvents;
  #timer: NodeJS.Timeout | null = null;
  #greeting: Dialling | null = null;
  #begun = false;
  #failures = 0;
  #stopped = false;

  constructor(settings: TcpSettings, rota: Rota, member: { readonly id: string; readonly address: Address }, events: DiallerEvents) {
    this.#settings = settings;
    this.#rota = rota;
    this.#id = member.id;
    this.#address = member.address;
    this.#events = events;
  }

  /** Connected, and in the middle of a handshake. */
  get isGreeting(): boolean {
    return this.#begun;
  }

  get address(): Address {
    return this.#address;
  }

  start(): void {
    if (!this.#stopped) this.#dial();
  }

  /** A connection is up: an attempt of our own that is still under way is given up. */
  rest(): void {
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = null;
    this.#greeting?.abandon();
    this.#greeting = null;
    this.#begun = false;
  }

  /** The connection is down. A connection that did not last does not shorten the wait: two sides could go on like that for ever. */
  resume(livedMs: number, refused: boolean): void {
    const { backoffMsMax, refusedMs } = this.#settings.limits;
    if (livedMs > backoffMsMax) this.#failures = 0;
    this.#again(refused ? refusedMs : null);
  }

  stop(): void {
    this.#stopped = true;
    this.rest();
  }

  #again(fixedMs: number | null): void {
    if (this.#stopped || this.#timer || this.#greeting) return;
    const { backoffMsMin, backoffMsMax } = this.#settings.limits;
    const ceilingMs = fixedMs ?? Math.min(backoffMsMax, backoffMsMin * 2 ** Math.min(this.#failures, 30));
    this.#failures++;
    this.#timer = setTimeout(
      () => {
        this.#timer = null;
        this.#dial();
      },
      ceilingMs * (0.5 + Math.random() / 2),
    );
    this.#timer.unref();
  }

  #dial(): void {
    const { limits, insecure, secure } = this.#settings;
    const { host, port } = this.#address;
    if (insecure && isIP(host) !== 0 && !isLoopback(host)) {
      this.#refused(insecureAddress(this.#id, host, host));
      return;
    }
    let plain: Socket;
    let socket: Socket;
    try {
      plain = connect({ host, port, lookup: this.#lookup });
      this.#events.opened(plain);
      socket = secure === null ? plain : secure(plain, 'dial', this.#id);
      if (socket !== plain) this.#events.opened(socket);
    } catch (error) {
      this.#events.failed(null, String(error));
      this.#again(null);
      return;
    }
    const connection = new Connection(socket, `${host}:${port}`, {
      rota: this.#rota,
      bytesMax: HANDSHAKE_BYTES_MAX,
      lingerMs: limits.lingerMs,
    });
    const greeting = new Dialling(this.#settings, connection, this.#id, {
      met: this.#events.met,
      judge: this.#events.judge,
      greeted: (greeted, info) => {
        this.#greeting = null;
        this.#begun = false;
        this.#events.greeted(greeted, info);
      },
      failed: (_connection, error, detail) => {
        this.#greeting = null;
        this.#begun = false;
        if (error) this.#refused(error);
        else {
          this.#events.failed(null, detail);
          this.#again(null);
        }
      },
    });
    this.#greeting = greeting;
    plain.once('connect', () => {
      if (this.#greeting !== greeting) return;
      this.#begun = true;
      greeting.begin();
    });
  }

  #refused(error: TenureError): void {
    this.#events.failed(error, error.message);
    this.#again(this.#settings.limits.refusedMs);
  }

  readonly #lookup: LookupFunction = (hostname, options, callback) => {
    lookup(hostname, { ...options, all: true }, (error, addresses) => {
      const first = addresses?.[0];
      if (error || first === undefined) {
        callback(error ?? new Error(`${hostname} has no address`), '', 4);
        return;
      }
      const outside = this.#settings.insecure ? addresses.find(({ address }) => !isLoopback(address)) : undefined;
      if (outside) callback(insecureAddress(this.#id, hostname, outside.address), '', 4);
      else if (options.all) callback(null, addresses);
      else callback(null, first.address, first.family);
    });
  };
}
