/** What the asking side of a node shares: who it is, who votes, its ballots, and one record to send with. */
import { BallotClock, hashName, type BallotTime, type Incarnation, type NodeId } from '../../../kernel/index.ts';
import type { QuorumStep } from './config.ts';
import { QuorumMessage, RELEASE } from './messages.ts';
import type { QuorumRules } from './rules.ts';
import type { Timing } from './timing.ts';
import type { Electorate } from './voters.ts';

export class Outgoing {
  readonly owner: Incarnation;
  readonly electorate: Electorate;
  /** As the cell was set up, and as it is now that round trips were measured. */
  readonly setUp: Timing;
  timing: Timing;
  readonly rules: QuorumRules;
  readonly message: QuorumMessage = new QuorumMessage();
  readonly ballots: BallotClock = new BallotClock();

  constructor(owner: Incarnation, electorate: Electorate, timing: Timing, rules: QuorumRules) {
    this.owner = owner;
    this.electorate = electorate;
    this.setUp = timing;
    this.timing = timing;
    this.rules = rules;
  }

  votersOf(name: Uint8Array): readonly NodeId[] {
    const { electorate } = this;
    return electorate.isWhole ? electorate.members : electorate.votersOf(hashName(name, 0, name.length));
  }

  nextBallot(step: QuorumStep): BallotTime {
    return this.ballots.next(step.wallUs);
  }

  /** The record, made ready for a message about a name. */
  compose(kind: number, lease: number, name: Uint8Array): QuorumMessage {
    const { message } = this;
    message.kind = kind;
    message.owner = this.owner;
    message.lease = lease;
    message.flags = 0;
    message.setName(name, 0, name.length);
    message.setMeta(undefined);
    return message;
  }

  sendTo(voters: readonly NodeId[], step: QuorumStep): void {
    for (const voter of voters) step.send(voter, this.message);
  }

  release(voters: readonly NodeId[], lease: number, name: Uint8Array, ballot: BallotTime, flags: number, step: QuorumStep): void {
    const message = this.compose(RELEASE, lease, name);
    message.ballot = ballot;
    message.flags = flags;
    this.sendTo(voters, step);
  }
}
