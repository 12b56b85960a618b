/**
 * A play: what happened in a run, beat by beat, in a form that survives having beats taken out. A message is
 * known by the beat that sent it, a lease by the beat that asked for it; every beat keeps its instant. What
 * can no longer be done when its turn comes is passed over.
 */
import { TenureError } from '../../kernel/index.ts';
import type { Violation } from '../../check/index.ts';
import { kindOfMessage } from '../tape.ts';
import type { AccessRef, AnyStage, MessageRef, StageAction, StageNote } from '../stage/index.ts';

/** Which message or storage access: the nth of its kind that came of a beat, from 0. */
export interface Origin {
  readonly beat: number;
  /** Of a message: to whom, its label, and what it is about. */
  readonly kind: string;
  readonly nth: number;
}

export type Deed =
  /** Something that refers to nothing before it. */
  | { readonly kind: 'plain'; readonly action: StageAction }
  | { readonly kind: 'deliver' | 'duplicate'; readonly message: Origin }
  | { readonly kind: 'delay'; readonly message: Origin; readonly byUs: number }
  | { readonly kind: 'effect' | 'repeat' | 'fail'; readonly access: Origin; readonly node: number }
  | { readonly kind: 'misdirect'; readonly access: Origin; readonly node: number; readonly to: string }
  /** `found` is the write that a weak read finds, or null: nothing; `listing` is what a weak list names. */
  | {
      readonly kind: 'answer';
      readonly access: Origin;
      readonly node: number;
      readonly found?: Origin | null;
      readonly listing?: readonly string[];
    }
  | {
      readonly kind: 'act';
      readonly node: number;
      readonly verb: string;
      readonly words: readonly string[];
      /** It takes a number of its own among its node's requests. */
      readonly asks: boolean;
      /** The beat whose request it is about; said in words when the beat is played. */
      readonly about: number | null;
    };

export interface Beat {
  readonly id: number;
  /** Done by the process that the twin of this beat has replaced, not by the one in its place. */
  readonly replacedBy?: number;
  readonly atUs: number;
  readonly deed: Deed;
  /** Numbers the core draws in it; what is not said is 0. */
  readonly choices?: readonly number[];
}

export interface Performance {
  /** What was done, as a script says it. */
  readonly actions: readonly StageAction[];
  /** The beats that could be done. */
  readonly beats: readonly Beat[];
  /** The first; the play ends with it. */
  readonly violation: Violation | null;
}

export function perform(open: () => AnyStage, beats: readonly Beat[]): Performance {
  const stage = open();
  const messages = new Map<string, MessageRef>();
  const accesses = new Map<string, AccessRef>();
  const requests = new Map<number, { readonly node: number; readonly number: number }>();
  const asked: number[] = [];
  /** Where each process that was replaced goes on, by the beat that replaced it. */
  const replaced = new Map<number, number>();
  const actions: StageAction[] = [];
  const done: Beat[] = [];
  const asAction = ({ deed }: Beat): StageAction | null => {
    switch (deed.kind) {
      case 'plain':
        return deed.action;
      case 'deliver':
      case 'duplicate': {
        const message = messages.get(keyOf(deed.message));
        return message ? { kind: deed.kind, message } : null;
      }
      case 'delay': {
        const message = messages.get(keyOf(deed.message));
        return message ? { kind: deed.kind, message, byUs: deed.byUs } : null;
      }
      case 'effect':
      case 'repeat':
      case 'fail': {
        const access = accesses.get(keyOf(deed.access));
        return access === undefined ? null : { kind: deed.kind, ...access };
      }
      case 'misdirect': {
        const access = accesses.get(keyOf(deed.access));
        return access === undefined ? null : { kind: deed.kind, ...access, to: deed.to };
      }
      case 'answer': {
        const access = accesses.get(keyOf(deed.access));
        const found = deed.found ? (accesses.get(keyOf(deed.found)) ?? undefined) : deed.found;
        if (access === undefined || (deed.found && !found)) return null;
        const listing = deed.listing === undefined ? {} : { listing: deed.listing };
        return { kind: deed.kind, ...access, ...(found === undefined ? {} : { finding: found }), ...listing };
      }
      case 'act': {
        const { node, verb, words, about } = deed;
        if (about === null) return { kind: 'act', node, verb, words };
        const request = requests.get(about);
        if (request?.node === node) return { kind: 'act', node, verb, words: [...words, 'lease', String(request.number)] };
        break;
      }
    }
    return null;
  };

  /** What came of a beat is known by it. */
  const keep = (beat: number, notes: readonly StageNote[]): void => {
    const counts = new Map<string, number>();
    for (const message of sentIn(stage, notes)) {
      const kind = kindOfMessage(message);
      const nth = counts.get(kind) ?? 0;
      counts.set(kind, nth + 1);
      messages.set(keyOf({ beat, kind, nth }), message);
    }
    notes
      .filter(({ kind }) => kind === 'asked')
      .forEach(({ text }, nth) => {
        const [, name = '', access] = /^(\S+) #(\d+):/.exec(text) ?? [];
        accesses.set(keyOf({ beat, kind: '', nth }), { node: stage.names.indexOf(name), access: Number(access) });
      });
  };

  stage.names.forEach((_, node) => keep(firstStartOf(node), stage.do({ kind: 'start', node })));
  for (const beat of beats) {
    const told = asAction(beat);
    const isAccess = told !== null && 'access' in told;
    const bare = told && beat.replacedBy !== undefined && !isAccess ? by(replaced.get(beat.replacedBy), told) : told;
    if (!bare) continue;
    const action = beat.choices && beat.choices.length > 0 ? ({ ...bare, choices: beat.choices } as StageAction) : bare;
    if (beat.atUs > stage.nowUs) stage.do({ kind: 'advance', byUs: beat.atUs - stage.nowUs });
    const notes = attempt(stage, action);
    if (!notes) continue;
    actions.push(action);
    done.push(beat);
    keep(beat.id, notes);
    if (action.kind === 'twin') replaced.set(beat.id, stage.names.length - 1);
    if (action.kind === 'restart' || action.kind === 'twin') asked[action.node] = 0;
    if (beat.deed.kind === 'act' && beat.deed.asks && beat.replacedBy === undefined) {
      const number = (asked[beat.deed.node] ?? 0) + 1;
      asked[beat.deed.node] = number;
      requests.set(beat.id, { node: beat.deed.node, number });
    }
    const [violation] = stage.violations;
    if (violation) return { actions: inTime(actions, done), beats: done, violation };
  }
  return { actions: inTime(actions, done), beats: done, violation: null };
}

/** The first starts are the stage's own, and no beats: what came of them is known by these numbers. */
export function firstStartOf(node: number): number {
  return -1 - node;
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

/** What came of the last action is the last of what is under way. */
export function sentIn(stage: AnyStage, notes: readonly StageNote[]): MessageRef[] {
  const sent = notes.filter(({ kind }) => kind === 'sent').length;
  return stage.underWay.slice(stage.underWay.length - sent).map((message) => ({ ...message }));
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

function keyOf({ beat, kind, nth }: Origin): string {
  return `${beat} ${kind} ${nth}`;
}
