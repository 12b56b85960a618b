/** Every protocol that can be simulated, scripted, shrunk or explored: a new one is a folder beside this and a line here. */
import type { Kit } from '../kit.ts';
import { broadcastKit } from './atomic-broadcast/index.ts';
import { consensusKits } from './consensus/index.ts';
import { bundlesKit } from './quorum-bundles/index.ts';
import { intervalKit } from './interval-lease/index.ts';
import { modesKit } from './quorum-modes/index.ts';
import { viewsKit } from './quorum-views/index.ts';
import { quorumKit } from './quorum/index.ts';
import { replicatedKits } from './replicated/index.ts';
import { registerKit } from './register/index.ts';
import { roundKits } from './rounds/index.ts';
import { roundsRegisterKit } from './rounds-register/index.ts';
import { storageLeaseKits } from './storage-leases/index.ts';
import { toyKit } from './toy/index.ts';

export const kits: readonly Kit[] = [
  quorumKit,
  modesKit,
  viewsKit,
  bundlesKit,
  ...roundKits,
  registerKit,
  roundsRegisterKit,
  ...storageLeaseKits,
  ...replicatedKits,
  intervalKit,
  ...consensusKits,
  broadcastKit,
  toyKit,
];
