/** The holder of a lease, in words for people that wait for it or waited in vain. */
import type { Cell, LeaseClient } from '../api/index.ts';
import { quorumInMs } from '../api/cell/refusals.ts';
import { TenureError } from '../kernel/index.ts';
import { holderText } from './terminal.ts';

/** Members of a cell that has just started grant nothing yet: no process holds anything, and none can. */
async function silence(client: LeaseClient): Promise<string | null> {
  if (!('status' in client)) return null;
  const standings = await (client as Cell).status();
  const leftMs = quorumInMs(standings.map(({ silentForMs }) => silentForMs));
  return leftMs === null ? null : `members have just started and keep silent, for another ${Math.ceil(leftMs / 1000)} s`;
}

/** In words for people. */
export async function whoHas(client: LeaseClient, name: string): Promise<string> {
  const { holder, certain, meta } = await client.holder(name);
  if (!holder) return certain ? 'its holder has just left' : ((await silence(client)) ?? 'too few members answer to tell who holds it');
  return `held by ${holderText(meta, holder)}, for at most ${Math.ceil(holder.remainingMsMax / 1000)} s unless it is renewed`;
}

/** A wait that ended because another process has the lease names that process. Any other error stays as it is. */
export async function namingHolder(error: unknown, client: LeaseClient, name: string): Promise<unknown> {
  if (!(error instanceof TenureError) || error.code !== 'TENURE_WAIT_TIMEOUT') return error;
  if (error.details['unreached'] !== undefined || error.details['silentForMs'] !== undefined) return error;
  try {
    const heldBy = await whoHas(client, name);
    return new TenureError(error.code, `'${name}' was not free in time: ${heldBy}; wait longer, or try again later`, { name, heldBy });
  } catch {
    return error;
  }
}
