/**
 * The quorum core: proposer, acceptor and learner of one node, all resources inside. A member has every
 * role, a client everything but the acceptor. This file only hands each message and command to the role
 * it is for.
 */
import { monoUs, spanUs, type BallotTime, type Incarnation, type MonoUs, type NodeId, type WallUs } from '../../../kernel/index.ts';
import { NameTable } from '../../tables/index.ts';
import type { Boot, Completion, Core, Sender, Snapshot } from '../../contract.ts';
import { RateTrust } from '../rate-trust.ts';
import { Acceptor } from './acceptor.ts';
import { Census, type LivesView } from '../census.ts';
import { Roster } from '../roster.ts';
import type { Succession } from '../succession.ts';
import { Admission } from './admission.ts';
import { AskingRoles } from './asking-roles.ts';
import { Checks } from './checks.ts';
import type { LeaseCommand, LeaseEvent } from '../contract.ts';
import type { QuorumConfig, QuorumStep } from './config.ts';
import { Holders } from './holders.ts';
import type { Learner } from './learner.ts';
import {
  ACCEPTED,
  ANSWER,
  BUNDLE_LEARNED,
  FREE,
  HAS_LEASE,
  IN_LINE,
  INVITE,
  LEARN,
  LEARNED,
  LINE,
  LINE_TOLD,
  LIST,
  LISTED,
  NO_BUNDLE,
  NO_PLACE,
  NO_WATCH,
  OFFER,
  PAGED,
  PREPARE,
  PROMISED,
  PROPOSE,
  QUERY,
  READY,
  REFUSED,
  RELEASE,
  RELEASED,
  RENEW,
  RENEWED,
  UNFOLD,
  UNFOLDED,
  UNWAIT,
  UPGRADING,
  WAIT,
  WANTED_TOLD,
  WATCH,
  BIND,
  BOUND,
  GO,
  GONE,
  STATUS,
  STATUS_TOLD,
  NOTE,
  NOTED,
  OTHER_VIEW,
  isCounted,
  QuorumMessage,
  VIEW_TOLD,
} from './messages.ts';
import type { CoreSnapshot } from './core-snapshot.ts';
import { QuorumOutbox } from './outbox.ts';
import { Proposer } from './proposer.ts';
import { ALL_RULES, type QuorumRules } from './rules.ts';
import { retime } from '../timing.ts';
import type { View } from '../views.ts';
import { firstView, successionOf } from './acceptor-view.ts';
import { ViewFollower } from './view-follower.ts';
import { Watchers } from './watchers.ts';

export class QuorumCore implements Core<QuorumMessage, LeaseCommand, LeaseEvent> {
  readonly #names: NameTable;
  readonly #acceptor: Acceptor | null;
  readonly #watchers: Watchers;
  readonly #out: QuorumOutbox;
  readonly #proposer: Proposer;
  readonly #holder: Holders;
  readonly #asking: AskingRoles;
  readonly #trust = new RateTrust();
  readonly #admission: Admission;
  readonly #census: Census<QuorumMessage, QuorumStep>;
  readonly #succession: Succession | null;
  readonly #life: Incarnation;
  readonly #checks: Checks;
  readonly #views: ViewFollower;

