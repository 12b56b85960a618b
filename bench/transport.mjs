/**
 * A quorum round among three processes: one sends 32 bytes to the two others, which echo them, and counts the
 * first echo (itself is the other vote). Over the TCP transport, and over bare sockets of `net` that batch the
 * same way, in one run: `node bench/transport.mjs [--json] [--seconds N] [--reps N]`. Compare the two columns;
 * the numbers themselves are this machine's.
 */
import { fork } from 'node:child_process';
import { connect, createServer } from 'node:net';
import { availableParallelism, cpus } from 'node:os';
import { performance } from 'node:perf_hooks';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { Identity, TcpTransport } from '../dist/transport/index.js';

const BYTES = 32;
const SECRETS = { member: 'a secret for the benchmark only' };
const CONFIG = { engine: 'quorum', maxTermUs: 10_000_000, rateErrorPpm: 1000, replication: 3, view: 1 };

const { values } = parseArgs({
  options: {
    json: { type: 'boolean', default: false },
    seconds: { type: 'string', default: '1' },
    reps: { type: 'string', default: '3' },
    child: { type: 'string' },
    ports: { type: 'string', default: '' },
  },
});
const [seconds, reps] = [Number(values.seconds), Number(values.reps)];
if (!(seconds > 0) || !Number.isInteger(reps) || reps < 1) {
  process.stderr.write('usage: node bench/transport.mjs [--json] [--seconds N] [--reps N]\n');
  process.exit(64);
}

/** @param {string} id @param {readonly number[]} ports */
function member(id, ports) {
  const members = ['a', 'b', 'c'].map((one, index) => ({ id: one, address: `127.0.0.1:${ports[index]}` }));
  return new TcpTransport({ cell: 'bench', role: 'member', id, identity: new Identity(), members, config: CONFIG, secrets: SECRETS });
}

if (values.child !== undefined) await echo(values.child, values.ports.split(',').map(Number));
else await compare();

/** A child: echoes over the transport, and over a bare socket on a port of its own. @param {string} id @param {number[]} ports */
async function echo(id, ports) {
  const transport = member(id, ports);
  await transport.open({
    up() {},
    down() {},
    refused: (who, error) => process.stderr.write(`${who}: ${error.message}\n`),
    message(peer, _service, bytes, start, end) {
      const out = transport.begin(peer);
      if (out === null) return;
      out.raw(bytes, start, end);
      transport.end(peer);
    },
  });
  const bare = createServer((socket) => {
    socket.setNoDelay(true);
    socket.on('error', () => {});
    socket.on('data', (chunk) => socket.write(chunk));
  });
  bare.listen(0, '127.0.0.1', () => {
    const address = bare.address();
    process.send?.(typeof address === 'object' ? address?.port : 0);
  });
  process.once('disconnect', () => process.exit(0));
}

/**
 * Rounds with `outstanding` of them under way at once, for a while.
 * @param {{ send(round: number): void, listen(onEcho: (round: number) => void): void }} network
 * @param {number} outstanding
 */
async function measure(network, outstanding) {
  const current = new Uint32Array(outstanding);
  /** @type {number[]} */
  const took = [];
  /** @type {() => void} */
  let drained = () => {};
  let [rounds, open, running, startedMs] = [0, outstanding, true, 0];
  /** A slot's rounds are its number and multiples of the slots beyond it, so late echoes are told apart. @param {number} round */
  const begin = (round) => {
    current[round % outstanding] = round;
    if (outstanding === 1) startedMs = performance.now();
    network.send(round);
  };
  network.listen((round) => {
    const slot = round % outstanding;
    // The second echo of a round that is done.
    if (current[slot] !== round) return;
    rounds++;
    if (outstanding === 1) took.push(performance.now() - startedMs);
    if (running) begin((round + outstanding) % (outstanding * 1_000_000));
    else {
      current[slot] = 0xffffffff;
      if (--open === 0) drained();
    }
  });
  for (let slot = 0; slot < outstanding; slot++) begin(slot);
  // The compiler's warm-up is not what is measured.
  await new Promise((resolve) => setTimeout(resolve, 300));
  took.length = 0;
  const [roundsBefore, beganMs] = [rounds, performance.now()];
  await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
  const perSecond = Math.round((rounds - roundsBefore) / ((performance.now() - beganMs) / 1000));
  took.sort((a, b) => a - b);
  const p50Us = outstanding === 1 ? Math.round((took[Math.floor(took.length / 2)] ?? 0) * 10_000) / 10 : null;
  const end = new Promise((resolve) => (drained = () => resolve(undefined)));
  running = false;
  await end;
  return { perSecond, p50Us };
}

