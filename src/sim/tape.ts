/**
 * A tape of one run: every input a process got and everything that befell its clocks, with the instant. It is
 * what a run consists of once nothing is drawn any more, so shrinking can play it on the stage, with parts left out.
 * A message is known by the step that sent it and its number among that step's messages of the same kind.
 */
import type { SimProcess } from './process.ts';
import type { Change } from './regular-register.ts';
import type { Damage } from './registers.ts';
import type { Access } from './storage.ts';

/** Which message, or access to storage: the number of the step on the tape it came of, and which of that step's of this kind it is. */
export interface TapedOrigin {
  readonly step: number;
  /** Of a message: to whom, its label, and what it is about. Of an access: empty. */
  readonly kind: string;
  readonly nth: number;
}

export type TapedDeed<Command> =
  | { readonly kind: 'start'; readonly node: number; readonly restarted: boolean; readonly diskKept: boolean }
  | { readonly kind: 'crash' }
  | { readonly kind: 'deliver'; readonly message: TapedOrigin }
  | { readonly kind: 'wake' }
  | { readonly kind: 'command'; readonly command: Command }
  /** The application acted under the lease that answered this request. */
  | { readonly kind: 'use'; readonly resource: string; readonly request: number }
  /** The application looked at what its learner believes of this name, and it believed something. */
  | { readonly kind: 'look'; readonly resource: string }
  /** An access to storage took effect, at its own key or astray; whether anybody is told is another matter. */
  | { readonly kind: 'effect'; readonly access: TapedOrigin; readonly astray?: string }
  /** A change of storage took effect once more. */
  | { readonly kind: 'repeat'; readonly access: TapedOrigin }
  /** Storage was damaged. */
  | Damage
  /** `found` is the write that a weak read found, or null: nothing; `listing` is what a weak list named. */
  | {
      readonly kind: 'completed';
      readonly access: TapedOrigin;
      readonly ok: boolean;
      readonly found?: TapedOrigin | null;
      readonly listing?: readonly string[];
    }
  /** From here on all goes well, and progress is owed. */
  | { readonly kind: 'healed' }
  | { readonly kind: 'wall'; readonly byUs: number }
  | { readonly kind: 'rate'; readonly ppm: number }
  /** The machine was started again, and its monotonic clock begins anew. */
  | { readonly kind: 'boot'; readonly uptimeUs: number }
  | { readonly kind: 'sleep' }
  | { readonly kind: 'awake' };

export interface TapedStep<Command> {
  readonly atUs: number;
  /** Which machine. */
  readonly node: number;
  /** Which of all processes that ever were; -1 where it is the machine. */
  readonly process: number;
  readonly deed: TapedDeed<Command>;
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

export class Tape<Command> {
  readonly clocks: TapedClock[] = [];
  readonly steps: TapedStep<Command>[] = [];
  readonly #now: () => number;
  /** By place in the world's slab: the message that is there now. */
  readonly #messages: TapedOrigin[] = [];
  readonly #accesses = new Map<Access, TapedOrigin>();
  /** The request that each token answered. */
  readonly #requests = new Map<string, number>();
  /** How many of each kind the step under way has sent or asked. */
  readonly #counts = new Map<string, number>();
  readonly #changes = new Map<Change, TapedOrigin>();
  #effects = 0;

  constructor(now: () => number) {
    this.#now = now;
  }

  did<Message, Event>(process: SimProcess<Message, Command, Event>, deed: TapedDeed<Command>): void {
    this.#add(process.node, process.index, deed);
  }

  befell(node: number, deed: TapedDeed<Command>): void {
    this.#add(node, -1, deed);
  }

  /** The step under way sends a message; null if it is lost. */
  sent(place: number | null, kind: string): void {
    const message = this.#origin(kind);
    if (place !== null) this.#messages[place] = message;
  }

  /** The core drew a number. */
  chose(choice: number): void {
    this.steps.at(-1)?.choices.push(choice);
  }

  delivered<Message, Event>(process: SimProcess<Message, Command, Event>, place: number): void {
    this.did(process, { kind: 'deliver', message: this.#messages[place] as TapedOrigin });
  }

  /** The step under way reads or writes; null if nothing will come of it. */
  asked(access: Access | null): void {
    const origin = this.#origin('');
    if (!access) return;
    this.#accesses.set(access, origin);
    if (access.change) this.#changes.set(access.change, origin);
  }

  effected(access: Access, isAgain: boolean): void {
    const { change, node, astray, request } = access;
    const origin = this.#accesses.get(access);
    // A failing unit may answer a change without making it.
    if (!origin || (change === null && request.action !== 'read' && request.action !== 'list')) return;
    if (isAgain) this.befell(node, { kind: 'repeat', access: origin });
    else this.befell(node, { kind: 'effect', access: origin, ...(astray === undefined ? {} : { astray }) });
  }

  /** The step under way sent, asked or told something. */
  tookEffect(): void {
    this.#effects++;
  }

  /** A crash keeps the rest of the step under way from having any effect. */
  cut(): void {
    const step = this.steps.at(-1);
    if (step) step.cutAfter ??= this.#effects;
  }

  completed<Message, Event>(process: SimProcess<Message, Command, Event>, access: Access): void {
    const { ok, foundWeakly: weakly, isListedWeakly, keys } = access;
    const origin = weakly && this.#changes.get(weakly);
    // What damage left is known by no access: it is found where it is the newest.
    const found = weakly === undefined || (weakly !== null && origin === undefined) ? {} : { found: origin ?? null };
    const listing = isListedWeakly && keys ? { listing: keys } : {};
    this.did(process, { kind: 'completed', access: this.#accesses.get(access) as TapedOrigin, ok, ...found, ...listing });
  }

  granted<Message, Event>(process: SimProcess<Message, Command, Event>, request: number, token: number): void {
    this.#requests.set(`${process.index} ${token}`, request);
  }

  used<Message, Event>(process: SimProcess<Message, Command, Event>, resource: string, token: number): void {
    this.did(process, { kind: 'use', resource, request: this.#requests.get(`${process.index} ${token}`) ?? 0 });
  }

  looked<Message, Event>(process: SimProcess<Message, Command, Event>, resource: string): void {
    this.did(process, { kind: 'look', resource });
  }

  #origin(kind: string): TapedOrigin {
    const nth = this.#counts.get(kind) ?? 0;
    this.#counts.set(kind, nth + 1);
    return { step: this.steps.length - 1, kind, nth };
  }

  #add(node: number, process: number, deed: TapedDeed<Command>): void {
    this.steps.push({ atUs: this.#now(), node, process, deed, choices: [], cutAfter: null });
    this.#counts.clear();
    this.#effects = 0;
  }
}

/** How the messages of one step are told apart: to whom, which, and about what. */
export function kindOfMessage({ to, label, topic = '' }: { readonly to: number; readonly label: string; readonly topic?: string }): string {
  return `${to} ${label} ${topic}`;
}

/** The word a message is called by: the first of its description. */
export function labelOf(description: string): string {
  return /^[A-Za-z_-]+/.exec(description)?.[0] ?? 'message';
}
