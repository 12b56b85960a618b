/** The desk of one process's user: its commands and timers, and what it tells the history. */
import type { MonoUs, WallUs } from '../kernel/index.ts';
import { Teller, type Told } from './chronicle.ts';
import type { SimProcess } from './process.ts';
import type { Desk } from './protocol.ts';
import type { World } from './world.ts';

export class SimDesk<Message, Command, Event, Config> extends Teller implements Desk<Command> {
  readonly #world: World<Message, Command, Event, Config>;
  readonly #process: SimProcess<Message, Command, Event>;

  constructor(world: World<Message, Command, Event, Config>, process: SimProcess<Message, Command, Event>) {
    super();
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

  protected tell(told: Told): void {
    this.#world.tell(this.#process, told);
  }

  sometimes(name: string): void {
    this.#world.sometimes.bump(name);
  }

  done(): void {
    this.#world.population.done(this.#process);
  }
}
