/**
 * What a live lease costs in the whole core, not only in its tables: in one process, ten million leases are accepted
 * by an acceptor (`acceptor`), or acquired, kept, accepted and learned by one node that has every role (`all-roles`:
 * a cell of one member that watches everything). Started by `bench/memory.mjs`. Prints one line of JSON. The engine is the quorum engine
 * or, as a third argument, one as `parseEngine` reads it.
 */
import { encodeName } from '../dist/kernel/index.js';
import { makeEngine, parseEngine } from '../dist/api/engine-options.js';
import { PROPOSE, QuorumCore, QuorumMessage, RoundCore, roundKinds, RoundMessage } from '../dist/core/index.js';

const scenario = process.argv[2] ?? 'acceptor';
const count = Number(process.argv[3] ?? 10_000_000);
const engineText = process.argv[4] ?? 'quorum';
const { gc } = globalThis;
if (gc === undefined || !['acceptor', 'all-roles'].includes(scenario) || !(count > 0)) {
  process.stderr.write('usage: node --expose-gc bench/core-memory.mjs acceptor|all-roles [COUNT [ENGINE]]\n');
  process.exit(64);
}

const WALL_US = 1_800_000_000_000_000;
const TERM_US = 3_600_000_000;
const { name: engine, timing } = makeEngine(parseEngine(engineText), { maxTermUs: TERM_US, rateErrorPpm: 1000 });
const boot = /** @type {any} */ ({ self: 0, incarnation: 7, restarted: false, diskKept: false });
const isQuorum = engine === 'quorum';
/** @type {any} */
const core = isQuorum
  ? new QuorumCore({ memberKeys: [1], timing }, boot)
  : new RoundCore(/** @type {any} */ ({ engine, algorithm: 4, memberKeys: [1], timing }), boot);
const Message = isQuorum ? QuorumMessage : RoundMessage;

/** Messages to oneself wait here; the record is copied, as an outbox must. @type {(QuorumMessage | RoundMessage)[]} */
const inbox = [];
let granted = 0;
let learned = 0;
let votes = 0;
const step = {
  monoUs: 1_000_000,
  wallUs: WALL_US,
  choose: () => 0,
  /** @param {number} _to @param {QuorumMessage | RoundMessage} message */
  send(_to, message) {
    if (scenario !== 'acceptor') inbox.push(Object.assign(new Message(), message));
    else if (isQuorum || message.kind === roundKinds.ACK_WRITE) votes++;
  },
  read() {},
  write() {},
  swap() {},
  erase() {},
  list() {},
  /** @param {{ kind: string }} event */
  emit(event) {
    if (event.kind === 'granted') granted++;
    if (event.kind === 'learned') learned++;
  },
};

function settleInbox() {
  for (let message = inbox.shift(); message; message = inbox.shift()) core.receive(0, message, step);
}

/** @param {number} number */
const nameOf = (number) => encodeName(`lease/${String(number).padStart(10, '0')}`);

// Flease has no learners.
const isLearned = scenario === 'all-roles' && engine !== 'flease';
if (isLearned) {
  core.command({ kind: 'watch', prefix: new Uint8Array(0) }, step);
  settleInbox();
}
const proposal = new QuorumMessage();
proposal.kind = PROPOSE;
proposal.owner = 9;
proposal.termUs = TERM_US;
const asked = new RoundMessage();
asked.owner = /** @type {any} */ (9);

/** A proposal of another node's, as its engine makes it. @param {number} lease */
function propose(lease) {
  const name = nameOf(lease);
  if (isQuorum) {
    proposal.lease = lease;
    proposal.ballot = step.wallUs;
    proposal.token = proposal.ballot;
    proposal.setName(name, 0, name.length);
    core.receive(0, proposal, step);
    return;
  }
  asked.lease = lease;
  asked.ballot = /** @type {any} */ (step.wallUs);
  asked.clockUs = step.wallUs;
  asked.setName(name, 0, name.length);
  asked.kind = roundKinds.READ;
  asked.setMeta(undefined);
  core.receive(0, asked, step);
  asked.kind = roundKinds.WRITE;
  const untilUs = engineText.includes('relative') ? TERM_US : step.wallUs + TERM_US;
  asked.setValue(
    /** @type {any} */ ({ holder: 9, holderLease: lease, token: step.wallUs, untilUs, ownBallot: step.wallUs, meta: undefined }),
  );
  core.receive(0, asked, step);
}

async function residentBytes() {
  for (let i = 0; i < 3; i++) {
    gc?.();
    await new Promise((resolve) => {
      setTimeout(resolve, 100);
    });
  }
  return process.memoryUsage.rss();
}

const before = await residentBytes();
for (let number = 0; number < count; number++) {
  // Time goes by, ten microseconds a lease, and the core is woken when it asks for it.
  step.monoUs = 1_000_000 + number * 10;
  step.wallUs = WALL_US + number * 10;
  if (core.wakeAt <= step.monoUs) core.wake(step);
  if (scenario === 'acceptor') {
    propose(number);
  } else {
    core.command({ kind: 'acquire', lease: number, name: nameOf(number), termUs: TERM_US, waitUs: 0, keep: true }, step);
    settleInbox();
  }
}
const after = await residentBytes();
const isWhole = scenario === 'acceptor' ? votes === count : granted === count && learned === (isLearned ? count : 0);
if (!isWhole) throw new Error(`only ${votes} votes, ${granted} grants, ${learned} learned of ${count}`);
// The core must still be in use here, or it would have been collected.
process.stdout.write(`${JSON.stringify({ bytesPerLease: (after - before) / count, wakeAt: core.wakeAt })}\n`);
