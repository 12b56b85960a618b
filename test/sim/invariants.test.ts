/**
 * A core that finds one of its own invariants broken, or is told what a sender may not say: the simulator, the stage and the explorer
 * do what the runtime's driver does. It is stepped no more, and that is a violation; what is not admitted never reaches it.
 */
import { describe, expect, it } from 'vitest';
import { invariant, type NodeId } from '../../src/kernel/index.ts';
import { ToyCore, type Boot, type Step, type ToyEvent, type ToyMessage } from '../../src/core/index.ts';
import { kit, type Kit } from '../../src/sim/index.ts';
import { toy } from '../../src/sim/protocols/toy/protocol.ts';
import { toySmallWorld } from '../../src/sim/protocols/toy/small-world.ts';
import { toyStaging, toyTapeToScript } from '../../src/sim/protocols/toy/staging.ts';

/** A toy that must never be asked. */
class Wary extends ToyCore {
  override receive(from: NodeId, message: ToyMessage, step: Step<ToyMessage, ToyEvent>): void {
    invariant(message.kind !== 'ask', 'somebody has asked');
    super.receive(from, message, step);
  }
}

/** A toy that hears nobody's questions. */
class Deaf extends Wary {
  override admits(_sender?: unknown, message?: ToyMessage): boolean {
    return message?.kind !== 'ask';
  }
}

function kitOf(Toy: typeof Wary): Kit {
  const protocol = { ...toy, core: ({ config }: Parameters<typeof toy.core>[0], boot: Boot): ToyCore => new Toy(config, boot) };
  return kit({ protocol, staging: toyStaging, tapeToScript: toyTapeToScript, smallWorld: toySmallWorld });
}

const BROKEN = { property: 'invariant', message: expect.stringMatching(/#\d+ broke an invariant: somebody has asked$/) as string };

describe('a core that breaks an invariant', () => {
  const wary = kitOf(Wary);

  it('is a violation in the simulator', () => {
    expect(wary.run(1, null).violations).toEqual([expect.objectContaining(BROKEN)]);
  });

  it('is a violation on a stage, and falls silent there', () => {
    const stage = wary.stage?.open({}, null);
    stage?.startAll();
    stage?.line('acquire a');
    stage?.line('deliver a→b ask');
    expect(stage?.violations).toEqual([expect.objectContaining(BROKEN)]);
    expect(() => stage?.line('acquire b')).toThrow(/b is down/);
  });

  it('is found by the explorer', () => {
    const { exploring } = wary;
    const outcome = exploring?.explore(exploring.usual, null, { maxStates: 1000, isOver: () => false });
    expect(outcome?.found?.violation).toMatchObject(BROKEN);
  });
});

describe('what a sender may not say', () => {
  const deaf = kitOf(Deaf);

  it('reaches no core in the simulator', () => {
    expect(deaf.run(1, null).violations.filter(({ property }) => property === 'invariant')).toEqual([]);
  });

  it('reaches no core on a stage', () => {
    const stage = deaf.stage?.open({}, null);
    stage?.startAll();
    stage?.line('acquire a');
    stage?.line('deliver a→b ask');
    expect(stage?.violations).toEqual([]);
  });

  it('reaches no core in the explorer', () => {
    const { exploring } = deaf;
    expect(exploring?.explore(exploring.usual, null, { maxStates: 10_000, isOver: () => false }).found).toBeNull();
  });
});
