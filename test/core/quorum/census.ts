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
    walk(session, result, sizes);
    return sizes;
  } finally {
    delete place.censusRoot;
    session.disconnect();
  }
}

/** Nearest first, so that what several roles share is found where it belongs, whoever else points at it. */
function walk(session: Session, root: RemoteObject, sizes: Record<string, number>): void {
  const seen = new Set<string>();
  const ahead = [{ object: root, path: [] as readonly string[] }];
  for (let next = ahead.shift(); next; next = ahead.shift()) {
    const { object, path } = next;
    if (COLLECTIONS.has(object.subtype ?? '')) {
      sizes[path.join('.')] = Number(/\((\d+)\)$/.exec(object.description ?? '')?.[1] ?? 0);
      continue;
    }
    if (object.subtype !== undefined || object.type !== 'object' || object.className?.endsWith('Column') === true) continue;
    if (SHARED.has(object.className ?? '')) {
      if (seen.has(object.className ?? '')) continue;
      seen.add(object.className ?? '');
    }
    const properties = propertiesOf(session, object);
    if (object.className === 'NumberMap') {
      sizes[path.join('.')] = Number(properties.find(({ name }) => name === '#size')?.value?.value);
      continue;
    }
    if (path.length === DEPTH_MAX) continue;
    for (const { name, value } of properties) {
      if (value?.objectId !== undefined && name !== '__proto__') ahead.push({ object: value, path: [...path, name] });
    }
  }
}

function propertiesOf(session: Session, { objectId }: RemoteObject): readonly Property[] {
  const answer = ask(session, 'Runtime.getProperties', { objectId, ownProperties: true }) as {
    result: Property[];
    privateProperties?: Property[];
  };
  return [...answer.result, ...(answer.privateProperties ?? [])];
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
