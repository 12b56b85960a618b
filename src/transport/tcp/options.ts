/**
 * The options of a TCP transport, with every limit and its default in one place, and what makes a set of options
 * impossible. Every mistake in them is thrown at the caller, before a socket exists.
 */
import type { Socket } from 'node:net';
import { encodeName, TenureError, type Incarnation } from '../../kernel/index.ts';
import {
  FRAME_BYTES_MAX,
  SERVICE_NUMBER_MAX,
  type CellConfig,
  type Role,
  type StatedConfig,
  type StatedService,
} from '../../wire/index.ts';
import { parseAddress, type Address } from './address.ts';
import type { Identity } from './identity.ts';

export interface TcpLimits {
  /** The largest message, in and out. */
  readonly frameBytesMax: number;
  /** The largest message from a client: each of thousands may have one under way. */
  readonly clientFrameBytesMax: number;
  /** The bytes that may wait for one peer; one message more than this at most. */
  readonly queueBytesMax: number;
  /** The bytes that may wait for all clients together; each may have an equal part. */
  readonly clientQueuesBytesMax: number;
  /** From a connection's beginning to the end of its handshake. */
  readonly handshakeMs: number;
  /** Connections that have not proved their identity; beyond this the oldest is dropped. */
  readonly strangersMax: number;
  readonly connectionsMax: number;
  readonly pingMs: number;
  /** A connection on which nothing came for so long is dead. */
  readonly silentMs: number;
  readonly backoffMsMin: number;
  readonly backoffMsMax: number;
  /** Before a member is dialled again that refused us, or that we refused. */
  readonly refusedMs: number;
  /** How long a farewell may take to leave. */
  readonly lingerMs: number;
}

export const TCP_LIMITS: TcpLimits = {
  frameBytesMax: FRAME_BYTES_MAX,
  clientFrameBytesMax: 64 * 1024,
  queueBytesMax: 4 * 1024 * 1024,
  clientQueuesBytesMax: 1024 * 1024 * 1024,
  handshakeMs: 5000,
  strangersMax: 1024,
  connectionsMax: 16_384,
  pingMs: 1000,
  silentMs: 4000,
  backoffMsMin: 20,
  backoffMsMax: 1000,
  refusedMs: 5000,
  lingerMs: 500,
};

/** Text is taken as its bytes of UTF-8. */
export type Secret = string | Uint8Array;

export interface TcpSecrets {
  /** Known to members only. */
  readonly member?: Secret;
  /** Known to members and clients. Must differ from the members': a client could pose as one. */
  readonly client?: Secret;
}

/** Turns a plain socket into a safe one (TLS). It is called before the first byte. */
export type Secure = (socket: Socket, side: 'dial' | 'accept', member: string) => Socket;

export interface TcpOptions {
  readonly cell: string;
  readonly role: Role;
  /** For a member one of `members`; for a client any name that tells a person which one it is. */
  readonly id: string;
  /** Made at the start of the process, and never used by another. */
  readonly identity: Identity;
  /** In the order of the view. Addresses are looked up at every attempt. */
  readonly members: readonly { readonly id: string; readonly address: string; readonly number?: number }[];
  /** A member that is none yet: it waits until one dials it that knows the view in which it is. */
  readonly joins?: boolean;
  /** Where a member listens; its own address unless told otherwise. */
  readonly listen?: string;
  /** Of a member the whole; of a client the fields it knows. The ids of the members are added. */
  readonly config: Omit<StatedConfig, 'members'>;
  /** The services this side has beside leases, or may ask for. */
  readonly services?: readonly StatedService[];
  readonly secrets?: TcpSecrets;
  readonly secure?: Secure;
  readonly limits?: Partial<TcpLimits>;
}

export interface TcpMember {
  readonly number: number;
  readonly id: string;
  readonly address: Address;
}

/** The same, checked and ready for use. */
export interface TcpSettings {
  readonly cell: string;
  readonly role: Role;
  readonly id: string;
  readonly identity: Identity;
  readonly incarnation: Incarnation;
  readonly key: Uint8Array;
  members: readonly TcpMember[];
  /** This member's number; -1 for a client, and for a member that is none yet. */
  self: number;
  readonly listen: Address | null;
  config: StatedConfig;
  readonly services: readonly StatedService[];
  readonly secrets: Readonly<Partial<Record<Role, Uint8Array>>>;
  /** Neither secret nor TLS: nothing may leave this machine. */
  readonly insecure: boolean;
  readonly secure: Secure | null;
  readonly limits: TcpLimits;
}

export const SECRET_BYTES_MIN = 16;
export const MEMBERS_MAX = 64;
/** The ids of all members travel in one frame of the handshake. */
export const MEMBER_IDS_BYTES_MAX: number = 8 * 1024;
/** So do the services, in the same frame. */
const SERVICES_BYTES_MAX = 4 * 1024;

