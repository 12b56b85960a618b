/**
 * What a live lease costs in the whole core, not only in its tables: in one process, ten million leases are accepted
 * by an acceptor (`acceptor`), or acquired, kept, accepted and learned by one node that has every role (`all-roles`:
 * a cell of one member that watches everything). Started by `bench/memory.mjs`. Prints one line of JSON.
 */
import { encodeName } from '../dist/kernel/index.js';
import { deriveTiming, PROPOSE, QuorumCore, QuorumMessage } from '../dist/core/index.js';

const scenario = process.argv[2] ?? 'acceptor';
const count = Number(process.argv[3] ?? 10_000_000);
const { gc } = globalThis;
if (gc === undefined || !['acceptor', 'all-roles'].includes(scenario) || !(count > 0)) {
  process.stderr.write('usage: node --expose-gc bench/core-memory.mjs acceptor|all-roles [COUNT]\n');
  process.exit(64);
}

const WALL_US = 1_800_000_000_000_000;
const TERM_US = 3_600_000_000;
const timing = deriveTiming({ maxTermUs: TERM_US, rateErrorPpm: 1000, rttUs: 1000 });
const core = new QuorumCore({ memberKeys: [1], timing }, { self: 0, incarnation: 7, restarted: false, diskKept: false });

/** Messages to oneself wait here; the record is copied, as an outbox must. @type {QuorumMessage[]} */
const inbox = [];
let granted = 0;
let learned = 0;
let votes = 0;
const step = {
  monoUs: 1_000_000,
  wallUs: WALL_US,
  choose: () => 0,
  /** @param {number} _to @param {QuorumMessage} message */
  send(_to, message) {
    if (scenario === 'acceptor') votes++;
    else inbox.push(Object.assign(new QuorumMessage(), message));
  },
  read() {},
  write() {},
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

if (scenario === 'all-roles') {
  core.command({ kind: 'watch', prefix: new Uint8Array(0) }, step);
  settleInbox();
}
const proposal = new QuorumMessage();
proposal.kind = PROPOSE;
proposal.owner = 9;
proposal.termUs = TERM_US;

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
    const name = nameOf(number);
    proposal.lease = number;
    proposal.ballot = step.wallUs;
    proposal.token = proposal.ballot;
    proposal.setName(name, 0, name.length);
    core.receive(0, proposal, step);
  } else {
    core.command({ kind: 'acquire', lease: number, name: nameOf(number), termUs: TERM_US, waitUs: 0, keep: true }, step);
    settleInbox();
  }
}
const after = await residentBytes();
const isWhole = scenario === 'acceptor' ? votes === count : granted === count && learned === count;
if (!isWhole) throw new Error(`only ${votes} votes, ${granted} grants, ${learned} learned of ${count}`);
// The core must still be in use here, or it would have been collected.
process.stdout.write(`${JSON.stringify({ bytesPerLease: (after - before) / count, wakeAt: core.wakeAt })}\n`);
