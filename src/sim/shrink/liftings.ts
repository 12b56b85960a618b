/** How the worlds and commands of each protocol are said on its stage. */
import { decodeName, formatDuration, spanUs } from '../../kernel/index.ts';
import type { Keeps, QuorumCommand, RegisterCommand, RoundRegisterCommand, ToyCommand, ToyConfig } from '../../core/index.ts';
import type { Scenario } from '../protocol.ts';
import type { QuorumWorld } from '../protocols/quorum.ts';
import type { RoundWorld } from '../protocols/rounds.ts';
import type { RegisterWorld } from '../protocols/register.ts';
import type { RegisterRounds } from '../protocols/rounds-register.ts';
import type { QuorumHabits } from '../protocols/quorum-user.ts';
import type { Settings, Ways } from '../stage/index.ts';
import type { Lifting, Said } from './lifting.ts';

export const toyLifting: Lifting<ToyCommand, ToyConfig> = {
  settings: ({ config }: Scenario<ToyConfig>): Settings => ({ nodes: String(config.members), term: spanText(config.term) }),
  say: ({ kind }: ToyCommand): Said => ({ verb: kind, words: [] }),
  use: (): Said => ({ verb: 'use', words: [] }),
};

export const quorumLifting: Lifting<QuorumCommand, QuorumWorld> = {
  settings({ nodes, config }: Scenario<QuorumWorld>): Settings {
    const { members, core, fenced, keeps, habits, orderly } = config;
    return {
      acceptors: String(members),
      proposers: String(nodes - members),
      voters: votersText(core.replication, members),
      keeps: keepsText(keeps),
      floors: String(core.floorBuckets),
      new: habits.bootstraps ? 'yes' : 'no',
      order: orderly ? 'yes' : 'no',
      term: spanText(core.timing.maxTermUs),
      rtt: spanText(core.timing.rttUs),
      rate: `${core.timing.rateErrorPpm}ppm`,
      fencing: fenced ? 'yes' : 'no',
      succession: core.succession ?? 'none',
    };
  },

  say(command: QuorumCommand): Said | null {
    switch (command.kind) {
      case 'acquire': {
        const { lease, name, termUs, waitUs, keep, meta } = command;
        const wait = waitUs > 0 ? ['wait', spanText(waitUs)] : [];
        const saying = meta ? ['saying', nameText(meta)] : [];
        return { verb: 'acquire', words: [nameText(name), spanText(termUs), ...wait, ...(keep ? ['keep'] : []), ...saying], asks: lease };
      }
      case 'renew':
        return { verb: 'renew', words: [nameText(command.name), spanText(command.termUs)], about: command.lease };
      case 'release':
        return { verb: 'release', words: [nameText(command.name)], about: command.lease };
      case 'cancel':
        // The lease's number follows; the name is for people only.
        return { verb: 'cancel', words: ['-'], about: command.lease };
      case 'query':
        return { verb: 'query', words: [nameText(command.name)], asks: command.lease };
      case 'watch':
        return { verb: 'watch', words: command.prefix.length > 0 ? [nameText(command.prefix)] : [] };
      case 'retime':
        return { verb: 'retime', words: [spanText(command.rttUs)] };
      case 'rate':
        return { verb: 'paces', words: [command.own, ...command.off.map(String)] };
      case 'proclaim': {
        const { name, meta, lease, number } = command;
        return { verb: 'proclaim', words: [nameText(name), nameText(meta)], about: lease, asks: number };
      }
      case 'bootstrap':
        return { verb: 'bootstrap', words: command.waitUs > 0 ? [spanText(command.waitUs)] : [], asks: command.lease };
      case 'lapse':
      case 'unwatch':
      case 'list':
      case 'unlist':
      case 'status':
      case 'greet':
        break;
    }
    return null;
  },

  insist: (command: QuorumCommand, forUs: number): Said | null =>
    command.kind === 'acquire' ? quorumLifting.say({ ...command, waitUs: forUs }) : null,
  ways: ({ config }: Scenario<QuorumWorld>): Ways[] => waysOf(config.habits),
  users: ({ config }: Scenario<QuorumWorld>, node: number): number => config.handles[node] ?? 0,

  use: (resource: string, request: number): Said => ({ verb: 'use', words: [resource], about: request }),
};

