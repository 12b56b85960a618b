/** A small cell on loopback ports, for the tests of the TCP transport. */
import { createServer, type AddressInfo } from 'node:net';
import { Identity, TcpTransport, type TcpOptions } from '../../src/transport/index.ts';

/** Quick enough for tests, and nothing in them measures time. Pings come where a test asks for them. */
const LIMITS = { backoffMsMin: 5, backoffMsMax: 40, refusedMs: 20, handshakeMs: 2000, lingerMs: 100, pingMs: 60_000 } as const;

export const CONFIG = { engine: 'quorum', maxTermUs: 10_000_000, rateErrorPpm: 1000, replication: 3, view: 1 } as const;

/** Below the range that the system takes for outgoing connections, so that nobody takes it before we listen. */
export async function freePort(): Promise<number> {
  for (;;) {
    const server = createServer();
    const port = await new Promise<number>((resolve) => {
      server.once('error', () => resolve(0));
      server.listen(12_000 + Math.floor(Math.random() * 18_000), '127.0.0.1', () => resolve((server.address() as AddressInfo).port));
    });
    if (port === 0) continue;
    await new Promise((resolve) => server.close(resolve));
    return port;
  }
}

export class TcpCell {
  readonly members: { id: string; address: string }[];

  private constructor(members: { id: string; address: string }[]) {
    this.members = members;
  }

  static async of(...ids: string[]): Promise<TcpCell> {
    return new TcpCell(await Promise.all(ids.map(async (id) => ({ id, address: `127.0.0.1:${await freePort()}` }))));
  }

  port(id: string): number {
    return Number(this.members.find((member) => member.id === id)?.address.split(':')[1]);
  }

  transport(role: 'member' | 'client', id: string, options: Partial<TcpOptions> = {}): TcpTransport {
    return new TcpTransport({
      cell: 'orders',
      role,
      id,
      identity: new Identity(),
      members: this.members,
      config: CONFIG,
      ...options,
      limits: { ...LIMITS, ...options.limits },
    });
  }
}
