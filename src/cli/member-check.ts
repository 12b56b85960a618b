/** Whether a member could start as it was told to: settings it would be refused for later are refused here, before anything starts, with their origin. */
import type { Engine } from '../api/engines/engine.ts';
import type { JoinOptions } from '../api/index.ts';
import { TenureError } from '../kernel/index.ts';
import { engineOf, skewLacking } from './engine-of.ts';
import type { SettingKey } from './settings.ts';

type Origins = Readonly<Partial<Record<SettingKey, string>>>;

/** Throws `TENURE_BAD_CONFIG`. */
export function checkMember(options: JoinOptions, origins: Origins): Engine {
  const { members, engine: wanted = 'quorum', replication = 1, dataDir, keepVotes = false } = options;
  const lacking = skewLacking(wanted);
  if (lacking !== null) throw refused(origins, 'engine', lacking);
  const engine = timed(options, origins);
  const count = Object.keys(members).length;
  if (replication > count) throw refused(origins, 'replication', `there are only ${count} members to vote on a name`);
  if (dataDir !== undefined && !engine.can.dataDir) {
    throw refused(origins, 'dataDir', `the engine ${engine.name} keeps nothing on disk: leave it out, or choose the engine quorum`);
  }
  if (keepVotes && dataDir === undefined) throw refused(origins, 'keepVotes', 'votes are kept in a data directory: give --data-dir too');
  return engine;
}

function timed(options: JoinOptions, origins: Origins): Engine {
  try {
    return engineOf(options);
  } catch (error) {
    if (!(error instanceof TenureError)) throw error;
    const isTiming = error.code === 'TENURE_BAD_TIMING' && error.details['skewUs'] === undefined;
    throw refused(origins, isTiming ? 'maxTerm' : 'engine', error.message);
  }
}

function refused(origins: Origins, key: SettingKey, why: string): TenureError {
  const origin = origins[key];
  return new TenureError('TENURE_BAD_CONFIG', origin === undefined ? `${key}: ${why}` : `${origin}: ${key}: ${why}`);
}
