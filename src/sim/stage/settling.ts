/**
 * A stage on which all goes well for a while: messages arrive after one latency, messages of a node to itself at once; accesses to storage
 * are answered after the same time; timers fire when they are due. With one latency for all they arrive in the order in which they were sent.
 */
import { TenureError } from '../../kernel/index.ts';
import type { MessageRef } from './actions.ts';

/** A stage that takes more steps than this does not get on in time. */
const STEPS_MAX = 1_000_000;
/** Nor does a stage that takes more steps than this at one instant. */
const STEPS_AT_ONCE_MAX = 10_000;

/** What can happen next on a stage, in the order in which it came up. */
export interface Settling<Flight extends MessageRef & { readonly dueUs?: number }, Access> {
  /** Time, which settling moves on. */
  readonly clock: { nowUs: number };
  readonly flights: readonly Flight[];
  readonly accesses: readonly Access[];
  /** When each node wants to be woken, in true time. */
  wakes(): readonly number[];
  deliver(flight: Flight): void;
  answer(access: Access): void;
  wake(node: number): void;
}

export interface Settled {
  readonly messages: number;
  readonly answers: number;
  readonly wakes: number;
  /** Time does not go by any more. */
  readonly isStuck: boolean;
}

export function playOut<Flight extends MessageRef & { readonly dueUs?: number }, Access extends object>(
  stage: Settling<Flight, Access>,
  spanUs: number,
  latencyUs: () => number,
): Settled {
  const endUs = stage.clock.nowUs + spanUs;
  const dues = new Map<Flight | Access, number>();
  const counts = { messages: 0, answers: 0, wakes: 0 };
  let stepsAtOnce = 0;
  for (let steps = 0; ; steps++) {
    if (steps > STEPS_MAX) throw new TenureError('TENURE_BAD_ARGUMENT', `after ${STEPS_MAX} steps this is not over`);
    // Events that are due at the same time happen in the order in which they came up; messages before answers before timers.
    let nextUs = Infinity;
    let next: (() => void) | null = null;
    const consider = (dueUs: number, act: () => void): void => {
      if (dueUs >= nextUs) return;
      nextUs = dueUs;
      next = act;
    };
    for (const flight of stage.flights) {
      let dueUs = dues.get(flight);
      if (dueUs === undefined)
        dues.set(flight, (dueUs = flight.dueUs ?? stage.clock.nowUs + (flight.from === flight.to ? 0 : latencyUs())));
      consider(dueUs, () => {
        counts.messages++;
        stage.deliver(flight);
      });
    }
    for (const access of stage.accesses) {
      let dueUs = dues.get(access);
      if (dueUs === undefined) dues.set(access, (dueUs = stage.clock.nowUs + latencyUs()));
      consider(dueUs, () => {
        counts.answers++;
        stage.answer(access);
      });
    }
    stage.wakes().forEach((dueUs, node) =>
      consider(dueUs, () => {
        counts.wakes++;
        stage.wake(node);
      }),
    );
    if (next === null || nextUs > endUs) break;
    stepsAtOnce = nextUs > stage.clock.nowUs ? 0 : stepsAtOnce + 1;
    if (stepsAtOnce > STEPS_AT_ONCE_MAX) return { ...counts, isStuck: true };
    stage.clock.nowUs = Math.max(stage.clock.nowUs, nextUs);
    (next as () => void)();
  }
  stage.clock.nowUs = endUs;
  return { ...counts, isStuck: false };
}
