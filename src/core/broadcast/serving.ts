/** What a member does for readers, its own and clients': pages of the log, where it ends, and copies of the application's state. */
import { nodeId, type MonoUs, type NodeId } from '../../kernel/index.ts';
import type { Snapshot } from '../contract.ts';
import type { BroadcastConfig, BroadcastLimits } from './config.ts';
import { surveyOf, type BroadcastCommand, type BroadcastStanding, type MemberSurvey } from './contract.ts';
import type { BroadcastStep } from './epoch-consensus.ts';
import type { MessageLog } from './log.ts';
import type { BroadcastOwnMessage } from './messages.ts';
import { entriesOf } from './pages.ts';
import { LogReaders } from './readers.ts';
import { StateCopies } from './state-copies.ts';

export interface ServingGround {
  readonly config: BroadcastConfig;
  readonly limits: BroadcastLimits;
  readonly self: NodeId;
  readonly log: MessageLog;
  readonly member: { readonly standing: BroadcastStanding; readonly epoch: number };
  send(to: NodeId, message: BroadcastOwnMessage, step: BroadcastStep): void;
}

export type ServingCommand = Extract<BroadcastCommand, { readonly kind: 'read' | 'forget' | 'look' | 'survey' | 'offer' | 'fetch' }>;
export type ServingMessage = Extract<
  BroadcastOwnMessage,
  { readonly kind: 'read' | 'forget' | 'look' | 'survey' | 'surveyed' | 'fetch' | 'part' }
>;

export class Serving {
  /** Without these members there is no majority: they have lost their memory. */
  without: readonly number[] = [];
  readonly #ground: ServingGround;
  readonly #readers: LogReaders<BroadcastStep>;
  readonly #states: StateCopies<BroadcastStep>;

  constructor(ground: ServingGround) {
    const { config, limits, self, log } = ground;
    this.#ground = ground;
    this.#readers = new LogReaders<BroadcastStep>(log, limits.clients, {
      page: (node, reader, after, { pieces, upTo }, step) => {
        if (node === self) step.emit({ kind: 'page', reader, entries: entriesOf(pieces), upTo, epoch: ground.member.epoch });
        else ground.send(nodeId(node), { kind: 'page', reader, after, upTo, epoch: ground.member.epoch, pieces }, step);
      },
      gone: (node, reader, after, first, step) => {
        if (node === self) step.emit({ kind: 'gone', reader, first });
        else ground.send(nodeId(node), { kind: 'gone', reader, after, first }, step);
      },
    });
    this.#states = new StateCopies<BroadcastStep>({
      members: config.members,
      self,
      retryUs: config.retryUs,
      send: (to, message, step) => ground.send(nodeId(to), message, step),
      fetched: (snapshot, step) => step.emit({ kind: 'snapshot', snapshot }),
    });
  }

  get wakeAt(): MonoUs {
    return this.#states.wakeAt;
  }

  wake(step: BroadcastStep): void {
    this.#states.wake(step);
  }

  command(command: ServingCommand, step: BroadcastStep): void {
    const { self, log } = this.#ground;
    switch (command.kind) {
      case 'read':
        this.#readers.ask(self, command.reader, { ...command, name: command.name?.slice() ?? null }, step);
        return;
      case 'forget':
        return this.#readers.forget(self, command.reader);
      case 'look':
        return step.emit({ kind: 'end', first: log.firstPosition, last: log.position });
      case 'survey':
        return this.#survey(step);
      case 'offer':
        return this.#states.offer(command.name, command.snapshot);
      default:
        return this.#states.fetch(command.name, command.after, step);
    }
  }

  receive(from: NodeId, message: ServingMessage, step: BroadcastStep): void {
    const { log } = this.#ground;
    switch (message.kind) {
      case 'read': {
        const { reader, after, name, bytesMax } = message;
        const isAnswered = this.#readers.ask(from, reader, { after, bytesMax, name: name?.slice() ?? null }, step);
        // A client that has to wait is told so: it knows then that this member is up.
        if (!isAnswered)
          this.#ground.send(from, { kind: 'page', reader, after, upTo: after, epoch: this.#ground.member.epoch, pieces: [] }, step);
        return;
      }
      case 'forget':
        return this.#readers.forget(from, message.reader);
      case 'look':
        return this.#ground.send(
          from,
          { kind: 'end', first: log.firstPosition, last: log.position, epoch: this.#ground.member.epoch },
          step,
        );
      case 'survey':
        return this.#ground.send(from, { kind: 'surveyed', ...this.#surveyed }, step);
      case 'surveyed':
        return step.emit(surveyOf(from, message));
      case 'fetch':
        return this.#states.asked(from, message, step);
      default:
        return this.#states.part(from, message, step);
    }
  }

  get #surveyed(): MemberSurvey {
    const ground = this.#ground;
    const { firstPosition: first, position: last } = ground.log;
    const { standing, epoch } = ground.member;
    return { standing, epoch, first, last, without: this.without };
  }

  #survey(step: BroadcastStep): void {
    const ground = this.#ground;
    const { config, self } = ground;
    step.emit(surveyOf(self, this.#surveyed));
    for (let member = 0; member < config.members; member++) if (member !== self) ground.send(nodeId(member), { kind: 'survey' }, step);
  }

  /** The log has grown, or begins later. */
  advance(step: BroadcastStep): void {
    this.#readers.advance(step);
  }

  snapshot(): Snapshot {
    return { readers: this.#readers.snapshot(), states: this.#states.snapshot() };
  }

  restore(snapshot: Snapshot): void {
    const { readers, states } = snapshot as { readers: Snapshot; states: Snapshot };
    this.#readers.restore(readers);
    this.#states.restore(states);
  }
}
