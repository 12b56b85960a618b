/** The roles of a node that ask and are told, and hold nothing: questions, lists, the line, what is watched, how members stand. */
import type { NodeId } from '../../../kernel/index.ts';
import type { NameTable } from '../../tables/index.ts';
import type { LeaseCommand } from '../contract.ts';
import { Asker } from './asker.ts';
import type { QuorumStep } from './config.ts';
import { Learner } from './learner.ts';
import { LineAsker } from './line-asker.ts';
import { Lister } from './lister.ts';
import type { QuorumOutbox } from './outbox.ts';
import { RollCall } from './roll-call.ts';

const KINDS = ['line', 'query', 'list', 'unlist', 'status', 'bootstrap', 'watch', 'unwatch'] as const;
export type AskingCommand = Extract<LeaseCommand, { kind: (typeof KINDS)[number] }>;

export class AskingRoles {
  readonly asker: Asker;
  readonly lineAsker: LineAsker;
  readonly lister: Lister;
  readonly learner: Learner;
  readonly rollCall: RollCall;

  constructor(out: QuorumOutbox, names: NameTable) {
    this.learner = new Learner(out, names);
    this.asker = new Asker(out, this.learner);
    this.lineAsker = new LineAsker(out);
    this.lister = new Lister(out, this.learner);
    this.rollCall = new RollCall(out);
  }

  get wakeAt(): number {
    return Math.min(this.asker.wakeAt, this.lineAsker.wakeAt, this.lister.wakeAt, this.learner.wakeAt, this.rollCall.wakeAt);
  }

  command(command: AskingCommand, step: QuorumStep): void {
    switch (command.kind) {
      case 'line':
        this.lineAsker.ask(command.lease, command.name, step);
        return;
      case 'query':
        this.asker.ask(command.lease, command.name, step);
        return;
      case 'list':
        this.lister.list(command.lease, command.prefix, step);
        return;
      case 'unlist':
        this.lister.unlist(command.lease);
        return;
      case 'status':
      case 'bootstrap':
        this.rollCall.begin(command.lease, command.kind, command.waitUs, step);
        return;
      case 'watch':
        this.learner.watch(command.prefix, step);
        return;
      case 'unwatch':
        this.learner.unwatch(command.prefix, step);
        return;
    }
  }

  /** The voter has begun another life: what an older one said counts no more. */
  uncount(voter: NodeId): void {
    this.asker.uncount(voter);
    this.lister.uncount(voter);
  }

  wake(step: QuorumStep): void {
    this.asker.wake(step);
    this.lineAsker.wake(step);
    this.lister.wake(step);
    this.learner.wake(step);
    this.rollCall.wake(step);
  }
}
