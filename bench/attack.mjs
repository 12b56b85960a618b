/**
 * `npm run attack`: every attack of `bench/attacks` against a cell of three real members over TCP, and an honest client beside it. The
 * honest client loses nothing, its acquires take at most three times as long at p99 as in the same run before the attack, all
 * members vote when it is over, and the attacker is told where it crosses a limit. Names of attacks run only these; `--seconds S`, `--json`; `--short` runs each at a size
 * and for a time that tests can afford, and judges no times. Exit 1 if any of it does not hold.
 */
import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { measureBeside } from './parts/beside.mjs';
import { load, Part } from './parts/processes.mjs';

/**
 * @typedef {object} Attack
 * @property {string | null} answer what the members must have said to it; null if nothing is refused
 * @property {(attacker: Part, cell: { reach: object, maxTerm: number }, isShort: boolean) => Promise<void>} begin resolves when the attack stands
 */

const MAX_TERM_MS = 15_000;
/** Members that start keep silent for longer than that. */
const SHORT_TERM_MS = 8000;
const MEMBERS = 3;
const TIMES_MAX = 3;
/** Below this, three times as long is no harm. */
const HARMLESS_MS = 5;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    json: { type: 'boolean', default: false },
    short: { type: 'boolean', default: false },
    seconds: { type: 'string', default: '10' },
  },
});
const folder = new URL('attacks/', import.meta.url);
const all = readdirSync(folder).map((file) => file.replace(/\.mjs$/, ''));
const unknown = positionals.filter((name) => !all.includes(name));
if (unknown.length > 0 || !(Number(values.seconds) > 0)) {
  process.stderr.write(`attack: --seconds takes a positive number, and attacks are ${all.join(', ')}\n`);
  process.exit(64);
}

/** @param {string} name */
async function run(name) {
  const { default: attack } = /** @type {{ default: Attack }} */ (await import(fileURLToPath(new URL(`${name}.mjs`, folder))));
  const loadBefore = load();
  const maxTerm = values.short ? SHORT_TERM_MS : MAX_TERM_MS;
  const told = await measureBeside({
    maxTerm,
    seconds: values.short ? 0.5 : Number(values.seconds),
    async disturb({ reach }) {
      const attacker = new Part('attacker.mjs');
      await attack.begin(attacker, { reach, maxTerm }, values.short);
      return async () => {
        const answers = /** @type {Record<string, number>} */ (await attacker.ask('answers'));
        await attacker.kill();
        return answers;
      };
    },
  });
  const isInTime = told.disturbed.p99 <= Math.max(TIMES_MAX * told.undisturbed.p99, HARMLESS_MS);
  const isTold = attack.answer === null || (told.outcome[attack.answer] ?? 0) > 0;
  return { name, loadBefore, ...told, isMet: told.lost === 0 && told.voting === MEMBERS && isTold && (values.short || isInTime) };
}

let isMet = true;
for (const name of positionals.length > 0 ? positionals : all) {
  const result = await run(name);
  isMet &&= result.isMet;
  const { undisturbed, disturbed, lost, voting, memberMb, outcome, loadBefore } = result;
  process.stdout.write(
    values.json
      ? `${JSON.stringify(result)}\n`
      : [
          `${name} (load before ${loadBefore}, Node ${process.version})`,
          `  undisturbed  p50 ${undisturbed.p50} ms, p99 ${undisturbed.p99} ms, longest ${undisturbed.longest} ms, of ${undisturbed.acquires} acquires`,
          `  attacked     p50 ${disturbed.p50} ms, p99 ${disturbed.p99} ms, longest ${disturbed.longest} ms, of ${disturbed.acquires} acquires; lost ${lost}; ${voting} members vote after it`,
          `  the attacker was told ${
            Object.entries(outcome)
              .map(([what, times]) => `${what} ×${times}`)
              .join(', ') || 'nothing'
          }; member memory ${memberMb} MB`,
          result.isMet ? '  met' : '  MISSED',
          '',
        ].join('\n'),
  );
}
process.exitCode = isMet ? 0 : 1;
