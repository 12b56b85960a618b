/**
 * What tells a mutant from the product: the same actions break something with a rule taken out, and nothing with all rules in force. Messages that only
 * the product sends are delivered by no action of a mutant's run; where they matter, the script delivers them too, if they are there: `maybe deliver …`.
 */
import type { AnyStage, MessageRef, Settings, StageAction } from '../stage/index.ts';
import { reduceList } from './ddmin.ts';
import { attempt, sentIn } from './play.ts';

/** A product that sends more than this in answer to one action never comes to rest. */
const ANSWERS_MAX = 1_000;

/** An action of a script. A `maybe` action is passed over if there is nothing to act on. */
interface Line {
  readonly action: StageAction;
  readonly maybe: boolean;
}

export type Opens = (settings: Settings) => AnyStage;

/** The lines of a script that does these actions, once it is known to tell what breaks from the product; null if it does not. */
export type Distinguisher = (settings: Settings, actions: readonly StageAction[]) => (() => readonly Line[]) | null;

export const asDone = (actions: readonly StageAction[]): Line[] => actions.map((action) => ({ action, maybe: false }));

/** There is no other to be told from. */
export const alone: Distinguisher = (_, actions) => () => asDone(actions);

/** The product breaks nothing when it is put through the same actions. */
export function beside(product: Opens): Distinguisher {
  return (on, actions) => (isBroken(product(on), actions) ? null : () => asDone(actions));
}

/** The product breaks nothing if messages that only it sends arrive, too. */
export function answering(mutant: Opens, product: Opens, property: string): Distinguisher {
  return (on, actions) => {
    const lines = withAnswers(mutant(on), product(on), actions);
    const tellsApart = (tried: readonly StageAction[]): boolean =>
      !isBroken(product(on), tried) && brokenBy(mutant(on), tried) === property;
    return tellsApart(lines.map(({ action }) => action)) ? () => fewestAnswers(lines, tellsApart) : null;
  };
}

/** The first of these that tells the two apart. */
export function anyOf(tellings: readonly Distinguisher[]): Distinguisher {
  return (on, actions) => tellings.reduce<ReturnType<Distinguisher>>((lines, telling) => lines ?? telling(on, actions), null);
}

/** Whether anything breaks when these actions are done as far as they can be. */
function isBroken(stage: AnyStage, actions: readonly StageAction[]): boolean {
  return brokenBy(stage, actions) !== null;
}

/** The property that breaks first when these actions are done as far as they can be. */
function brokenBy(stage: AnyStage, actions: readonly StageAction[]): string | null {
  stage.startAll();
  for (const action of actions) {
    attempt(stage, action);
    const [violation] = stage.violations;
    if (violation) return violation.property;
  }
  return null;
}

/** The same actions, and what the product sends instead of the mutant or before it delivered at once, as far as no action delivers it. */
function withAnswers(mutant: AnyStage, product: AnyStage, actions: readonly StageAction[]): Line[] {
  for (const stage of [mutant, product]) stage.startAll();
  const delivered = new Set(actions.flatMap((action) => ('message' in action ? [keyOf(action.message)] : [])));
  const lines: Line[] = [];
  for (const action of actions) {
    lines.push({ action, maybe: false });
    const sent = new Set(sentIn(attempt(mutant, action) ?? []).map(keyOf));
    const answers = sentIn(attempt(product, action) ?? []).filter((message) => !sent.has(keyOf(message)));
    for (let count = 0; count < ANSWERS_MAX; count++) {
      const message = answers.shift();
      if (!message) break;
      if (delivered.has(keyOf(message))) continue;
      const deliver: StageAction = { kind: 'deliver', message };
      const notes = attempt(product, deliver);
      if (!notes) continue;
      lines.push({ action: deliver, maybe: true });
      answers.push(...sentIn(notes));
    }
  }
  return lines;
}

/** Only those answers without which the product would break, too. */
function fewestAnswers(lines: readonly Line[], tellsApart: (actions: readonly StageAction[]) => boolean): readonly Line[] {
  const withThese = (answers: readonly Line[]): Line[] => lines.filter((line) => !line.maybe || answers.includes(line));
  const needed = reduceList(
    lines.filter(({ maybe }) => maybe),
    (answers) => tellsApart(withThese(answers).map(({ action }) => action)),
  );
  return withThese(needed);
}

/** The actions as lines, formatted on a stage that was just opened: the names of processes depend on the actions before. */
export function linesOf(stage: AnyStage, lines: readonly Line[]): string[] {
  stage.startAll();
  return lines.map(({ action, maybe }) => {
    const line = stage.format(action);
    attempt(stage, action);
    return maybe ? `maybe ${line}` : line;
  });
}

function keyOf({ from, to, label, ordinal }: MessageRef): string {
  return `${from} ${to} ${label} ${ordinal}`;
}
