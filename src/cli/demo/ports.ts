/** Finds ports of this machine that no process listens on. */
import { createServer } from 'node:net';

export const HOST = '127.0.0.1';
/**
 * From here upwards. Systems take the ports of outgoing connections from a range far above: a member that is down must find
 * its port free when it comes back.
 */
const FIRST_PORT = 4601;
const LAST_PORT = 9999;

/** So many free ports from `from` on, which others may take in the meantime. */
export async function freePorts(count: number, from: number = FIRST_PORT): Promise<number[]> {
  const found: number[] = [];
  for (let port = from; found.length < count; port++) {
    if (port > LAST_PORT) throw new Error(`no ${count} ports are free between ${from} and ${LAST_PORT}`);
    if (await isFree(port)) found.push(port);
  }
  return found;
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ host: HOST, port, exclusive: true }, () => server.close(() => resolve(true)));
  });
}
