/**
 * A node's knowledge of the members' lives, and its word about its own: the same for every lease engine. Members ask each
 * other to note their lives (NOTE, NOTED); votes are signed with the life that gives them; a role that counts votes asks
 * here first whether they are of the newest life that is known.
 */
import { NEVER, type Incarnation, type MonoUs, type NodeId } from '../../kernel/index.ts';
import type { Snapshot, Step } from '../contract.ts';
import type { NamedMessage } from './named-message.ts';
import type { Roster } from './roster.ts';
import type { Succession } from './succession.ts';

/** Flag of a vote: it brings what its sender knows of all lives. */
export const TELLS_LIVES = 64;
/** Flag of a NOTED: the life was noted. Without it, another process of that member has it, or a later one. */
const IS_NOTED = 2;

/** The part of a step that is needed here. */
type CensusStep<Message> = Pick<Step<Message, never>, 'monoUs' | 'wallUs' | 'send'>;

/** For roles that depend on lives: how lives change. */
export interface LivesView<S> {
  /** A member has begun another life: the words of its older lives count no more. */
  begun(member: NodeId, step: S): void;
  /** One more member has noted this life. */
  noted(step: S): void;
  /** Another process of this very member has this life, or a later one. */
  outbid(step: S): void;
}

export interface CensusConfig<Message> {
  readonly self: NodeId;
  readonly who: Incarnation;
  readonly roster: Roster;
  /** Null for a client, and where the operator ensures that there is one process per member. */
  readonly succession: Succession | null;
  readonly message: Message;
  readonly kinds: { readonly note: number; readonly noted: number };
  /** Whether votes of older lives are left uncounted; only a mutant counts them. */
  readonly isStrict: boolean;
}

export class Census<Message extends NamedMessage, S extends CensusStep<Message>> {
  readonly #config: CensusConfig<Message>;
  readonly #roster: Roster;
  readonly #view: LivesView<S>;

  constructor(config: CensusConfig<Message>, view: LivesView<S>) {
    this.#config = config;
    this.#roster = config.roster;
    this.#view = view;
  }

  get wakeAt(): MonoUs {
    return this.#config.succession?.wakeAt ?? NEVER;
  }

  /** Puts the life of this member into a vote, and its roster if the asker has another. */
  sign(vote: Message, print: number): void {
    vote.life = this.#config.succession?.life ?? 0;
    if (print === this.#roster.print) return;
    vote.flags |= TELLS_LIVES;
    vote.setRoster(this.#roster.bytes);
  }

  /** False if the vote is of an older life than is known by now: it does not count. */
  hear(from: NodeId, vote: Message, step: S): boolean {
    const tellsAll = (vote.flags & TELLS_LIVES) !== 0;
    if (!tellsAll && vote.life === this.#roster.lifeOf(from)) return true;
    this.#roster.hear(from, vote, tellsAll, (member) => this.#begun(member, step));
    return vote.life === this.#roster.lifeOf(from) || !this.#config.isStrict;
  }

  // ── Between members ────────────────────────────────────────────────────────────────────────────────

  /** NOTE: a member says which life it is. */
  note(from: NodeId, message: Message, step: S): void {
    const { succession, kinds } = this.#config;
    if (succession === null || from === this.#config.self) return;
    this.#merge(message, step);
    const before = this.#roster.lifeOf(from);
    const isNoted = this.#roster.note(from, message.life, message.owner);
    if (this.#roster.lifeOf(from) > before) this.#view.begun(from, step);
    const reply = this.#compose(kinds.noted);
    reply.owner = message.owner;
    reply.print = message.life;
    if (isNoted) reply.flags |= IS_NOTED;
    step.send(from, reply);
  }

  /** NOTED: the answer. It names the life that it speaks of: this one may have a higher number by now. */
  noted(from: NodeId, message: Message, step: S): void {
    const { succession } = this.#config;
    if (succession === null || !this.hear(from, message, step)) return;
    // A life that has not begun has no number yet, and nothing that could be noted or outbid.
    if (succession.life === 0 || message.print !== succession.life) return;
    if ((message.flags & IS_NOTED) === 0) this.#view.outbid(step);
    else if (succession.notedBy(from)) this.#view.noted(step);
  }

  /** A member is connected anew: it hears which life this is, and says so if it knows of a later one. */
  greet(member: NodeId, step: S): void {
    if (this.#config.succession && this.#config.succession.life > 0) this.#ask(member, step);
  }

  /** True if members were asked again. */
  wake(step: S): boolean {
    let asked = false;
    this.#config.succession?.wake(step, (member) => {
      this.#ask(member, step);
      asked = true;
    });
    return asked;
  }

  #ask(member: NodeId, step: S): void {
    step.send(member, this.#compose(this.#config.kinds.note));
  }

  #compose(kind: number): Message {
    const { message, succession, who } = this.#config;
    message.kind = kind;
    message.owner = who;
    message.lease = 0;
    message.flags = TELLS_LIVES;
    message.print = 0;
    message.life = succession?.life ?? 0;
    message.setRoster(this.#roster.bytes);
    message.noName();
    message.setMeta(undefined);
    return message;
  }

  #merge(message: Message, step: S): void {
    this.#roster.merge(message, (member) => this.#begun(member, step));
  }

  #begun(member: NodeId, step: S): void {
    const { succession, self } = this.#config;
    this.#view.begun(member, step);
    if (member === self && succession !== null && succession.life > 0) this.#view.outbid(step);
  }

  snapshot(): Snapshot {
    return { roster: this.#roster.snapshot(), succession: this.#config.succession?.snapshot() ?? null };
  }

  restore(snapshot: Snapshot): void {
    const { roster, succession } = snapshot as { roster: Snapshot; succession: Snapshot };
    this.#roster.restore(roster);
    if (succession !== null) this.#config.succession?.restore(succession);
  }
}
