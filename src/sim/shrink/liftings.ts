/** How the worlds and commands of each protocol are said on its stage. */
import { decodeName, formatDuration, spanUs } from '../../kernel/index.ts';
import type { QuorumCommand, RegisterCommand, ToyCommand, ToyConfig } from '../../core/index.ts';
import type { Scenario } from '../protocol.ts';
import type { QuorumWorld } from '../protocols/quorum.ts';
import type { RoundWorld } from '../protocols/rounds.ts';
import type { RegisterWorld } from '../protocols/register.ts';
import type { Settings } from '../stage/index.ts';
import type { Lifting, Said } from './lifting.ts';

export const toyLifting: Lifting<ToyCommand, ToyConfig> = {
  settings: ({ config }: Scenario<ToyConfig>): Settings => ({ nodes: String(config.members), term: spanText(config.term) }),
  say: ({ kind }: ToyCommand): Said => ({ verb: kind, words: [] }),
  use: (): Said => ({ verb: 'use', words: [] }),
};

export const quorumLifting: Lifting<QuorumCommand, QuorumWorld> = {
  settings({ nodes, config }: Scenario<QuorumWorld>): Settings | null {
    const { members, core, fenced, keeps, habits } = config;
    // A stage has no names that only some members vote on, no members that keep something, and none that are bootstrapped.
    if ((core.replication ?? members) !== members || keeps.length > 0 || habits.bootstraps) return null;
    return {
      acceptors: String(members),
      proposers: String(nodes - members),
      term: spanText(core.timing.maxTermUs),
      rtt: spanText(core.timing.rttUs),
      rate: `${core.timing.rateErrorPpm}ppm`,
      fencing: fenced ? 'yes' : 'no',
    };
  },

  say(command: QuorumCommand): Said | null {
    switch (command.kind) {
      case 'acquire': {
        const { lease, name, termUs, waitUs, keep } = command;
        const wait = waitUs > 0 ? ['wait', spanText(waitUs)] : [];
        return { verb: 'acquire', words: [nameText(name), spanText(termUs), ...wait, ...(keep ? ['keep'] : [])], asks: lease };
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
      case 'unwatch':
      case 'proclaim':
      case 'list':
      case 'unlist':
      case 'status':
      case 'bootstrap':
        break;
    }
    return null;
  },

  use: (resource: string, request: number): Said => ({ verb: 'use', words: [resource], about: request }),
};

/** The same commands as of the quorum engine, in a world with a bound on the difference of clocks. */
export const roundLifting: Lifting<QuorumCommand, RoundWorld> = {
  settings({ nodes, config }: Scenario<RoundWorld>): Settings | null {
    const { members, core, agrees } = config;
    const { clocks, maxTermUs, rttUs, rateErrorPpm, skewUs } = core.timing;
    // A stage has no names that only some members vote on, and one way of keeping time for each protocol.
    const isPerfect = clocks === 'absolute' && skewUs === 0;
    if ((core.replication ?? members) !== members || isPerfect || core.algorithm !== 4) return null;
    return {
      acceptors: String(members),
      proposers: String(nodes - members),
      term: spanText(maxTermUs),
      rtt: spanText(rttUs),
      rate: `${rateErrorPpm}ppm`,
      skew: spanText(skewUs),
      fencing: agrees ? 'yes' : 'no',
    };
  },
  say: (command: QuorumCommand): Said | null => (command.kind === 'release' && (command.inUs ?? 0) > 0 ? null : quorumLifting.say(command)),
  use: (resource: string, request: number): Said | null => quorumLifting.use(resource, request),
};

export const registerLifting: Lifting<RegisterCommand, RegisterWorld> = {
  settings: ({ nodes, units }: Scenario<RegisterWorld>): Settings => ({ clients: String(nodes), units: String(units) }),
  say(command: RegisterCommand): Said {
    const unit = command.unit === 0 ? [] : ['unit', String(command.unit)];
    const value = command.kind === 'write' ? [String.fromCharCode(...command.value)] : [];
    return { verb: command.kind, words: [command.key, ...value, ...unit] };
  },
  use: (): null => null,
};

function nameText(name: Uint8Array): string {
  return decodeName(name, 0, name.length) ?? '?';
}

function spanText(us: number): string {
  return formatDuration(spanUs(us)).replaceAll(' ', '');
}
