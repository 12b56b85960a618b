/** When faults strike: each kind about as often as the plan says, anywhere in the world, until it heals. */
import { OWN_DISK } from '../core/index.ts';
import type { SimProcess } from './process.ts';
import type { Cut, Network } from './network.ts';
import type { Population } from './population.ts';
import type { WorldSurroundings } from './surroundings.ts';

const MILLION = 1_000_000;

export function scheduleStrikes<Message, Command, Event, Config>(
  world: WorldSurroundings<Message, Command, Event, Config>,
  population: Population<Message, Command, Event, Config>,
  network: Network,
): void {
  const { chooser, storage, faults } = world;
  const { nodes, units } = world.scenario;

  const every = (everyUs: number, strike: () => void): void => {
    if (everyUs <= 0) return;
    world.at(world.nowUs + chooser.below(2 * everyUs) + 1, () => {
      if (world.healed) return;
      strike();
      every(everyUs, strike);
    });
  };

  const upTo = (boundUs: number): number => chooser.below(boundUs + 1);
  const anyNode = (): number => chooser.below(nodes);
  const anyProcess = (act: (process: SimProcess<Message, Command, Event>) => void): void => {
    const process = population.current[anyNode()];
    if (process) act(process);
  };

  const mendAt = (cut: Cut, atUs: number): void => {
    world.trace?.cut(cut);
    world.at(atUs, () => {
      if (network.mend(cut)) world.trace?.mended(cut);
    });
  };
  for (const { fromUs, untilUs, side } of world.scenario.cuts ?? [])
    world.at(fromUs, () => {
      if (!world.healed) mendAt(network.cutOff(side, nodes, world.nowUs), untilUs);
    });
  every(faults.cutEveryUs, () => mendAt(network.cut(nodes, world.nowUs), world.nowUs + upTo(faults.cutUsMax)));
  every(faults.crashEveryUs, () => {
    anyProcess((process) => {
      if (chooser.below(MILLION) < faults.twinPpm) population.twin(process);
      else population.crash(process, false);
    });
  });
  every(faults.powerEveryUs, () => {
    for (const process of population.current) if (process && process.node < faults.powerNodes) population.crash(process, false);
  });
  every(faults.outliveEveryUs, () => {
    const process = population.current[chooser.below(faults.outlivedNodes)];
    if (process) population.outlive(process);
  });
  every(faults.stallEveryUs, () => anyProcess((process) => population.stall(process, upTo(faults.stallUsMax))));
  every(faults.sleepEveryUs, () => population.sleep(anyNode(), upTo(faults.sleepUsMax)));
  every(faults.wallStepEveryUs, () => {
    const forward = !faults.wallStepsBack || chooser.below(2) === 0;
    const byUs = 1 + upTo(faults.wallStepUsMax);
    population.stepWall(anyNode(), forward ? byUs : -byUs);
  });
  let swayedUs = 0;
  every(faults.wallSwayEveryUs, () => {
    const toUs = swayedUs > 0 ? -faults.wallSwayUs : faults.wallSwayUs;
    population.stepWall(nodes - 1, toUs - swayedUs);
    swayedUs = toUs;
  });
  every(faults.rateChangeEveryUs, () => population.changeRate(anyNode()));
  every(faults.slewEveryUs, () => {
    const untilUs = world.nowUs + upTo(faults.slewUsMax);
    // Its effects are over when the world heals.
    if (untilUs + world.scenario.termUs / 4 < world.scenario.safetyUs) population.slew(anyNode(), untilUs);
  });
  every(faults.diskFailEveryUs, () => storage.failDisk(anyNode(), world.nowUs + upTo(faults.diskFailUsMax)));
  every(faults.diskCorruptEveryUs, () => storage.strike('corrupt', { unit: OWN_DISK, node: anyNode() }));
  every(faults.diskForgetEveryUs, () => storage.strike('forget', { unit: OWN_DISK, node: anyNode() }));
  if (units === 0) return;
  every(faults.unitFailEveryUs, () => storage.fail(chooser.below(units), world.nowUs + upTo(faults.unitFailUsMax)));
  every(faults.corruptEveryUs, () => storage.strike('corrupt', { unit: chooser.below(units) }));
  every(faults.forgetEveryUs, () => storage.strike('forget', { unit: chooser.below(units) }));
  every(faults.wipeEveryUs, () => storage.strike('wipe', { unit: chooser.below(units) }));
  every(faults.restoreEveryUs, () => storage.strike('restore', { unit: chooser.below(units) }));
}
