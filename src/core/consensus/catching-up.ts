/** How a member that is behind hears of decisions: it asks members that know more, by their heartbeats; a member that abstains asks all to take part in the instances that it has to leave to them. */
import { monoAfter, NEVER, type MonoUs } from '../../kernel/index.ts';
import type { Snapshot, Step } from '../contract.ts';
import type { ConsensusConfig } from './config.ts';
import type { Decisions } from './decisions.ts';
import type { ConsensusEvent, ConsensusMessage } from './messages.ts';
import type { ConsensusOutbox } from './outbox.ts';
import type { Pulse } from './pulse.ts';

type CatchingUpStep = Step<ConsensusMessage, ConsensusEvent>;

export interface CatchingUpGround {
  readonly config: ConsensusConfig;
  readonly pulse: Pulse;
  readonly decisions: Decisions;
  readonly outbox: ConsensusOutbox;
}

export class CatchingUp {
  readonly #ground: CatchingUpGround;
  /** The last decision when it last looked whether it is behind. */
  #decidedThen = -1;
  #retryAt: MonoUs = NEVER;

  constructor(ground: CatchingUpGround) {
    this.#ground = ground;
  }

  /** When whatever has no answer is said again. */
  get retryAt(): MonoUs {
    return this.#retryAt;
  }

  plan(now: MonoUs): void {
    const { retryUs } = this.#ground.config;
    this.#retryAt = retryUs === null ? NEVER : monoAfter(now, retryUs);
  }

  /** A member that abstains asks for instances, empty or not, until it is past the instances in which it may have voted. */
  beginEmpty(bound: number, step: CatchingUpStep): void {
    const { config, decisions, outbox } = this.#ground;
    const last = Math.min(bound, decisions.upTo + config.window);
    for (let instance = decisions.upTo + 1; instance <= last; instance++) {
      if (!decisions.isDecided(instance)) outbox.sendOthers({ kind: 'begin', instance, round: -1 }, step);
    }
  }

  /** Asks a member that knows more for the next decisions, unless they seem to come anyway. */
  ask(step: CatchingUpStep): void {
    const { config, decisions, pulse } = this.#ground;
    const { upTo } = decisions;
    const hasMoved = this.look();
    const { most, members } = pulse.ahead(upTo);
    if (members.length === 0 || (hasMoved && most <= upTo + config.window)) return;
    this.#ask(members[step.choose(members.length)] as number, step);
  }

  /** Whether more is decided than when it last looked. */
  look(): boolean {
    const { upTo } = this.#ground.decisions;
    const hasMoved = upTo !== this.#decidedThen;
    this.#decidedThen = upTo;
    return hasMoved;
  }

  /** This member has told of a decision. If it knows far more, it is asked for the rest at once. */
  decisionCame(from: number, instance: number, step: CatchingUpStep): void {
    const { config, decisions, pulse } = this.#ground;
    const isFarBehind = instance === decisions.upTo && pulse.decidedBy(from) > instance + config.window;
    if (isFarBehind && config.retryUs !== null) this.#ask(from, step);
  }

  #ask(member: number, step: CatchingUpStep): void {
    const { decisions, outbox } = this.#ground;
    outbox.send(member, { kind: 'begin', instance: decisions.upTo + 1, round: -1 }, step);
  }

  snapshot(): Snapshot {
    return { decidedThen: this.#decidedThen, retryAt: this.#retryAt };
  }

  restore(snapshot: Snapshot): void {
    const { decidedThen, retryAt } = snapshot as { decidedThen: number; retryAt: MonoUs };
    this.#decidedThen = decidedThen;
    this.#retryAt = retryAt;
  }
}
