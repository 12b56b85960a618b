/**
 * This tree by turns with another one, in processor time, which other work on the machine hardly changes: `npm run bench:turns -- OTHER`,
 * where OTHER is a worktree of an earlier commit that was built. Each turn is a process of its own, the best of its passes counts, and the
 * best of the turns is told. `--turns N` other than 5, `--only cell,renewals,new,sim,toy,explore`, `--json`.
 */
import { fork } from 'node:child_process';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const WORK = fileURLToPath(new URL('parts/turn.mjs', import.meta.url));
const OWN = fileURLToPath(new URL('..', import.meta.url));
/** What is measured, and what of. */
const SUBJECTS = {
  cell: 'us for acquire and release, 64 at once: a client and three members in one process, over TCP',
  renewals: 'ns for a renewal at one acceptor: decoded, decided, answered',
  new: 'ns for a new lease at one acceptor',
  sim: 'us for an event of a simulated world of the quorum engine; the worlds of two versions may differ',
  toy: 'us for an event of a simulated world of the toy protocol: the simulator itself',
  explore: 'us for a state of a small world of the quorum engine',
};

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    turns: { type: 'string', default: '5' },
    only: { type: 'string', default: Object.keys(SUBJECTS).join() },
    json: { type: 'boolean', default: false },
  },
});
const [other] = positionals;
const turns = Number(values.turns);
const subjects = Object.entries(SUBJECTS).filter(([name]) => values.only.split(',').includes(name));
if (other === undefined || subjects.length === 0 || !Number.isInteger(turns) || turns < 1) {
  process.stderr.write(`usage: node bench/turns.mjs OTHER_TREE [--turns N] [--only ${Object.keys(SUBJECTS).join()}] [--json]\n`);
  process.exit(64);
}

/** What one turn took. @param {string} tree @param {string} subject @returns {Promise<number>} */
function turn(tree, subject) {
  return new Promise((done, failed) => {
    const child = fork(WORK, [tree, subject]);
    child.once('message', (took) => done(Number(took)));
    child.once('exit', (code) => failed(new Error(`a turn of ${subject} in ${tree} ended with ${code}`)));
  });
}

const rows = [];
for (const [subject, title] of subjects) {
  const [own, others] = [Infinity, Infinity];
  const row = { subject, title, own, other: others };
  for (let i = 0; i < turns; i++) {
    row.other = Math.min(row.other, await turn(resolve(other), subject));
    row.own = Math.min(row.own, await turn(OWN, subject));
  }
  rows.push(row);
}
if (values.json) process.stdout.write(`${JSON.stringify({ node: process.version, turns, rows }, null, 2)}\n`);
else {
  for (const { title, own, other: before } of rows) {
    process.stdout.write(`${before.toFixed(1).padStart(8)} ${own.toFixed(1).padStart(8)}  ${(own / before).toFixed(2)}  ${title}\n`);
  }
  process.stdout.write(`the other tree, this one, and how many times as much; processor time, best of ${turns} turns\n`);
}
