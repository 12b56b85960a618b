/** What a venture (several operations after each other) needs of the core that it is part of. */
import type { Boot } from '../../contract.ts';
import type { Stamp } from './contents.ts';
import type { UnitsEvent, UnitsStep } from './dialogue.ts';
import type { Wish } from './operations.ts';
import type { UnitsRules } from './rules.ts';
import type { UnitsConfig, UnitTasks } from './unit-tasks.ts';

export interface VentureGround {
  readonly boot: Boot;
  readonly config: UnitsConfig;
  readonly rules: UnitsRules;
  readonly tasks: UnitTasks<UnitsStep>;
  /** Whether this process leads. */
  readonly leads: boolean;
  /** A rank of this process, and of this venture alone. */
  rankOf(count: number, venture: number): Stamp;
  /** An operation of the venture. Its number. */
  begin(venture: number, wish: Wish, step: UnitsStep): number;
  /** The venture has come to its end. */
  ended(number: number, event: UnitsEvent, step: UnitsStep): void;
  /** The unit's identity has changed, as far as is known. */
  lost(unit: number, step: UnitsStep): void;
}
