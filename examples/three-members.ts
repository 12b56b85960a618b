/** Three members of a cell on this machine, so that the examples run by themselves. In real life each is a process of its own. */
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { joinCell, type Cell, type ConnectOptions } from 'tenure';

export interface Members {
  /** What clients need to `connect`. */
  readonly options: ConnectOptions;
  /** The members themselves. */
  readonly cells: readonly Cell[];
  readonly close: () => Promise<void>;
}

export async function threeMembers(): Promise<Members> {
  const members = { a: await freeAddress(), b: await freeAddress(), c: await freeAddress() };
  const cell = { cell: 'examples', members, clientSecret: 'known to clients as well' };
  const joined = await Promise.all(
    Object.keys(members).map((self) => joinCell({ ...cell, self, secret: 'known to members only', maxTerm: '1s' })),
  );
  await Promise.all(joined.map((member) => member.ready())); // a member that starts keeps silent for about maxTerm
  return {
    options: cell,
    cells: joined,
    close: async () => {
      await Promise.all(joined.map((member) => member.close()));
    },
  };
}

async function freeAddress(): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return `127.0.0.1:${port}`;
}
