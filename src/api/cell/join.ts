/**
 * `joinCell` and `connect`: options become a transport, clocks and, for a member that keeps something, a data
 * directory, and these become a cell.
 */
import { randomBytes } from 'node:crypto';
import {
  compareViews,
  configsOf,
  encodeView,
  HEAD_KEY,
  MAX_TERM_US_MAX,
  viewInHead,
  type SuccessionMode,
  type View,
} from '../../core/index.ts';
import { checkOptions, compareNames, encodeName, parseDuration, SeededChooser, TenureError, type Incarnation } from '../../kernel/index.ts';
import { DataDir, SystemClocks } from '../../runtime/index.ts';
import { Identity, TcpTransport, type Secret } from '../../transport/index.ts';
import type { Engine, StartView } from '../engines/engine.ts';
import { makeEngine } from '../engines/index.ts';
import { termOptions } from '../engines/terms.ts';
import { unsupportedByEngine } from '../leases/engine.ts';
import { Observer } from '../observing/observer.ts';
import { SERVICES, servicesWith } from '../services/index.ts';
import { SIGNAL_ONLY, type SignalOnly } from '../signals.ts';
import type { ServiceKind } from '../services/service.ts';
import { statedServices } from '../services/services.ts';
import { Cell } from './cell.ts';
import { cellUnreachable, memberRemoved } from './failures.ts';
import { CLIENT_NUMBER, foundingView, Membership, NO_NUMBER, readMemberText, readViewText } from './membership.ts';
import { CellNode } from './node.ts';
import { CONNECT_OPTIONS, CONNECT_TIMEOUT, JOIN_OPTIONS, SUCCESSION, VIEW, type ConnectOptions, type JoinOptions } from './options.ts';
import type { CellSurroundings, Kept } from './surroundings.ts';
import { tellView } from './told-view.ts';

/** Longer timers fire at once. */
const TIMEOUT_MS_MAX = 2 ** 30;

/** Be a member: vote, acquire, learn. Resolves once others can dial in; `ready()` waits for the silence to end. */
export async function joinCell(options: JoinOptions): Promise<Cell> {
  const { consensus } = checkOptions('joinCell', options, JOIN_OPTIONS);
  return joinWith(options, consensus === undefined ? SERVICES : servicesWith(consensus));
}

/** The same with services of the caller's own: Tenure's tests bring some. */
export async function joinWith(options: JoinOptions, services: readonly ServiceKind[]): Promise<Cell> {
  checkOptions('joinCell', options, JOIN_OPTIONS);
  const ids = idsOf(options.members);
  const { maxTermUs, rateErrorPpm } = termOptions(options);
  const engine = makeEngine(options.engine ?? 'quorum', { maxTermUs, rateErrorPpm });
  const replication = options.replication ?? ids.length;
  checkJoin(options, engine, ids, replication);
  const identity = new Identity();
  const born = identity.incarnation;
  const dir = await openDataDir(options, engine, born, services);
  try {
    const told = ids.map((id, number) => ({ number, id, address: options.members[id] ?? '' }));
    const start = await startView(options, engine, foundingView(told, { replication, maxTermUs, rateErrorPpm }), dir);
    const membership = new Membership(told);
    if (start) membership.follow(start.view);
    const self = membership.numberOf(options.self) ?? NO_NUMBER;
    const isFounder = self !== NO_NUMBER && start?.view.isMoved !== true;
    const stated = statedServices(isFounder ? services : [], 'member', dir !== null);
    const viewBytes = (start && start.view.epoch > 0 && encodeView(start.view)) || undefined;
    const transport = new TcpTransport({
      cell: options.cell,
      role: 'member',
      id: options.self,
      identity,
      members: membership.places,
      joins: self === NO_NUMBER && engine.can.views,
      config: { engine: engine.text, maxTermUs, rateErrorPpm, replication, view: VIEW, ...(viewBytes ? { viewBytes } : {}) },
      services: stated,
      secrets: secretsOf(options.secret, options.clientSecret),
      ...(options.listen === undefined ? {} : { listen: options.listen }),
    });
    const kept = dir && keptIn(dir, options);
    const { cell: name, self: node, logger, history, onView } = options;
    const observer = new Observer({ cell: name, node, incarnation: born, logger, history });
    const surroundings = { ...realSurroundings(), kept: kept ?? undefined, succession: successionOf(options) };
    const member = new CellNode({
      transport,
      memberIds: ids,
      membership,
      self,
      start: self === NO_NUMBER ? undefined : start,
      joining: self === NO_NUMBER ? { id: options.self, engine: options.engine ?? 'quorum' } : undefined,
      onView: onView && (async (view) => onView(tellView(view))),
      incarnation: born,
      surroundings,
      observer,
      services: isFounder ? services : [],
    });
    try {
      if (self !== NO_NUMBER) member.begin(engine, replication);
      await member.connect();
    } catch (error) {
      await member.close();
      throw error;
    }
    return new Cell(member);
  } catch (error) {
    await dir?.close();
    throw error;
  }
}

