/**
 * Tiny locks on shared storage, for the explorer: one by compare-and-set on one record, one by a list of records that each belong to one node.
 * Each can be built with a fault.
 */
import { NEVER, type MonoUs, type WallUs } from '../../src/kernel/index.ts';
import type { Boot, Completion, Core, Snapshot, Step } from '../../src/core/index.ts';
import { ExclusionReferee, RequestReferee } from '../../src/check/index.ts';
import {
  budgetBounds,
  countBound,
  NOTHING_LEFT_OUT,
  type Budgets,
  type NodeView,
  type Offer,
  type SmallWorld,
} from '../../src/sim/explorer/index.ts';
import type { ExploredProtocol } from '../../src/sim/explorer/small-world.ts';
import type { Desk } from '../../src/sim/protocol.ts';
import type { Actor } from '../../src/sim/stage/index.ts';
import { tiny, tinyWorld } from './tiny.ts';

export type LockFault =
  /** The record is written whatever is there. */
  | 'unconditional'
  /** A swap of which nobody knows what became of it is taken for won. */
  | 'hopeful'
  /** Every attempt writes the same bytes, so a swap cannot tell this hold from the one before. */
  | 'same-bytes'
  /** A record that is not understood is taken for none. */
  | 'careless'
  /** It looks for others before its own record is there. */
  | 'looks-first';

type Command = 'lock' | 'unlock';
type Event = 'held' | 'refused';
type LockStep = Step<number, Event>;

interface LockSnapshot {
  readonly phase: string;
  readonly ops: number;
  readonly attempts: number;
}

abstract class LockCore implements Core<number, Command, Event> {
  readonly wakeAt: MonoUs = NEVER;
  protected readonly boot: Boot;
  protected readonly fault: LockFault | null;
  protected phase = 'idle';
  protected attempts = 0;
  #ops = 0;

  constructor(boot: Boot, fault: LockFault | null) {
    this.boot = boot;
    this.fault = fault;
  }

  protected abstract lock(step: LockStep): void;
  protected abstract unlock(step: LockStep): void;
  protected abstract answered(phase: string, completion: Completion, step: LockStep): void;

  command(command: Command, step: LockStep): void {
    if (command === 'lock') {
      this.attempts++;
      this.lock(step);
      return;
    }
    this.phase = 'idle';
    this.unlock(step);
  }

