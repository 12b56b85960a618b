/**
 * How a group begins, and how it begins anew when fewer than a majority remember: by one act of an operator, at one member, in two rounds. First all members say what they remember, and stop taking part in their
 * epoch. Without a majority among them that remembers, the next epoch begins at all of them, after the longest log of any. Votes and leases of an epoch mean nothing in the next.
 *
 * The number of the new epoch is above all that any member is in, and every member has promised itself to this act alone: no two acts begin the same number at lives that remember it. Its lower half
 * tells the acts of different processes apart as well, for lives that do not.
 */
import { monoAfter, NEVER, quorumOf, spanUs, type Incarnation, type MonoUs } from '../../kernel/index.ts';
import type { Snapshot } from '../contract.ts';
import type { BroadcastEvent } from './contract.ts';
import type { EpochMessage } from './messages.ts';

type FoundedAnswer = Extract<EpochMessage, { readonly kind: 'founded' }>;
type BeginRequest = Extract<EpochMessage, { readonly kind: 'begin' }>;
type Renewed = Extract<BroadcastEvent, { readonly kind: 'renewed' }>;

/** What a member says of itself when it is asked. */
export type Remembered = Pick<FoundedAnswer, 'epoch' | 'logged' | 'position' | 'decided' | 'votesFrom'>;

export interface EpochGround<S> {
  readonly members: number;
  readonly self: number;
  readonly life: Incarnation;
  readonly retryUs: number;
  /** False in a mutant: a member begins in whatever life it is told to. */
  readonly beginsOnce: boolean;
  send(to: number, message: EpochMessage, step: S): void;
  remembered(): Remembered;
  /** The epoch begins here; `begun` is said once that is stored. */
  begin(beginning: { readonly epoch: number; readonly start: number; readonly position: number }, act: EpochAct, step: S): void;
  renewed(answer: Renewed, step: S): void;
}

/** Which act it is, and whose. */
export interface EpochAct {
  readonly number: number;
  readonly initiator: number;
}

/** An act of this process that is under way. */
interface Act {
  readonly number: number;
  readonly until: MonoUs;
  readonly founded: Map<number, FoundedAnswer>;
  /** Once all have answered; then the members that have begun are counted. */
  begin: { readonly epoch: number; readonly start: number; readonly position: number } | null;
  readonly begun: Set<number>;
}

const EPOCH_SCALE = 2 ** 32;
const LIFE_SCALE = 2 ** 40;
const ACTS_OF_LIFE = 4096;
/** So many times the retry interval a member keeps its promise to an act. */
const PROMISE_RETRIES = 20;

/** The first epoch of a brand-new group, which has no messages under way. */
export const FIRST_EPOCH: number = EPOCH_SCALE;

/** Consensus has keys of its own for each. */
export function epochName(epoch: number): string {
  return epoch.toString(36);
}

export class EpochActs<S extends { readonly monoUs: MonoUs }> {
  readonly #ground: EpochGround<S>;
  #act: Act | null = null;
  #acts = 0;
  /** The act that this member is promised to, and until when. */
  #promised = 0;
  #promisedUntil: MonoUs = NEVER;
  #retryAt: MonoUs = NEVER;

  constructor(ground: EpochGround<S>) {
    this.#ground = ground;
  }

  /** The member takes no part in its epoch now. */
  get isFrozen(): boolean {
    return this.#promised > 0;
  }

  get wakeAt(): MonoUs {
    const promised = this.#promised > 0 ? this.#promisedUntil : NEVER;
    return promised < this.#retryAt ? promised : this.#retryAt;
  }

