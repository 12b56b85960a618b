/**
 * Runs a script on the stage it names. The first line says which: `stage quorum acceptors=3 mutant=no-restart-silence
 * breaks=exclusion`. A script that names a mutant is run twice: with it the property must break, and the product, put
 * through the same actions as far as they apply, must break nothing.
 */
import { TenureError } from '../../kernel/index.ts';
import type { Violation } from '../../check/index.ts';
import type { Kit } from '../kit.ts';
import { kits } from '../protocols/index.ts';
import { formatSpan, type AnyStage, type Settings, type StageKind, type StageNote } from '../stage/index.ts';
import { differences } from './differences.ts';
import { formatScriptText, parseScriptText, type ScriptText } from './file.ts';
import { noteLines } from './note-lines.ts';

/** A stage that does not come to rest after so many deliveries never will. */
const DELIVERIES_MAX = 10_000;

export interface ScriptHeader {
  readonly protocol: string;
  readonly stage: StageKind;
  readonly settings: Settings;
  readonly mutant: string | null;
  readonly breaks: string | null;
}

export interface ScriptRun {
  readonly header: ScriptHeader;
  /** Actions, expectations not among them. */
  readonly steps: number;
  /** Failures: an expectation that failed, an action that could not be done, a property that broke or did not. */
  readonly failures: readonly string[];
  readonly violation: Violation | null;
  /** What breaks with all rules in force, where the script takes one out. */
  readonly product: Violation | null;
  /** The script with what came of it this time. */
  readonly text: string;
  /** What this time is not as the file says, block by block; empty if the file is up to date. */
  readonly changes: readonly string[];
}

/** The stage belongs to one of these kits. */
export function runScript(source: string, known: readonly Kit[] = kits): ScriptRun {
  const text = parseScriptText(source);
  const header = headerOf(text, known);
  const { mutant, breaks } = header;
  const asWritten = play(text, header, mutant);
  const failures = [...asWritten.failures];
  const [violation = null] = asWritten.violations;
  if ((violation?.property ?? null) !== breaks) {
    const found = violation ? `${violation.property} broke: ${violation.message}` : 'nothing broke';
    failures.push(breaks === null ? found : `${breaks} should break${mutant === null ? '' : ` without ${mutant}`}, but ${found}`);
  }
  const [product = null] = mutant === null ? [] : play(text, header, null).violations;
  if (product) failures.push(`with all rules in force ${product.property} breaks, too: ${product.message}`);
  const changes = text.blocks.flatMap(({ output, actions }, i) => {
    const changed = differences(output ?? [], asWritten.outputs[i] ?? []);
    return changed.length > 0 ? [`  line ${actions[0]?.number}: ${actions[0]?.text}`, ...changed.map((line) => `  ${line}`)] : [];
  });
  const steps = text.blocks.flatMap(({ actions }) => actions).filter(({ text: action }) => !/^(stage|expect)\b/.test(action)).length;
  return { header, steps, failures, violation, product, text: formatScriptText(text, asWritten.outputs), changes };
}

/** An error in the first line of a script names that line. */
function headerOf({ blocks }: ScriptText, known: readonly Kit[]): ScriptHeader {
  const { number, text } = blocks[0]?.actions[0] ?? { number: 1, text: '' };
  try {
    const header = parseHeader(text, known);
    header.stage.open(header.settings, header.mutant);
    return header;
  } catch (error) {
    if (!(error instanceof TenureError) || error.code === 'TENURE_INTERNAL') throw error;
    throw new TenureError(error.code, `line ${number}: ${error.message}`, error.details);
  }
}

function parseHeader(text: string, known: readonly Kit[]): ScriptHeader {
  const [word, protocol = '', ...words] = text.split(/\s+/);
  const staged = known.filter(({ stage: one }) => one !== null);
  const { stage = null, mutants = [] } = staged.find(({ name }) => name === protocol) ?? {};
  if (word !== 'stage' || !stage) {
    throw new TenureError(
      'TENURE_BAD_ARGUMENT',
      `a script begins with 'stage PROTOCOL [setting=value …]', where PROTOCOL is one of ${staged.map(({ name }) => name).join(', ')}`,
    );
  }
  const option = (name: string): string | null => {
    const [said, again] = words.filter((one) => one.startsWith(`${name}=`));
    if (again !== undefined) throw new TenureError('TENURE_BAD_ARGUMENT', `'${name}' is said twice`);
    return said?.slice(name.length + 1) ?? null;
  };
  const mutant = option('mutant');
  if (mutant !== null && !mutants.some(({ name }) => name === mutant)) {
    const has = mutants.map(({ name }) => name).join(', ') || 'none';
    throw new TenureError('TENURE_BAD_ARGUMENT', `${protocol} has no mutant '${mutant}'. It has ${has}`);
  }
  const settings = stage.settings(words.filter((one) => !/^(mutant|breaks)=/.test(one)));
  return { protocol, stage, settings, mutant, breaks: option('breaks') };
}

interface Played {
  readonly outputs: string[][];
  readonly failures: string[];
  readonly violations: readonly Violation[];
}

