/**
 * Broadcast as a service of a cell: the core of a member or of a client on its driver, the publishers and readers of this process, and how the group stands. One service is one log of all
 * names: they share positions, and a name costs nothing.
 */
import {
  BroadcastClientCore,
  BroadcastCore,
  MESSAGE_BYTES_MAX,
  type BroadcastCommand,
  type BroadcastConsensus,
  type BroadcastEvent,
  type BroadcastLimits,
  type BroadcastMessage,
  type BroadcastStanding,
  type LogEntry,
  type LogSnapshot,
} from '../../core/index.ts';
import { nodeId, type NodeId, type TenureError } from '../../kernel/index.ts';
import type { Driver } from '../../runtime/index.ts';
import { broadcastCodec } from '../../wire/index.ts';
import type { BroadcastObserver } from '../observing/broadcast-observer.ts';
import { driveService, type MountGround, type RunningService } from '../services/service.ts';
import { closed } from '../cell/failures.ts';
import { broadcastNotBegun, keepIsForMembers, logDiskFailed } from './failures.ts';
import { GroupNews, type MemberLog } from './group-news.ts';
import { PublishQueue } from './publish-queue.ts';
import { LogReader, type ReaderGround } from './reader.ts';
import { CLIENT_LIMITS, CLIENT_MESSAGE_BYTES_MAX, RENEW_US, RETRY_US, TIMING } from './timing.ts';

/** What a reader reads: of one name, or of all, after this position of this epoch, if that is known. */
type Reading<Made> = Omit<ReaderGround<Made>, 'number' | 'ask'> & { readonly after: number; readonly epoch: number | null };
type Renewed = Extract<BroadcastEvent, { kind: 'renewed' }>;

export class BroadcastService implements RunningService {
  readonly driver: Driver<BroadcastMessage, BroadcastCommand, BroadcastEvent>;
  readonly #ground: MountGround;
  readonly #observer: BroadcastObserver;
  readonly #core: BroadcastCore | BroadcastClientCore;
  readonly #group: GroupNews;
  readonly #publishing: PublishQueue;
  readonly #readers = new Map<number, LogReader<unknown>>();
  /** Callers that wait for a copy of an application's state, in the order in which they asked. */
  readonly #fetches: { name: Uint8Array; after: number; resolve: (snapshot: LogSnapshot | null) => void }[] = [];
  /** Reads everything for the history of this process. */
  #historian: LogReader<unknown> | null = null;
  #nextReader = 1;
  #over: TenureError | null = null;
  #renewing: Promise<void> | null = null;
  #renewed: ((event: Renewed) => void) | null = null;

