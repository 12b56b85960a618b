/** The clocks of a stage's machines, which go on only when time is told to go by. A process that lives on beside its successor has its machine's. */
import type { MonoUs, WallUs } from '../../kernel/index.ts';
import { MachineClock } from '../clock.ts';
import type { StageAction } from './actions.ts';

export type ClockAction = Extract<StageAction, { kind: 'boot' | 'sleep' | 'awake' | 'set' | 'rate' }>;

export class StageClocks {
  nowUs = 0;
  readonly #clocks: readonly MachineClock[];
  /** The machine of each process that lives on, counted from the number of nodes on. */
  readonly #twinsOn: number[] = [];

  constructor(uptimesUs: readonly number[]) {
    this.#clocks = uptimesUs.map((uptimeUs) => new MachineClock(uptimeUs, 0, 0));
  }

  /** Adds a process that lives on beside its successor on this machine; returns how many there are. */
  twin(node: number): number {
    this.#twinsOn.push(node);
    return this.#twinsOn.filter((machine) => machine === node).length;
  }

  of(node: number): MachineClock {
    return this.#clocks[this.#twinsOn[node - this.#clocks.length] ?? node] as MachineClock;
  }

  monoOf(node: number): MonoUs {
    return this.of(node).monoAt(this.nowUs);
  }

  wallOf(node: number): WallUs {
    return this.of(node).wallAt(this.nowUs);
  }

  set(action: ClockAction): void {
    const clock = this.of(action.node);
    switch (action.kind) {
      case 'boot':
        clock.restartMono(this.nowUs, action.uptimeUs);
        return;
      case 'sleep':
        clock.sleep(this.nowUs);
        return;
      case 'awake':
        clock.awake(this.nowUs);
        return;
      case 'set':
        clock.stepWall(this.nowUs, action.byUs);
        return;
      case 'rate':
        clock.setRate(this.nowUs, action.ppm);
        return;
    }
  }
}