/** An action that may have nothing to act on: a script for two cores that behave differently. */
const MAYBE = /^maybe /;

function play({ blocks }: ScriptText, { stage: kind, settings, mutant: written }: ScriptHeader, mutant: string | null): Played {
  const stage = kind.open(settings, mutant);
  const failures: string[] = [];
  // Where the product differs from the mutant, some actions have nothing to act on and some expectations are not for it.
  const isStrict = mutant === written;
  const first = blocks[0]?.actions[0];
  const outputs = blocks.map(({ actions }) =>
    actions.flatMap((action) => {
      const { number, text } = action;
      if (action === first) return [];
      const fail = (why: string): string[] => {
        if (isStrict) failures.push(`line ${number}: ${why}`);
        return [why.startsWith('cannot ') ? why : `cannot: ${why}`];
      };
      if (/^stage\b/.test(text)) return fail('a stage begins a script, and there is one');
      if (/^expect\b/.test(text)) {
        const why = unmet(text.split(/\s+/).slice(1), stage);
        if (why !== null) fail(why);
        return why === null ? [] : [`not so: ${why}`];
      }
      const deed = text.replace(MAYBE, '');
      if (MAYBE.test(text)) {
        const why = misread(deed, stage, kind);
        if (why !== null) return fail(why);
      }
      try {
        return perform(deed, stage);
      } catch (error) {
        if (!(error instanceof TenureError) || error.code === 'TENURE_INTERNAL') throw error;
        return MAYBE.test(text) ? [] : fail(error.message);
      }
    }),
  );
  return { outputs, failures, violations: stage.violations };
}

/** Why a line is invalid on any stage; null if it can be read. `maybe` passes over a line that cannot be done, never over a line that cannot be read. */
function misread(text: string, stage: AnyStage, { verbs }: StageKind): string | null {
  if (text === 'start' || /^deliver all\b/.test(text)) return null;
  try {
    const action = stage.parse(text);
    if (action.kind !== 'act' || verbs.some((one) => one.startsWith(`${action.verb} `))) return null;
    return `'${action.verb}' is nothing that is done on a stage, nor by this protocol's actors`;
  } catch (error) {
    if (!(error instanceof TenureError) || error.code === 'TENURE_INTERNAL') throw error;
    return error.message;
  }
}

function perform(text: string, stage: AnyStage): string[] {
  if (text === 'start') {
    stage.startAll();
    return [];
  }
  if (!/^deliver all\b/.test(text)) return tellInTime(stage.line(text), stage);
  // `deliver all`, or only the messages to some nodes: `deliver all a b p`.
  const names = text.split(/\s+/).slice(2);
  const unknown = names.find((name) => !stage.names.includes(name));
  if (unknown !== undefined)
    throw new TenureError('TENURE_BAD_ARGUMENT', `there is no node '${unknown}'; there are ${stage.names.join(', ')}`);
  const lines: string[] = [];
  for (let count = 0; count < DELIVERIES_MAX; count++) {
    const message = stage.underWay.find(({ from, to }) => {
      const isMeant = (node: number): boolean => names.length === 0 || names.includes(stage.names[node] ?? '');
      return isMeant(from) && isMeant(to) && stage.isUp(to);
    });
    if (!message) return lines;
    lines.push(...tellInTime(stage.do({ kind: 'deliver', message: { ...message } }), stage));
  }
  throw new TenureError('TENURE_BAD_ARGUMENT', `after ${DELIVERIES_MAX} deliveries there are still messages under way`);
}

/** The lines of one action, each with its instant: an action may take a while. */
function tellInTime(notes: readonly StageNote[], stage: AnyStage): string[] {
  const instants = [...new Set(notes.map(({ atUs }) => atUs))];
  return instants.flatMap((instant) => {
    const lines = noteLines(
      notes.filter(({ atUs }) => atUs === instant),
      stage,
    );
    return lines.map((line) => `${formatSpan(instant).padEnd(8)} ${line}`);
  });
}

/** Why an expectation is not met: `p holds x`, `p holds not x`, `nobody holds x`, `violation`, `no violation`. */
function unmet(words: readonly string[], stage: AnyStage): string | null {
  const [who = '', verb, ...rest] = words;
  const sentence = words.join(' ');
  if (sentence === 'violation') return stage.violations.length > 0 ? null : 'nothing is broken';
  if (sentence === 'no violation') return stage.violations[0] ? `${stage.violations[0].property} is broken` : null;
  const isNot = rest[0] === 'not';
  const resource = rest[isNot ? 1 : 0];
  const isKnown = who === 'nobody' ? !isNot : stage.names.includes(who);
  if (verb !== 'holds' || resource === undefined || rest.length > (isNot ? 2 : 1) || !isKnown) {
    return `expect what? Write 'NODE holds NAME', 'NODE holds not NAME', 'nobody holds NAME', 'violation' or 'no violation'`;
  }
  const holders = stage.holdersOf(resource).map((node) => stage.names[node] ?? String(node));
  const isMet = who === 'nobody' ? holders.length === 0 : holders.includes(who) !== isNot;
  return isMet ? null : `${resource} is held by ${holders.join(' and ') || 'nobody'}`;
}
