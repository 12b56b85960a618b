/** A path of the explorer as lines of a script, played on a real stage: the printed lines are what happens there. */
import { invariant } from '../../kernel/index.ts';
import type { Violation } from '../../check/index.ts';
import { inStageNames, type AnyStage, type Settings, type StageAction, type StageNote } from '../stage/index.ts';
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
  for (const move of path) performMove(nodeStates, move, stage, perform);
  const [violation] = stage.violations;
  invariant(violation !== undefined, 'what the explorer found does not happen on a stage');
  return { settings, violation, lines };
}

/** Does on a stage what the explorer did. */
export function performMove<Message, Command, Event, Config>(
  nodeStates: NodeStates<Message, Command, Event, Config>,
  move: Move,
  stage: AnyStage,
  perform: (action: StageAction) => void,
): void {
  for (const action of move) {
    // A restored node looks at its tables sooner than a node that was never restored. Nodes that are woken promptly show nothing of it.
    if (action.kind === 'wake' && move[0]?.kind === 'advance' && stage.wakesInUs(action.node) > 0) continue;
    const named = inStageNames(action, {
      message: (envelope) => {
        const { from, to, bytes } = nodeStates.envelopes[envelope] as Envelope;
        return stage.find(from, to, bytes);
      },
      access: (access, finding) => stage.accessOf(access, finding),
    });
    invariant(named !== null, 'the explorer has a message or an access that is not on the stage');
    perform(named);
  }
}
