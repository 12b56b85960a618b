/** The member's own accesses to its disk, beside the accesses of the consensus inside: numbered in the lane of the outer core. */
import type { Step, UnitId } from '../contract.ts';
import { ownOp } from '../nested.ts';
import { BROADCAST_LANES, type BroadcastStep } from './epoch-consensus.ts';

export class OwnDisk implements Pick<Step<never, never>, 'read' | 'write'> {
  #step: BroadcastStep | null = null;

  /** From here on it is of this step. */
  of(step: BroadcastStep): this {
    this.#step = step;
    return this;
  }

  get step(): BroadcastStep {
    return this.#step as BroadcastStep;
  }

  read(unit: UnitId, key: string, op: number): void {
    this.step.read(unit, key, ownOp(op, BROADCAST_LANES));
  }

  write(unit: UnitId, key: string, value: Uint8Array, op: number): void {
    this.step.write(unit, key, value, ownOp(op, BROADCAST_LANES));
  }
}
