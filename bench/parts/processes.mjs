/**
 * Processes for benches that need real ones: start a script of this folder, put questions to it, stop it. A script
 * answers with `serve`. Whatever is started here ends with the process that started it.
 */
import { fork } from 'node:child_process';
import { createServer } from 'node:net';
import { loadavg } from 'node:os';
import { monitorEventLoopDelay, performance } from 'node:perf_hooks';
import { fileURLToPath } from 'node:url';

/** One started process; questions are answered in the order they were put. */
export class Part {
  #script;
  /** @type {import('node:child_process').ChildProcess} */
  #child;
  /** @type {{ resolve: (answer: any) => void, reject: (error: Error) => void }[]} */
  #asked = [];
  /** @type {Promise<void>} */
  #ended;
  #hasEnded = false;

  /**
   * @param {string} script its name in this folder
   * @param {{ profileDir?: string | undefined, args?: readonly string[], nodeArgs?: readonly string[], onNotice?: (notice: string) => void }} [options] `profileDir`: where its
   * CPU profile goes when it ends; `nodeArgs`: flags of Node; `onNotice`: is told what it says by itself
   */
  constructor(script, { profileDir, args = [], nodeArgs = [], onNotice = () => {} } = {}) {
    const execArgv =
      profileDir === undefined
        ? []
        : ['--cpu-prof', `--cpu-prof-dir=${profileDir}`, `--cpu-prof-name=${script}-${args.join('-')}.cpuprofile`];
    this.#script = script;
    this.#child = fork(fileURLToPath(new URL(script, import.meta.url)), [...args], { execArgv: [...nodeArgs, ...execArgv] });
    this.#child.on('message', (/** @type {{ answer?: any, error?: string, notice?: string }} */ { answer, error, notice }) => {
      if (notice !== undefined) {
        onNotice(notice);
        return;
      }
      const asked = this.#asked.shift();
      if (error === undefined) asked?.resolve(answer);
      else asked?.reject(new Error(`${script}: ${error}`));
    });
    this.#ended = new Promise((resolve) => {
      this.#child.once('exit', () => {
        this.#hasEnded = true;
        for (const { reject } of this.#asked.splice(0)) reject(new Error(`${script} ended`));
        resolve();
      });
    });
  }

  /**
   * @param {string} question
   * @param {object} [details]
   * @returns {Promise<any>}
   */
  ask(question, details = {}) {
    return new Promise((resolve, reject) => {
      if (this.#hasEnded) {
        reject(new Error(`${this.#script} ended`));
        return;
      }
      this.#asked.push({ resolve, reject });
      // A process that was just killed cannot be written to: its end, which is not known yet, rejects the question.
      this.#child.send({ question, details }, () => {});
    });
  }

  /** As by `kill -9`: it says goodbye to nobody. */
  kill() {
    this.#child.kill('SIGKILL');
    return this.#ended;
  }

  stop() {
    if (this.#child.connected) this.#child.disconnect();
    return this.#ended;
  }
}

/**
 * What a script does with the questions put to it.
 * @param {Record<string, (details: any) => unknown>} answers
 */
export function serve(answers) {
  /** @param {{ question: string, details: object }} message */
  const answer = async ({ question, details }) => {
    try {
      process.send?.({ answer: (await answers[question]?.(details)) ?? null });
    } catch (error) {
      process.send?.({ error: error instanceof Error ? (error.stack ?? error.message) : String(error) });
    }
  };
  process.on('message', (/** @type {{ question: string, details: object }} */ message) => void answer(message));
  process.on('disconnect', () => process.exit());
}

/** Something that nobody has asked for. @param {string} notice */
export function notify(notice) {
  process.send?.({ notice });
}

/** @param {number} count */
export async function freePorts(count) {
  const servers = await Promise.all(
    Array.from(
      { length: count },
      () =>
        /** @type {Promise<import('node:net').Server>} */ (
          new Promise((resolve) => {
            const server = createServer().listen(0, '127.0.0.1', () => resolve(server));
          })
        ),
    ),
  );
  const ports = servers.map((server) => /** @type {import('node:net').AddressInfo} */ (server.address()).port);
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return ports;
}

