/**
 * A play: what happened in a run, beat by beat, in a form that survives having beats taken out. A message is
 * known by the beat that sent it, a lease by the beat that asked for it; every beat keeps its instant. What
 * can no longer be done when its turn comes is passed over.
 */
import { TenureError } from '../../kernel/index.ts';
import type { Violation } from '../../check/index.ts';
import {
  inStageNames,
  kindOfMessage,
  type AccessRef,
  type AnyStage,
  type MessageRef,
  type StepOrigin,
  type OriginAction,
  type StageAction,
  type StageNames,
  type StageNote,
} from '../stage/index.ts';
import { firstStartOf } from '../tape.ts';

export interface Beat {
  readonly id: number;
  readonly atUs: number;
  readonly action: OriginAction;
  /** Numbers the core draws in it; every further number is 0. */
  readonly choices?: readonly number[];
  /** Done by the process that the twin of this beat has replaced, not by its successor. */
  readonly replacedBy?: number;
}

export interface Performance {
  /** The action, as a script says it. */
  readonly actions: readonly StageAction[];
  /** The beats that could be done. */
  readonly beats: readonly Beat[];
  /** The first; the play ends with it. */
  readonly violation: Violation | null;
}

/** The messages, accesses and requests of the beats that were done, by origin: how a beat finds its subject. */
class Props {
  readonly #messages = new Map<string, MessageRef>();
  readonly #accesses = new Map<string, AccessRef>();
  readonly #requests = new Map<number, { readonly node: number; readonly number: number }>();
  /** How many requests the process in each node's place has made. */
  readonly #asked: number[] = [];
  /** Where each process that was replaced goes on, by the beat that replaced it. */
  readonly #replaced = new Map<number, number>();

  readonly #names: StageNames<StepOrigin, StepOrigin, AccessRef<StepOrigin> | null> = {
    message: (message) => this.#messages.get(originKey(message)) ?? null,
    access: ({ access: origin }, finding) => {
      const access = this.#accesses.get(originKey(origin));
      const found = finding && this.#accesses.get(originKey(finding.access));
      if (!access || (finding && !found)) return null;
      return found === undefined ? access : { ...access, finding: found };
    },
  };

  /** The action of a beat on the stage; null if its subject is not there. */
  resolve({ action, replacedBy, choices = [] }: Beat): StageAction | null {
    const named = this.#named(action);
    const done = named && replacedBy !== undefined && !('access' in named) ? by(this.#replaced.get(replacedBy), named) : named;
    return done && choices.length > 0 ? ({ ...done, choices } as StageAction) : done;
  }

  #named(action: OriginAction): StageAction | null {
    if (action.kind !== 'act') return inStageNames(action, this.#names);
    const { node, verb, words, about } = action;
    if (about === null) return { kind: 'act', node, verb, words };
    const request = this.#requests.get(about);
    return request?.node === node ? { kind: 'act', node, verb, words: [...words, 'lease', String(request.number)] } : null;
  }

  /** What came of a step, by its number. */
  keep(step: number, notes: readonly StageNote[]): void {
    const counts = new Map<string, number>();
    const next = (kind: string): string => {
      const nth = counts.get(kind) ?? 0;
      counts.set(kind, nth + 1);
      return originKey({ step, kind, nth });
    };
    for (const note of notes) {
      if (note.kind === 'sent') this.#messages.set(next(kindOfMessage(note.message)), note.message);
      else if (note.kind === 'asked') this.#accesses.set(next(''), { node: note.node, access: note.access });
    }
  }

  /** Counts requests, and notes processes that a beat has restarted or replaced. */
  count({ id, action, replacedBy }: Beat, names: readonly string[]): void {
    if (action.kind === 'twin') this.#replaced.set(id, names.length - 1);
    if (action.kind === 'restart' || action.kind === 'twin') this.#asked[action.node] = 0;
    if (action.kind !== 'act' || !action.asks || replacedBy !== undefined) return;
    const number = (this.#asked[action.node] ?? 0) + 1;
    this.#asked[action.node] = number;
    this.#requests.set(id, { node: action.node, number });
  }
}

export function perform(open: () => AnyStage, beats: readonly Beat[]): Performance {
  const stage = open();
  const props = new Props();
  const actions: StageAction[] = [];
  const done: Beat[] = [];
  stage.names.forEach((_, node) => props.keep(firstStartOf(node), stage.do({ kind: 'start', node })));
  for (const beat of beats) {
    const action = props.resolve(beat);
    if (!action) continue;
    if (beat.atUs > stage.nowUs) stage.do({ kind: 'advance', byUs: beat.atUs - stage.nowUs });
    const notes = attempt(stage, action);
    if (!notes) continue;
    actions.push(action);
    done.push(beat);
    props.keep(beat.id, notes);
    props.count(beat, stage.names);
    if (stage.violations.length > 0) break;
  }
  return { actions: inTime(actions, done), beats: done, violation: stage.violations[0] ?? null };
}

/** With the time that goes by in between. */
function inTime(actions: readonly StageAction[], beats: readonly Beat[]): StageAction[] {
  let nowUs = 0;
  return actions.flatMap((action, i) => {
    const byUs = (beats[i] as Beat).atUs - nowUs;
    nowUs += Math.max(0, byUs) + (action.kind === 'settle' ? action.byUs : 0);
    return byUs > 0 ? [{ kind: 'advance', byUs }, action] : [action];
  });
}

/** The same, done by another. */
function by(node: number | undefined, action: StageAction): StageAction | null {
  return node !== undefined && 'node' in action ? { ...action, node } : null;
}

/** The messages that came of an action. */
export function sentIn(notes: readonly StageNote[]): MessageRef[] {
  return notes.flatMap((note) => (note.kind === 'sent' ? [note.message] : []));
}

/** Null if it cannot be done now. */
export function attempt(stage: AnyStage, action: StageAction): ReturnType<AnyStage['do']> | null {
  try {
    return stage.do(action);
  } catch (error) {
    if (error instanceof TenureError && error.code !== 'TENURE_INTERNAL') return null;
    throw error;
  }
}

export function originKey({ step, kind, nth }: StepOrigin): string {
  return `${step} ${kind} ${nth}`;
}
