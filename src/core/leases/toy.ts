/**
 * The toy: a lease by majority vote as one would write it in an afternoon, with none of the rules of
 * `docs/research/divergence/`. It is here to be broken: the simulator finds two holders within a few runs. It is
 * also the smallest complete core, so read it first.
 */
import { monoAfter, NEVER, quorumOf, nodeId, type MonoUs, type NodeId, type SpanUs } from '../../kernel/index.ts';
import type { Boot, Core, Snapshot, Step } from '../contract.ts';

export type ToyMessage = { kind: 'ask'; request: number } | { kind: 'yes'; request: number } | { kind: 'free'; request: number };

export type ToyCommand = { kind: 'acquire'; request: number } | { kind: 'release'; request: number };

export type ToyEvent = { kind: 'granted'; request: number; token: number; deadline: MonoUs } | { kind: 'expired'; request: number };

export interface ToyConfig {
  readonly members: number;
  readonly term: SpanUs;
}

type ToyStep = Step<ToyMessage, ToyEvent>;

export class ToyCore implements Core<ToyMessage, ToyCommand, ToyEvent> {
  readonly #config: ToyConfig;
  // As a voter: the candidate it voted for, and until when. Forgotten when the process restarts: the first bug.
  #votedFor: NodeId | null = null;
  #voteUntil: MonoUs = NEVER;
  // As a candidate: the request under way, its votes counted by message, never timed out: three more.
  #request = 0;
  #votes = 0;
  #deadline: MonoUs = NEVER;

  constructor(config: ToyConfig, _boot: Boot) {
    this.#config = config;
  }

  get wakeAt(): MonoUs {
    return this.#deadline;
  }

  start(_step: ToyStep): void {}

  command(command: ToyCommand, step: ToyStep): void {
    this.#deadline = NEVER;
    this.#votes = 0;
    this.#request = command.kind === 'acquire' ? command.request : 0;
    const kind = command.kind === 'acquire' ? 'ask' : 'free';
    for (let member = 0; member < this.#config.members; member++) step.send(nodeId(member), { kind, request: command.request });
  }

  /** Every node is trusted: the toy has no names that could be taken. */
  admits(): boolean {
    return true;
  }

  receive(from: NodeId, message: ToyMessage, step: ToyStep): void {
    switch (message.kind) {
      case 'ask':
        if (this.#votedFor !== null && this.#votedFor !== from && step.monoUs < this.#voteUntil) return;
        this.#votedFor = from;
        this.#voteUntil = monoAfter(step.monoUs, this.#config.term);
        step.send(from, { kind: 'yes', request: message.request });
        return;
      case 'yes':
        if (message.request !== this.#request || ++this.#votes !== quorumOf(this.#config.members)) return;
        this.#deadline = monoAfter(step.monoUs, this.#config.term);
        step.emit({ kind: 'granted', request: message.request, token: step.wallUs, deadline: this.#deadline });
        return;
      case 'free':
        if (this.#votedFor === from) this.#votedFor = null;
        return;
    }
  }

  wake(step: ToyStep): void {
    this.#deadline = NEVER;
    step.emit({ kind: 'expired', request: this.#request });
  }

  completed(): void {}

  snapshot(): Snapshot {
    return [this.#votedFor, this.#voteUntil, this.#request, this.#votes, this.#deadline];
  }

  restore(snapshot: Snapshot): void {
    [this.#votedFor, this.#voteUntil, this.#request, this.#votes, this.#deadline] = snapshot as [
      NodeId | null,
      MonoUs,
      number,
      number,
      MonoUs,
    ];
  }
}
