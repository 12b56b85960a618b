/**
 * The words for every reason why two sides do not get together, from either side's view, each with what to do
 * next. The side that refuses sends the code and the facts; the other side makes its own sentence of them.
 */
import { TenureError, type ErrorCode } from '../../kernel/index.ts';
import type { Disagreement, Hello, Refusal, VersionRange, Welcome } from '../../wire/index.ts';
import type { PeerInfo } from '../contract.ts';

type Facts = Readonly<Record<string, string>>;

/** A refusal by this side: what is reported here, and what the other side is told. */
export interface RefusalVerdict {
  readonly error: TenureError;
  /** Null: it is not told anything. */
  readonly told: Refusal | null;
}

function verdict(code: ErrorCode, message: string, facts: Facts, told: Facts = facts): RefusalVerdict {
  return { error: new TenureError(code, message, facts), told: { code, facts: told } };
}

export function notOurs(remote: string): RefusalVerdict {
  const message = `${remote} does not speak this protocol: find out what connects to this port, or which address is wrong`;
  return { error: new TenureError('TENURE_BAD_FRAME', message, { remote }), told: null };
}

export function otherVersion(remote: string, here: VersionRange, there: VersionRange): RefusalVerdict {
  const [ours, theirs] = [`${here.min} to ${here.max}`, `${there.min} to ${there.max}`];
  const message = `${remote} speaks versions ${theirs} of the protocol and this side ${ours}: upgrade the older one`;
  return verdict('TENURE_VERSION_MISMATCH', message, { here: ours, there: theirs });
}

/** The name of our cell is not told to a peer that has proved nothing. */
export function otherCell(remote: string, cell: string, hello: Hello): RefusalVerdict {
  const message = `${hello.id} at ${remote} belongs to cell ${hello.cell}, this is ${cell}: correct the cell's name or the address there`;
  return verdict('TENURE_WRONG_CELL', message, { here: cell, there: hello.cell }, {});
}

export function otherAddressee(remote: string, id: string, hello: Hello): RefusalVerdict {
  const message = `${hello.id} at ${remote} dialled ${hello.to} and reached ${id}: correct the address of ${hello.to} there`;
  return verdict('TENURE_WRONG_ADDRESS', message, { here: id, wanted: hello.to }, {});
}

export function otherSecret(remote: string, hello: Hello, why: string): RefusalVerdict {
  const message = `${hello.id} at ${remote} is no ${hello.role} of this cell: ${why}; give both sides the same ${hello.role} secret`;
  return verdict('TENURE_WRONG_SECRET', message, { id: hello.id, role: hello.role }, { role: hello.role });
}

export function unknownMember(remote: string, hello: Hello, members: readonly string[]): RefusalVerdict {
  const list = members.join(', ');
  const message = `${hello.id} at ${remote} is not among the members ${list}: give all members the same list, or connect as a client`;
  return verdict('TENURE_UNKNOWN_MEMBER', message, { id: hello.id, members: list });
}

export function myOwnId(remote: string, hello: Hello): RefusalVerdict {
  const message = `a process at ${remote} calls itself ${hello.id}, as this one does: give each member an id of its own, and stop one of them`;
  return verdict('TENURE_DUPLICATE_MEMBER', message, { id: hello.id });
}

/** A process that takes an incarnation over could release its leases. */
export function otherKey(remote: string, { id, incarnation }: Hello | Welcome): RefusalVerdict {
  const message = `${id} at ${remote} claims an incarnation whose key it does not have: find out which process that is, and stop it`;
  return verdict('TENURE_WRONG_KEY', message, { id, incarnation: String(incarnation) });
}

/** A client that speaks for another's incarnation could release its leases. */
export function othersIncarnation(info: PeerInfo, member: string): RefusalVerdict {
  const message = `client ${info.id} claims the incarnation of member ${member}: every process draws an incarnation of its own at its start`;
  return verdict('TENURE_DUPLICATE_MEMBER', message, { id: info.id, incarnation: String(info.incarnation) });
}

export function otherConfig(remote: string, id: string, { field, here, there }: Disagreement): RefusalVerdict {
  const message = `${id} at ${remote} has ${field} = ${there}, this side has ${here}: give all members the same`;
  return verdict('TENURE_CONFIG_MISMATCH', message, { field, here, there, id });
}

/** A peer of a version that knows of no view but the first, in a cell that is in another. */
export function beforeViews(remote: string, { id, role }: Pick<PeerInfo, 'id' | 'role'>): RefusalVerdict {
  const message = `${role} ${id} at ${remote} is of a version that knows no changes of members, and this cell has changed them: upgrade ${id}`;
  return verdict('TENURE_VERSION_MISMATCH', message, { id });
}

/** A member that was taken out of the cell: it is told the view in which it is none. */
export function takenOut(remote: string, id: string): TenureError {
  const message = `${id} at ${remote} is no member of this cell, or not any more, and was told so: stop it, or add it (tenure members add)`;
  return new TenureError('TENURE_REMOVED', message, { id });
}

/** The view of another member says that this side is none. */
export function noMember(self: string, by: string): TenureError {
  return new TenureError(
    'TENURE_REMOVED',
    `${by} says that ${self} is no member of this cell, or not any more: stop ${self}, or add it (tenure members add)`,
    {
      id: self,
      by,
    },
  );
}

