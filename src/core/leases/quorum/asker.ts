/**
 * Exact questions: which process holds this name? The asker asks the name's voters and times their answers. At most one
 * lease can have a quorum of votes at one instant, so a quorum that had the same vote when the question began names the
 * only possible holder; if no lease could have had a quorum, that is certain too.
 */
import { encodeName, monoAfter, type MonoUs, type NodeId } from '../../../kernel/index.ts';
import type { Snapshot } from '../../contract.ts';
import { findingOfSides, type HolderFinding, type VoterAnswer } from '../findings.ts';
import type { QuorumStep } from './config.ts';
import { DueHeap } from '../../tables/index.ts';
import { holderOf, isSameVote, newestOf, remainingOfVotes, voteIn, wasSo, type QuestionStart, type ToldVote } from './told-votes.ts';
import { HAS_LEASE, QUERY, type QuorumMessage } from './messages.ts';
import type { Learner } from './learner.ts';
import type { QuorumOutbox } from './outbox.ts';
import { textOf } from '../snapshots.ts';

interface Question {
  readonly name: Uint8Array;
  voters: readonly NodeId[];
  readonly told: Map<NodeId, VoterAnswer<ToldVote>>;
  readonly since: QuestionStart;
  readonly until: MonoUs;
}

interface QuestionSnapshot {
  readonly number: number;
  readonly name: string;
  readonly voters: readonly NodeId[];
  readonly told: readonly (readonly [NodeId, boolean, (Omit<ToldVote, 'meta'> & { readonly meta: readonly number[] }) | null])[];
  readonly since: QuestionStart;
  readonly until: MonoUs;
}

export class Asker {
  readonly #out: QuorumOutbox;
  readonly #learner: Learner;
  readonly #questions = new Map<number, Question>();
  readonly #due = new DueHeap();

  constructor(out: QuorumOutbox, learner: Learner) {
    this.#out = out;
    this.#learner = learner;
  }

  get wakeAt(): MonoUs {
    return this.#due.nextAt;
  }

  ask(number: number, name: Uint8Array, step: QuorumStep): void {
    const voters = this.#out.votersOf(name);
    const { monoUs: mono, wallUs } = step;
    const until = monoAfter(mono, this.#out.timing.attemptUs);
    this.#questions.set(number, { name, voters, told: new Map(), since: { monoUs: mono, wallUs }, until });
    this.#due.push(until, number);
    this.#send(number, name, voters, step);
  }

  #send(number: number, name: Uint8Array, voters: readonly NodeId[], step: QuorumStep): void {
    this.#out.inView(this.#out.compose(QUERY, number, name));
    this.#out.sendTo(voters, step);
  }

  /** The name has other voters now: ask these instead. Earlier answers say nothing about now. */
  viewChanged(step: QuorumStep): void {
    for (const [number, question] of this.#questions) {
      question.voters = this.#out.votersOf(question.name);
      question.told.clear();
      this.#send(number, question.name, question.voters, step);
    }
  }

  answered(from: NodeId, message: QuorumMessage, step: QuorumStep): void {
    const question = this.#questions.get(message.lease);
    if (!question || !question.voters.includes(from)) return;
    // The deadline is data (rule 1): a late answer says nothing of now.
    if (step.monoUs >= question.until) {
      this.#conclude(message.lease, question, this.#find(question), step);
      return;
    }
    if (question.told.has(from)) return;
    question.told.set(from, this.#hear(question, message, step));
    const finding = this.#find(question);
    if (finding.certain || question.told.size === question.voters.length) this.#conclude(message.lease, question, finding, step);
  }

  /** The voter has begun another life: what an older one said counts no more. */
  uncount(voter: NodeId): void {
    for (const { told } of this.#questions.values()) told.delete(voter);
  }

  wake(step: QuorumStep): void {
    for (let number = this.#due.take(step.monoUs); number >= 0; number = this.#due.take(step.monoUs)) {
      const question = this.#questions.get(number);
      if (question) this.#conclude(number, question, this.#find(question), step);
    }
  }

  #hear({ since }: Question, message: QuorumMessage, step: QuorumStep): VoterAnswer<ToldVote> {
    const { timing, rules } = this.#out;
    const isSteady = !rules.atOneInstant || wasSo(message, since, step, timing.rateErrorPpm);
    return { isSteady, vote: (message.flags & HAS_LEASE) === 0 ? null : voteIn(message, timing.rateErrorPpm, step) };
  }

  #find({ name, told }: Question): HolderFinding<ToldVote> {
    const { electorate, rules } = this.#out;
    return findingOfSides(electorate.sidesOf(this.#out.placementOf(name)), (voter) => told.get(voter), isSameVote(rules));
  }

  #conclude(number: number, { name }: Question, { votes, certain }: HolderFinding<ToldVote>, step: QuorumStep): void {
    this.#questions.delete(number);
    const vote = newestOf(votes, this.#out.rules.newestMeta);
    const holder = vote && holderOf(vote, remainingOfVotes(votes, step));
    if (holder && vote && certain && holder.remainingUsMax > 0) this.#learner.found(name, holder, vote, step);
    step.emit({ kind: 'answered', lease: number, holder, certain, meta: vote && vote.meta.length > 0 ? vote.meta : null });
  }

  snapshot(): Snapshot {
    return [...this.#questions]
      .sort(([a], [b]) => a - b)
      .map(([number, { name, voters, told, since, until }]) => ({
        number,
        name: textOf(name),
        voters,
        told: [...told]
          .sort(([a], [b]) => a - b)
          .map(([voter, { isSteady, vote }]) => [voter, isSteady, vote && { ...vote, meta: [...vote.meta] }]),
        since: { ...since },
        until,
      }));
  }

  restore(snapshot: Snapshot): void {
    for (const { number, name, voters, told, since, until } of snapshot as unknown as QuestionSnapshot[]) {
      const heard = told.map(([voter, isSteady, vote]): [NodeId, VoterAnswer<ToldVote>] => [
        voter,
        { isSteady, vote: vote && { ...vote, meta: Uint8Array.from(vote.meta) } },
      ]);
      this.#questions.set(number, { name: encodeName(name), voters, told: new Map(heard), since, until });
      this.#due.push(until, number);
    }
  }
}
