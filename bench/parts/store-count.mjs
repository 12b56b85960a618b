/**
 * Several processes count in one plain file under a lease of a store, while they are killed at random and, if the store has a server, that is killed and
 * started again once; of a replicated store one unit is made unwritable for a while, and another wiped and repaired. The count must be exact, tokens must
 * rise, and no two processes may have worked at the same time.
 */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { connectForRepair } from '../../dist/store/by-url.js';
import { initParameters, openStore } from '../../dist/store/index.js';
import { spanUs } from '../../dist/kernel/index.js';
import { readCount, writeCount } from './count-file.mjs';
import { load, Part } from './processes.mjs';
import { startPostgres, startRedis } from './servers.mjs';
import { inOrder, overlapsOf, worksIn } from './works.mjs';

/** @typedef {{ store: string, plain: boolean, processes: number, times: number, termMs: number, deltaMs: number, kills: number }} Wanted */

/** Whoever is killed is killed so soon after it has asked, or has got what it asked for. */
const KILL_AFTER_MS_MAX = 12;
/** Which of both, by chance. */
const KILLED_ASKING = 0.25;
const RETRY_MS = 50;

/**
 * Where the store is, and the server behind it, if it has one.
 * @param {string} store @param {boolean} plain @param {string} folder
 */
async function placeOf(store, plain, folder) {
  if (store === 'postgres') {
    const server = await startPostgres();
    return { url: `postgres://postgres@127.0.0.1:${server.port}/postgres`, server };
  }
  if (store === 'redis') {
    // What is acknowledged may be lost for a second, as Redis is by default: the epoch is another after each start.
    const server = await startRedis(['--appendonly', 'yes']);
    return { url: `redis://127.0.0.1:${server.port}/0`, server };
  }
  if (store === 'replicated') return replicatedPlace(plain, folder);
  const directory = join(folder, 'store');
  mkdirSync(directory);
  return { url: `${pathToFileURL(directory).href}${plain ? '?swap=off' : ''}`, server: null };
}

/** How long a unit cannot be written to. */
const UNWRITABLE_MS = 1500;

/**
 * Three directories. What a server would go through, two of them do.
 * @param {boolean} plain @param {string} folder
 */
function replicatedPlace(plain, folder) {
  const units = ['unit-0', 'unit-1', 'unit-2'].map((name) => join(folder, name));
  for (const unit of units) mkdirSync(unit);
  const url = `replicated:?${units.map((unit) => `unit=${pathToFileURL(unit).href}${plain ? '?swap=off' : ''}`).join('&')}`;
  const [first = '', second = ''] = units;
  const trouble = {
    async restart() {
      // Nothing can be written where drafts have no place.
      renameSync(join(first, 'new'), join(first, 'new.away'));
      await sleep(UNWRITABLE_MS);
      renameSync(join(first, 'new.away'), join(first, 'new'));
      // Moved away, not deleted: processes make files there all the time, and a folder that fills again cannot be deleted.
      const wiped = join(folder, 'wiped');
      mkdirSync(wiped);
      for (const name of readdirSync(second)) renameSync(join(second, name), join(wiped, name));
      const store = await connectForRepair(url);
      try {
        await store.repair(`${pathToFileURL(second).href}${plain ? '?swap=off' : ''}`, { timeoutMs: 60_000 });
      } finally {
        await store.close();
      }
    },
    async stop() {},
  };
  return { url, server: trouble };
}

