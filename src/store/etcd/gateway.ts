/**
 * etcd's JSON gateway over HTTP: one request is one transaction of the cluster. Nothing is ever sent twice: a request goes to the next address only if no connection
 * to the address before came about. Bytes travel as base64.
 */
import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { TenureError } from '../../kernel/index.ts';
import { denied, full, storeUnreachable, unfit } from '../failures.ts';
import { Unanswered, type Call } from '../gate.ts';

export interface EtcdAddress {
  readonly host: string;
  readonly port: number;
}

export interface EtcdGatewayOptions {
  /** How the store is called in logs and errors. */
  readonly url: string;
  readonly addresses: readonly EtcdAddress[];
  readonly isTls: boolean;
  readonly user?: { readonly name: string; readonly password: string };
}

/** What every answer begins with. */
export interface EtcdHeader {
  readonly cluster_id: string;
}

interface EtcdFailure {
  readonly code?: number;
  readonly message?: string;
}

/** gRPC's numbers. */
const INVALID = 3;
const PERMISSION_DENIED = 7;
const EXHAUSTED = 8;
const UNAUTHENTICATED = 16;
const ANSWER_BYTES_MAX = 64 * 1024 * 1024;
/** What a connection that did not come about fails in. */
const CONNECTING: ReadonlySet<string> = new Set(['connect', 'getaddrinfo']);

export class EtcdGateway {
  readonly #options: EtcdGatewayOptions;
  readonly #agent: HttpAgent | HttpsAgent;
  /** The address that answered last. */
  #current = 0;
  #token: string | null = null;

  constructor(options: EtcdGatewayOptions) {
    this.#options = options;
    const settings = { keepAlive: true, maxSockets: 16, scheduling: 'lifo' as const };
    this.#agent = options.isTls ? new HttpsAgent(settings) : new HttpAgent(settings);
  }

  close(): void {
    this.#agent.destroy();
  }

  /** `changes`: from when the request is sent on, it may have happened. */
  async ask<Answer extends { readonly header: EtcdHeader }>(call: Call, path: string, body: object, changes: boolean): Promise<Answer> {
    if (this.#options.user && this.#token === null) await this.#authenticate(call);
    return await this.#send<Answer>(call, path, body, changes);
  }

  async #authenticate(call: Call): Promise<void> {
    const { user } = this.#options;
    if (!user) return;
    const { token } = await this.#send<{ token: string }>(call, '/v3/auth/authenticate', user, false);
    this.#token = token;
  }

  async #send<Answer>(call: Call, path: string, body: object, changes: boolean): Promise<Answer> {
    const { addresses, url } = this.#options;
    const text = JSON.stringify(body);
    for (let tries = 1; ; tries++) {
      const address = addresses[this.#current % addresses.length] as EtcdAddress;
      if (changes) call.leave();
      else call.goOn();
      try {
        const { status, said } = await this.#exchange(call, address, path, text);
        if (status === 200) return JSON.parse(said) as Answer;
        throw this.#refusal(status, said);
      } catch (error) {
        if (error instanceof TenureError || error instanceof Unanswered) throw error;
        const failure = storeUnreachable(url, error);
        if (!hasNotConnected(error)) throw new Unanswered(failure);
        // No server has heard it: the next may be asked.
        call.returned();
        this.#current++;
        if (tries >= addresses.length) throw failure;
      }
    }
  }

  async #exchange(call: Call, { host, port }: EtcdAddress, path: string, text: string): Promise<{ status: number; said: string }> {
    const headers = {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(text),
      ...(this.#token === null ? {} : { authorization: this.#token }),
    };
    const options = { host, port, path, method: 'POST', agent: this.#agent, headers };
    return await new Promise((resolve, reject) => {
      const asking = this.#options.isTls ? httpsRequest(options) : httpRequest(options);
      call.onGivenUp(() => asking.destroy(new Error('nobody waits any more')));
      asking.on('error', reject);
      asking.on('response', (answer: IncomingMessage) => {
        const parts: Buffer[] = [];
        let bytes = 0;
        answer.on('data', (part: Buffer) => {
          bytes += part.length;
          if (bytes > ANSWER_BYTES_MAX) asking.destroy(new Error('the answer is too long'));
          else parts.push(part);
        });
        answer.on('end', () => resolve({ status: answer.statusCode ?? 0, said: Buffer.concat(parts).toString('utf8') }));
        answer.on('error', reject);
      });
      asking.end(text);
    });
  }

  /** The error for an answer by which etcd refuses. Only a change that has certainly not happened is said not to have. */
  #refusal(status: number, said: string): Error {
    const { url } = this.#options;
    const { code = 0, message = `it answered with status ${status}` } = failureIn(said);
    const cause = new Error(message);
    // A token that ran out: the next access asks for another.
    if (code === UNAUTHENTICATED || status === 401) this.#token = null;
    if (code === UNAUTHENTICATED || code === PERMISSION_DENIED || status === 401 || status === 403) return denied(url, cause);
    if (code === INVALID && /authentication failed|user name is empty/.test(message)) return denied(url, cause);
    if (code === EXHAUSTED && /space/.test(message)) return full(url, cause);
    if (status === 404) return unfit(url, `no etcd answers there: ${message}`);
    return new Unanswered(storeUnreachable(url, cause));
  }
}

function failureIn(said: string): EtcdFailure {
  try {
    return JSON.parse(said) as EtcdFailure;
  } catch {
    return {};
  }
}

function hasNotConnected(error: unknown): boolean {
  const { syscall } = error as { readonly syscall?: unknown };
  return error instanceof Error && typeof syscall === 'string' && CONNECTING.has(syscall);
}
