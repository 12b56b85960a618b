/**
 * Exact questions: who holds this? A quorum of acceptors is asked and the answers are timed by the
 * asker. At most one lease can have a quorum of votes, so a quorum of answers names the only possible
 * holder, or nobody.
 */
import { encodeName, monoAfter, VoterSet, type BallotTime, type Incarnation, type MonoUs, type NodeId } from '../../../kernel/index.ts';
import type { Snapshot } from '../../contract.ts';
import type { HolderHint } from '../contract.ts';
import type { QuorumStep } from './config.ts';
import { DueHeap } from '../../tables/index.ts';
import { HAS_LEASE, QUERY, type QuorumMessage } from './messages.ts';
import type { Learner } from './learner.ts';
import type { Outgoing } from './outgoing.ts';
import { textOf, voterSet } from '../snapshots.ts';
import { stretch } from '../timing.ts';

interface Told {
  readonly owner: Incarnation;
  readonly lease: number;
  readonly token: number;
  meta: Uint8Array;
  /** Of the vote that brought the metadata. */
  ballot: BallotTime;
  remainingUs: number;
  count: number;
}

interface Question {
  readonly name: Uint8Array;
  readonly voters: readonly NodeId[];
  readonly answered: VoterSet;
  readonly told: Told[];
  readonly until: MonoUs;
}

type QuestionSnapshot = [
  number,
  string,
  readonly NodeId[],
  readonly number[],
  readonly (Omit<Told, 'meta'> & { meta: number[] })[],
  MonoUs,
];

export class Asker {
  readonly #out: Outgoing;
  readonly #learner: Learner;
  readonly #questions = new Map<number, Question>();
  readonly #due = new DueHeap();

  constructor(out: Outgoing, learner: Learner) {
    this.#out = out;
    this.#learner = learner;
  }

  get wakeAt(): MonoUs {
    return this.#due.nextAt;
  }

  ask(question: number, name: Uint8Array, step: QuorumStep): void {
    const voters = this.#out.votersOf(name);
    const until = monoAfter(step.monoUs, this.#out.timing.attemptUs);
    this.#questions.set(question, { name, voters, answered: new VoterSet(), told: [], until });
    this.#due.push(until, question);
    this.#out.compose(QUERY, question, name);
    this.#out.sendTo(voters, step);
  }

  answered(from: NodeId, message: QuorumMessage, step: QuorumStep): void {
    const question = this.#questions.get(message.lease);
    if (!question || !question.voters.includes(from)) return;
    // The deadline is data (rule 1): what comes late says nothing of now.
    if (step.monoUs >= question.until) {
      this.#conclude(message.lease, question, step);
      return;
    }
    if (!question.answered.add(from)) return;
    if ((message.flags & HAS_LEASE) !== 0) note(question, message, this.#out.rules.newestMeta);
    const { quorum } = this.#out.electorate;
    const unheard = question.voters.length - question.answered.size;
    const most = mostTold(question);
    // Decided when one lease has a quorum, or none can have it any more.
    if ((most?.count ?? 0) >= quorum || (most?.count ?? 0) + unheard < quorum) this.#conclude(message.lease, question, step);
  }

  wake(step: QuorumStep): void {
    for (let number = this.#due.take(step.monoUs); number >= 0; number = this.#due.take(step.monoUs)) {
      const question = this.#questions.get(number);
      if (question) this.#conclude(number, question, step);
    }
  }

  snapshot(): Snapshot {
    return [...this.#questions]
      .sort(([a], [b]) => a - b)
      .map(([number, { name, voters, answered, told, until }]) => [
        number,
        textOf(name),
        voters,
        answered.toArray(),
        told.map(({ meta, ...rest }) => ({ ...rest, meta: [...meta] })),
        until,
      ]);
  }

  restore(snapshot: Snapshot): void {
    for (const [number, text, voters, answered, told, until] of snapshot as unknown as QuestionSnapshot[]) {
      const heard = told.map(({ meta, ...rest }) => ({ ...rest, meta: Uint8Array.from(meta) }));
      this.#questions.set(number, { name: encodeName(text), voters, answered: voterSet(answered), told: heard, until });
      this.#due.push(until, number);
    }
  }

  #conclude(number: number, question: Question, step: QuorumStep): void {
    this.#questions.delete(number);
    const { quorum } = this.#out.electorate;
    const unheard = question.voters.length - question.answered.size;
    const most = mostTold(question);
    const possible = most && most.count + unheard >= quorum ? most : null;
    const certain = possible ? possible.count >= quorum : unheard < quorum;
    const { rateErrorPpm } = this.#out.timing;
    const holder: HolderHint | null = possible
      ? { owner: possible.owner, token: possible.token, remainingUsMax: stretch(possible.remainingUs, rateErrorPpm) }
      : null;
    if (holder && certain && possible) this.#learner.found(question.name, holder, possible.ballot, possible.meta, step);
    step.emit({ kind: 'answered', lease: number, holder, certain, meta: possible && possible.meta.length > 0 ? possible.meta : null });
  }
}

function note(question: Question, message: QuorumMessage, newest: boolean): void {
  const known = question.told.find(({ owner, lease }) => owner === message.holder && lease === message.holderLease);
  if (known) {
    known.count++;
    known.remainingUs = Math.max(known.remainingUs, message.remainingUs);
    // A quorum that has what was proclaimed shares a voter with every quorum that answers.
    if (newest && message.ballot > known.ballot) {
      known.ballot = message.ballot;
      known.meta = message.meta.slice(message.metaStart, message.metaEnd);
    }
    return;
  }
  const meta = message.meta.slice(message.metaStart, message.metaEnd);
  question.told.push({
    owner: message.holder,
    lease: message.holderLease,
    token: message.token,
    meta,
    ballot: message.ballot,
    remainingUs: message.remainingUs,
    count: 1,
  });
}

function mostTold(question: Question): Told | null {
  return question.told.reduce<Told | null>((most, told) => (most && most.count >= told.count ? most : told), null);
}
