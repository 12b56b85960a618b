/** Worlds of the quorum engine in which the members, the voters of a name and the longest term change while leases are held. */
import {
  ACCEPTED,
  PROMISED,
  QuorumCore,
  type Boot,
  type QuorumCommand,
  type QuorumEvent,
  type QuorumMessage,
} from '../../../core/index.ts';
import { DeadlineReferee, ExclusionReferee, FencingReferee, RequestReferee, Unjudged, type Referee } from '../../../check/index.ts';
import { quorumCodec } from '../../../wire/index.ts';
import { LEASE_INTERESTS, LeaseInterest, WORLD_INTERESTS } from '../../interest.ts';
import type { Desk, Scenario, SimProtocol, User } from '../../protocol.ts';
import { memberKeysOf } from '../leases/habits.ts';
import { LEASE_WORDS } from '../leases/words.ts';
import { describeQuorumMessage } from '../quorum/protocol.ts';
import { VIEW_MUTANTS, viewRulesOf } from './mutants.ts';
import { ViewsUser } from './user.ts';
import { planViews } from './planning.ts';
import type { ViewsWorld } from './worlds.ts';

type ViewsScenario = Scenario<ViewsWorld>;

export const viewsProtocol: SimProtocol<QuorumMessage, QuorumCommand, QuorumEvent, ViewsWorld, QuorumCore> = {
  name: 'quorum-views',
  summary: "the product's own engine while its members and terms change",
  mutants: VIEW_MUTANTS,
  sometimes: [
    ...LEASE_INTERESTS,
    ...WORLD_INTERESTS,
    { name: 'view-joint', description: 'a member went to a joint view' },
    { name: 'view-sealed', description: 'a member went to a view in which a change is over' },
    { name: 'view-followed', description: 'a process went on in another view' },
    { name: 'member-out', description: 'a member heard that it is none any more' },
    { name: 'change-done', description: 'a change of the cell was made' },
    { name: 'change-abandoned', description: 'the process that changed the cell went away in the middle of things' },
  ],
  codec: quorumCodec(),
  plan: planViews,

  core({ config }: ViewsScenario, boot: Boot, mutant: string | null): QuorumCore {
    if (boot.incarnation === 1) config.stored.clear();
    const view = config.stored.get(boot.self);
    return new QuorumCore({ ...config.core, keeps: config.keeps[boot.self] ?? 'nothing', view }, boot, viewRulesOf(mutant));
  },

  user({ config }: ViewsScenario, core: QuorumCore, desk: Desk<QuorumCommand>): User<QuorumEvent> {
    const { administrators, members: numbers, stored, termsUs, termOften, splits, moves, changesPpm, changesOwed } = config;
    const storeUsMax = config.negligent.includes(desk.node) ? Infinity : config.storeUsMax;
    const keys = memberKeysOf(numbers);
    const isAdministrator = administrators.includes(desk.node);
    const isNewcomer = desk.node >= config.core.memberKeys.length && desk.node < numbers;
    return new ViewsUser(
      {
        modes: { ...config.modes, handles: config.handles[desk.node] ?? 0 },
        rules: core.rules,
        changesPpm: isAdministrator ? changesPpm : 0,
        changesOwed: isAdministrator ? changesOwed : 0,
        storeUsMax,
        stored,
        numbers,
        keyOf: (number) => keys[number] as number,
        termsUs,
        termOften,
        splits,
        moves,
        planned: desk.healed ? [] : config.planned.filter(({ node }) => node === desk.node),
        isLate: config.newcomersLate && isNewcomer,
        isIdle: config.newcomersIdle && isNewcomer,
      },
      core,
      desk,
    );
  },

  referees: ({ config }: ViewsScenario, sometimes: (name: string) => void): Referee[] => [
    new ExclusionReferee(),
    ...(config.fenced ? [new FencingReferee()] : []),
    new Unjudged(['queued'], 'waiters keep their order only while they answer in time'),
    new DeadlineReferee(),
    new RequestReferee(),
    new LeaseInterest(sometimes),
  ],

  isVote: ({ kind }: QuorumMessage): boolean => kind === ACCEPTED || kind === PROMISED,
  describeMessage: describeQuorumMessage,
  ...LEASE_WORDS,
  smaller: () => [],
};
