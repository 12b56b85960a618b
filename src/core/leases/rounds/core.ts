/**
 * The core of Flease and of PaxosLease: acceptor, contender and learner of one node, all resources inside. A member
 * has every role, a client everything but the acceptor. This file only hands each message and command to the role
 * it is for, and refuses what an engine cannot do.
 */
import { monoUs, TenureError, type Incarnation, type MonoUs, type NodeId, type WallUs } from '../../../kernel/index.ts';
import type { Boot, Core, Sender, Snapshot } from '../../contract.ts';
import { FleaseAlgorithm } from './flease.ts';
import { PaxosLeaseAlgorithm } from './paxoslease.ts';
import { NameTable } from '../../tables/index.ts';
import { META_BYTES_MAX } from '../limits.ts';
import { Electorate } from '../electorate.ts';
import { RateTrust } from '../rate-trust.ts';
import { RoundAcceptor } from './acceptor.ts';
import { RoundAdmission } from './admission.ts';
import { BucketBallots, ballotOrder, PlainBallots } from './ballots.ts';
import type { LeaseCommand, LeaseEvent } from '../contract.ts';
import type { RoundConfig, RoundStep } from './config.ts';
import { Contender } from './contender.ts';
import { RoundHorizon } from './horizon.ts';
import { RoundLearner } from './learner.ts';
import {
  ACK_READ,
  ACK_RELEASE,
  ACK_WRITE,
  ROUND_LEARN,
  NACK,
  NACK_NO_WATCH,
  PASSED_ON,
  READ,
  ROUND_RELEASE,
  ROUND_WATCH,
  WRITE,
  type RoundMessage,
} from './messages.ts';
import { ALL_ROUND_RULES, type RoundRules } from './rules.ts';

export class RoundCore implements Core<RoundMessage, LeaseCommand, LeaseEvent> {
  readonly #config: RoundConfig;
  readonly #boot: Boot;
  readonly #rules: RoundRules;
  readonly #trust = new RateTrust();
  /** The incarnation that this node asks as. */
  readonly #owner: Incarnation;
  readonly #names: NameTable;
  readonly #admission: RoundAdmission;
  readonly #acceptor: RoundAcceptor | null;
  readonly #contender: Contender;
  readonly #learner: RoundLearner | null;

