/** Places to hold the lease service against its suite: on virtual time, and over TCP with members in this process or in their own. */
import type { ChildProcess } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import type { LeasePlace } from '../../src/api/conformance.ts';
import { connect, joinCell, type Cell, type ConnectOptions, type EngineOptions } from '../../src/api/index.ts';
import { testCell } from '../../src/api/testing.ts';
import { freePort } from '../transport/cell.ts';
import { runProcess } from './run-process.ts';

/** Long enough that a busy machine is no reason to lose a lease. */
const MAX_TERM_MS = 4000;
const SECRETS = { secret: 'a secret of members only', clientSecret: 'a secret of all clients' };

export async function virtualPlace(members: number, engine: EngineOptions = 'quorum'): Promise<LeasePlace> {
  const cell = await testCell({ members, maxTerm: MAX_TERM_MS, engine });
  const clients = new Map<unknown, Cell>();
  const known = (client: unknown): Cell => {
    const found = clients.get(client);
    if (!found) throw new Error('no client of this place');
    return found;
  };
  return {
    maxTermMs: MAX_TERM_MS,
    async client() {
      const client = await cell.client();
      clients.set(client, client);
      return client;
    },
    pass: (ms) => cell.advance(ms),
    cutOff: (client) => cell.cutOff(known(client)),
    mend: (client) => cell.mend(known(client)),
    async holder(name, termMs) {
      const client = await cell.client();
      const { token } = await client.acquire(name, { term: termMs });
      return { token, crash: () => cell.crash(client) };
    },
    close: () => cell.close(),
  };
}

/** Members over TCP that serve many tests: starting one takes its silence. */
export interface StandingCell {
  open(): Promise<LeasePlace>;
  close(): Promise<void>;
}

interface PlaceOptions {
  readonly cell: string;
  readonly maxTerm: number;
  readonly engine: EngineOptions;
  readonly members: Record<string, string>;
}

async function optionsFor(members: number, engine: EngineOptions): Promise<PlaceOptions> {
  const ids = Array.from({ length: members }, (_, i) => String.fromCodePoint(0x61 + i));
  const addresses: [string, string][] = [];
  for (const id of ids) addresses.push([id, `127.0.0.1:${await freePort()}`]);
  return { cell: 'conformance', maxTerm: MAX_TERM_MS, engine, members: Object.fromEntries(addresses) };
}

function tcpPlace(options: ConnectOptions): LeasePlace {
  const clients: Cell[] = [];
  return {
    maxTermMs: MAX_TERM_MS,
    async client() {
      const client = await connect(options);
      clients.push(client);
      await client.ready();
      return client;
    },
    pass: (ms) => sleep(ms),
    async close() {
      await Promise.all(clients.map((client) => client.close()));
    },
  };
}

export async function membersHere(count: number, engine: EngineOptions = 'quorum'): Promise<StandingCell> {
  const options = await optionsFor(count, engine);
  const { cell, members } = options;
  const joined = await Promise.all(Object.keys(members).map((self) => joinCell({ ...options, self, ...SECRETS })));
  await Promise.all(joined.map((member) => member.ready()));
  return {
    open: () => Promise.resolve(tcpPlace({ cell, members, clientSecret: SECRETS.clientSecret })),
    async close() {
      await Promise.all(joined.map((member) => member.close()));
    },
  };
}

export async function membersApart(count: number, engine: EngineOptions = 'quorum'): Promise<StandingCell> {
  const options = await optionsFor(count, engine);
  const { cell, members } = options;
  const client = { cell, members, clientSecret: SECRETS.clientSecret };
  const running = Object.keys(members).map((self) => runProcess('member.mjs', JSON.stringify({ ...options, self, ...SECRETS })));
  const signal = (name: NodeJS.Signals): void => {
    for (const { child } of running) child.kill(name);
  };
  await Promise.all(running.map(({ said }) => said)).catch((error: unknown) => {
    signal('SIGKILL');
    throw error;
  });
  return {
    open() {
      const place = tcpPlace(client);
      const holders: ChildProcess[] = [];
      return Promise.resolve({
        ...place,
        // Members that stand still: whoever wants something of them is cut off.
        cutOff: () => signal('SIGSTOP'),
        mend: () => signal('SIGCONT'),
        async holder(name, termMs) {
          const { child, said } = runProcess('holder.mjs', JSON.stringify(client), name, String(termMs));
          holders.push(child);
          return { token: Number(await said), crash: () => void child.kill('SIGKILL') };
        },
        async close() {
          signal('SIGCONT');
          for (const child of holders) child.kill('SIGKILL');
          await place.close();
        },
      });
    },
    close() {
      signal('SIGKILL');
      return Promise.resolve();
    },
  };
}