  constructor(ground: MountGround, consensus: BroadcastConsensus, limits?: BroadcastLimits) {
    this.#ground = ground;
    this.#observer = ground.observer.broadcasts;
    const { boot, memberIds, clocks, disk, node: from } = ground;
    const members = memberIds.length;
    const isMember = boot.self < members;
    this.#core = isMember
      ? new BroadcastCore({ ...TIMING, members, consensus, from, keeps: disk === undefined ? 'memory' : 'disk', limits }, boot)
      : new BroadcastClientCore({ members, from, retryUs: RETRY_US, limits: CLIENT_LIMITS }, boot);
    this.driver = driveService(ground, { core: this.#core, codec: broadcastCodec, onEvent: (event) => this.#hear(event) });
    this.#group = new GroupNews({
      memberIds,
      self: isMember ? boot.self : null,
      clocks,
      survey: () => this.#command({ kind: 'survey' }),
      isWaiting: () => !this.#publishing.isEmpty,
      stuck: (error) => this.#publishing.fail(error),
    });
    this.#publishing = new PublishQueue({
      give: (messages) => this.#command({ kind: 'publish', messages }),
      room: () => this.#core.room,
      messageBytesMax: isMember ? MESSAGE_BYTES_MAX : CLIENT_MESSAGE_BYTES_MAX,
      nowUs: () => clocks.mono(),
      observer: this.#observer,
    });
    if (isMember && this.#observer.keepsHistory) void this.#tellHistory();
  }

  get isAsked(): boolean {
    return !this.#publishing.isEmpty || this.#group.isAsked || this.#renewing !== null || this.#fetches.length > 0;
  }

  get isReady(): boolean {
    return this.#group.isSettled;
  }

  // ── Calls ──────────────────────────────────────────────────────────────────────────────────────────

  publish(name: Uint8Array, message: Uint8Array, signal: AbortSignal | undefined): Promise<number> {
    if (this.#over) return Promise.reject(this.#over);
    const position = this.#publishing.publish(name, message, signal);
    this.#group.begin();
    return this.#ground.alive.during(position);
  }

  /** The caller closes the reader. */
  open<Made>({ after, epoch, ...reading }: Reading<Made>): LogReader<Made> {
    if (this.#over) throw this.#over;
    const number = this.#nextReader++;
    const reader = new LogReader({ ...reading, number, ask: (command) => this.#command(command) }, after, epoch);
    this.#readers.set(number, reader);
    return reader;
  }

  /** The reader is not used any more. */
  shut(reader: LogReader<unknown>): void {
    reader.end(closed());
    this.#readers.delete(reader.number);
  }

  /** The position of the last message that any member has that says so. */
  async lastPosition(): Promise<number> {
    const members = await this.members();
    return Math.max(0, ...members.map((member) => member?.last ?? 0));
  }

  /** The newest copy of an application's state that members keep after this position. */
  fetch(name: Uint8Array, after: number): Promise<LogSnapshot | null> {
    return new Promise((resolve) => {
      this.#fetches.push({ name, after, resolve });
      if (this.#fetches.length === 1) this.#fetchNext();
    });
  }

  /** The core fetches one at a time. */
  #fetchNext(): void {
    const fetching = this.#fetches[0];
    if (fetching) this.#command({ kind: 'fetch', name: fetching.name, after: fetching.after });
  }

  /** Throws TENURE_LIMIT, and TENURE_UNSUPPORTED for a client. */
  keep(name: Uint8Array, snapshot: LogSnapshot): void {
    if (this.#over) throw this.#over;
    if (this.#ground.boot.self >= this.#ground.memberIds.length) throw keepIsForMembers();
    this.#command({ kind: 'offer', name, snapshot });
  }

  ready(signal: AbortSignal | undefined): Promise<void> {
    return this.#ground.alive.during(this.#group.ready(signal));
  }

  /** How far each member is, by member; null where it did not say. */
  members(): Promise<(MemberLog | null)[]> {
    const { memberIds, boot, shares, alive } = this.#ground;
    const asked = memberIds.flatMap((_, member) => (member === boot.self || shares(nodeId(member)) ? [member] : []));
    return alive.during(this.#group.members(asked));
  }

  /** Begins a group in which too few members remember anything. Throws TENURE_BOOTSTRAP_REFUSED. */
  renew(): Promise<void> {
    if (this.#over) return Promise.reject(this.#over);
    this.#renewing ??= this.#renew().finally(() => (this.#renewing = null));
    return this.#ground.alive.during(this.#renewing);
  }

  #renew(): Promise<void> {
    const { memberIds } = this.#ground;
    return new Promise((resolve, reject) => {
      this.#renewed = ({ ok, absent, barred }) => {
        const named = (members: readonly number[]): string[] =>
          members.toSorted((one, other) => one - other).map((member) => memberIds[member] ?? String(member));
        if (ok) resolve();
        else reject(this.#over ?? broadcastNotBegun(named(absent), named(barred)));
      };
      this.#command({ kind: 'renew', waitUs: RENEW_US });
    });
  }

  #command(command: BroadcastCommand): void {
    this.driver.command(command);
  }

  // ── Events ─────────────────────────────────────────────────────────────────────────────────────────

  #hear(event: BroadcastEvent): void {
    switch (event.kind) {
      case 'published':
        return this.#publishing.published(event.first, event.last, event.position);
      case 'uncertain':
        return this.#publishing.uncertain(event.first, event.last);
      case 'room':
        return this.#publishing.flush();
      case 'page':
        return this.#readers.get(event.reader)?.heard(event);
      case 'gone':
        return this.#readers.get(event.reader)?.gone(event.first);
      case 'end':
        return;
      case 'surveyed':
        return this.#group.hear(event);
      case 'delivered':
        return this.#observer.advanced(event.last);
      case 'standing':
        return this.#stands(event.standing);
      case 'stopped':
        this.#group.stopped(event.without);
        return this.#observer.stopped(event.without.map((member) => this.#ground.memberIds[member] ?? ''));
      case 'epoch':
        this.#observer.begun(event.epoch, event.position);
        return this.#historian?.moveBack(event.position);
      case 'snapshot':
        this.#fetches.shift()?.resolve(event.snapshot);
        return this.#fetchNext();
      case 'renewed':
        this.#renewed?.(event);
        this.#renewed = null;
    }
  }
  #stands(standing: BroadcastStanding): void {
    this.#group.stands(standing);
    this.#observer.stands(standing);
    if (standing !== 'failed') return;
    const { memberIds, boot, ailing } = this.#ground;
    ailing(logDiskFailed(memberIds[boot.self] ?? ''));
  }

  /** Every message that this member delivers, in the history of its process. */
  async #tellHistory(): Promise<void> {
    let isAfterGap = false;
    const made = (entry: LogEntry): void => {
      this.#observer.delivered(entry, isAfterGap);
      isAfterGap = false;
    };
    const reader = this.open({ name: null, after: 0, epoch: null, made, epochGone: null });
    this.#historian = reader;
    try {
      for (;;) {
        const page = await reader.page(undefined);
        if (!('first' in page)) continue;
        isAfterGap = true;
        reader.moveTo(page.first - 1);
      }
    } catch {
      // The service is over, and so is its history.
    }
  }

  reached(peer: NodeId): void {
    if (peer < this.#ground.memberIds.length) this.#command({ kind: 'reached', member: peer });
  }

  // ── Ends ───────────────────────────────────────────────────────────────────────────────────────────

  async close(error: TenureError): Promise<void> {
    this.fail(error);
  }

  fail(error: TenureError): void {
    if (this.#over) return;
    this.#over = error;
    this.#publishing.fail(error);
    this.#group.end(error);
    for (const reader of this.#readers.values()) reader.end(error);
    this.#readers.clear();
    for (const { resolve } of this.#fetches.splice(0)) resolve(null);
    this.#renewed?.({ kind: 'renewed', ok: false, absent: [], barred: [], epoch: 0 });
    this.#renewed = null;
  }
}
