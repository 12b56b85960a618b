/** One turn of `bench/turns.mjs`: what the subject takes with the build of one tree, in processor time. Trees of earlier commits are measured, too. */
import { freePorts } from './processes.mjs';

const [tree = '', subject = ''] = process.argv.slice(2);
/** @type {(layer: string) => Promise<any>} */
const layer = (name) => import(`${tree}/dist/${name}/index.js`);
const WALL_US = 1_800_000_000_000_000;

/**
 * The best of some passes, in microseconds a piece.
 * @param {number} passes
 * @param {() => Promise<number> | number} pass says how many pieces it did
 */
async function best(passes, pass) {
  let bestUs = Infinity;
  for (let i = 0; i < passes; i++) {
    const before = process.cpuUsage();
    const pieces = await pass();
    const { user, system } = process.cpuUsage(before);
    bestUs = Math.min(bestUs, (user + system) / pieces);
  }
  return bestUs;
}

async function cell() {
  const { connect, joinCell } = await layer('api');
  const ports = await freePorts(3);
  const ids = ['a', 'b', 'c'];
  const members = Object.fromEntries(ids.map((id, i) => [id, `127.0.0.1:${ports[i]}`]));
  const reach = { cell: 'bench', members, clientSecret: 'a secret of all clients' };
  const cells = await Promise.all(ids.map((self) => joinCell({ ...reach, self, secret: 'a secret of members only', maxTerm: 2000 })));
  await Promise.all(cells.map((one) => one.ready()));
  const client = await connect(reach);
  await client.ready();
  return best(10, async () => {
    let left = 10_000;
    const work = async (/** @type {unknown} */ _, /** @type {number} */ worker) => {
      while (left-- > 0) await (await client.acquire(`bench/worker-${worker}`)).release();
    };
    await Promise.all(Array.from({ length: 64 }, work));
    return 10_000;
  });
}

/** @param {boolean} renews */
async function acceptor(renews) {
  const { deriveTiming, PROPOSE, QuorumCore, QuorumMessage, RENEWS } = await layer('core');
  const { ByteReader, ByteWriter, quorumCodec } = await layer('wire');
  const NAMES = 20_000;
  const [codec, message, reader, answer] = [quorumCodec(), new QuorumMessage(), new ByteReader(), new ByteWriter()];
  const names = Array.from({ length: NAMES }, (_, i) => new TextEncoder().encode(`job/${String(i).padStart(12, '0')}`));
  const nothing = () => {};
  const step = { monoUs: 1_000_000, wallUs: WALL_US, choose: () => 0, send, read: nothing, write: nothing, emit: nothing };
  function send(/** @type {number} */ _to, /** @type {unknown} */ reply) {
    answer.reset();
    codec.encode(reply, answer);
  }
  const newCore = () =>
    new QuorumCore(
      { memberKeys: [1, 2, 3], timing: deriveTiming({ maxTermUs: 15_000_000, rateErrorPpm: 1000, rttUs: 2000 }) },
      { self: 0, incarnation: 77, restarted: false, diskKept: false },
    );
  let core = newCore();
  let later = 0;
  /** @type {number[]} */
  const ends = [];
  const frames = new ByteWriter(1 << 20);
  function prepare() {
    frames.reset();
    ends.length = 0;
    for (const [i, name] of names.entries()) {
      Object.assign(message, { kind: PROPOSE, owner: 9001, lease: i, ballot: WALL_US + later + 2 * i, token: WALL_US + 2 * i });
      Object.assign(message, { termUs: 15_000_000, flags: renews && later > 0 ? RENEWS : 0 });
      message.setName(name, 0, name.length);
      message.setMeta(undefined);
      codec.encode(message, frames);
      ends.push(frames.length);
    }
  }
  function decide() {
    let start = 0;
    for (const end of ends) {
      reader.reset(frames.bytes, start, end);
      start = end;
      step.monoUs++;
      step.wallUs++;
      core.receive(5, codec.decode(reader), step);
    }
    return NAMES / 1000;
  }
  prepare();
  decide();
  let leastNs = Infinity;
  for (let pass = 0; pass < 60; pass++) {
    if (renews) later += 4 * NAMES;
    else core = newCore();
    prepare();
    leastNs = Math.min(leastNs, await best(1, decide));
  }
  return leastNs;
}

/** Before there were kits they had another name. @param {string} protocol */
async function simulationOf(protocol) {
  const { kits, simulations } = await layer('sim');
  return (kits ?? simulations).find((/** @type {{ name: string }} */ { name }) => name === protocol);
}

/** @param {string} protocol @param {number} worlds */
async function sim(protocol, worlds) {
  const { runChunk } = await layer('sim');
  const simulation = await simulationOf(protocol);
  return best(5, () => runChunk(simulation, null, 1, 0, worlds, false).events);
}

async function explore() {
  const { explorings } = await layer('sim');
  const exploring =
    explorings?.find((/** @type {{ protocol: string }} */ { protocol }) => protocol === 'quorum') ??
    (await simulationOf('quorum')).exploring;
  const bounds = { ...(exploring.usual ?? exploring.bounds), crashes: 0, renewals: 0, instants: 1 };
  return best(5, () => exploring.explore(bounds, null, { maxStates: Infinity, isOver: () => false }).states);
}

/** @type {Record<string, () => Promise<number>>} */
const SUBJECTS = {
  cell,
  renewals: () => acceptor(true),
  new: () => acceptor(false),
  sim: () => sim('quorum', 20),
  toy: () => sim('toy', 400),
  explore,
};
const took = await SUBJECTS[subject]?.();
if (took === undefined) process.exit(64);
process.send?.(took, () => process.exit());
