/** What a Redis server says of itself, and whether a store may be there: its identity, the server it follows, its eviction policy. */
import { unfit } from '../failures.ts';

export interface ServerInfo {
  /** Another at every start. */
  readonly runId: string;
  /** Of the history of its data: another whenever it has followed another server, or leads in the place of one. */
  readonly historyId: string;
  readonly isReplica: boolean;
  readonly replicas: number;
  readonly evictsAnything: boolean;
}

export function readInfo(text: string): ServerInfo {
  const fields = new Map(
    text.split('\r\n').flatMap((line) => {
      const colon = line.indexOf(':');
      return colon < 0 ? [] : [[line.slice(0, colon), line.slice(colon + 1)] as const];
    }),
  );
  return {
    runId: fields.get('run_id') ?? '',
    historyId: fields.get('master_replid') ?? '',
    isReplica: fields.get('role') !== 'master',
    replicas: Number(fields.get('connected_slaves') ?? 0),
    // Policies for keys that expire leave ours alone: they never do.
    evictsAnything: Number(fields.get('maxmemory') ?? 0) > 0 && (fields.get('maxmemory_policy') ?? '').startsWith('allkeys'),
  };
}

/** Throws unless a store may be on this server. */
export function checkInfo(url: string, { runId, historyId, isReplica, evictsAnything }: ServerInfo): void {
  if (runId === '') throw unfit(url, 'it does not tell its run id (INFO server): nobody would notice that it started anew');
  if (historyId === '')
    throw unfit(
      url,
      'it does not tell its replication id (INFO replication): nobody would notice that it followed another server meanwhile',
    );
  if (isReplica) throw unfit(url, 'it is a replica: what is read there may be old');
  if (evictsAnything)
    throw unfit(url, 'its maxmemory-policy throws away whatever it likes: set noeviction, or one of the volatile policies');
}

/** Throws unless every write is on disk before it is acknowledged, and on no other server. `settings` as CONFIG GET lists them. */
export function checkSynced(url: string, { replicas }: ServerInfo, settings: readonly string[]): void {
  const valueOf = (name: string): string | undefined => settings[settings.indexOf(name) + 1];
  if (valueOf('appendonly') !== 'yes' || valueOf('appendfsync') !== 'always') {
    throw unfit(url, 'replicas=none promises that nothing acknowledged is ever lost: that needs appendonly yes and appendfsync always');
  }
  if (replicas > 0) throw unfit(url, `replicas=none was said, and it has ${replicas}`);
}
