/**
 * Tickets: clients take numbers from one record of a shared unit, each number once, by compare-and-set. A record names the number that was taken last,
 * and the attempt that took it, and has a checksum. The smallest protocol that needs conditional writes, to show what becomes of one that gets them wrong.
 */
import { decodeName, encodeName, NEVER, TenureError, type Chooser, type MonoUs } from '../../src/kernel/index.ts';
import type { Boot, Completion, Core, Snapshot, Step, Version } from '../../src/core/index.ts';
import { AgreementReferee, RegularityReferee } from '../../src/check/index.ts';
import { registerCodec } from '../../src/wire/index.ts';
import {
  DAMAGE_INTERESTS,
  drawFaults,
  drawUnitDamage,
  noFaults,
  STORAGE_INTERESTS,
  type Actor,
  type Desk,
  type FaultPlan,
  type Scenario,
  type Settings,
  type SimProtocol,
  type StagedProtocol,
  type User,
} from '../../src/sim/index.ts';
import type { Said, TapeToScript } from '../../src/sim/shrink/tape-to-script.ts';

const TERM_US = 1_000_000;
const UNIT = 0;
const COUNTER = 'counter';
const JOURNAL = 'journal';

/** An attempt has a number of its own within its incarnation. It takes what it has found to be free, once its user has written down that it will. */
export type TicketCommand = { readonly kind: 'look' | 'take' | 'note'; readonly attempt: number };
export type TicketEvent =
  /** `record` is what is there, null if nothing is or it is not to be believed; `next` would take its place. */
  | { readonly kind: 'free'; readonly attempt: number; readonly record: string | null; readonly isWhole: boolean; readonly next: Ticket }
  | { readonly kind: 'taken'; readonly attempt: number; readonly ticket: number; readonly uid: string; readonly isAnswered: boolean }
  | { readonly kind: 'lost' | 'unknown' | 'damaged' | 'noted'; readonly attempt: number };

type Free = Extract<TicketEvent, { kind: 'free' }>;
type TicketStep = Step<never, TicketEvent>;
export type TicketMutant = 'ignores-lost' | 'unknown-is-won' | 'corrupt-is-free' | null;

interface Ticket {
  readonly ticket: number;
  readonly uid: string;
}

export class TicketCore implements Core<never, TicketCommand, TicketEvent> {
  readonly wakeAt: MonoUs = NEVER;
  readonly #incarnation: number;
  readonly #mutant: TicketMutant;
  /** What each attempt would take, over which record; and attempts that may have taken something. */
  readonly #attempts = new Map<number, { readonly seen: Version | null; readonly next: Ticket }>();
  readonly #unknown = new Map<string, number>();

  constructor({ incarnation }: Boot, mutant: TicketMutant) {
    this.#incarnation = incarnation;
    this.#mutant = mutant;
  }

  start(): void {}
  receive(): void {}
  wake(): void {}
  admits(): boolean {
    return false;
  }

  command({ kind, attempt }: TicketCommand, step: TicketStep): void {
    const tried = this.#attempts.get(attempt);
    if (kind === 'look') step.read(UNIT, COUNTER, attempt * 3);
    else if (kind === 'note') step.write(UNIT, JOURNAL, encodeName(`note ${this.#incarnation}.${attempt}`), attempt * 3 + 2);
    else if (tried !== undefined) {
      this.#unknown.set(tried.next.uid, attempt);
      step.swap(UNIT, COUNTER, tried.seen, encodeTicket(tried.next), attempt * 3 + 1);
    }
  }

  completed(completion: Completion, step: TicketStep): void {
    const attempt = Math.floor(completion.op / 3);
    if (completion.op % 3 === 0) this.#found(attempt, completion, step);
    else if (completion.op % 3 === 1) this.#swapped(attempt, completion, step);
    else step.emit({ kind: 'noted', attempt });
  }

  #found(attempt: number, { ok, value, version }: Completion, step: TicketStep): void {
    const last = value === null ? NONE : decodeTicket(value);
    if (!ok || (last === null && this.#mutant !== 'corrupt-is-free')) {
      step.emit({ kind: ok ? 'damaged' : 'unknown', attempt });
      return;
    }
    const { ticket, uid } = last ?? NONE;
    if (this.#unknown.delete(uid)) {
      step.emit({ kind: 'taken', attempt, ticket, uid, isAnswered: false });
      return;
    }
    const next = { ticket: ticket + 1, uid: `${this.#incarnation}.${attempt}` };
    this.#attempts.set(attempt, { seen: version, next });
    step.emit({ kind: 'free', attempt, record: last && value && textOf(value), isWhole: last !== null, next });
  }

