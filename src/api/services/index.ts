/** The services that a cell has beside leases, in the only list there is. Numbers are never given to another service, not even of one that is gone. */
import { CLAIMS } from '../claims/kind.ts';
import type { ServiceKind } from './service.ts';

export const SERVICES: readonly ServiceKind[] = [CLAIMS];
