/** Worlds of engines that are cells of members and clients, with a member, client, handle, name or habit less, without disks, or without a bootstrap. */
import type { Scenario, SmallerScenario } from '../../protocol.ts';
import type { QuorumHabits } from './habits.ts';

interface CellWorld {
  readonly members: number;
  readonly core: { readonly memberKeys: readonly number[]; readonly replication?: number };
  readonly habits: QuorumHabits;
  readonly handles: readonly number[];
  /** What members keep on disks; engines without disks have none. */
  readonly keeps?: readonly unknown[];
  /** What changes between two lives of a member; engines without disks have none. */
  readonly refits?: readonly unknown[];
}

export function smallerWorlds<World extends CellWorld>(scenario: Scenario<World>): SmallerScenario<World>[] {
  const { config } = scenario;
  const { members, handles, habits } = config;
  const smaller: SmallerScenario<World>[] = [];
  if (members > 3) {
    const fewer = {
      members: 3,
      core: { ...config.core, memberKeys: config.core.memberKeys.slice(0, 3), replication: 3 },
      handles: [...handles.slice(0, 3), ...handles.slice(members)],
      ...(config.keeps ? { keeps: config.keeps.slice(0, 3) } : {}),
    };
    smaller.push({
      without: 'all but three members',
      scenario: { ...scenario, nodes: scenario.nodes - members + 3, config: { ...config, ...fewer } },
    });
  }
  if ((config.keeps ?? []).length > 0) {
    // What kept tokens rising may have been the disks.
    const forgetful = { ...config, keeps: [], refits: [], fenced: false };
    smaller.push({ without: 'what members keep', scenario: { ...scenario, config: forgetful } });
  }
  if ((config.refits ?? []).length > 0) {
    smaller.push({ without: 'what changes between lives', scenario: { ...scenario, config: { ...config, refits: [] } } });
  }
  if (habits.bootstraps) {
    const old = { ...habits, bootstraps: false };
    smaller.push({ without: 'a bootstrap', scenario: { ...scenario, config: { ...config, habits: old } } });
  }
  for (const [without, fewer] of simplerHabits(habits)) {
    smaller.push({ without, scenario: { ...scenario, config: { ...config, habits: { ...habits, ...fewer } } } });
  }
  if (config.core.replication !== undefined && config.core.replication < members) {
    const all = { ...config.core, replication: members };
    smaller.push({ without: 'names that only some vote on', scenario: { ...scenario, config: { ...config, core: all } } });
  }
  if (habits.resources.length > 1) {
    const one = { ...habits, resources: habits.resources.slice(0, 1) };
    smaller.push({ without: 'all names but one', scenario: { ...scenario, config: { ...config, habits: one } } });
  }
  for (let node = members; node < scenario.nodes; node++) {
    const without = `client c${node - members}`;
    smaller.push({
      without,
      scenario: { ...scenario, nodes: scenario.nodes - 1, config: { ...config, handles: handles.toSpliced(node, 1) } },
    });
  }
  handles.forEach((count, node) => {
    if (count === 0) return;
    const fewer = { ...config, handles: handles.with(node, count - 1) };
    smaller.push({ without: 'a handle', scenario: { ...scenario, config: fewer } });
  });
  return smaller;
}

/** What users could do without, each by itself. */
function simplerHabits({
  lapseOnly,
  rush,
  impatient,
  releasesLater,
  extras,
  speaks,
  renews,
}: QuorumHabits): [string, Partial<QuorumHabits>][] {
  const simpler: [string, Partial<QuorumHabits>, boolean][] = [
    ['users that wait', { impatient: true }, impatient !== true && !lapseOnly && !rush],
    ['what holders say of themselves', { speaks: false }, speaks ?? extras],
    ['questions and lists', { extras: false, speaks: speaks ?? extras }, extras],
    ['renewals', { renews: false }, renews && !lapseOnly],
    ['releases as of a later time', { releasesLater: false }, releasesLater],
  ];
  return simpler.flatMap(([without, fewer, applies]) => (applies ? [[without, fewer]] : []));
}
