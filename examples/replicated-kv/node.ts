/**
 * A node of the store: a member of the cell, a replica behind HTTP, and, while it holds the lease, the master.
 * `node node.js OPTIONS`: as JSON the options of `joinCell`, and `stores`, the address of each node's replica.
 */
import { createServer, type IncomingMessage } from 'node:http';
import { joinCell, type JoinOptions } from 'tenure';
import { Master, NotMaster, type ReplicaLink } from './master.js';
import { Replica, type Contents, type Entry } from './replica.js';

interface NodeOptions extends JoinOptions {
  readonly stores: Readonly<Record<string, string>>;
}

interface Call {
  readonly act: 'fence' | 'write' | 'set' | 'get';
  readonly token: number;
  readonly key: string;
  readonly value: string;
  readonly entry: Entry;
}

const PATIENCE_MS = 1000;
const { stores, ...options } = JSON.parse(process.argv[2] ?? '{}') as NodeOptions;
const replica = new Replica();
let master: Master | null = null;

function linkTo(address: string): ReplicaLink {
  const ask = async (call: Partial<Call>): Promise<unknown> => {
    const signal = AbortSignal.timeout(PATIENCE_MS);
    return (await fetch(`http://${address}`, { method: 'POST', body: JSON.stringify(call), signal })).json();
  };
  return {
    fence: (token) => ask({ act: 'fence', token }) as Promise<Contents | null>,
    write: (key, entry, token) => ask({ act: 'write', key, entry, token }) as Promise<boolean>,
  };
}

/** `fence` and `write` come from masters, `set` and `get` from users of the store. */
async function answer({ act, token, key, value, entry }: Call): Promise<unknown> {
  if (act === 'fence') return replica.fence(token);
  if (act === 'write') return replica.write(key, entry, token);
  if (master === null) throw new NotMaster('ask another node');
  if (act === 'get') return { value: master.get(key) ?? null };
  await master.set(key, value);
  return { ok: true };
}

async function bodyOf(request: IncomingMessage): Promise<Call> {
  let text = '';
  for await (const chunk of request) text += String(chunk);
  return JSON.parse(text) as Call;
}

const server = createServer((request, response) => {
  bodyOf(request)
    .then(answer)
    .then(
      (result) => response.end(JSON.stringify(result)),
      (error: unknown) => response.writeHead(error instanceof NotMaster ? 421 : 503).end(JSON.stringify({ error: String(error) })),
    );
});
const [host, port] = (stores[options.self] ?? '').split(':');
server.listen(Number(port), host);

const cell = await joinCell(options);
await cell.ready();
console.log('ready');
const links = Object.values(stores).map(linkTo);
for (;;) {
  // Standing by costs nothing. If the lease is lost, `using` says so, and this node stands by again.
  await cell
    .using('store/master', async (lease) => {
      master = await Master.begin(lease, links);
      console.log(`master ${lease.token}`);
      await new Promise((resolve) => lease.signal.addEventListener('abort', resolve, { once: true }));
    })
    .catch((error: unknown) => console.error(String(error)));
  master = null;
}
