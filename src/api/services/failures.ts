/** Why a service cannot be had, here or at all, and what to do about it. */
import { TenureError } from '../../kernel/index.ts';

export function notHere(service: string, member: string): TenureError {
  return new TenureError(
    'TENURE_UNSUPPORTED',
    `member ${member} does not have the service ${service}: what it grants has to be kept, and this member has no data directory. Give it a dataDir and start it again`,
    { service, member },
  );
}

export function notForClients(service: string): TenureError {
  return new TenureError('TENURE_UNSUPPORTED', `clients do not have the service ${service}: ask for it in a member's process`, { service });
}

export function lackedBy(service: string, members: readonly string[]): TenureError {
  const list = members.join(', ');
  const message =
    `too few members have the service ${service}: ${list} ${members.length === 1 ? 'lacks' : 'lack'} it. ` +
    'Give each a data directory and the version of the others, and start it again';
  return new TenureError('TENURE_UNSUPPORTED', message, { service, members: list });
}

export function setOtherwise(service: string, ids: readonly string[], here: string, there: string): TenureError {
  const list = ids.join(', ');
  const message =
    `the service ${service} is set as '${there}' at ${list} and as '${here}' here: these do not serve each other in it. ` +
    'Give all members the same and start those again that had something else; connect again, if this is a client';
  return new TenureError('TENURE_CONFIG_MISMATCH', message, { field: service, here, there, id: list });
}

/** No majority of the members states the same to a client. */
export function atOdds(service: string, statements: readonly { readonly id: string; readonly text: string | undefined }[]): TenureError {
  const list = statements.map(({ id, text }) => `${id}: ${text ?? 'not at all'}`).join('; ');
  const message = `members do not set the service ${service} alike, and no majority does (${list}): give all members the same and start them again`;
  return new TenureError('TENURE_CONFIG_MISMATCH', message, { field: service, there: list });
}

export function unsettled(service: string, unreached: readonly string[]): TenureError {
  const list = unreached.join(', ');
  const message = `no majority of members has said how the service ${service} is set; not reached: ${list}. Start them or mend the network`;
  return new TenureError('TENURE_NO_QUORUM', message, { service, unreached: list });
}

export function stopped(service: string, cause: TenureError): TenureError {
  const message = `the service ${service} has stopped in this process; leases and other services go on. ${cause.message}`;
  const error = new TenureError(cause.code, message, { ...cause.details, service });
  error.cause = cause;
  return error;
}

/** A member sent a message of a service that it has not stated, or that is not here. */
export function misaddressed(member: string, service: number): TenureError {
  const message =
    `member ${member} sent a message of service ${service}, which it has not stated in the handshake, or which this node does not have: ` +
    'it was not heard. Run the same version on both sides';
  return new TenureError('TENURE_FORGED', message, { id: member, service });
}