async function compare() {
  const ports = Array.from({ length: 3 }, (_, index) => 12_000 + ((process.pid * 7 + index * 101) % 18_000));
  const children = ['b', 'c'].map((id) => fork(fileURLToPath(import.meta.url), ['--child', id, '--ports', ports.join(',')]));
  const barePorts = await Promise.all(
    children.map((child) => new Promise((resolve) => child.once('message', (port) => resolve(Number(port))))),
  );

  /** @type {(round: number) => void} */
  let onEcho = () => {};
  const transport = member('a', ports);
  let ups = 0;
  await new Promise((resolve, reject) => {
    transport
      .open({
        up: () => ++ups === 2 && resolve(undefined),
        down() {},
        refused: (_who, error) => reject(error),
        message: (_peer, _service, bytes, start) => onEcho(readRound(bytes, start)),
      })
      .catch(reject);
  });
  const padding = new Uint8Array(BYTES - 4);
  const overTransport = {
    /** @param {number} round */
    send(round) {
      for (let peer = 1; peer <= 2; peer++) {
        const to = /** @type {never} */ (peer);
        const out = transport.begin(to);
        if (out === null) continue;
        out.u32(round);
        out.raw(padding, 0, padding.length);
        transport.end(to);
      }
    },
    /** @param {(round: number) => void} handler */
    listen: (handler) => void (onEcho = handler),
  };

  const bare = await bareNetwork(barePorts);
  /** @type {{ outstanding: number, transport: number, bare: number, ratio: number, transportP50Us: number | null, bareP50Us: number | null }[]} */
  const results = [];
  for (const outstanding of [1, 64, 1024]) {
    /** @type {{ perSecond: number, p50Us: number | null }[][]} */
    const [ours, theirs] = [[], []];
    for (let rep = 0; rep < reps; rep++) {
      ours?.push(await measure(overTransport, outstanding));
      theirs?.push(await measure(bare, outstanding));
    }
    const [a, b] = [median(ours ?? []), median(theirs ?? [])];
    const ratio = Math.round((a.perSecond / b.perSecond) * 100) / 100;
    results.push({ outstanding, transport: a.perSecond, bare: b.perSecond, ratio, transportP50Us: a.p50Us, bareP50Us: b.p50Us });
  }
  if (values.json) {
    const machine = { node: process.version, cpu: cpus()[0]?.model ?? 'unknown', cores: availableParallelism() };
    process.stdout.write(`${JSON.stringify({ ...machine, seconds, reps, roundsPerSecond: results })}\n`);
  } else {
    process.stdout.write(`quorum rounds a second among three processes, ${BYTES} bytes; median of ${reps}\n`);
    process.stdout.write('at once   transport        bare   ratio   p50 transport / bare\n');
    for (const { outstanding, transport: ours, bare: theirs, ratio, transportP50Us, bareP50Us } of results) {
      const figures = [ours, theirs].map((rate) => rate.toLocaleString('en-US').padStart(11)).join(' ');
      const p50 = transportP50Us === null ? '' : `   ${transportP50Us} µs / ${bareP50Us} µs`;
      process.stdout.write(`${String(outstanding).padStart(7)} ${figures} ${ratio.toFixed(2).padStart(7)}${p50}\n`);
    }
  }
  for (const child of children) child.disconnect();
  await transport.close();
  process.exit(0);
}

/** @param {{ perSecond: number, p50Us: number | null }[]} runs */
function median(runs) {
  return runs.sort((a, b) => a.perSecond - b.perSecond)[Math.floor(runs.length / 2)] ?? { perSecond: 0, p50Us: null };
}

/** @param {Uint8Array} bytes @param {number} at */
function readRound(bytes, at) {
  return (bytes[at] | (bytes[at + 1] << 8) | (bytes[at + 2] << 16) | (bytes[at + 3] << 24)) >>> 0;
}

/** The same over bare sockets: messages of a fixed size, those of one turn in one write. @param {readonly unknown[]} ports */
async function bareNetwork(ports) {
  /** @type {(round: number) => void} */
  let onEcho = () => {};
  const pending = Buffer.alloc(BYTES * 8192);
  let length = 0;
  /** @param {unknown} port @returns {Promise<import('node:net').Socket>} */
  const dial = (port) =>
    new Promise((resolve) => {
      const socket = connect(Number(port), '127.0.0.1', () => resolve(socket));
      socket.setNoDelay(true);
      let rest = Buffer.alloc(0);
      socket.on('data', (chunk) => {
        const all = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
        let at = 0;
        for (; at + BYTES <= all.length; at += BYTES) onEcho(readRound(all, at));
        rest = all.subarray(at);
      });
    });
  const sockets = await Promise.all(ports.map(dial));
  const flush = () => {
    const batch = Buffer.from(pending.subarray(0, length));
    length = 0;
    for (const socket of sockets) socket.write(batch);
  };
  return {
    /** @param {number} round */
    send(round) {
      if (length === 0) setImmediate(flush);
      pending.writeUInt32LE(round, length);
      length += BYTES;
    },
    /** @param {(round: number) => void} handler */
    listen: (handler) => void (onEcho = handler),
  };
}