export function checkTcpOptions(options: TcpOptions): TcpSettings {
  const { cell, role, id, identity, members, config, services = [] } = options;
  checkText('cell', cell);
  checkText('id', id);
  for (const member of members) checkText('member id', member.id);
  const ids = members.map((member) => member.id);
  if (ids.length === 0 || ids.length > MEMBERS_MAX) throw bad(`a cell has 1 to ${MEMBERS_MAX} members, not ${ids.length}`);
  const idBytes = ids.reduce((sum, one) => sum + encodeName(one).length, 0);
  if (idBytes > MEMBER_IDS_BYTES_MAX) throw bad(`the ids of all members have ${idBytes} bytes, and ${MEMBER_IDS_BYTES_MAX} are the limit`);
  const twice = ids.find((one, index) => ids.indexOf(one) !== index);
  if (twice !== undefined) throw bad(`member ${twice} is listed twice`);
  if (config.engine !== undefined) checkText('engine', config.engine);
  for (const field of ['maxTermUs', 'rateErrorPpm', 'replication', 'view'] as const satisfies readonly (keyof CellConfig)[]) {
    const value = config[field];
    if (value === undefined ? role === 'member' : !Number.isSafeInteger(value) || value < 0) {
      throw bad(`config.${field} is a safe integer from 0 on, not ${value}`);
    }
  }
  if (role === 'member' && config.engine === undefined) throw bad('a member states its config.engine');
  checkServices(services);

  const known = members.map((member, index) => ({ number: member.number ?? index, id: member.id, address: parseAddress(member.address) }));
  const own = role === 'member' ? known.find((member) => member.id === id) : undefined;
  const self = own?.number ?? -1;
  if (role === 'member' && self < 0 && !(options.joins && options.listen !== undefined)) {
    throw new TenureError('TENURE_UNKNOWN_MEMBER', `${id} is not among the members ${ids.join(', ')}: add it there, or correct its id`, {
      id,
      members: ids.join(', '),
    });
  }
  const listen = role === 'member' ? (options.listen === undefined ? own?.address : parseAddress(options.listen)) : null;

  const secrets: Partial<Record<Role, Uint8Array>> = {};
  for (const whose of ['member', 'client'] as const) {
    const secret = options.secrets?.[whose];
    if (secret === undefined) continue;
    const bytes = Buffer.from(secret as string);
    if (bytes.length < SECRET_BYTES_MIN) {
      throw bad(`the ${whose} secret has ${bytes.length} bytes and needs ${SECRET_BYTES_MIN}: make one with openssl rand -hex 32`);
    }
    secrets[whose] = bytes;
  }
  if (secrets.member && secrets.client && Buffer.compare(secrets.member, secrets.client) === 0) {
    throw bad('members and clients need different secrets: with the same one a client could pose as a member');
  }
  if (role === 'member' && secrets.client && !secrets.member) throw bad('there is a secret for clients and none for members: add one');
  const limits = { ...TCP_LIMITS, ...options.limits };
  for (const [name, value] of Object.entries(limits)) {
    if (!Number.isSafeInteger(value) || value <= 0) throw bad(`limits.${name} is a positive integer, not ${value}`);
  }
  const secure = options.secure ?? null;
  return {
    cell,
    role,
    id,
    identity,
    incarnation: identity.incarnation,
    key: identity.key,
    members: known,
    self,
    listen: listen ?? null,
    config: { ...config, members: ids },
    services,
    secrets,
    insecure: secrets[role] === undefined && secure === null,
    secure,
    limits,
  };
}

function checkServices(services: readonly StatedService[]): void {
  for (const { number, text } of services) {
    checkText('service', text);
    if (!Number.isInteger(number) || number < 1 || number > SERVICE_NUMBER_MAX) {
      throw bad(`the number of a service is from 1 to ${SERVICE_NUMBER_MAX}, not ${number}`);
    }
    if (services.filter((one) => one.number === number).length > 1) throw bad(`two services have the number ${number}`);
  }
  const bytes = services.reduce((sum, { text }) => sum + encodeName(text).length, 0);
  if (bytes > SERVICES_BYTES_MAX) throw bad(`all services are stated in ${bytes} bytes, and ${SERVICES_BYTES_MAX} are the limit`);
}

function checkText(what: string, text: string): void {
  try {
    encodeName(text);
  } catch (error) {
    throw bad(`the ${what} ${JSON.stringify(text)} is not 1 to 255 bytes of text without control characters`, error);
  }
}

function bad(message: string, cause?: unknown): TenureError {
  const error = new TenureError('TENURE_BAD_ARGUMENT', message);
  if (cause !== undefined) error.cause = cause;
  return error;
}
