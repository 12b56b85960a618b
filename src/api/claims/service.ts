/**
 * Claims as a service of a cell: the core of interval leases on its driver, and the calls of this process that wait for it. A claim that
 * no caller waits for any more is called off, and so withdrawn; integers that it was granted before are a gap.
 */
import {
  checkBlockSize,
  checkInterval,
  checkSpace,
  IntervalLeaseCore,
  type DiskStanding,
  type IntervalCommand,
  type IntervalEvent,
  type IntervalMessage,
} from '../../core/index.ts';
import { nodeId, type NodeId, type TenureError } from '../../kernel/index.ts';
import type { Driver } from '../../runtime/index.ts';
import { intervalCodec } from '../../wire/index.ts';
import type { ClaimObserver } from '../observing/claim-observer.ts';
import { driveService, type MountGround, type RunningService } from '../services/service.ts';
import { onAbort } from '../signals.ts';
import { BlockQueue, type Block } from './block-queue.ts';
import { DiskLooks } from './disk-looks.ts';
import { claimsNotBootstrapped, diskFailed, noRoom, notBegun } from './failures.ts';
import { ClaimPace } from './pace.ts';

export type ClaimResult =
  | ({ readonly ok: true } & Block)
  | {
      readonly ok: false;
      readonly reason: 'overlap';
      /** The first piece of it that others have, or were claiming at the same time. */
      readonly overlap: Block;
      /** Where as many integers may be free, from the claim's own start on; null if unknown. */
      readonly nextFree: number | null;
    };

type Wanted =
  | { readonly kind: 'claim'; readonly space: string; readonly from: number; readonly to: number }
  | { readonly kind: 'next'; readonly space: string; readonly size: number };

type Refused = Extract<IntervalEvent, { kind: 'refused' }>;
type Granted = Extract<IntervalEvent, { kind: 'granted' }>;

interface PendingClaim {
  readonly space: string;
  readonly askedUs: number;
  readonly granted: (event: Granted) => void;
  readonly refused: (event: Refused) => void;
  readonly failed: (error: unknown) => void;
  readonly calm: () => void;
}

const BOOTSTRAP_US = 5_000_000;
/** Withdrawals may take so long when the cell is closed. */
const FAREWELL_US = 500_000;

export class ClaimService implements RunningService {
  readonly driver: Driver<IntervalMessage, IntervalCommand, IntervalEvent>;
  readonly #ground: MountGround;
  readonly #observer: ClaimObserver;
  readonly #core: IntervalLeaseCore;
  readonly #pending = new Map<number, PendingClaim>();
  /** The spaces of claims that are not cleared. */
  readonly #uncleared = new Map<number, string>();
  readonly #blocks = new Map<string, BlockQueue>();
  readonly #looks: DiskLooks;
  readonly #pace: ClaimPace;
  #nextClaim = 1;
  #over: TenureError | null = null;
  #bootstrapped: ((event: Extract<IntervalEvent, { kind: 'bootstrapped' }>) => void) | null = null;
  #founding: Promise<void> | null = null;
  #hasBegun = false;
  #isDiskFailed = false;
  #allCleared: (() => void) | null = null;

  constructor(ground: MountGround) {
    this.#ground = ground;
    this.#observer = ground.observer.claims;
    this.#pace = new ClaimPace((rttUs) => this.#command({ kind: 'retime', rttUs }));
    const { boot, memberIds, clocks } = ground;
    this.#core = new IntervalLeaseCore({ members: memberIds.length, rttUs: this.#pace.rttUs }, boot);
    this.driver = driveService(ground, { core: this.#core, codec: () => intervalCodec, onEvent: (event) => this.#hear(event) });
    this.#looks = new DiskLooks({
      memberIds,
      clocks,
      look: () => this.#command({ kind: 'look' }),
      isWaiting: () => this.#pending.size > 0,
      stuck: (disks) => this.#failPending(notBegun(disks)),
    });
  }

  get isAsked(): boolean {
    return this.#pending.size > 0 || this.#founding !== null || this.#looks.isAsked || this.#allCleared !== null;
  }

  // ── Calls ──────────────────────────────────────────────────────────────────────────────────────────

