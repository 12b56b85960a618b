/** A cell of three `tenure serve` processes on this machine, for tests of commands: started, waited for, and ended with the test file. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

export const BIN = fileURLToPath(new URL('../../bin/tenure.js', import.meta.url));

export interface Member {
  readonly id: string;
  readonly child: ChildProcess;
  /** Every line of its log so far. */
  readonly lines: Record<string, unknown>[];
  /** Resolves with the line that says it. */
  says(message: RegExp): Promise<Record<string, unknown>>;
  /** Resolves with how it ended. */
  readonly ended: Promise<number | string | null>;
}

export class ServedCell {
  readonly folder: string = mkdtempSync(join(tmpdir(), 'tenure-served-'));
  readonly ids: readonly string[] = ['a', 'b', 'c'];
  ports: readonly number[] = [];
  readonly members = new Map<string, Member>();
  readonly #children: ChildProcess[] = [];

  /** What a command needs to find it. */
  get env(): Record<string, string> {
    return { TENURE_CONFIG: join(this.folder, 'tenure.yaml') };
  }

  get memberList(): string {
    return this.ids.map((id, i) => `${id}=127.0.0.1:${this.ports[i]}`).join(',');
  }

  /** Writes its config file and secrets; starts nobody. */
  async prepare(maxTerm = '2s'): Promise<this> {
    this.ports = await freePorts(this.ids.length);
    writeFileSync(join(this.folder, 'member.secret'), 'a secret of the members only\n');
    writeFileSync(join(this.folder, 'client.secret'), 'a secret of all the clients\n');
    const lines = ['cell: test', 'members:', ...this.ids.map((id, i) => `  ${id}: 127.0.0.1:${this.ports[i]}`)];
    lines.push('secretFile: member.secret', 'clientSecretFile: client.secret', `maxTerm: ${maxTerm}`);
    writeFileSync(join(this.folder, 'tenure.yaml'), `${lines.join('\n')}\n`);
    return this;
  }

  /** Starts all members, with data directories if they are to have disks, and waits until they vote. */
  async start(hasDisks = false): Promise<this> {
    await this.prepare();
    const args = (id: string): string[] => (hasDisks ? ['--data-dir', join(this.folder, `data-${id}`)] : []);
    await Promise.all(this.ids.map((id) => this.serve(id, args(id)).says(/all members are connected/)));
    return this;
  }

  /** Starts one member, or starts it again. */
  serve(id: string, args: readonly string[] = []): Member {
    const child = spawn(process.execPath, [BIN, 'serve', '--self', id, ...args], {
      env: { ...process.env, ...this.env },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    this.#children.push(child);
    const lines: Record<string, unknown>[] = [];
    const reader = createInterface({ input: child.stdout });
    reader.on('line', (line) => lines.push(JSON.parse(line) as Record<string, unknown>));
    const ended = once(child, 'close').then(([code, signal]: (number | string | null)[]) => code ?? signal ?? null);
    const member: Member = {
      id,
      child,
      lines,
      ended,
      async says(message) {
        for (;;) {
          const line = lines.find(({ msg }) => message.test(String(msg)));
          if (line) return line;
          const isOver = await Promise.race([once(reader, 'line').then(() => false), ended.then(() => true)]);
          if (isOver && !lines.some(({ msg }) => message.test(String(msg)))) throw new Error(`${id} ended without saying ${message}`);
        }
      },
    };
    this.members.set(id, member);
    return member;
  }

  async end(): Promise<void> {
    const running = this.#children.filter(({ exitCode, signalCode }) => exitCode === null && signalCode === null);
    await Promise.all(
      running.map((child) => {
        child.kill('SIGKILL');
        return once(child, 'exit');
      }),
    );
    rmSync(this.folder, { recursive: true, force: true });
  }
}

export async function freePorts(count: number): Promise<number[]> {
  const servers = Array.from({ length: count }, () => createServer().listen(0, '127.0.0.1'));
  await Promise.all(servers.map((server) => once(server, 'listening')));
  const ports = servers.map((server) => (server.address() as AddressInfo).port);
  await Promise.all(servers.map((server) => once(server.close(), 'close')));
  return ports;
}