export function tooSlow(remote: string, ms: number): RefusalVerdict {
  const message = `${remote} did not finish the handshake in ${ms} ms: look whether that process hangs, or what else connects to this port`;
  return { error: new TenureError('TENURE_HANDSHAKE_TIMEOUT', message, { remote, ms }), told: null };
}

export function crowdedOut(remote: string, strangersMax: number): TenureError {
  const message = `${remote} gave way: ${strangersMax} connections had not proved who they are; look who opens so many`;
  return new TenureError('TENURE_HANDSHAKE_TIMEOUT', message, { remote, strangersMax });
}

export function tooMany(remote: string, connectionsMax: number): TenureError {
  const message = `${remote} was turned away: ${connectionsMax} connections are open, which is the limit; look who opens so many`;
  return new TenureError('TENURE_LIMIT', message, { remote, limit: 'connections', max: connectionsMax });
}

export function insecureAddress(id: string, host: string, ip: string): TenureError {
  const message = `the address of ${id}, ${host}, leads to ${ip}, off this machine, and there is no secret: set a secret`;
  return new TenureError('TENURE_INSECURE', message, { id, host, ip });
}

export function insecureListen(host: string): TenureError {
  const message = `listening on ${host} would serve other machines without a secret: set a secret, or listen on 127.0.0.1`;
  return new TenureError('TENURE_INSECURE', message, { host });
}

const LISTEN_ADVICE: Readonly<Record<string, string>> = {
  EADDRINUSE: 'another process has this port: stop it, or listen elsewhere',
  EADDRNOTAVAIL: "this address is not this machine's: listen on one that is, or on 0.0.0.0",
  EACCES: 'this port needs rights that the process does not have: use one from 1024 on',
  ENOTFOUND: 'there is no host of this name, or not yet',
  EAI_AGAIN: 'the name service does not answer',
};

/** Errors that may pass by themselves: name services and addresses come up after us, when a machine starts. */
const MAY_PASS: ReadonlySet<string> = new Set(['ENOTFOUND', 'EAI_AGAIN', 'EADDRNOTAVAIL']);

export function cannotListen(host: string, port: number, cause: NodeJS.ErrnoException): TenureError {
  const why = cause.code ?? 'unknown';
  const message = `cannot listen on ${host}:${port}: ${LISTEN_ADVICE[why] ?? cause.message} (${why})`;
  const error = new TenureError('TENURE_CANNOT_LISTEN', message, { host, port, why, ...(MAY_PASS.has(why) ? { mayPass: true } : {}) });
  error.cause = cause;
  return error;
}

export function takenOver(id: string, older: number, newer: number): TenureError {
  const message =
    `another process came as member ${id} while the first was connected; the newer one stays. ` +
    `After a power failure of ${id} that is expected once; if it repeats, two processes use this id: stop one`;
  return new TenureError('TENURE_DUPLICATE_MEMBER', message, { id, older, newer });
}

export function pushedOut(self: string, by: string): TenureError {
  const message = `${by} closed this connection because another process came to it as ${self}: stop one of the two`;
  return new TenureError('TENURE_DUPLICATE_MEMBER', message, { id: self, by });
}

export function expelled(by: string): TenureError {
  const message = `${by} closed this connection because of a message that this process may not send: run the same version on both sides`;
  return new TenureError('TENURE_FORGED', message, { by });
}

/** What the dialling side says when it was refused. */
export function refusedBy(id: string, remote: string, { code, facts }: Refusal): TenureError {
  const who = `${id} at ${remote}`;
  // Its here is our there.
  const { here, there, ...rest } = facts;
  const turned: Facts = { ...rest, ...(there === undefined ? {} : { here: there }), ...(here === undefined ? {} : { there: here }) };
  return new TenureError(code, `${who} refused this side: ${advice(code, turned)}`, { ...turned, by: id });
}

function advice(code: ErrorCode, facts: Facts): string {
  switch (code) {
    case 'TENURE_WRONG_CELL':
      return `it belongs to another cell; correct the cell's name or the address`;
    case 'TENURE_WRONG_ADDRESS':
      return 'the address leads to another member; correct it';
    case 'TENURE_WRONG_SECRET':
      return `the secret of this ${facts['role'] ?? 'side'} is not the one it knows, or none was given; give both sides the same`;
    case 'TENURE_UNKNOWN_MEMBER':
      return `its members are ${facts['members']}; give all members the same list, or connect as a client`;
    case 'TENURE_VERSION_MISMATCH':
      if (facts['id'] !== undefined) return 'the cell has changed its members, and this version knows no such thing; upgrade this side';
      return `it speaks versions ${facts['there']} of the protocol and this side ${facts['here']}; upgrade the older one`;
    case 'TENURE_CONFIG_MISMATCH':
      return `it has ${facts['field']} = ${facts['there']}, this side has ${facts['here']}; give all members the same`;
    case 'TENURE_DUPLICATE_MEMBER':
      return 'it calls itself by the same id; give each member an id of its own';
    default:
      return 'see docs/errors.md for the code';
  }
}
