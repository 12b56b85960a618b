/** How a group began, as a member's disk remembers it, for tools that look at disks from outside. */
import { MEMBER_KEY, memberRecord } from '../consensus/records.ts';
import { epochName, FIRST_EPOCH } from './epoch-acts.ts';

/**
 * Whether a member with this disk remembers that its group was founded. No vote leaves a founder before this record is stored, and no member is told what a founder remembers; so a member that came back without it
 * has one again only if a majority of founders have stored theirs. As long as fewer than a majority remember, nothing is decided in the first epoch, nor ever will be if none of them is still storing it.
 */
export function remembersFounding(recordOf: (key: string) => Uint8Array | null): boolean {
  const bytes = recordOf(`${epochName(FIRST_EPOCH)}/${MEMBER_KEY}`);
  return bytes !== null && memberRecord(bytes) !== null;
}