  constructor(given: QuorumConfig, boot: Boot, rules: QuorumRules = ALL_RULES) {
    const config = rules.believesNearOnly ? given : { ...given, timing: { ...given.timing, aheadUsMax: spanUs(Infinity) } };
    const names = new NameTable(config.hashKey);
    this.#names = names;
    const view = firstView(config);
    const memberNumbers = config.memberNumbers ?? config.memberKeys.length;
    const owner = rules.ownerIsIncarnation ? boot.incarnation : ((boot.self + 1) as Incarnation);
    this.#checks = new Checks(config, rules);
    this.#watchers = new Watchers(config.timing.waiterUs, config.hashKey, config.limits?.watches);
    const isMember = boot.self < memberNumbers;
    const roster = new Roster(memberNumbers, !isMember);
    const succession = isMember ? successionOf(config, view, boot, roster) : null;
    this.#succession = succession;
    const kinds = { note: NOTE, noted: NOTED };
    const census = { self: boot.self, who: owner, roster, succession, message: new QuorumMessage(), kinds, isStrict: rules.newestLives };
    this.#census = new Census<QuorumMessage, QuorumStep>(census, this.#lives);
    const sign = (vote: QuorumMessage, print: number): void => this.#census.sign(vote, print);
    const followed = (adopted: View, step: QuorumStep): void => this.#views.follow(adopted, step);
    this.#acceptor = isMember ? new Acceptor({ config, boot, names, watchers: this.#watchers, sign, succession, rules, followed }) : null;
    this.#out = new QuorumOutbox(owner, view, roster, config.timing, rules);
    this.#holder = new Holders(this.#out, names, config.bundles ?? false);
    this.#proposer = new Proposer(this.#out, this.#holder);
    this.#holder.onEnded((lease, step) => this.#proposer.drop(lease, step));
    this.#asking = new AskingRoles(this.#out, names);
    const roles = { proposer: this.#proposer, holder: this.#holder, asking: this.#asking };
    this.#views = new ViewFollower({ ...roles, out: this.#out, acceptor: this.#acceptor, checks: this.#checks });
    this.#admission = new Admission(memberNumbers, rules);
    this.#life = boot.incarnation;
  }

  get wakeAt(): MonoUs {
    const acceptorAt = this.#acceptor?.wakeAt ?? Infinity;
    return monoUs(Math.min(acceptorAt, this.#asking.wakeAt, this.#census.wakeAt, this.#proposer.wakeAt, this.#holder.wakeAt));
  }

  /** How long a lease may still be acted under, by both clocks; 0 when it is not held. */
  remainingUs(lease: number, name: Uint8Array, mono: MonoUs, wall: WallUs): number {
    return this.#holder.remainingUs(lease, name, mono, wall);
  }

  /** What the learner believes of a name. */
  hint(name: Uint8Array, mono: MonoUs): ReturnType<Learner['hint']> {
    return this.#asking.begun?.learner.hint(name, mono) ?? null;
  }

  /** How long this member will still give no vote; 0 for a client, Infinity if its disk failed. */
  silentForUs(mono: MonoUs): number {
    if (!this.#acceptor) return 0;
    const { voting } = this.#acceptor;
    // Records that are read back may make it shorter.
    return voting.isLoading ? this.#out.timing.silenceUs : voting.silentForUs(mono);
  }

  /** The highest ballot that this node goes by. */
  get highestBallot(): BallotTime {
    return Math.max(this.#out.ballots.last, this.#acceptor?.highestBallot ?? 0) as BallotTime;
  }

  get rules(): QuorumRules {
    return this.#out.rules;
  }

  /** In which view this member votes; null for a client. */
  get votesIn(): View | null {
    return this.#acceptor?.views.view ?? null;
  }

  /** In which view this node asks. */
  get view(): View {
    return this.#out.view;
  }

  /** How many names are in the tables of this node. */
  get names(): number {
    return this.#names.size;
  }

  /** How often this member has voted in this life. */
  get votes(): number {
    return this.#acceptor?.given ?? 0;
  }

  /** How often leases of this node were renewed with their bundle, and how often it repaired a bundle. */
  get renewedInBulk(): number {
    return this.#holder.rounds.renewed;
  }

  get bundlesRepaired(): number {
    return this.#holder.rounds.repaired;
  }

  start(step: QuorumStep): void {
    this.#acceptor?.voting.start(step);
    this.#acceptor?.views.start(step);
    this.#census.wake(step);
  }

  admits(sender: Sender, message: QuorumMessage): boolean {
    return this.#admission.admits(sender, message);
  }

  receive(from: NodeId, message: QuorumMessage, step: QuorumStep): void {
    switch (message.kind) {
      case PREPARE:
        this.#acceptor?.prepare(from, message, step);
        return;
      case PROPOSE:
        this.#acceptor?.propose(from, message, step);
        return;
      case RELEASE:
        this.#acceptor?.release(from, message, step);
        return;
      case QUERY:
        this.#acceptor?.query(from, message, step);
        return;
      case LIST:
        this.#acceptor?.list(from, message, step);
        return;
      case WAIT:
        this.#acceptor?.wait(from, message, step);
        return;
      case UNWAIT:
        this.#acceptor?.unwait(message, step);
        return;
      case OFFER:
        this.#acceptor?.offer(from, message, step);
        return;
      case LINE:
        this.#acceptor?.tellLine(from, message, step);
        return;
      case WATCH:
        if (this.#acceptor) this.#watchers.watch(from, message, step);
        return;
      case LEARN:
        if (this.#acceptor?.believes(message, step)) this.#watchers.relay(message, step);
        return;
      case RENEW:
      case UNFOLD:
        this.#acceptor?.bulk.receive(from, message, step);
        return;
      case STATUS:
      case BIND:
      case GO:
        this.#acceptor?.voting.answerStatus(from, message, { life: this.#life, stored: this.#acceptor.views.stored }, step);
        return;
      case NOTE:
        if (!this.#acceptor) return;
        this.#census.note(from, message, step);
        // A member that was away may be in another view.
        this.#acceptor.views.tell(from, step);
        return;
      case VIEW_TOLD:
        this.#views.told(from, message, step);
        return;
      default:
        // An answer to an earlier life of this node is not for us.
        if (message.owner === this.#out.owner && !this.#isUnheard(from, message.kind)) this.#answer(from, message, step);
    }
  }

  /** By clock rates. Releases that were heard, hints and how members stand are no votes. */
  #isUnheard(from: NodeId, kind: number): boolean {
    if (!this.#trust.isDeafTo(from)) return false;
    return kind < LEARNED ? kind !== RELEASED : kind === LISTED || kind === PAGED || kind === IN_LINE || kind === RENEWED;
  }

  #answer(from: NodeId, message: QuorumMessage, step: QuorumStep): void {
    if (!this.#out.hears(message, step)) {
      // A page whose end waits for one name that is not believed would never be complete.
      if (message.kind !== LISTED) return;
      message.flags &= ~HAS_LEASE;
    }
    // What an older life says counts no more, also if that is known only from this very message.
    if (isCounted(message) && !this.#census.hear(from, message, step)) {
      step.emit({ kind: 'outlived', member: from });
      return;
    }
    switch (message.kind) {
      case NOTED:
        this.#census.noted(from, message, step);
        return;
      case PROMISED:
        this.#proposer.promised(from, message, step);
        return;
      case ACCEPTED:
        this.#proposer.accepted(from, message, step);
        this.#holder.accepted(from, message, step);
        this.#views.voted(from, message, step);
        return;
      case REFUSED:
        this.#refused(from, message, step);
        return;
      case RELEASED:
        this.#holder.released(from, message, step);
        return;
      case ANSWER:
        this.#asking.begun?.asker.answered(from, message, step);
        return;
      case LISTED:
      case PAGED:
        this.#asking.begun?.lister.listed(from, message, step);
        return;
      case FREE:
        this.#proposer.free(from, message, step);
        return;
      case INVITE:
        this.#proposer.invited(from, message, step);
        return;
      case READY:
        this.#holder.ready(from, message, step);
        return;
      case LINE_TOLD:
        this.#asking.begun?.lineAsker.answered(from, message, step);
        return;
      case IN_LINE:
        this.#proposer.inLine(from, message, step);
        return;
      case LEARNED:
        this.#asking.begun?.learner.learned(message, step);
        return;
      case RENEWED:
      case NO_BUNDLE:
      case UNFOLDED:
      case WANTED_TOLD:
        this.#holder.bulk(from, message, step);
        return;
      case BUNDLE_LEARNED:
        this.#asking.begun?.learner.learnedBundle(message, step);
        return;
      case STATUS_TOLD:
      case BOUND:
      case GONE:
        this.#asking.begun?.rollCall.answered(from, message, step);
        return;
    }
  }

  #refused(from: NodeId, message: QuorumMessage, step: QuorumStep): void {
    if (message.reason === OTHER_VIEW) this.#views.refused(from, message, step);
    switch (message.reason) {
      case NO_PLACE:
      case UPGRADING:
        this.#proposer.noPlace(from, message, step);
        return;
      case NO_WATCH:
        this.#asking.begun?.learner.refused(from, message, step);
        return;
      default:
        this.#proposer.refused(from, message, step);
        this.#holder.refused(from, message, step);
    }
  }

  command(command: LeaseCommand, step: QuorumStep): void {
    switch (command.kind) {
      case 'acquire':
        this.#checks.acquire(command);
        this.#proposer.acquire(command, step);
        return;
      case 'cancel':
        this.#proposer.cancel(command.lease, step);
        this.#asking.begun?.rollCall.cancel(command.lease);
        return;
      case 'renew':
        this.#checks.term(command.termUs);
        this.#holder.renew(command, step);
        return;
      case 'proclaim':
        this.#checks.meta(command.meta);
        this.#holder.proclaim(command, step);
        return;
      case 'upgrade':
        this.#proposer.upgrade(command, step);
        return;
      case 'cancel-upgrade':
        this.#proposer.drop(command.lease, step);
        return;
      case 'downgrade':
        this.#proposer.drop(command.lease, step);
        this.#holder.downgrade(command, step);
        return;
      case 'release':
        this.#holder.release(command, step);
        return;
      case 'hand-over':
        this.#holder.offer(command, step);
        return;
      case 'lapse':
        this.#holder.lapse(command);
        return;
      case 'greet':
        this.#out.setPlain(command.member as NodeId, command.plain ?? false);
        this.#out.setSingle(command.member as NodeId, command.single ?? false);
        if (command.single) this.#holder.rounds.uncount(command.member as NodeId);
        if (!this.#acceptor) return;
        this.#census.greet(command.member as NodeId, step);
        this.#acceptor.views.tell(command.member as NodeId, step);
        return;
      case 'enter-view':
      case 'hear-view':
        this.#views.heard(command, step);
        return;
      case 'view-stored':
        this.#acceptor?.views.viewStored(command);
        return;
      case 'retime':
        this.#retime(command.rttUs);
        return;
      case 'rate':
        this.#rate(command, step);
        return;
      default:
        this.#asking.command(command, step);
    }
  }

  /** Votes given while its clock was off may end too early: it votes again after a silence, like a member that has forgotten them. */
  #rate(command: Extract<LeaseCommand, { kind: 'rate' }>, step: QuorumStep): void {
    if (!this.#out.rules.rateWatched) return;
    this.#trust.rate(command);
    if (command.own === 'fine') return;
    this.#acceptor?.voting.hush(step);
    if (command.own === 'slow') this.#holder.forfeit(step);
  }

  #retime(rttUs: number): void {
    this.#out.timing = retime(this.#out.setUp, rttUs);
    this.#acceptor?.retime(this.#out.timing);
  }

  /** How lives change: for the census. */
  readonly #lives: LivesView<QuorumStep> = {
    begun: (member, step) => {
      if (this.#out.rules.newestLives) {
        this.#proposer.uncount(member);
        this.#holder.uncount(member);
        this.#asking.uncount(member);
      }
      if (this.#succession?.forgottenBy(member, step)) this.#acceptor?.voting.forgotten(step);
    },
    noted: (step) => this.#acceptor?.voting.noted(step),
    outbid: (step) => this.#acceptor?.voting.outbid(step),
  };

  wake(step: QuorumStep): void {
    const asksAgain = this.#census.wake(step) && (this.#acceptor?.voting.isNoting ?? false);
    if (asksAgain) step.emit({ kind: 'noting', missing: this.#succession?.missing ?? [] });
    this.#acceptor?.wake(step);
    this.#proposer.wake(step);
    this.#holder.wake(step);
    this.#asking.wake(step);
  }

  completed(completion: Completion, step: QuorumStep): void {
    this.#acceptor?.voting.completed(completion, step);
  }

  snapshot(): Snapshot {
    return {
      census: this.#census.snapshot(),
      acceptor: this.#acceptor?.snapshot() ?? null,
      watchers: this.#watchers.snapshot(),
      ballots: this.#out.ballots.last,
      rttUs: this.#out.timing.rttUs,
      trust: this.#trust.snapshot(),
      proposer: this.#proposer.snapshot(),
      holder: this.#holder.snapshot(),
      asking: this.#asking.snapshot(),
      views: this.#views.snapshot(),
    };
  }

  restore(snapshot: Snapshot): void {
    const told = snapshot as unknown as CoreSnapshot;
    this.#census.restore(told.census);
    if (told.acceptor !== null) this.#acceptor?.restore(told.acceptor);
    this.#watchers.restore(told.watchers);
    this.#out.ballots.observe(told.ballots);
    this.#views.restore(told.views);
    this.#retime(told.rttUs);
    this.#trust.restore(told.trust);
    this.#proposer.restore(told.proposer);
    this.#holder.restore(told.holder);
    this.#asking.restore(told.asking);
  }
}
