/**
 * A tape of one run: every input a process got and everything that befell its machine, as actions of a stage, with their instants. It is
 * what a run consists of once nothing is drawn any more, so shrinking can play it on the stage, with parts left out.
 */
import type { ApplicationReport } from './chronicle.ts';
import type { SimProcess } from './process.ts';
import type { RegisterChange } from './regular-register.ts';
import type { Damage } from './registers.ts';
import { kindOfMessage, type StepOrigin, type OriginAction } from './stage/actions.ts';
import type { ScheduledAccess } from './storage.ts';

/** What an actor on the stage is told to do instead of a command. */
export interface Said {
  readonly verb: string;
  readonly words: readonly string[];
  /** The number of the request that the command makes, or is about, if it has one. */
  readonly asks?: number;
  readonly about?: number;
}

/** How what applications do is said in lines of a script. */
export interface Lines<Command> {
  /** Null: the story can do without. */
  say(command: Command): Said | null;
  /** Acting under the lease that answered this request. */
  use(resource: string, request: number): Said | null;
  /** Looking at what a learner believes, where there are learners. */
  look?(resource: string): Said;
}

export interface TapedStep {
  /** Steps are numbered in their order; some numbers are of steps that the story can do without. */
  readonly id: number;
  readonly atUs: number;
  /** Which machine. */
  readonly node: number;
  readonly action: OriginAction;
  /** A command to the core; using a lease, or looking at a belief, is none. */
  readonly isCommand: boolean;
  /** Which of all processes that ever were; -1 where it is the machine. */
  readonly process: number;
  /** Done by the process that the twin of this step has replaced, not by its successor. */
  readonly replacedBy?: number;
  /** The numbers the core drew in this step. */
  readonly choices: number[];
  /** After how many effects a crash cut this step off; null if nothing was cut off. */
  cutAfter: number | null;
}

/** What a machine's clocks were at the beginning. */
export interface TapedClock {
  readonly monoUs: number;
  readonly wallOffsetUs: number;
  readonly ratePpm: number;
}

/** From this step on. */
export interface SinceStep {
  readonly step: number;
  readonly atUs: number;
}

/** The first starts are the stage's own, and on no tape: what came of them is known by these numbers. */
export function firstStartOf(node: number): number {
  return -1 - node;
}

export class Tape<Command> {
  readonly clocks: TapedClock[] = [];
  readonly steps: TapedStep[] = [];
  /** From here on all goes well, and progress is owed. */
  healed: SinceStep | null = null;
  readonly #now: () => number;
  readonly #lines: Lines<Command>;
  /** The number of the step under way, and of the next. */
  #step = NaN;
  #next = 0;
  #under: TapedStep | null = null;
  /** By place in the world's slab: the message that is there now. */
  readonly #messages: StepOrigin[] = [];
  readonly #accesses = new Map<ScheduledAccess, { readonly node: number; readonly access: StepOrigin }>();
  readonly #changes = new Map<RegisterChange, { readonly node: number; readonly access: StepOrigin }>();
  /** The request that each token answered, and the step that made each request. */
  readonly #requests = new Map<string, number>();
  readonly #askedIn = new Map<string, number>();
  /** The process in each node's place, and the step by which each that is not was replaced. */
  readonly #current: number[] = [];
  readonly #replacedBy = new Map<number, number>();
  /** How many of each kind the step under way has sent or asked. */
  readonly #counts = new Map<string, number>();
  #effects = 0;

  constructor(now: () => number, lines: Lines<Command>) {
    this.#now = now;
    this.#lines = lines;
  }

  /** How many numbers of steps are taken. */
  get length(): number {
    return this.#next;
  }

  started<Message, Event>(process: SimProcess<Message, Command, Event>, diskKept: boolean, how: 'start' | 'restart' | 'twin'): void {
    const { node, index, incarnation: as } = process;
    const before = this.#current[node];
    this.#current[node] = index;
    if (how === 'start') {
      this.#begin(firstStartOf(node));
      return;
    }
    this.did(process, how === 'twin' ? { kind: 'twin', node, as } : { kind: 'restart', node, diskKept, as });
    if (how === 'twin' && before !== undefined) this.#replacedBy.set(before, this.#step);
  }

  did<Message, Event>({ node, index }: SimProcess<Message, Command, Event>, action: OriginAction): void {
    this.#add(node, index, action);
  }

  befell(action: Extract<OriginAction, { node: number }>): void {
    this.#add(action.node, -1, action);
  }