/** @param {Wanted} wanted */
export async function countOnStore({ store, plain, processes, times, termMs, deltaMs, kills: killsWanted }) {
  const parent = store.startsWith('file:') ? resolve(store.slice('file:'.length)) : tmpdir();
  if (!existsSync(parent)) mkdirSync(parent, { recursive: true });
  const folder = mkdtempSync(join(parent, 'tenure-counter-'));
  const { url, server } = await placeOf(store, plain, folder);
  try {
    await setUp(url, termMs, deltaMs);
    const run = new Counting({ url, folder, termMs, processes, expected: processes * times, killsWanted, server });
    const result = await run.result();
    return {
      store: store.replace(/:.*/, ''),
      path: plain || store === 'replicated' ? 'plain registers' : 'compare-and-set',
      processes,
      times,
      ...result,
    };
  } finally {
    await server?.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** @param {string} url @param {number} termMs @param {number} deltaMs */
async function setUp(url, termMs, deltaMs) {
  const store = await openStore(url, { create: 'init' });
  await initParameters(store, { maxTermUs: spanUs(termMs * 1000), deltaUs: spanUs(deltaMs * 1000) });
  await store.close();
}

/** @typedef {Awaited<ReturnType<typeof countOnStore>>} StoreCount */

/** @param {StoreCount} result */
export function isExact({ counted, expected, overlaps, tokensRise }) {
  return counted === expected && overlaps === 0 && tokensRise;
}

/** @param {StoreCount} result */
export function storeCountInWords(result) {
  const {
    store,
    path,
    processes,
    times,
    counted,
    expected,
    overlaps,
    tokensRise,
    kills,
    killedAtWork,
    serverRestarts,
    grants,
    seconds,
    loadAfter,
  } = result;
  const trouble =
    store === 'replicated' ? ', one unit unwritable for a while, another wiped and repaired' : ', the server killed and restarted';
  const server = serverRestarts > 0 ? trouble : '';
  return (
    `${store} (${path}), ${processes} processes x ${times} increments: counted ${counted} of ${expected}, overlaps=${overlaps}\n` +
    `tokens ${tokensRise ? 'rise' : 'DO NOT RISE'}; ${grants} grants, ${kills} processes killed (${killedAtWork} at work)${server}; ${seconds} s, load ${loadAfter}`
  );
}

class Counting {
  #options;
  #file;
  #next = 0;
  #lives = 0;
  #kills = 0;
  #retries = 0;
  #restarts = 0;
  /** When the process of a journal was killed. @type {Map<string, bigint>} */
  #deaths = new Map();
  /** Increments in whose course a process is killed. @type {Set<number>} */
  #doomed = new Set();
  /** @type {Promise<void>} */
  #restarting = Promise.resolve();

  /**
   * @param {{ url: string, folder: string, termMs: number, processes: number, expected: number, killsWanted: number,
   *   server: { restart: () => Promise<void> } | null }} options
   */
  constructor(options) {
    this.#options = options;
    this.#file = join(options.folder, 'count');
    writeCount(this.#file, 0, []);
    while (this.#doomed.size < Math.min(options.killsWanted, options.expected))
      this.#doomed.add(Math.floor(Math.random() * options.expected));
  }

  async result() {
    const { processes, expected } = this.#options;
    const startedMs = performance.now();
    await Promise.all(Array.from({ length: processes }, async () => await this.#lane()));
    await this.#restarting;
    const works = inOrder(this.#works());
    return {
      expected,
      counted: readCount(this.#file).count,
      overlaps: overlapsOf(works),
      tokensRise: works.every(({ token }, i) => token > (works[i - 1]?.token ?? 0)),
      grants: works.length,
      kills: this.#kills,
      killedAtWork: works.filter(({ isCut }) => isCut).length,
      serverRestarts: this.#restarts,
      retries: this.#retries,
      seconds: Math.round((performance.now() - startedMs) / 100) / 10,
      loadAfter: load(),
    };
  }

  /** One process after the other, each until it is killed. */
  async #lane() {
    /** @type {{ part: Part, journal: string, doom: { at: string } } | null} */
    let life = null;
    const { url, termMs, expected } = this.#options;
    for (let number = this.#next++; number < expected; number = this.#next++) {
      if (number === Math.floor(expected / 2)) this.#restarting = this.#restartServer();
      let isDoomed = this.#doomed.has(number);
      for (let isCounted = false; !isCounted;) {
        life ??= this.#begin();
        life.doom.at = isDoomed ? (Math.random() < KILLED_ASKING ? 'asks' : 'holds') : '';
        isDoomed = false;
        try {
          isCounted = await life.part.ask('count', { url, termMs, file: this.#file, journal: life.journal, id: String(number) });
        } catch {
          if (this.#deaths.has(life.journal)) life = null;
          isCounted = readCount(this.#file).ids.includes(String(number));
        }
        if (!isCounted) {
          this.#retries++;
          await sleep(RETRY_MS);
        }
      }
    }
    await life?.part.stop();
  }

  #begin() {
    const { folder } = this.#options;
    const journal = join(folder, `journal-${this.#lives++}`);
    const doom = { at: '' };
    const part = new Part('store-counter.mjs', {
      onNotice: (notice) => {
        if (notice !== doom.at) return;
        doom.at = '';
        setTimeout(() => this.#kill(part, journal), Math.random() * KILL_AFTER_MS_MAX);
      },
    });
    return { part, journal, doom };
  }

  /** @param {Part} part @param {string} journal */
  #kill(part, journal) {
    this.#kills++;
    this.#deaths.set(journal, process.hrtime.bigint());
    void part.kill();
  }

  async #restartServer() {
    const { server } = this.#options;
    if (server === null) return;
    await server.restart();
    this.#restarts++;
  }

  #works() {
    const { folder } = this.#options;
    const journals = readdirSync(folder).filter((name) => name.startsWith('journal-'));
    return journals.flatMap((name) => worksIn(readFileSync(join(folder, name), 'utf8'), this.#deaths.get(join(folder, name)) ?? null));
  }
}