/** The same commands as of the quorum engine, and releases as of a later time, in a world with a bound on the difference of clocks. */
export const roundLifting: Lifting<QuorumCommand, RoundWorld> = {
  settings({ nodes, config }: Scenario<RoundWorld>): Settings {
    const { members, core, agrees, releasesHeard } = config;
    const { clocks, maxTermUs, rttUs, rateErrorPpm, skewUs } = core.timing;
    return {
      acceptors: String(members),
      proposers: String(nodes - members),
      voters: votersText(core.replication, members),
      term: spanText(maxTermUs),
      rtt: spanText(rttUs),
      rate: `${rateErrorPpm}ppm`,
      clocks,
      skew: spanText(skewUs),
      fencing: agrees ? 'yes' : 'no',
      ...(core.engine === 'flease' ? { algorithm: String(core.algorithm) } : { heard: releasesHeard ? 'yes' : 'no' }),
    };
  },

  say(command: QuorumCommand): Said | null {
    const said = quorumLifting.say(command);
    if (!said || command.kind !== 'release' || (command.inUs ?? 0) === 0) return said;
    return { ...said, words: [...said.words, 'in', spanText(command.inUs ?? 0)] };
  },

  insist: (command: QuorumCommand, forUs: number): Said | null => quorumLifting.insist?.(command, forUs) ?? null,
  ways: ({ config }: Scenario<RoundWorld>): Ways[] => waysOf(config.habits),
  users: ({ config }: Scenario<RoundWorld>, node: number): number => config.handles[node] ?? 0,
  use: (resource: string, request: number): Said | null => quorumLifting.use(resource, request),
  look: (resource: string): Said => ({ verb: 'look', words: [resource] }),
};

export const registerLifting: Lifting<RegisterCommand, RegisterWorld> = {
  settings: ({ nodes, units }: Scenario<RegisterWorld>): Settings => ({ clients: String(nodes), units: String(units) }),
  say(command: RegisterCommand): Said {
    const unit = command.unit === 0 ? [] : ['unit', String(command.unit)];
    const text = (value: Uint8Array | null): string => (value ? String.fromCharCode(...value) : 'nothing');
    const seen = command.kind === 'swap' ? [text(command.seen)] : [];
    const value = command.kind === 'write' || command.kind === 'swap' ? [text(command.value)] : [];
    return { verb: command.kind, words: [command.key, ...seen, ...value, ...unit] };
  },
  use: (): null => null,
};

export const roundsRegisterLifting: Lifting<RoundRegisterCommand, RegisterRounds> = {
  settings: ({ nodes, config }: Scenario<RegisterRounds>): Settings => ({
    stores: String(config.stores),
    clients: String(nodes - config.stores),
  }),
  // A WRITE has the ballot of the READ before it, in the simulator as on the stage.
  say: (command: RoundRegisterCommand): Said => ({
    verb: command.kind,
    words: [String(command.kind === 'read' ? command.time : command.value)],
  }),
  use: (): null => null,
};

/** A handle keeps what it gets for a moment, or through some renewals; refused, it asks again a twentieth of a term later. */
function waysOf({ maxTermUs, rush, brief }: QuorumHabits): Ways[] {
  const askAgainUs = Math.floor(maxTermUs / 20);
  const spans = rush || brief ? [0] : [maxTermUs / 4, maxTermUs * 2];
  return spans.map((span) => ({ giveBackUs: Math.floor(span), askAgainUs }));
}

function votersText(replication: number | undefined, members: number): string {
  return String(replication === undefined || replication === members ? 0 : replication);
}

function keepsText(keeps: readonly Keeps[]): string {
  const [first = 'nothing'] = keeps;
  return keeps.every((one) => one === first) ? first : keeps.join(',');
}

function nameText(name: Uint8Array): string {
  return decodeName(name, 0, name.length) ?? '?';
}

function spanText(us: number): string {
  return formatDuration(spanUs(us)).replaceAll(' ', '');
}
