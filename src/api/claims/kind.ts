/** Claims in the list of services: their number and name, and how they are run. */
import type { ServiceKind } from '../services/service.ts';
import { ClaimService } from './service.ts';

export const CLAIMS: ServiceKind<ClaimService> = {
  number: 1,
  name: 'claims',
  text: 'claims',
  disk: 'needed',
  begins: 'at once',
  isForClients: true,
  run: (ground) => new ClaimService(ground),
};
