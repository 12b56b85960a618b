/** What the roles share when they write their state down: names in the order of their text, sets of voters as lists. */
import { compareNames, decodeName, encodeName, VoterSet } from '../../kernel/index.ts';
import type { NameTable } from '../tables/index.ts';

/** The names for which `has` holds, in an order that does not depend on the table. */
export function namesInOrder(names: NameTable, has: (id: number) => boolean): { id: number; text: string }[] {
  const found: { id: number; text: string }[] = [];
  for (let id = 0; id < names.idLimit; id++) if (has(id)) found.push({ id, text: textOf(names.toBytes(id)) });
  return found.sort((a, b) => compareNames(a.text, b.text));
}

export function internText(names: NameTable, text: string): number {
  const bytes = encodeName(text);
  return names.intern(bytes, 0, bytes.length);
}

export function textOf(name: Uint8Array): string {
  return decodeName(name, 0, name.length) ?? '';
}

export function voterSet(voters: readonly number[]): VoterSet {
  const set = new VoterSet();
  for (const voter of voters) set.add(voter);
  return set;
}
