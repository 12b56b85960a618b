/**
 * The replicated store of `examples/replicated-kv`, as three processes: a master that is killed loses no acknowledged
 * write, and one that stood still while another took over writes nothing any more.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { parseEngine } from '../../src/api/index.ts';
import { freePorts } from '../api/real-cell.ts';
import { projectWith, removeProjects } from '../support/project.ts';
import { ROOT } from '../support/tree.ts';

const FOLDER = join(ROOT, 'examples', 'replicated-kv');
const IDS = ['a', 'b', 'c'];

let project = '';
beforeAll(() => {
  project = projectWith(Object.fromEntries(readdirSync(FOLDER).map((file) => [file, readFileSync(join(FOLDER, file), 'utf8')])));
}, 60_000);
afterAll(removeProjects);

interface Master {
  readonly id: string;
  readonly token: number;
}

class Store {
  readonly #stores: Readonly<Record<string, string>>;
  readonly #children = new Map<string, ChildProcess>();
  readonly #masters: Master[] = [];
  readonly #news = new EventEmitter<{ news: [] }>();

  constructor(engine: string, ports: readonly number[]) {
    const at = (from: number): Record<string, string> => Object.fromEntries(IDS.map((id, i) => [id, `127.0.0.1:${ports[from + i]}`]));
    this.#stores = at(IDS.length);
    const options = { cell: 'store', members: at(0), maxTerm: '2s', engine: parseEngine(engine), stores: this.#stores };
    for (const self of IDS) {
      const child = spawn(process.execPath, [join(project, 'node.js'), JSON.stringify({ ...options, self })], {
        stdio: ['ignore', 'pipe', 'ignore'],
      });
      createInterface({ input: child.stdout }).on('line', (line) => {
        const [word, token] = line.split(' ');
        if (word === 'master') this.#masters.push({ id: self, token: Number(token) });
        this.#news.emit('news');
      });
      this.#children.set(self, child);
    }
  }

  signal(id: string, signal: NodeJS.Signals): void {
    this.#children.get(id)?.kill(signal);
  }

  close(): void {
    for (const id of IDS) this.signal(id, 'SIGKILL');
  }

  /** The first master with a higher token. */
  async master(above: number): Promise<Master> {
    for (;;) {
      const found = this.#masters.find(({ token }) => token > above);
      if (found) return found;
      await once(this.#news, 'news');
    }
  }

  async call(id: string, body: object): Promise<{ status: number; answer: unknown }> {
    const response = await fetch(`http://${this.#stores[id]}`, { method: 'POST', body: JSON.stringify(body) });
    return { status: response.status, answer: await response.json() };
  }

  /** Writes until it is told not to, and gives what was acknowledged. */
  async writeAll(id: string, keys: readonly string[]): Promise<string[]> {
    const acknowledged: string[] = [];
    for (const key of keys) {
      const { status } = await this.call(id, { act: 'set', key, value: `value of ${key}` }).catch(() => ({ status: 0 }));
      if (status === 200) acknowledged.push(key);
    }
    return acknowledged;
  }

  /** The keys that are not there, or not as they were written. */
  async missing(id: string, keys: readonly string[]): Promise<string[]> {
    const missing: string[] = [];
    for (const key of keys) {
      const { answer } = await this.call(id, { act: 'get', key });
      if ((answer as { value?: unknown }).value !== `value of ${key}`) missing.push(key);
    }
    return missing;
  }
}

describe.each(['quorum', 'flease:4,skew=300ms', 'paxoslease:relative'])('F9 a replicated store with %s', { timeout: 60_000 }, (engine) => {
  async function started(): Promise<[Store, Master]> {
    const store = new Store(engine, await freePorts(2 * IDS.length));
    onTestFinished(() => store.close());
    return [store, await store.master(0)];
  }

  it('loses no acknowledged write when its master is killed', async () => {
    const [store, first] = await started();
    const keys = Array.from({ length: 200 }, (_, i) => `key ${i}`);
    const early = await store.writeAll(first.id, keys.slice(0, 50));
    expect(early).not.toEqual([]);
    const writing = store.writeAll(first.id, keys.slice(50));
    store.signal(first.id, 'SIGKILL');
    const late = await writing;
    const second = await store.master(first.token);
    expect(second.id).not.toBe(first.id);
    expect(await store.missing(second.id, [...early, ...late])).toEqual([]);
    expect(await store.writeAll(second.id, ['one more'])).toEqual(['one more']);
  });

  it('takes no write of a master that stood still while another took over', async () => {
    const [store, first] = await started();
    await store.writeAll(first.id, ['before']);
    store.signal(first.id, 'SIGSTOP');
    const second = await store.master(first.token);
    await store.writeAll(second.id, ['after']);
    // What the old one had on its tongue: the others refuse it, whatever its own replica says.
    const entry = { value: 'stale', token: first.token, version: 1000 };
    for (const id of IDS.filter((one) => one !== first.id)) {
      expect(await store.call(id, { act: 'write', key: 'after', entry, token: first.token })).toEqual({ status: 200, answer: false });
    }
    store.signal(first.id, 'SIGCONT');
    const { status } = await store.call(first.id, { act: 'set', key: 'after', value: 'stale' });
    expect(status).not.toBe(200);
    expect(await store.missing(second.id, ['before', 'after'])).toEqual([]);
  });
});
