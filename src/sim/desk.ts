/** The desk of one process's user: its commands and timers, and what it tells the history. */
import type { MonoUs, WallUs } from '../kernel/index.ts';
import { isOfQuestion, type HistoryRecord } from '../check/index.ts';
import type { SimProcess } from './process.ts';
import type { Desk, DistributiveOmit, HoldDeadline } from './protocol.ts';
import type { World } from './world.ts';

export class SimDesk<Message, Command, Event, Config> implements Desk<Command> {
  readonly #world: World<Message, Command, Event, Config>;
  readonly #process: SimProcess<Message, Command, Event>;

  constructor(world: World<Message, Command, Event, Config>, process: SimProcess<Message, Command, Event>) {
    this.#world = world;
    this.#process = process;
  }

  get node(): number {
    return this.#process.node;
  }

  get incarnation(): number {
    return this.#process.incarnation;
  }

  get monoUs(): MonoUs {
    return this.#world.monoOf(this.#process.node);
  }

  get wallUs(): WallUs {
    return this.#world.wallOf(this.#process.node);
  }

  clockOf(node: number): { readonly life: number; readonly monoUs: number } | null {
    const { population } = this.#world;
    const process = population.current[node];
    if (!process || population.clocks[node]?.isAsleep) return null;
    return { life: process.incarnation, monoUs: this.#world.monoOf(process.node) };
  }

  get healed(): boolean {
    return this.#world.healed;
  }

  choose(bound: number): number {
    return this.#world.chooser.below(bound);
  }

  command(command: Command): void {
    this.#world.queueCommand(command);
  }

  after(spanUs: number, tag: number): void {
    this.#world.setTimer(this.#process, spanUs, tag);
  }

  quit(spanUs: number): void {
    const { population, nowUs } = this.#world;
    this.#world.at(nowUs + spanUs, () => {
      if (this.#process.alive) population.crash(this.#process, true);
    });
  }

  requested(resource: string, request: number): void {
    this.record({ kind: 'requested', resource, request });
  }

  abandoned(resource: string, request: number): void {
    this.record({ kind: 'abandoned', resource, request });
  }

  granted(resource: string, request: number, token: number, deadline: HoldDeadline): void {
    this.#world.settleHolds(resource);
    const remainingUs = this.#world.remainingUs(this.#process.index, deadline);
    this.#world.tape?.granted(this.#process, request, token);
    this.record({ kind: 'granted', resource, request, token, remainingUs });
    this.#world.holds.open(resource, this.#process.index, token, deadline);
  }

  renewed(resource: string, token: number, deadline: HoldDeadline): void {
    this.#world.settleHolds(resource);
    const remainingUs = this.#world.remainingUs(this.#process.index, deadline);
    this.record({ kind: 'renewed', resource, token, remainingUs });
    const hold = this.#world.holds.find(resource, this.#process.index, token);
    if (hold) hold.deadline = deadline;
  }

  used(resource: string, token: number): void {
    const hold = this.#world.holds.find(resource, this.#process.index, token);
    const remainingUs = hold ? this.#world.remainingUs(this.#process.index, hold.deadline) : 0;
    this.#world.settleHolds(resource);
    this.#world.tape?.used(this.#process, resource, token);
    this.record({ kind: 'used', resource, token, remainingUs });
  }

  ended(resource: string, token: number, reason: 'released' | 'lost'): void {
    this.#world.settleHolds(resource);
    if (this.#world.holds.close(resource, this.#process.index, token)) this.record({ kind: 'ended', resource, token, reason });
  }

  record(record: DistributiveOmit<HistoryRecord, 'at' | 'node' | 'incarnation'>): void {
    const { node, incarnation } = this.#process;
    // What has ended by its holder's own clocks is over for whoever asks, too.
    if (isOfQuestion(record.kind)) for (const resource of this.#world.holds.resources) this.#world.settleHolds(resource);
    if (record.kind === 'believed') this.#world.tape?.looked(this.#process, record.resource);
    this.#world.record({ at: this.#world.nowUs, node, incarnation, ...record });
  }

  sometimes(name: string): void {
    this.#world.sometimes.bump(name);
  }

  done(): void {
    this.#world.population.done(this.#process);
  }

  failLiveness(message: string): void {
    this.#world.failLiveness(`${this.#world.nameOf(this.#process.node)}: ${message}`);
  }
}
