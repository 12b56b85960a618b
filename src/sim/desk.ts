/** The desk of one process's user: its commands and timers, and its reports to the history. */
import type { MonoUs, WallUs } from '../kernel/index.ts';
import type { UnitId } from '../core/index.ts';
import { Teller, type ApplicationReport } from './chronicle.ts';
import type { SimProcess } from './process.ts';
import type { Desk } from './protocol.ts';
import type { Population } from './population.ts';
import type { WorldSurroundings } from './surroundings.ts';

export class SimDesk<Message, Command, Event, Config> extends Teller implements Desk<Command> {
  readonly #world: WorldSurroundings<Message, Command, Event, Config>;
  readonly #population: Population<Message, Command, Event, Config>;
  readonly #process: SimProcess<Message, Command, Event>;

  constructor(
    world: WorldSurroundings<Message, Command, Event, Config>,
    population: Population<Message, Command, Event, Config>,
    process: SimProcess<Message, Command, Event>,
  ) {
    super();
    this.#world = world;
    this.#population = population;
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
    const process = this.#population.current[node];
    if (!process || this.#population.clocks[node]?.isAsleep) return null;
    return { life: process.incarnation, monoUs: this.#world.monoOf(process.node) };
  }

  recordOn(node: number, key: string): Uint8Array | null {
    return this.#world.storage.recordOn(node, key);
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

  openUnit(unit: UnitId): boolean {
    return this.#world.storage.epochs.open(this.#process.index, unit);
  }

  epochOf(unit: UnitId): number {
    return this.#world.storage.epochs.openedBy(this.#process.index, unit);
  }

  noteWaitedOut(unit: UnitId): void {
    this.#world.storage.epochs.noteWaitedOut(this.#process.index, unit);
  }

  quit(spanUs: number): void {
    this.#world.at(this.#world.nowUs + spanUs, () => {
      if (this.#process.alive) this.#population.crash(this.#process, true);
    });
  }

  protected report(told: ApplicationReport): void {
    this.#world.report(this.#process, told);
  }

  sometimes(name: string): void {
    this.#world.sometimes.bump(name);
  }

  done(): void {
    this.#population.done(this.#process);
  }
}