  heal(): void {
    this.healed = { step: this.#next, atUs: this.#now() };
  }

  commanded<Message, Event>(process: SimProcess<Message, Command, Event>, command: Command): void {
    this.#say(process, this.#lines.say(command), true);
  }

  /** The reports of an application show its acts: it acts under a lease, or looks at its learner's beliefs. */
  reported<Message, Event>(process: SimProcess<Message, Command, Event>, told: ApplicationReport): void {
    const key = (token: number): string => `${process.index} ${token}`;
    if (told.kind === 'granted') this.#requests.set(key(told.token), told.request);
    else if (told.kind === 'used') this.#say(process, this.#lines.use(told.resource, this.#requests.get(key(told.token)) ?? 0), false);
    else if (told.kind === 'record' && told.record.kind === 'believed')
      this.#say(process, this.#lines.look?.(told.record.resource) ?? null, false);
  }

  delivered<Message, Event>(process: SimProcess<Message, Command, Event>, place: number): void {
    this.did(process, { kind: 'deliver', message: this.#messages[place] as StepOrigin });
  }

  completed<Message, Event>(process: SimProcess<Message, Command, Event>, access: ScheduledAccess): void {
    const { foundWeakly: weakly, isListedWeakly, keys } = access;
    const ok = access.ok && !access.isVoid;
    const asked = this.#accesses.get(access) as { readonly node: number; readonly access: StepOrigin };
    // `finding` is the change that a weak read found, or null: nothing. What damage left is known by no access: it is found where it is the newest.
    const found = weakly && this.#changes.get(weakly);
    const finding = found === undefined ? {} : { finding: found };
    const listing = isListedWeakly && keys ? { listing: keys } : {};
    this.did(process, ok ? { kind: 'answer', ...asked, ...finding, ...listing } : { kind: 'fail', ...asked });
  }

  /** An access to storage took effect, perhaps once more; whether a process is told is another matter. */
  effected(access: ScheduledAccess, isAgain: boolean): void {
    const { change, astray, request } = access;
    const asked = this.#accesses.get(access);
    // A failing unit may answer a change without making it.
    if (!asked || (change === null && request.action !== 'read' && request.action !== 'list')) return;
    if (isAgain) this.befell({ kind: 'repeat', ...asked });
    else this.befell(astray === undefined ? { kind: 'effect', ...asked } : { kind: 'misdirect', ...asked, to: astray });
  }

  damaged(damage: Damage): void {
    this.#add('node' in damage ? damage.node : -1, -1, damage);
  }

  /** The step under way sends a message; null if it is lost. */
  sent(place: number | null, message: { readonly to: number; readonly label: string; readonly topic?: string }): void {
    const origin = this.#origin(kindOfMessage(message));
    if (place !== null) this.#messages[place] = origin;
  }

  /** The step under way reads or writes; null if nothing will come of it. */
  asked(node: number, access: ScheduledAccess | null): void {
    const origin = { node, access: this.#origin('') };
    if (!access) return;
    this.#accesses.set(access, origin);
    if (access.change) this.#changes.set(access.change, origin);
  }

  /** The core drew a number. */
  chose(choice: number): void {
    this.#under?.choices.push(choice);
  }

  /** The step under way sent, asked or told something. */
  tookEffect(): void {
    this.#effects++;
  }

  /** A crash keeps the rest of the step under way from having any effect. */
  cut(): void {
    if (this.#under) this.#under.cutAfter ??= this.#effects;
  }

  /** A command without a line is no step, nor is an act on a request that no step made. */
  #say<Message, Event>({ node, index }: SimProcess<Message, Command, Event>, said: Said | null, isCommand: boolean): void {
    const about = said?.about === undefined ? null : this.#askedIn.get(`${index} ${said.about}`);
    if (!said || about === undefined) {
      this.#begin(this.#next++);
      return;
    }
    const { verb, words, asks } = said;
    this.#add(node, index, { kind: 'act', node, verb, words, asks: asks !== undefined, about }, isCommand);
    if (asks !== undefined) this.#askedIn.set(`${index} ${asks}`, this.#step);
  }

  #add(node: number, process: number, action: OriginAction, isCommand = false): void {
    this.#begin(this.#next++);
    const replacedBy = this.#replacedBy.get(process);
    const by = replacedBy === undefined ? {} : { replacedBy };
    this.#under = { id: this.#step, atUs: this.#now(), node, action, isCommand, process, ...by, choices: [], cutAfter: null };
    this.steps.push(this.#under);
  }

  #begin(step: number): void {
    this.#step = step;
    this.#under = null;
    this.#counts.clear();
    this.#effects = 0;
  }

  #origin(kind: string): StepOrigin {
    const nth = this.#counts.get(kind) ?? 0;
    this.#counts.set(kind, nth + 1);
    return { step: this.#step, kind, nth };
  }
}
