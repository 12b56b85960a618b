/** Runs the core of registers over several units on real time: effects become accesses of stores, answers and timers become steps. */
import { performance } from 'node:perf_hooks';
import { incarnation, invariant, nodeId, type MonoUs, type TenureError, type WallUs } from '../../kernel/index.ts';
import { UnitsCore, type UnitsCommand, type UnitsConfig, type UnitsEvent, type UnitsStep, type Version } from '../../core/index.ts';
import type { UnitAnswerOf, UnitLink } from './unit-link.ts';

/** Timers count in milliseconds, and not further than this. */
const TIMER_MS_MAX = 2_000_000_000;

export class UnitsDriver implements UnitsStep {
  readonly core: UnitsCore;
  readonly #links: readonly UnitLink[];
  readonly #heard: (event: UnitsEvent) => void;
  readonly #failed: (error: TenureError) => void;
  readonly #inputs: (() => void)[] = [];
  readonly #events: UnitsEvent[] = [];
  #isStepping = false;
  #isStopped = false;
  #timer: NodeJS.Timeout | undefined;
  #wakeAt = Infinity;

  constructor(
    links: readonly UnitLink[],
    config: UnitsConfig,
    life: number,
    { heard, failed }: { readonly heard: (event: UnitsEvent) => void; readonly failed: (error: TenureError) => void },
  ) {
    this.#links = links;
    this.#heard = heard;
    this.#failed = failed;
    this.core = new UnitsCore(config, { self: nodeId(0), incarnation: incarnation(life), restarted: true, diskKept: false });
  }

  command(command: UnitsCommand): void {
    this.#step(() => this.core.command(command, this));
  }

  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
  }

  // ── Step ───────────────────────────────────────────────────────────────────────────────────────────

  get monoUs(): MonoUs {
    return (performance.now() * 1000) as MonoUs;
  }

  get wallUs(): WallUs {
    return (Date.now() * 1000) as WallUs;
  }

  choose(bound: number): number {
    return Math.floor(Math.random() * bound);
  }

  send(): never {
    invariant(false, 'registers send no messages');
  }

  read(unit: number, key: string, op: number): void {
    this.#access(unit, op, (link) => link.read(key));
  }

  write(unit: number, key: string, value: Uint8Array, op: number): void {
    this.#access(unit, op, (link) => link.write(key, value));
  }

  swap(unit: number, key: string, seen: Version | null, value: Uint8Array | null, op: number): void {
    this.#access(unit, op, (link) => link.swap(key, seen, value));
  }

  erase(unit: number, key: string, op: number): void {
    this.#access(unit, op, (link) => link.write(key, null));
  }

  list(unit: number, prefix: string, op: number): void {
    this.#access(unit, op, (link) => link.list(prefix));
  }

  emit(event: UnitsEvent): void {
    this.#events.push(event);
  }

  #access(unit: number, op: number, begin: (link: UnitLink) => Promise<UnitAnswerOf>): void {
    const link = this.#links[unit];
    invariant(link !== undefined, 'a core asks only units that it has');
    // Never throws: what goes wrong at a unit is an answer.
    void begin(link).then((answer) => this.#step(() => this.core.completed({ ...answer, op }, this)));
  }

  // ── Steps are whole, and follow each other ─────────────────────────────────────────────────────────

  #step(input: () => void): void {
    if (this.#isStopped) return;
    this.#inputs.push(input);
    if (this.#isStepping) return;
    this.#isStepping = true;
    try {
      for (let next = this.#inputs.shift(); next && !this.#isStopped; next = this.#inputs.shift()) {
        next();
        for (let event = this.#events.shift(); event; event = this.#events.shift()) this.#heard(event);
      }
    } catch (error) {
      // One of its own rules is broken: it falls silent.
      this.stop();
      this.#failed(error as TenureError);
    } finally {
      this.#isStepping = false;
    }
    this.#plan();
  }

  #plan(): void {
    const { wakeAt } = this.core;
    if (this.#isStopped || wakeAt >= this.#wakeAt) return;
    clearTimeout(this.#timer);
    this.#wakeAt = wakeAt;
    const ms = Math.min(TIMER_MS_MAX, Math.max(0, Math.ceil((wakeAt - this.monoUs) / 1000)));
    this.#timer = setTimeout(() => {
      this.#wakeAt = Infinity;
      this.#step(() => this.core.wake(this));
    }, ms);
    // A caller that waits for an answer has a timer of its own.
    this.#timer.unref();
  }
}
