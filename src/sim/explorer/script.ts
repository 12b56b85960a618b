/** A path of the explorer as lines of a script, played on a real stage, so that what is printed is what happens. */
import { invariant } from '../../kernel/index.ts';
import type { Violation } from '../../check/index.ts';
import type { AnyStage, Settings, StageAction, StageNote } from '../stage/index.ts';
import type { NodeStates, Envelope } from './node-states.ts';
import type { Move } from './universe.ts';

/** A violation, replayed on a stage. */
export interface FoundScript {
  readonly settings: Settings;
  readonly violation: Violation;
  readonly lines: readonly { readonly line: string; readonly notes: readonly StageNote[] }[];
}

export function asScript<Message, Command, Event, Config>(
  nodeStates: NodeStates<Message, Command, Event, Config>,
  path: readonly Move[],
  settings: Settings,
  stage: AnyStage,
): FoundScript {
  const { world, bounds } = nodeStates;
  const lines: { line: string; notes: ReturnType<AnyStage['do']> }[] = [];
  const perform = (action: StageAction): void => {
    const line = stage.format(action);
    lines.push({ line, notes: stage.do(action) });
  };
  stage.startAll();
  for (let node = 0; node < nodeStates.nodes; node++) {
    const ppm = world.ratePpm(bounds, node);
    if (ppm !== 0) perform({ kind: 'rate', node, ppm });
    const byUs = nodeStates.aheadUs[node] ?? 0;
    if (byUs !== 0) perform({ kind: 'set', node, byUs });
  }
  for (const move of path) {
    for (const action of actionsOf(nodeStates, move, stage)) if (!isNotWanted(action, move, stage)) perform(action);
  }
  const [violation] = stage.violations;
  invariant(violation !== undefined, 'what the explorer found does not happen on a stage');
  return { settings, violation, lines };
}

/** A node that was restored looks at what it keeps sooner than one that was not. Whoever is woken promptly shows nothing of it. */
export function isNotWanted(action: StageAction, move: Move, stage: AnyStage): boolean {
  return move.kind === 'advance' && action.kind === 'wake' && stage.wakesInUs(action.node) > 0;
}

export function actionsOf<Message, Command, Event, Config>(
  nodeStates: NodeStates<Message, Command, Event, Config>,
  move: Move,
  stage: AnyStage,
): StageAction[] {
  switch (move.kind) {
    case 'deliver':
    case 'repeat':
    case 'drop': {
      const { from, to, bytes } = nodeStates.envelopes[move.envelope] as Envelope;
      const message = stage.find(from, to, bytes);
      invariant(message !== null, 'the explorer delivers what was never sent on the stage');
      if (move.kind === 'repeat')
        return [
          { kind: 'duplicate', message },
          { kind: 'deliver', message },
        ];
      return [{ kind: move.kind, message }];
    }
    case 'act': {
      const [verb, ...words] = move.offer;
      return [{ kind: 'act', node: move.node, verb, words }];
    }
    case 'storage': {
      const { kind, node, incarnation, op, finding } = move.move;
      const access = stage.accessOf(node, incarnation, op, finding);
      invariant(access !== null, 'the explorer has an access that is not under way on the stage');
      return [{ kind, ...access }];
    }
    case 'crash':
      return [
        { kind: 'crash', node: move.node },
        { kind: 'restart', node: move.node, diskKept: false },
      ];
    case 'advance':
      return [{ kind: 'advance', byUs: nodeStates.world.tickUs }, ...move.woken.map((node) => ({ kind: 'wake', node }) as const)];
    default:
      return [{ kind: move.kind, node: move.node }];
  }
}
