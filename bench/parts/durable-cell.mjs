/** Members with data directories, unless told otherwise, each a process of its own: killed, brought back, and robbed of its directory. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePorts, Part } from './processes.mjs';

const IDS = ['a', 'b', 'c', 'd', 'e'];

/**
 * @typedef {{ maxTerm: number, keepVotes?: boolean, count?: number, inMemory?: boolean, history?: string, profileDir?: string | undefined, nodeArgs?: readonly string[] }} Settings `count`: so many members, 3;
 * `inMemory`: they have no data directories; `history`: where their histories are to be, below the folder of the cell; `profileDir`: where CPU profiles of the members go; `nodeArgs`: flags of Node
 */

export class DurableCell {
  /** What a client needs to reach it. @type {{ cell: string, members: Record<string, string>, clientSecret: string }} */
  reach = { cell: 'bench', members: {}, clientSecret: 'a secret of all clients' };
  folder = mkdtempSync(join(tmpdir(), 'tenure-durable-'));
  secret = 'a secret of members only';
  /** @type {Map<string, Part>} */
  parts = new Map();
  ids;
  #settings;

  /** @param {Settings} settings */
  constructor(settings) {
    this.#settings = settings;
    this.ids = IDS.slice(0, settings.count ?? 3);
  }

  /** All members are up, and vote. @param {Settings} settings */
  static async start(settings) {
    const cell = new DurableCell(settings);
    const ports = await freePorts(cell.ids.length);
    for (const [i, id] of cell.ids.entries()) cell.reach.members[id] = `127.0.0.1:${ports[i]}`;
    await Promise.all(cell.ids.map((id) => cell.up(id)));
    await Promise.all([...cell.parts.values()].map((part) => part.ask('ready')));
    return cell;
  }

  /** Starts a member, or starts it again. @param {string} id */
  async up(id) {
    const { folder, secret, reach } = this;
    const { maxTerm, keepVotes = false, inMemory = false, history, profileDir, nodeArgs = [] } = this.#settings;
    const part = new Part('durable-member.mjs', { args: [id], profileDir, nodeArgs });
    this.parts.set(id, part);
    const kept = inMemory ? {} : { dataDir: join(folder, id), keepVotes };
    await part.ask('join', {
      ...reach,
      maxTerm,
      self: id,
      secret,
      ...kept,
      ...(history === undefined ? {} : { history: join(folder, history, '/') }),
    });
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
