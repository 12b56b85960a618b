/** A proxy between a store and its server, which loses answers and connections when it is told to, and can be turned to another server. */
import { connect, createServer, type AddressInfo, type Server as NetServer, type Socket } from 'node:net';

export class Proxy {
  /** Where new connections lead. */
  target: number;
  readonly #server: NetServer;
  readonly #sockets = new Set<Socket>();
  #losesNext = false;

  private constructor(target: number) {
    this.target = target;
    this.#server = createServer((client) => this.#carry(client));
  }

  static async to(target: number): Promise<Proxy> {
    const proxy = new Proxy(target);
    await new Promise<void>((resolve) => proxy.#server.listen(0, '127.0.0.1', resolve));
    return proxy;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** What the server says next is lost, and the connection with it. The server has done what it was asked. */
  loseAnswer(): void {
    this.#losesNext = true;
  }

  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  async close(): Promise<void> {
    this.cut();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #carry(client: Socket): void {
    const server = connect(this.target, '127.0.0.1');
    const end = (): void => {
      client.destroy();
      server.destroy();
    };
    for (const socket of [client, server]) {
      this.#sockets.add(socket);
      socket.on('error', end);
      socket.on('close', () => {
        this.#sockets.delete(socket);
        end();
      });
    }
    client.on('data', (bytes) => server.write(bytes));
    server.on('data', (bytes) => {
      if (!this.#losesNext) {
        client.write(bytes);
        return;
      }
      this.#losesNext = false;
      end();
    });
  }
}