const IDS = ['a', 'b', 'c'];

/**
 * Three members, each a process of its own, their silence over; and what a client needs to reach them.
 * @param {{ maxTerm: number, rateError?: number, profileDir?: string | undefined }} options
 */
export async function startCell({ maxTerm, rateError, profileDir }) {
  const ports = await freePorts(IDS.length);
  const members = Object.fromEntries(IDS.map((id, i) => [id, `127.0.0.1:${ports[i]}`]));
  const reach = { cell: 'bench', members, clientSecret: 'a secret of all clients' };
  const parts = IDS.map((id) => new Part('member.mjs', { profileDir, args: [id] }));
  /** @param {number} i */
  const join = (i) => parts[i]?.ask('join', { ...reach, self: IDS[i], secret: 'a secret of members only', maxTerm, rateError });
  await Promise.all(parts.map((_, i) => join(i)));
  /** As by `kill -9`; started again at once, and answered for when it votes. @param {number} i */
  const restart = async (i) => {
    await parts[i]?.kill();
    parts[i] = new Part('member.mjs', { profileDir, args: IDS.slice(i, i + 1) });
    await join(i);
  };
  return { reach, parts, restart, stop: () => Promise.all(parts.map((part) => part.stop())) };
}

/** @param {readonly number[]} values @param {number} part from 0 to 1 */
export function quantile(values, part) {
  const sorted = Float64Array.from(values).sort();
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? NaN;
}

/** @param {readonly number[]} values */
export function median(values) {
  return quantile(values, 0.5);
}

/**
 * `atOnce` workers, each does one thing after the other: how many a second, and how long each takes.
 * @param {{ atOnce: number, seconds: number }} details
 * @param {() => Promise<unknown>} act
 */
export async function paceOf({ atOnce, seconds }, act) {
  /** @type {number[]} */
  const latencies = [];
  const began = performance.now();
  const until = began + seconds * 1000;
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      for (let now = performance.now(); now < until; now = performance.now()) {
        await act();
        latencies.push(performance.now() - now);
      }
    }),
  );
  const tookMs = performance.now() - began;
  return { perSecond: (latencies.length / tookMs) * 1000, p50Us: quantile(latencies, 0.5) * 1000, p99Us: quantile(latencies, 0.99) * 1000 };
}

/** How busy the machine was besides: figures of a busy machine are worth less. */
export function load() {
  return Math.round((loadavg()[0] ?? 0) * 10) / 10;
}

/** For how long this process stood still at most: a machine that is too busy, or that stopped it, is no failure of what is measured. */
export class Stalls {
  #delay = monitorEventLoopDelay({ resolution: 10 });

  constructor() {
    this.#delay.enable();
  }

  get longestMs() {
    return Math.round(this.#delay.max / 1e6);
  }

  /** Begins anew. */
  take() {
    const { longestMs } = this;
    this.#delay.reset();
    return longestMs;
  }
}

/**
 * By how much the wall clock went ahead of the monotonic one at most, at once: a machine that slept, was moved or was set. A holder stops when either clock says that its
 * lease is over, so leases that are lost while the wall clock leaps by a term tell of the machine.
 */
export class WallLeaps {
  static #LOOK_MS = 50;
  #largestMs = 0;

  constructor() {
    let [wallMs, monoMs] = [Date.now(), performance.now()];
    setInterval(() => {
      const [wall, mono] = [Date.now(), performance.now()];
      this.#largestMs = Math.max(this.#largestMs, wall - wallMs - (mono - monoMs));
      [wallMs, monoMs] = [wall, mono];
    }, WallLeaps.#LOOK_MS).unref();
  }

  get largestMs() {
    return Math.round(this.#largestMs);
  }
}
