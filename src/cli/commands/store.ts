/** `tenure store`: what concerns the storage under leases, not the leases. Each subcommand is in a file of its own. */
import { Command } from 'commander';
import { storeCompactCommand } from './store-compact.ts';
import { storeDoctorCommand } from './store-doctor.ts';
import { storeInitCommand } from './store-init.ts';
import { storeRepairCommand } from './store-repair.ts';

export function storeCommand(setExit: (code: number) => void): Command {
  return new Command('store')
    .summary('set up, examine, repair and clear a store')
    .description('A store is storage that several processes share, named by a URL.')
    .addCommand(storeInitCommand())
    .addCommand(storeDoctorCommand(setExit))
    .addCommand(storeCompactCommand(setExit))
    .addCommand(storeRepairCommand(setExit));
}
