/**
 * The roles of a node that ask and are told, and hold nothing: questions, lists, the line, watches, how members stand. They are built when the
 * first of them is used: most nodes of a simulated world never ask, and a search builds nodes all the time.
 */
import type { NodeId } from '../../../kernel/index.ts';
import type { Snapshot } from '../../contract.ts';
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

interface Roles {
  readonly asker: Asker;
  readonly lineAsker: LineAsker;
  readonly lister: Lister;
  readonly learner: Learner;
  readonly rollCall: RollCall;
}

type RolesSnapshot = { readonly [Role in keyof Roles]: Snapshot };

export class AskingRoles {
  readonly #out: QuorumOutbox;
  readonly #names: NameTable;
  #roles: Roles | null = null;

  constructor(out: QuorumOutbox, names: NameTable) {
    this.#out = out;
    this.#names = names;
  }

  /** Null before anything was asked: then nothing that comes is an answer. */
  get begun(): Roles | null {
    return this.#roles;
  }

  get #begin(): Roles {
    if (this.#roles !== null) return this.#roles;
    const out = this.#out;
    const learner = new Learner(out, this.#names);
    const lister = new Lister(out, learner);
    this.#roles = { asker: new Asker(out, learner), lineAsker: new LineAsker(out), lister, learner, rollCall: new RollCall(out) };
    return this.#roles;
  }

  get wakeAt(): number {
    if (this.#roles === null) return Infinity;
    const { asker, lineAsker, lister, learner, rollCall } = this.#roles;
    return Math.min(asker.wakeAt, lineAsker.wakeAt, lister.wakeAt, learner.wakeAt, rollCall.wakeAt);
  }

  command(command: AskingCommand, step: QuorumStep): void {
    const { asker, lineAsker, lister, learner, rollCall } = this.#begin;
    switch (command.kind) {
      case 'line':
        lineAsker.ask(command.lease, command.name, step);
        return;
      case 'query':
        asker.ask(command.lease, command.name, step);
        return;
      case 'list':
        lister.list(command.lease, command.prefix, step);
        return;
      case 'unlist':
        lister.unlist(command.lease);
        return;
      case 'status':
      case 'bootstrap':
        rollCall.begin(command.lease, command.kind, command.waitUs, step);
        return;
      case 'watch':
        learner.watch(command.prefix, step);
        return;
      case 'unwatch':
        learner.unwatch(command.prefix, step);
        return;
    }
  }

  /** The voter has begun another life: what an older one said counts no more. */
  uncount(voter: NodeId): void {
    this.#roles?.asker.uncount(voter);
    this.#roles?.lister.uncount(voter);
  }

  viewChanged(step: QuorumStep): void {
    this.#roles?.asker.viewChanged(step);
    this.#roles?.lister.viewChanged(step);
    this.#roles?.learner.viewChanged(step);
  }

  wake(step: QuorumStep): void {
    if (this.#roles === null) return;
    const { asker, lineAsker, lister, learner, rollCall } = this.#roles;
    asker.wake(step);
    lineAsker.wake(step);
    lister.wake(step);
    learner.wake(step);
    rollCall.wake(step);
  }

  snapshot(): Snapshot {
    if (this.#roles === null) return null;
    const { asker, lineAsker, lister, learner, rollCall } = this.#roles;
    const told: RolesSnapshot = {
      asker: asker.snapshot(),
      lineAsker: lineAsker.snapshot(),
      lister: lister.snapshot(),
      learner: learner.snapshot(),
      rollCall: rollCall.snapshot(),
    };
    return told;
  }

  restore(snapshot: Snapshot): void {
    if (snapshot === null) return;
    const told = snapshot as unknown as RolesSnapshot;
    const { asker, lineAsker, lister, learner, rollCall } = this.#begin;
    asker.restore(told.asker);
    lineAsker.restore(told.lineAsker);
    lister.restore(told.lister);
    learner.restore(told.learner);
    rollCall.restore(told.rollCall);
  }
}