  claim(space: string, from: number, to: number, signal: AbortSignal | undefined): Promise<ClaimResult> {
    return new Promise((resolve, reject) => {
      checkSpace(space);
      checkInterval(from, to);
      const refused = ({ why, overlap, next: nextFree }: Refused): void => {
        if (why !== 'overlap' || overlap === null) return reject(noRoom(space, why === 'overlap' ? 'limit' : why));
        return resolve({ ok: false, reason: why, overlap: { from: overlap[0], to: overlap[1] }, nextFree });
      };
      this.#ask({ kind: 'claim', space, from, to }, signal, { granted: () => resolve({ ok: true, from, to }), refused, failed: reject });
    });
  }

  async next(space: string, size: number, signal: AbortSignal | undefined): Promise<Block> {
    checkSpace(space);
    checkBlockSize(size);
    let queue = this.#blocks.get(space);
    if (queue === undefined) this.#blocks.set(space, (queue = new BlockQueue((sum, off) => this.#askForBlock(space, sum, off))));
    try {
      return await queue.next(size, signal);
    } finally {
      if (queue.isEmpty) this.#blocks.delete(space);
    }
  }

  #askForBlock(space: string, size: number, signal: AbortSignal): Promise<Block> {
    return new Promise((resolve, reject) => {
      this.#ask({ kind: 'next', space, size }, signal, {
        granted: ({ from, to }) => resolve({ from, to }),
        refused: ({ why }) => reject(noRoom(space, why === 'overlap' ? 'exhausted' : why)),
        failed: reject,
      });
    });
  }

  /** Begins the disks of all members, all blank. Throws TENURE_BOOTSTRAP_REFUSED. */
  bootstrap(): Promise<void> {
    if (this.#over) return Promise.reject(this.#over);
    // Members say nothing to a second act of the process that began them.
    if (this.#hasBegun) return Promise.reject(claimsNotBootstrapped([], this.#ground.memberIds));
    this.#founding ??= this.#found().finally(() => (this.#founding = null));
    return this.#ground.alive.during(this.#founding);
  }

  /** How far the disk of each member is, by member; null where it did not say. */
  disks(): Promise<(DiskStanding | null)[]> {
    const { memberIds, boot, shares } = this.#ground;
    const asked = memberIds.flatMap((_, member) => (member === boot.self || shares(nodeId(member)) ? [member] : []));
    return this.#ground.alive.during(this.#looks.disks(asked));
  }

  #ask(wanted: Wanted, signal: AbortSignal | undefined, answers: Pick<PendingClaim, 'granted' | 'refused' | 'failed'>): void {
    if (this.#over) throw this.#over;
    signal?.throwIfAborted();
    const claim = this.#nextClaim++;
    const calm = onAbort(signal, (reason) => this.#abandon(claim, reason));
    this.#pending.set(claim, { ...answers, space: wanted.space, askedUs: this.#ground.clocks.mono(), calm });
    this.#uncleared.set(claim, wanted.space);
    this.#observer.claimed(claim, wanted);
    this.#looks.begin();
    this.#repace();
    this.#command({ ...wanted, claim });
  }

  #found(): Promise<void> {
    const { memberIds } = this.#ground;
    this.#pace.wake();
    return new Promise((resolve, reject) => {
      this.#bootstrapped = ({ begun, absent, inUse }) => {
        const named = (members: readonly number[]): string[] => members.map((member) => memberIds[member] ?? String(member));
        this.#hasBegun ||= begun;
        if (begun) resolve();
        else reject(this.#over ?? claimsNotBootstrapped(named(absent), named(inUse)));
      };
      this.#command({ kind: 'bootstrap', waitUs: BOOTSTRAP_US });
    });
  }

  #command(command: IntervalCommand): void {
    this.driver.command(command);
  }

  // ── Events ─────────────────────────────────────────────────────────────────────────────────────────

  #hear(event: IntervalEvent): void {
    switch (event.kind) {
      case 'granted':
        return this.#granted(event);
      case 'refused':
        return this.#refused(event);
      case 'cleared':
        return this.#cleared(event.claim);
      case 'disk':
        return this.#heardOfDisk(event);
      case 'standing':
        return this.#looks.hear(event);
      case 'bootstrapped':
        this.#bootstrapped?.(event);
        this.#bootstrapped = null;
    }
  }

  #granted(event: Granted): void {
    const pending = this.#take(event.claim);
    // It was called off in the very step that brought it: a gap.
    if (!pending) return;
    const waitUs = this.#ground.clocks.mono() - pending.askedUs;
    if (event.attempts === 1) this.#pace.sample(waitUs);
    this.#observer.granted(event, waitUs);
    pending.granted(event);
    this.#repace();
  }

  #refused(event: Refused): void {
    const pending = this.#take(event.claim);
    if (!pending) return;
    this.#observer.refused(event, this.#ground.clocks.mono() - pending.askedUs);
    pending.refused(event);
    this.#repace();
  }

  #cleared(claim: number): void {
    const space = this.#uncleared.get(claim);
    this.#uncleared.delete(claim);
    if (space !== undefined) this.#observer.cleared(claim, space);
    if (this.#uncleared.size === 0) this.#allCleared?.();
  }

  #heardOfDisk(event: Extract<IntervalEvent, { kind: 'disk' }>): void {
    const { phase } = event;
    this.#observer.disk(event);
    this.#repace();
    if (phase === 'blank') this.#beginIfNew();
    if (phase !== 'failed' || this.#isDiskFailed) return;
    this.#isDiskFailed = true;
    const { memberIds, boot, ailing } = this.#ground;
    ailing(diskFailed(memberIds[boot.self] ?? ''));
  }

  /** A disk that waits for nothing but other members looks for them now and then, unless a caller waits for it. */
  #repace(): void {
    const isWaiting = this.#core.diskPhase === 'blank' || this.#core.diskPhase === 'founding';
    if (isWaiting && this.#pending.size === 0 && this.#founding === null) this.#pace.rest();
    else this.#pace.wake();
  }

  reached(peer: NodeId): void {
    if (peer < this.#ground.memberIds.length) this.#command({ kind: 'reached', member: peer });
    this.#beginIfNew();
  }

  /** A brand-new cell of the testing kit begins by itself: its members are the first there ever were. */
  #beginIfNew(): void {
    const { boot, memberIds, shares } = this.#ground;
    if (boot.restarted || boot.self !== 0 || this.#founding !== null) return;
    for (let member = 1; member < memberIds.length; member++) if (!shares(nodeId(member))) return;
    this.bootstrap().catch(() => undefined);
  }

  // ── Ends ───────────────────────────────────────────────────────────────────────────────────────────

  #take(claim: number): PendingClaim | undefined {
    const pending = this.#pending.get(claim);
    if (!pending) return undefined;
    this.#pending.delete(claim);
    pending.calm();
    return pending;
  }

  /** The caller wants it no more: it is given up for good, and withdrawn. */
  #abandon(claim: number, reason: unknown): void {
    const pending = this.#take(claim);
    if (!pending) return;
    this.#observer.recalled(claim, pending.space);
    this.#command({ kind: 'call-off', claim });
    pending.failed(reason);
  }

  #failPending(error: TenureError): void {
    for (const claim of this.#pending.keys()) this.#abandon(claim, error);
  }

  /** Claims that no caller has any more are withdrawn before the connections end. */
  async close(error: TenureError): Promise<void> {
    this.#over ??= error;
    this.#failPending(error);
    this.#looks.end();
    if (this.#uncleared.size === 0) return;
    await new Promise<void>((resolve) => {
      const stopWaiting = this.#ground.clocks.after(FAREWELL_US, resolve);
      this.#allCleared = () => {
        stopWaiting();
        resolve();
      };
    });
    this.#allCleared = null;
  }

  fail(error: TenureError): void {
    this.#over ??= error;
    this.#looks.end();
    this.#bootstrapped?.({ kind: 'bootstrapped', begun: false, absent: [], inUse: [] });
    this.#bootstrapped = null;
    for (const claim of this.#pending.keys()) this.#take(claim)?.failed(error);
    this.#allCleared?.();
  }
}
