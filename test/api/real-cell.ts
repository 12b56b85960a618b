/** Cells of real sockets on this machine, for tests: three members on free ports, closed when the test is over. */
import { createServer, type AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import { connect, joinCell, type Cell, type ConnectOptions, type JoinOptions } from '../../src/api/index.ts';

const SECRETS = { secret: 'a secret of members only', clientSecret: 'a secret of all clients' };
export const MAX_TERM_MS = 1000;

export interface RealCell {
  readonly options: Omit<JoinOptions, 'self'>;
  readonly members: Map<string, Cell>;
  /** Starts a member, or starts it anew. */
  join(self: string, options?: Partial<JoinOptions>): Promise<Cell>;
  client(options?: Partial<ConnectOptions>, signal?: AbortSignal): Promise<Cell>;
}

/** A cell whose members have all ended their silence; it ends with the test, unless told otherwise. */
export async function realCell(
  size = 3,
  whenOver: (end: () => Promise<void>) => void = onTestFinished,
  maxTerm: number = MAX_TERM_MS,
  optionsOf: (id: string) => Partial<JoinOptions> = () => ({}),
): Promise<RealCell> {
  const ids = Array.from({ length: size }, (_, i) => String.fromCodePoint(97 + i));
  const ports = await freePorts(size);
  const addresses = Object.fromEntries(ids.map((id, i) => [id, `127.0.0.1:${ports[i]}`]));
  const options = { cell: 'test', members: addresses, maxTerm, ...SECRETS };
  const members = new Map<string, Cell>();
  const opened: Cell[] = [];
  whenOver(async () => {
    await Promise.all(opened.map((cell) => cell.close()));
  });
  const keep = (cell: Cell): Cell => {
    opened.push(cell);
    return cell;
  };
  const cell: RealCell = {
    options,
    members,
    async join(self, more = {}) {
      const member = keep(await joinCell({ ...options, self, ...more }));
      members.set(self, member);
      return member;
    },
    client: async (more = {}, signal) => {
      const { cell: name, members: at, clientSecret } = options;
      return keep(await connect({ cell: name, members: at, clientSecret, ...more }, signal ? { signal } : {}));
    },
  };
  await Promise.all(ids.map((id) => cell.join(id, optionsOf(id))));
  await Promise.all([...members.values()].map((member) => member.ready()));
  return cell;
}

export async function freePorts(count: number): Promise<number[]> {
  const servers = await Promise.all(
    Array.from(
      { length: count },
      () =>
        new Promise<ReturnType<typeof createServer>>((resolve) => {
          const server = createServer().listen(0, '127.0.0.1', () => resolve(server));
        }),
    ),
  );
  const ports = servers.map((server) => (server.address() as AddressInfo).port);
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return ports;
}
