/** Leases that commands hand over to their waiters, where the engine can. */
import { TenureError } from '../kernel/index.ts';

/** To the next in line; false if there is none, or the engine knows no such thing: then it is to be given back. */
export async function handOver(held: { transfer(): Promise<boolean> } | { handOver(): Promise<boolean> }): Promise<boolean> {
  try {
    return 'transfer' in held ? await held.transfer() : await held.handOver();
  } catch (error) {
    if (error instanceof TenureError) return false;
    throw error;
  }
}
