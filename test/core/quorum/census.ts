/** How many things an object keeps, down to its private fields: what only grows shows here, whoever owns it. */
import { Session } from 'node:inspector';

interface RemoteObject {
  readonly type: string;
  readonly subtype?: string;
  readonly className?: string;
  readonly objectId?: string;
  readonly description?: string;
  readonly value?: unknown;
}

interface Property {
  readonly name: string;
  readonly value?: RemoteObject;
}

/** Objects of the engine refer to each other in circles. */
const DEPTH_MAX = 7;
const COLLECTIONS = new Set(['map', 'set', 'array']);
/** Shared by the roles of a core: looked at once. */
const SHARED = new Set([
  'Acceptor',
  'NameTable',
  'QuorumOutbox',
  'Holders',
  'Watchers',
  'Electorate',
  'ModedVotes',
  'WaitingRoom',
  'Votes',
  'LeaseTable',
  'HoldTable',
  'LeaseKeys',
  'Publications',
  'HoldLimits',
  'VoteReports',
  'Promises',
  'Changes',
  'Floors',
  'Ledger',
  'VotingState',
  'Learner',
  'Succession',
]);

/** How much the collections keep whose place in the object ends like this; there must be one. */
export function kept(root: object, place: string): number {
  const sizes = Object.entries(census(root)).filter(([path]) => path.endsWith(place));
  if (sizes.length === 0) throw new Error(`nothing is called ${place} any more`);
  return sizes.reduce((sum, [, size]) => sum + size, 0);
}

/** The size of every map, set and array in it, by where it is. */
export function census(root: object): Record<string, number> {
  const session = new Session();
  const place = globalThis as { censusRoot?: object };
  session.connect();
  place.censusRoot = root;
  try {
    const sizes: Record<string, number> = {};
    const { result } = ask(session, 'Runtime.evaluate', { expression: 'globalThis.censusRoot' }) as { result: RemoteObject };
    walk(session, result, '', sizes, new Set());
    return sizes;
  } finally {
    delete place.censusRoot;
    session.disconnect();
  }
}

function walk(session: Session, object: RemoteObject, path: string, sizes: Record<string, number>, seen: Set<string>): void {
  if (object.objectId === undefined || path.split('.').length > DEPTH_MAX) return;
  if (COLLECTIONS.has(object.subtype ?? '')) {
    sizes[path] = Number(/\((\d+)\)$/.exec(object.description ?? '')?.[1] ?? 0);
    return;
  }
  if (object.subtype !== undefined || object.type !== 'object' || object.className?.endsWith('Column') === true) return;
  if (SHARED.has(object.className ?? '')) {
    if (seen.has(object.className ?? '')) return;
    seen.add(object.className ?? '');
  }
  const asked = { objectId: object.objectId, ownProperties: true };
  const answer = ask(session, 'Runtime.getProperties', asked) as { result: Property[]; privateProperties?: Property[] };
  const { result, privateProperties = [] } = answer;
  if (object.className === 'NumberMap') {
    sizes[path] = Number(privateProperties.find(({ name }) => name === '#size')?.value?.value);
    return;
  }
  for (const { name, value } of [...result, ...privateProperties]) {
    if (value && name !== '__proto__') walk(session, value, `${path}${path === '' ? '' : '.'}${name}`, sizes, seen);
  }
}

/** A session to its own thread answers before `post` returns. */
function ask(session: Session, method: string, parameters: object): unknown {
  let answer: { readonly error: Error | null; readonly result: object | undefined } | undefined;
  session.post(method, parameters, (error: Error | null, result?: object) => {
    answer = { error, result };
  });
  if (!answer) throw new Error(`${method} was not answered at once`);
  if (answer.error) throw answer.error;
  return answer.result;
}