  completed(completion: Completion, step: LockStep): void {
    // What is answered after the next access was begun is old.
    if (completion.op === this.#ops) this.answered(this.phase, completion, step);
  }

  /** The number of the next access, which is begun in this phase. */
  protected op(phase: string): number {
    this.phase = phase;
    return ++this.#ops;
  }

  protected end(event: Event, step: LockStep): void {
    this.phase = event === 'held' ? 'held' : 'idle';
    step.emit(event);
  }

  start(): void {}
  admits(): boolean {
    return true;
  }
  receive(): void {}
  wake(): void {}

  snapshot(): Snapshot {
    return { phase: this.phase, ops: this.#ops, attempts: this.attempts };
  }

  restore(snapshot: Snapshot): void {
    const { phase, ops, attempts } = snapshot as unknown as LockSnapshot;
    this.phase = phase;
    this.#ops = ops;
    this.attempts = attempts;
  }
}

const UNIT = 0;
const KEY = 'lock';

/** Reads the record; where there is none, swaps it for its own; gives it back by swapping it for nothing. */
class SwapLock extends LockCore {
  get #own(): Uint8Array {
    return Uint8Array.of(this.boot.incarnation, this.fault === 'same-bytes' ? 1 : this.attempts);
  }

  protected lock(step: LockStep): void {
    step.read(UNIT, KEY, this.op('reading'));
  }

  protected unlock(step: LockStep): void {
    step.swap(UNIT, KEY, this.#own, null, this.op('idle'));
  }

  protected answered(phase: string, { ok, isLost, value, version }: Completion, step: LockStep): void {
    if (phase === 'reading') {
      const isOwn = value?.join() === this.#own.join();
      const isFree = value === null || (this.fault === 'careless' && (value[0] ?? 0) > 200);
      if (ok && isOwn) this.end('held', step);
      else if (!ok || !isFree) this.end('refused', step);
      else if (this.fault === 'unconditional') step.write(UNIT, KEY, this.#own, this.op('swapping'));
      else step.swap(UNIT, KEY, version, this.#own, this.op('swapping'));
    } else if (phase === 'swapping') {
      if (!ok && this.fault !== 'hopeful') step.read(UNIT, KEY, this.op('reading'));
      else this.end(isLost ? 'refused' : 'held', step);
    }
  }
}

const PREFIX = 'by/';

/** Writes a record of its own, then lists those of all; holds the lock if it is alone, and erases its record if not, or to give the lock back. */
class ListLock extends LockCore {
  get #key(): string {
    return `${PREFIX}${this.boot.incarnation}.${this.attempts}`;
  }

  protected lock(step: LockStep): void {
    if (this.fault === 'looks-first') step.list(UNIT, PREFIX, this.op('looking'));
    else step.write(UNIT, this.#key, Uint8Array.of(1), this.op('writing'));
  }

  protected unlock(step: LockStep): void {
    step.erase(UNIT, this.#key, this.op('idle'));
  }

  protected answered(phase: string, { ok, keys }: Completion, step: LockStep): void {
    if (phase === 'idle') return;
    const isAlone = keys === null || keys.every((key) => key === this.#key);
    if (!ok || !isAlone) {
      step.erase(UNIT, this.#key, this.op('idle'));
      this.end('refused', step);
    } else if (phase === 'writing' && this.fault !== 'looks-first') step.list(UNIT, PREFIX, this.op('looking'));
    else if (phase === 'looking' && this.fault === 'looks-first') step.write(UNIT, this.#key, Uint8Array.of(1), this.op('writing'));
    else this.end('held', step);
  }
}

interface LockActorSnapshot {
  readonly requests: number;
  readonly state: 'idle' | 'asking' | 'held';
}

class LockActor implements Actor<Event> {
  readonly #desk: Desk<Command>;
  #requests = 0;
  #state: LockActorSnapshot['state'] = 'idle';

  constructor(desk: Desk<Command>) {
    this.#desk = desk;
  }

  get #token(): number {
    return this.#desk.incarnation * 100 + this.#requests;
  }

  act(verb: string): void {
    if (verb === 'lock') {
      this.#desk.requested('r', ++this.#requests);
      this.#state = 'asking';
    } else {
      this.#desk.ended('r', this.#token, 'released');
      this.#state = 'idle';
    }
    this.#desk.command(verb as Command);
  }

  event(event: Event): void {
    this.#state = event === 'held' ? 'held' : 'idle';
    const deadline = { monoUs: Infinity as MonoUs, wallUs: Infinity as WallUs };
    if (event === 'held') this.#desk.granted('r', this.#requests, this.#token, deadline);
    else this.#desk.abandoned('r', this.#requests);
  }

  snapshot(): Snapshot {
    return { requests: this.#requests, state: this.#state };
  }

  restore(snapshot: Snapshot): void {
    const { requests, state } = snapshot as unknown as LockActorSnapshot;
    this.#requests = requests;
    this.#state = state;
  }
}

interface LockBounds extends Budgets {
  /** How often each node asks; a crash uses one up. */
  readonly attempts: number;
}

const smallWorld: SmallWorld<number, LockBounds> = {
  ...NOTHING_LEFT_OUT,
  bounds: {
    ...budgetBounds({ instants: 0 }),
    attempts: countBound('attempts', [1, 3], 1, 'how often each node asks'),
    failures: countBound('failures', [0, 2], 0, 'accesses that fail'),
    damages: countBound('damages', [0, 2], 0, 'records that are damaged'),
  },
  settings: () => ({}),
  offers({ attempts }: LockBounds, { life, actor }: NodeView): readonly Offer[] {
    const { requests, state } = actor as unknown as LockActorSnapshot;
    return state === 'held' ? [['unlock']] : state === 'idle' && requests + life < attempts ? [['lock']] : [];
  },
};

export function lockWorld(which: 'swaps' | 'lists', fault: LockFault | null = null): ExploredProtocol<number, Command, Event, null> {
  const core = (boot: Boot): LockCore => (which === 'swaps' ? new SwapLock(boot, fault) : new ListLock(boot, fault));
  const protocol = tiny<Command, Event>({
    name: `lock by ${which}`,
    core: (_scenario, boot) => core(boot),
    referees: () => [new ExclusionReferee(), new RequestReferee()],
  });
  const staging = {
    protocol,
    defaults: {},
    verbs: ['lock NODE', 'unlock NODE'],
    scenario: () => tinyWorld({ nodes: 2, units: 1 }),
    nodeName: (_scenario: object, node: number) => 'ab'[node] ?? '?',
    actor: (_scenario: object, _core: object, desk: Desk<Command>) => new LockActor(desk),
  };
  return { ...smallWorld, staging };
}
