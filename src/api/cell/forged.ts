/** What a member says of a client that sent no message of this protocol, or one that no client may send. */
import { TenureError } from '../../kernel/index.ts';

export function forged(client: string): TenureError {
  return new TenureError(
    'TENURE_FORGED',
    `client ${client} sent what is no message, or none that it may send: it was closed. Find out what runs there`,
    { client },
  );
}
