/** Words of a script's line, as actors read them, and the short names of nodes. */
import { TenureError } from '../../kernel/index.ts';

/** Nodes that vote or store, and nodes that ask, where these are different nodes. */
export const VOTER_NAMES = 'abcdefghijklmno';
export const ASKER_NAMES = 'pqrstuvwxyz';

/** The first so many nodes vote or store, the others ask. */
export function shortName(voters: number, node: number): string {
  return (node < voters ? VOTER_NAMES[node] : ASKER_NAMES[node - voters]) ?? `n${node}`;
}

/** A word that is passed over would make the line mean something else than it says. */
export function takesNoMore(verb: string, words: readonly string[]): void {
  if (words.length > 0) throw new TenureError('TENURE_BAD_ARGUMENT', `${verb} does not take '${words.join(' ')}'`);
}

export function unknownVerb(verb: string, verbs: readonly string[]): TenureError {
  return new TenureError('TENURE_BAD_ARGUMENT', `'${verb}' is nothing this protocol's actors do. They do: ${verbs.join('; ')}`);
}