  #swapped(attempt: number, { ok, isLost }: Completion, step: TicketStep): void {
    const { ticket, uid } = this.#attempts.get(attempt)?.next ?? NONE;
    this.#attempts.delete(attempt);
    const isWon = (ok || this.#mutant === 'unknown-is-won') && (!isLost || this.#mutant === 'ignores-lost');
    // A swap that failed may have been won, and may be yet: the next read tells, or nobody ever knows.
    if (!isWon && !isLost) step.emit({ kind: 'unknown', attempt });
    else if (this.#unknown.delete(uid))
      step.emit(isWon ? { kind: 'taken', attempt, ticket, uid, isAnswered: true } : { kind: 'lost', attempt });
  }

  snapshot(): Snapshot {
    const attempts = [...this.#attempts].sort(([a], [b]) => a - b);
    return {
      attempts: attempts.map(([attempt, { seen, next }]) => [attempt, seen && [...seen], next.ticket, next.uid]),
      unknown: [...this.#unknown].sort(([, a], [, b]) => a - b),
    };
  }

  restore(snapshot: Snapshot): void {
    const { attempts, unknown } = snapshot as { attempts: [number, number[] | null, number, string][]; unknown: [string, number][] };
    this.#attempts.clear();
    this.#unknown.clear();
    for (const [attempt, seen, ticket, uid] of attempts) {
      this.#attempts.set(attempt, { seen: seen && Uint8Array.from(seen), next: { ticket, uid } });
    }
    for (const [uid, attempt] of unknown) this.#unknown.set(uid, attempt);
  }
}

const NONE: Ticket = { ticket: 0, uid: '' };

function encodeTicket({ ticket, uid }: Ticket): Uint8Array {
  const text = `${ticket} ${uid}`;
  return encodeName(`${text} ${sumOf(text)}`);
}

function decodeTicket(value: Uint8Array): Ticket | null {
  const [ticket = '', uid = '', sum] = (decodeName(value, 0, value.length) ?? '').split(' ');
  return sum === String(sumOf(`${ticket} ${uid}`)) ? { ticket: Number(ticket), uid } : null;
}

function sumOf(text: string): number {
  return encodeName(text).reduce((sum, byte) => (sum * 31 + byte) % 997, 7);
}

function textOf(value: Uint8Array): string {
  return decodeName(value, 0, value.length) ?? '';
}

/** What users and actors tell the history alike: tickets are instances, and who took one has decided it. */
class Clerk {
  readonly #desk: Desk<TicketCommand>;
  attempts = 0;

  constructor(desk: Desk<TicketCommand>) {
    this.#desk = desk;
  }

  look(): number {
    const attempt = ++this.attempts;
    this.#desk.record({ kind: 'invoked', register: COUNTER, op: attempt * 2, action: 'read' });
    this.#desk.command({ kind: 'look', attempt });
    return attempt;
  }

  take({ attempt, next }: Free): void {
    this.#desk.record({ kind: 'invoked', register: COUNTER, op: attempt * 2 + 1, action: 'write', value: textOf(encodeTicket(next)) });
    this.#desk.record({ kind: 'proposed', instance: next.ticket, value: next.uid });
    this.#desk.command({ kind: 'take', attempt });
  }

  note(): void {
    this.#desk.command({ kind: 'note', attempt: ++this.attempts });
  }

  event(event: TicketEvent): void {
    const desk = this.#desk;
    const { attempt } = event;
    if (event.kind === 'free') {
      if (event.isWhole) desk.record({ kind: 'responded', register: COUNTER, op: attempt * 2, value: event.record });
    } else if (event.kind === 'taken') {
      if (event.isAnswered) desk.record({ kind: 'responded', register: COUNTER, op: attempt * 2 + 1 });
      desk.record({ kind: 'decided', instance: event.ticket, value: event.uid });
    }
  }
}

/** The timer of the next attempt; any other tag is the attempt that is given up. */
const NEXT = 0;

class TicketUser implements User<TicketEvent> {
  readonly #desk: Desk<TicketCommand>;
  readonly #clerk: Clerk;
  #attempt = 0;

  constructor(desk: Desk<TicketCommand>) {
    this.#desk = desk;
    this.#clerk = new Clerk(desk);
  }

  start(): void {
    this.#nextLater();
  }

  timer(tag: number): void {
    if (tag === NEXT) {
      if (this.#desk.choose(4) === 0) this.#clerk.note();
      this.#attempt = this.#clerk.look();
      this.#desk.after(TERM_US / 2, this.#attempt);
    } else if (tag === this.#attempt) {
      this.#nextLater();
    }
  }

  event(event: TicketEvent): void {
    const desk = this.#desk;
    this.#clerk.event(event);
    if (event.kind === 'free') this.#clerk.take(event);
    if (event.kind === 'free' || event.kind === 'noted') return;
    if (event.kind === 'taken') desk.sometimes(event.isAnswered ? 'taken' : 'found-to-be-taken');
    // A record that is damaged is nobody's to repair: the client is right to stop there.
    if (desk.healed && (event.kind === 'taken' || event.kind === 'damaged')) desk.done();
    if (event.attempt === this.#attempt) this.#nextLater();
  }

  healed(): void {
    this.#nextLater();
  }

  waitingFor(): string {
    return 'a ticket';
  }

  #nextLater(): void {
    this.#attempt = 0;
    this.#desk.after(this.#desk.choose(TERM_US / 20), NEXT);
  }
}

type TicketProtocol = SimProtocol<never, TicketCommand, TicketEvent, null, TicketCore>;

/** `damage` is added to what is drawn. */
export function tickets(damage: Partial<FaultPlan> = {}): TicketProtocol {
  return {
    name: 'tickets',
    summary: 'numbers from one record, each taken once, by compare-and-set',
    mutants: [
      { name: 'ignores-lost', rule: 'outcome', how: 'A swap that was lost is taken for won.' },
      { name: 'unknown-is-won', rule: 'outcome', how: 'A swap that failed is taken for won.' },
      { name: 'corrupt-is-free', rule: 'records', how: 'A record that is damaged is taken for none.' },
    ],
    sometimes: [
      { name: 'taken', description: 'a ticket was taken' },
      { name: 'found-to-be-taken', description: 'a swap whose answer was not good was found to have been won' },
      { name: 'lost-swap', description: 'a swap was lost' },
      ...STORAGE_INTERESTS,
      ...DAMAGE_INTERESTS,
    ],
    codec: registerCodec,
    plan(chooser: Chooser): Scenario<null> {
      const faults = drawFaults(chooser, { termUs: TERM_US, ratePpmMax: 1000, offsetUsMax: TERM_US });
      drawUnitDamage(chooser, faults, TERM_US);
      // No protocol on one unit survives a unit that forgets.
      Object.assign(faults, { forgetEveryUs: 0, wipeEveryUs: 0, ...damage });
      const nodes = 2 + chooser.below(3);
      return { nodes, units: 1, faults, termUs: TERM_US, safetyUs: 6 * TERM_US, livenessUs: 20 * TERM_US, config: null };
    },
    core: (_scenario: Scenario<null>, boot: Boot, mutant: string | null): TicketCore => new TicketCore(boot, mutant as TicketMutant),
    user: (_scenario: Scenario<null>, _core: TicketCore, desk: Desk<TicketCommand>): User<TicketEvent> => new TicketUser(desk),
    referees: () => [new AgreementReferee(), new RegularityReferee()],
    isVote: () => false,
    describeMessage: () => '',
    describeCommand: ({ kind, attempt }: TicketCommand): string => `${kind} (${attempt})`,
    describeEvent: (event: TicketEvent): string => (event.kind === 'taken' ? `taken ${event.ticket}` : event.kind),
    nodeName: (_scenario: Scenario<null>, node: number): string => `client${node}`,
  };
}

export const ticketStaging: StagedProtocol<never, TicketCommand, TicketEvent, null, TicketCore> = {
  protocol: tickets(),
  defaults: { clients: '2' },
  verbs: ['look NODE', 'take NODE', 'note NODE'],
  scenario: ({ clients }) => ({
    nodes: Number(clients),
    units: 1,
    faults: noFaults(),
    termUs: TERM_US,
    safetyUs: 0,
    livenessUs: 0,
    config: null,
  }),
  nodeName: (_scenario: Scenario<null>, node: number): string => 'pqrst'[node] ?? '?',
  actor: (_scenario: Scenario<null>, _core: TicketCore, desk: Desk<TicketCommand>): Actor<TicketEvent> => {
    const clerk = new Clerk(desk);
    let free: Free | null = null;
    return {
      act(verb): void {
        if (verb === 'look') clerk.look();
        else if (verb === 'note') clerk.note();
        else if (verb === 'take' && free !== null) clerk.take(free);
        else throw new TenureError('TENURE_BAD_ARGUMENT', `nobody can ${verb} now`);
        if (verb === 'take') free = null;
      },
      event: (event) => {
        clerk.event(event);
        if (event.kind === 'free') free = event;
      },
      snapshot: () => [clerk.attempts, free && [free.attempt, free.record, free.isWhole, free.next.ticket, free.next.uid]],
      restore(snapshot): void {
        const [attempts, seen] = snapshot as [number, [number, string | null, boolean, number, string] | null];
        clerk.attempts = attempts;
        free = seen && { kind: 'free', attempt: seen[0], record: seen[1], isWhole: seen[2], next: { ticket: seen[3], uid: seen[4] } };
      },
    };
  },
};

export const ticketToScript: TapeToScript<TicketCommand, null> = {
  settings: ({ nodes }: Scenario<null>): Settings => ({ clients: String(nodes) }),
  say: ({ kind }: TicketCommand): Said => ({ verb: kind, words: [] }),
  use: (): null => null,
};