  constructor(config: RoundConfig, boot: Boot, rules: RoundRules = ALL_ROUND_RULES) {
    const { memberKeys, timing, engine } = config;
    const electorate = new Electorate(memberKeys, config.replication ?? memberKeys.length);
    const owner = rules.ownerIsIncarnation ? boot.incarnation : ((boot.self + 1) as Incarnation);
    const isMember = boot.self < memberKeys.length;
    this.#config = config;
    this.#boot = boot;
    this.#rules = rules;
    this.#owner = owner;
    this.#admission = new RoundAdmission(memberKeys.length, engine === 'flease', rules);
    const names = new NameTable(config.hashKey);
    this.#names = names;
    const algorithm = engine === 'flease' ? new FleaseAlgorithm(config.algorithm) : new PaxosLeaseAlgorithm();
    // Plain time differs between any two askers in practice, and would hide what "mod n" does.
    const isBucketed = !rules.ballotsByIncarnation || (engine === 'flease' && rules.bucketedBallots);
    const aheadUsMax = rules.believesNearOnly ? timing.aheadUsMax : Infinity;
    const ballots = isBucketed ? new BucketBallots(timing.bucketUs, rules.ballotsByIncarnation, aheadUsMax) : new PlainBallots(aheadUsMax);
    const horizon = new RoundHorizon(ballots, aheadUsMax);
    this.#acceptor = isMember ? new RoundAcceptor(timing, rules, names, horizon) : null;
    const surroundings = { owner, quorum: electorate.quorum, timing, rules, compare: ballotOrder(rules, timing), horizon };
    const learner = algorithm.teaches
      ? new RoundLearner({
          owner,
          members: electorate.members,
          isMember,
          timing,
          names,
          horizon,
          hashKey: config.hashKey,
          watchesMax: config.limits?.watches,
        })
      : null;
    this.#learner = learner;
    this.#contender = new Contender(surroundings, algorithm, electorate, ballots, names, (name, value, step) =>
      learner?.found(name, value, step),
    );
  }

  get wakeAt(): MonoUs {
    return monoUs(Math.min(this.#acceptor?.wakeAt ?? Infinity, this.#contender.wakeAt, this.#learner?.wakeAt ?? Infinity));
  }

  /** How many entries the calendars of its roles have: a measure of entries left behind. */
  get planned(): number {
    return this.#contender.planned + (this.#acceptor?.planned ?? 0) + (this.#learner?.planned ?? 0);
  }

  /** How long a lease may still be acted under, by both clocks; 0 when it is not held. */
  remainingUs(lease: number, name: Uint8Array, mono: MonoUs, wall: WallUs): number {
    return this.#contender.remainingUs(lease, name, mono, wall);
  }

  /** The token of the lease that the learner of this node believes in, by its own clocks; 0 if it believes in none. */
  believed(name: Uint8Array, mono: MonoUs, wall: WallUs): number {
    return this.#learner?.hint(name, { monoUs: mono, wallUs: wall })?.token ?? 0;
  }

  /** The highest token that this node goes by. */
  get highestToken(): number {
    return Math.max(this.#contender.tokens.last, this.#acceptor?.floor ?? 0);
  }

  /** How many names are in the tables of this node. */
  get names(): number {
    return this.#names.size;
  }

  /** How long this member still gives no vote; 0 for a client. */
  silentForUs(mono: MonoUs): number {
    return this.#acceptor?.silentForUs(mono) ?? 0;
  }

  start(step: RoundStep): void {
    this.#acceptor?.start(this.#boot.restarted, step);
  }

  admits(sender: Sender, message: RoundMessage): boolean {
    return this.#admission.admits(sender, message);
  }

  receive(from: NodeId, message: RoundMessage, step: RoundStep): void {
    switch (message.kind) {
      case READ:
        this.#acceptor?.read(from, message, step);
        return;
      case WRITE:
        this.#acceptor?.write(from, message, step);
        return;
      case ROUND_RELEASE:
        this.#acceptor?.release(from, message, step);
        return;
      case ROUND_WATCH:
        this.#learner?.watched(from, message, step);
        return;
      case ROUND_LEARN:
        if ((message.flags & PASSED_ON) === 0 || message.owner === this.#owner) this.#learner?.learn(message, step);
        return;
      default:
        // An answer to an earlier life of this node is not for us.
        if (message.owner !== this.#owner) return;
        if (message.kind === ACK_RELEASE || !this.#trust.isDeafTo(from)) this.#answer(from, message, step);
    }
  }

  #answer(from: NodeId, message: RoundMessage, step: RoundStep): void {
    switch (message.kind) {
      case ACK_READ:
        this.#contender.readAnswered(from, message, step);
        return;
      case ACK_WRITE:
        this.#contender.voted(from, message, step);
        return;
      case NACK:
        if (message.reason === NACK_NO_WATCH) this.#learner?.refused(from, message, step);
        else this.#contender.nacked(from, message, step);
        return;
      case ACK_RELEASE:
        this.#contender.released(from, message, step);
        return;
    }
  }

  command(command: LeaseCommand, step: RoundStep): void {
    switch (command.kind) {
      case 'acquire':
        this.#checkTerm(command.termUs);
        this.#checkMeta(command.meta);
        this.#contender.acquire(command, step);
        return;
      case 'cancel':
        this.#contender.cancel(command.lease, step);
        return;
      case 'renew':
        this.#checkTerm(command.termUs);
        this.#contender.renew(command.lease, command.name, command.termUs, step);
        return;
      case 'release':
        this.#contender.release(command.lease, command.name, command.inUs ?? 0, step);
        return;
      case 'lapse':
        this.#contender.lapse(command.lease, command.name, step);
        return;
      case 'query':
        this.#contender.look(command.lease, command.name, step);
        return;
      case 'watch':
        this.#teaching().watch(command.prefix, step);
        return;
      case 'unwatch':
        this.#learner?.unwatch(command.prefix);
        return;
      case 'proclaim':
        this.#checkMeta(command.meta);
        this.#contender.proclaim(command.lease, command.name, command.meta, command.number, step);
        return;
      case 'retime':
        this.#contender.retime(command.rttUs);
        return;
      case 'rate':
        this.#rate(command, step);
        return;
      case 'unlist':
        return;
      case 'greet':
        return;
      case 'upgrade':
      case 'cancel-upgrade':
      case 'downgrade':
        throw this.#unsupported('does not change how a lease is held');
      case 'hand-over':
      case 'line':
        throw this.#unsupported('hands no lease over: release it');
      case 'enter-view':
      case 'hear-view':
      case 'view-stored':
        throw this.#unsupported('has the members and terms that it is set up with');
      case 'list':
        throw this.#unsupported('has no list of what is held: ask holder() of a name');
      case 'status':
      case 'bootstrap':
        throw this.#unsupported('does not ask members how they stand, nor ends their silence early');
    }
  }

  /** Votes given while its clock was off may end too early: it votes again after a silence, like a member that has forgotten them. */
  #rate(command: Extract<LeaseCommand, { kind: 'rate' }>, step: RoundStep): void {
    if (!this.#rules.rateWatched) return;
    this.#trust.rate(command);
    if (command.own === 'fine') return;
    this.#acceptor?.keepSilent(step);
    if (command.own === 'slow') this.#contender.forfeit(step);
  }

  #teaching(): RoundLearner {
    if (this.#learner !== null) return this.#learner;
    throw this.#unsupported('tells nobody of its leases: ask holder()');
  }

  #unsupported(why: string): TenureError {
    return new TenureError('TENURE_UNSUPPORTED', `the engine '${this.#config.engine}' ${why}, or choose another engine`);
  }

  /** Bad arguments are thrown before anything has changed; the driver hands them to its caller. */
  #checkTerm(termUs: number): void {
    const { maxTermUs } = this.#config.timing;
    if (Number.isInteger(termUs / 1000) && termUs > 0 && termUs <= maxTermUs) return;
    throw new TenureError(
      'TENURE_BAD_ARGUMENT',
      `a term is whole milliseconds, at least one and at most ${maxTermUs / 1000}; not ${termUs / 1000}`,
    );
  }

  #checkMeta(meta: Uint8Array | undefined): void {
    if (meta === undefined || meta.length <= META_BYTES_MAX) return;
    throw new TenureError('TENURE_BAD_ARGUMENT', `metadata may have ${META_BYTES_MAX} bytes, not ${meta.length}`);
  }

  wake(step: RoundStep): void {
    this.#acceptor?.wake(step);
    this.#contender.wake(step);
    this.#learner?.wake(step);
  }

  completed(): void {}

  snapshot(): Snapshot {
    return {
      acceptor: this.#acceptor?.snapshot() ?? null,
      trust: this.#trust.snapshot(),
      contender: this.#contender.snapshot(),
      learner: this.#learner?.snapshot() ?? null,
    };
  }

  restore(snapshot: Snapshot): void {
    const told = snapshot as unknown as { acceptor: Snapshot; trust: Snapshot; contender: Snapshot; learner: Snapshot };
    if (told.acceptor !== null) this.#acceptor?.restore(told.acceptor);
    this.#trust.restore(told.trust);
    this.#contender.restore(told.contender);
    if (told.learner !== null) this.#learner?.restore(told.learner);
  }
}
