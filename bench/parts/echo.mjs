/** The least a peer can do: send back what it gets. */
import { createServer } from 'node:net';
import { serve } from './processes.mjs';

serve({
  listen: () =>
    new Promise((resolve) => {
      const server = createServer({ noDelay: true }, (socket) => {
        socket.on('error', () => {});
        socket.on('data', (chunk) => socket.write(chunk));
      }).listen(0, '127.0.0.1', () => resolve(/** @type {import('node:net').AddressInfo} */ (server.address()).port));
    }),
});