function checkJoin(options: JoinOptions, engine: Engine, ids: readonly string[], replication: number): void {
  if (!Number.isInteger(replication) || replication < 1 || replication > ids.length) {
    throw new TenureError(
      'TENURE_BAD_ARGUMENT',
      `replication is a number from 1 to ${ids.length}, the number of members; not ${replication}`,
    );
  }
  if (options.keepVotes && options.dataDir === undefined) {
    throw new TenureError('TENURE_BAD_ARGUMENT', 'keepVotes needs a dataDir to keep them in');
  }
  if (options.dataDir !== undefined && !engine.can.dataDir) {
    throw unsupportedByEngine(engine, 'dataDir', 'keeps nothing on disk', 'leave dataDir out; a member that starts keeps silent');
  }
}

/** The view to begin in: the highest of what this member was told and what its directory kept. Undefined where there are none. */
async function startView(
  { view: text, self }: JoinOptions,
  engine: Engine,
  founding: View,
  dir: DataDir | null,
): Promise<StartView | undefined> {
  if (!engine.can.views) return undefined;
  const found = [founding];
  if (text !== undefined) found.push(readViewText(text));
  const kept = dir?.isKept ? await keptView(dir) : null;
  if (kept) found.push(kept);
  const view = found.reduce((highest, one) => (compareViews(one, highest) > 0 ? one : highest));
  const isMember = configsOf(view).some(({ members }) => members.some((member) => readMemberText(member.text).id === self));
  if (!isMember && view.epoch > 0) throw memberRemoved(self, view.epoch);
  return { view, isStored: true };
}

function keptView(dir: DataDir): Promise<View | null> {
  return new Promise((resolve) => dir.read(HEAD_KEY, (ok, bytes) => resolve(ok && bytes ? viewInHead(bytes) : null)));
}

function successionOf({ succession = SUCCESSION }: JoinOptions): SuccessionMode {
  if (succession === 'majority' || succession === 'strict') return succession;
  throw new TenureError('TENURE_BAD_ARGUMENT', `succession is 'majority' or 'strict', not '${String(succession)}'`);
}

function keptIn(dir: DataDir, { keepVotes }: JoinOptions): Kept {
  return { disk: dir, keeps: keepVotes ? 'votes' : 'floor', isKept: dir.isKept, section: (name) => dir.section(name) };
}

async function openDataDir(
  { cell, self, members, dataDir, listen }: JoinOptions,
  engine: Engine,
  born: Incarnation,
  services: readonly ServiceKind[],
): Promise<DataDir | null> {
  // A process that is no member leaves no trace.
  const mayJoin = Object.hasOwn(members, self) || (engine.can.views && listen !== undefined);
  if (dataDir === undefined || !mayJoin) return null;
  const sections = services.filter(({ disk }) => disk !== 'none').map(({ name }) => name);
  return DataDir.open({ path: dataDir, cell, member: self, incarnation: born, sections });
}

/**
 * Be a client: acquire and learn, but never vote. Resolves once a majority of the members tells the same engine and
 * timing, or with what those tell that were reached, if that takes too long.
 */
