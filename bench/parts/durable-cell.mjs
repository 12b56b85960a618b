/** Three members with data directories, each a process of its own: killed, brought back, and robbed of its directory. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePorts, Part } from './processes.mjs';

const IDS = ['a', 'b', 'c'];

export class DurableCell {
  /** What a client needs to reach it. @type {{ cell: string, members: Record<string, string>, clientSecret: string }} */
  reach = { cell: 'bench', members: {}, clientSecret: 'a secret of all clients' };
  folder = mkdtempSync(join(tmpdir(), 'tenure-durable-'));
  secret = 'a secret of members only';
  /** @type {Map<string, Part>} */
  parts = new Map();
  #settings;

  /** @param {{ maxTerm: number, keepVotes: boolean }} settings */
  constructor(settings) {
    this.#settings = settings;
  }

  /** All members are up, and vote. @param {{ maxTerm: number, keepVotes: boolean }} settings */
  static async start(settings) {
    const cell = new DurableCell(settings);
    const ports = await freePorts(IDS.length);
    for (const [i, id] of IDS.entries()) cell.reach.members[id] = `127.0.0.1:${ports[i]}`;
    await Promise.all(IDS.map((id) => cell.up(id)));
    await Promise.all([...cell.parts.values()].map((part) => part.ask('ready')));
    return cell;
  }

  /** Starts a member, or starts it again. @param {string} id */
  async up(id) {
    const part = new Part('durable-member.mjs', { args: [id] });
    this.parts.set(id, part);
    const { folder, secret, reach } = this;
    await part.ask('join', { ...reach, ...this.#settings, self: id, secret, dataDir: join(folder, id) });
  }

  /** As by `kill -9`. @param {string} id @param {boolean} isRobbed whether its directory is deleted */
  async kill(id, isRobbed = false) {
    await this.parts.get(id)?.kill();
    if (isRobbed) rmSync(join(this.folder, id), { recursive: true, force: true });
  }

  async stop() {
    await Promise.all([...this.parts.values()].map((part) => part.stop()));
    rmSync(this.folder, { recursive: true, force: true });
  }
}