  /** The act of an operator. One at a time; another one waits for the same answer. */
  renew(waitUs: number, step: S): void {
    if (this.#act) return;
    // Of no other act: of another process by its incarnation, of this one by the count.
    const number = (this.#ground.life % LIFE_SCALE) * ACTS_OF_LIFE + (this.#acts++ % ACTS_OF_LIFE);
    this.#act = { number, until: monoAfter(step.monoUs, spanUs(waitUs)), founded: new Map(), begin: null, begun: new Set() };
    this.#ask(step);
  }

  wake(step: S): void {
    if (this.#promised > 0 && step.monoUs >= this.#promisedUntil) this.#promised = 0;
    if (step.monoUs < this.#retryAt) return;
    if (this.#act && step.monoUs >= this.#act.until) this.#giveUp(step);
    else if (this.#act) this.#ask(step);
    else this.#retryAt = NEVER;
  }

  #ask(step: S): void {
    const act = this.#act as Act;
    const { members, retryUs } = this.#ground;
    this.#retryAt = monoAfter(step.monoUs, spanUs(retryUs));
    for (let to = 0; to < members; to++) {
      const answer = act.founded.get(to);
      if (!act.begin && !answer) this.#say(to, { kind: 'found', act: act.number }, step);
      else if (act.begin && answer && !act.begun.has(to)) {
        this.#say(to, { kind: 'begin', act: act.number, life: answer.life, ...act.begin }, step);
      }
      if (this.#act !== act) return;
    }
  }

  /** What a member says to itself is heard at once. */
  #say(to: number, message: EpochMessage, step: S): void {
    if (to === this.#ground.self) this.receive(to, message, step);
    else this.#ground.send(to, message, step);
  }

  receive(from: number, message: EpochMessage, step: S): void {
    switch (message.kind) {
      case 'found':
        return this.#promise(from, message.act, step);
      case 'founded':
        return this.#founded(from, message, step);
      case 'begin':
        return this.#begin(from, message, step);
      case 'begun':
        return this.#begun(from, message.act, step);
      default:
    }
  }

  // ── Each member ────────────────────────────────────────────────────────────────────────────────────

  #promise(from: number, act: number, step: S): void {
    const { life, retryUs } = this.#ground;
    if (this.#promised > 0 && this.#promised !== act) return;
    this.#promised = act;
    this.#promisedUntil = monoAfter(step.monoUs, spanUs(retryUs * PROMISE_RETRIES));
    this.#say(from, { kind: 'founded', act, life, ...this.#ground.remembered() }, step);
  }

  #begin(from: number, { act, life, epoch, start, position }: BeginRequest, step: S): void {
    const remembered = this.#ground.remembered();
    // The answer to an earlier one was lost.
    if (remembered.epoch === epoch) return this.#say(from, { kind: 'begun', act, epoch }, step);
    const isAsked = this.#promised === act && life === this.#ground.life;
    if (remembered.epoch > epoch || (!isAsked && this.#ground.beginsOnce)) return;
    this.#ground.begin({ epoch, start, position }, { number: act, initiator: from }, step);
  }

  /** The epoch that was to begin is stored. */
  hasBegun(epoch: number, { number, initiator }: EpochAct, step: S): void {
    this.#promised = 0;
    this.#say(initiator, { kind: 'begun', act: number, epoch }, step);
  }

  // ── The member of the act ──────────────────────────────────────────────────────────────────────────

  #founded(from: number, message: FoundedAnswer, step: S): void {
    const act = this.#act;
    if (!act || act.number !== message.act || act.begin) return;
    act.founded.set(from, { ...message });
    if (act.founded.size < this.#ground.members) return;
    const answers = [...act.founded.values()];
    const epoch = Math.max(...answers.map((answer) => answer.epoch));
    const barred = this.#barred(epoch, act.founded);
    if (barred.length > 0) return this.#finish({ ok: false, absent: [], barred, epoch }, step);
    const next = (Math.floor(epoch / EPOCH_SCALE) + 1) * EPOCH_SCALE + (act.number % EPOCH_SCALE);
    const longest = answers.reduce((one, other) => (other.logged > one.logged ? other : one));
    act.begin = { epoch: next, start: longest.logged, position: longest.position };
    this.#ask(step);
  }

  /** Members of this epoch that take part in the next instance, if they are a majority: the group goes on by itself. */
  #barred(epoch: number, founded: ReadonlyMap<number, FoundedAnswer>): number[] {
    if (epoch === 0) return [];
    const inEpoch = [...founded].filter(([, answer]) => answer.epoch === epoch);
    const next = Math.max(...inEpoch.map(([, { decided }]) => decided)) + 1;
    const voting = inEpoch.flatMap(([member, { votesFrom }]) => (votesFrom <= next ? [member] : []));
    return voting.length >= quorumOf(this.#ground.members) ? voting.sort((one, other) => one - other) : [];
  }

  #begun(from: number, number: number, step: S): void {
    const act = this.#act;
    if (!act?.begin || act.number !== number) return;
    act.begun.add(from);
    if (act.begun.size === this.#ground.members) this.#finish({ ok: true, absent: [], barred: [], epoch: act.begin.epoch }, step);
  }

  /** Not all have answered in time. */
  #giveUp(step: S): void {
    const { begin, begun, founded } = this.#act as Act;
    const answered: ReadonlySet<number> | ReadonlyMap<number, unknown> = begin ? begun : founded;
    const absent = Array.from({ length: this.#ground.members }, (_, member) => member).filter((member) => !answered.has(member));
    // A majority that has begun goes on, and the others hear of it.
    const ok = begin !== null && begun.size >= quorumOf(this.#ground.members);
    this.#finish({ ok, absent, barred: [], epoch: begin?.epoch ?? 0 }, step);
  }

  #finish(answer: Omit<Renewed, 'kind'>, step: S): void {
    this.#act = null;
    this.#retryAt = NEVER;
    if (!answer.ok) this.#promised = 0;
    this.#ground.renewed({ kind: 'renewed', ...answer }, step);
  }

  snapshot(): Snapshot {
    const act = this.#act;
    return {
      act: act && {
        number: act.number,
        until: act.until,
        founded: [...act.founded].sort(([one], [other]) => one - other).map(([member, answer]) => [member, { ...answer }] as const),
        begin: act.begin && { ...act.begin },
        begun: [...act.begun].sort((one, other) => one - other),
      },
      acts: this.#acts,
      promised: this.#promised,
      promisedUntil: this.#promisedUntil,
      retryAt: this.#retryAt,
    };
  }

  restore(snapshot: Snapshot): void {
    const told = snapshot as unknown as EpochsSnapshot;
    const { act } = told;
    this.#act = act && { ...act, founded: new Map(act.founded), begun: new Set(act.begun) };
    this.#acts = told.acts;
    this.#promised = told.promised;
    this.#promisedUntil = told.promisedUntil;
    this.#retryAt = told.retryAt;
  }
}

interface EpochsSnapshot {
  readonly act:
    | (Pick<Act, 'number' | 'until' | 'begin'> & { readonly founded: [number, FoundedAnswer][]; readonly begun: readonly number[] })
    | null;
  readonly acts: number;
  readonly promised: number;
  readonly promisedUntil: MonoUs;
  readonly retryAt: MonoUs;
}