export function connect(options: ConnectOptions, waiting: SignalOnly = {}): Promise<Cell> {
  return connectWith(options, SERVICES, waiting);
}

/** The same with services of the caller's own: Tenure's tests bring some. */
export async function connectWith(options: ConnectOptions, services: readonly ServiceKind[], waiting: SignalOnly = {}): Promise<Cell> {
  checkOptions('connect', options, CONNECT_OPTIONS);
  const { signal } = checkOptions('connect', waiting, SIGNAL_ONLY);
  const ids = idsOf(options.members);
  const identity = new Identity();
  const born = identity.incarnation;
  const { cell: cellName, name: node = `client-${born}`, logger, history } = options;
  const timeoutUs = parseDuration(options.timeout ?? CONNECT_TIMEOUT);
  const transport = new TcpTransport({
    cell: options.cell,
    role: 'client',
    id: node,
    identity,
    members: ids.map((id) => ({ id, address: options.members[id] ?? '' })),
    config: { ...statedByClient(options), view: VIEW },
    services: statedServices(services, 'client', false),
    secrets: secretsOf(undefined, options.secret ?? options.clientSecret),
  });
  // A client is numbered after the members; its peers know it by the number they gave its connection.
  const observer = new Observer({ cell: cellName, node, incarnation: born, logger, history });
  const mayBootstrap = options.secret !== undefined || options.clientSecret === undefined;
  const surroundings = { ...realSurroundings(), mayBootstrap };
  const membership = new Membership(ids.map((id, number) => ({ number, id, address: options.members[id] ?? '' })));
  const client = new CellNode({
    transport,
    memberIds: ids,
    membership,
    self: CLIENT_NUMBER,
    incarnation: born,
    surroundings,
    observer,
    services,
  });
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(), Math.min(TIMEOUT_MS_MAX, timeoutUs / 1000));
  try {
    await client.connect();
    await client.begun(signal ? AbortSignal.any([signal, late.signal]) : late.signal);
  } catch (error) {
    const isLate = late.signal.aborted && !signal?.aborted;
    if (isLate && client.beginWithMost()) return new Cell(client);
    const members = client.members().map(({ id, stats }) => ({ id, address: options.members[id] ?? '', why: stats?.lastError ?? null }));
    await client.close();
    throw isLate ? cellUnreachable(cellName, members, timeoutUs) : error;
  } finally {
    clearTimeout(timer);
  }
  return new Cell(client);
}

/** A client that is told of an engine holds the members to it; how long terms are it learns from them. */
function statedByClient({ engine }: ConnectOptions): { engine?: string } {
  if (engine === undefined) return {};
  return { engine: makeEngine(engine, { maxTermUs: MAX_TERM_US_MAX, rateErrorPpm: 0 }).text };
}

function realSurroundings(): CellSurroundings {
  const bytes = randomBytes(8);
  return {
    clocks: new SystemClocks(),
    chooser: new SeededChooser(randomBytes(6).readUIntBE(0, 6)),
    hashKey: { k0: bytes.readUInt32LE(0), k1: bytes.readUInt32LE(4) },
    restarted: true,
  };
}

/** Members are numbered in the order of their ids, which is the same everywhere. */
function idsOf(members: Readonly<Record<string, string>> | undefined): string[] {
  if (typeof members !== 'object' || members === null) {
    throw new TenureError('TENURE_BAD_ARGUMENT', "members is an object of ids and addresses, like { a: 'host:4600' }");
  }
  const ids = Object.keys(members).sort(compareNames);
  for (const id of ids) checkId(id);
  return ids;
}

function checkId(id: string): void {
  try {
    encodeName(id);
  } catch (error) {
    const why = error instanceof TenureError ? String(error.details['why']) : String(error);
    throw new TenureError('TENURE_BAD_ARGUMENT', `${JSON.stringify(id)} cannot be the id of a member: ${why}`, { id });
  }
}

function secretsOf(member: Secret | undefined, client: Secret | undefined): { member?: Secret; client?: Secret } {
  return { ...(member === undefined ? {} : { member }), ...(client === undefined ? {} : { client }) };
}
