/** Calls that ask every member: how each stands, and the bootstrap of a brand-new cell. */
import type { DiskStanding, LeaseEvent, MemberStanding, PeerPace, Timing } from '../../core/index.ts';
import { nodeId, TenureError } from '../../kernel/index.ts';
import type { Transport } from '../../transport/index.ts';
import type { MemberLog } from '../broadcast/group-news.ts';
import type { LeaseDriver } from '../leases/engine.ts';
import { LEASE_NUMBERS_MAX } from '../leases/service.ts';
import { PendingCalls } from '../pending-calls.ts';
import type { Membership } from './membership.ts';

export interface MemberStatus {
  readonly id: string;
  /** Whether it has answered; where the engine has no such question, whether it is connected. */
  readonly reached: boolean;
  /** How long it will still give no vote: 0 if it votes, Infinity if its disk has failed; null if it was not reached or did not say. */
  readonly silentForMs: number | null;
  /** It waits for others to note this start of it before its silence begins. */
  readonly isNoting: boolean;
  /** Null where nothing was measured: of this very process, and of members that were never connected. */
  readonly roundTripMs: number | null;
  readonly offsetMs: number | null;
  /** How fast its monotonic clock runs next to ours: by more than the cell was told of, `faster` or `slower`. */
  readonly pace: PeerPace;
  /** Which start of the member it is; null if it was not reached. */
  readonly incarnation: number | null;
  /** The epoch of the view that no later start of it is below; 0 for the first. Null if it was not reached or did not say. */
  readonly storedView: number | null;
  /** How far the disk is that it answers claims from; null if it has none, or did not say. */
  readonly claims: DiskStanding | null;
  /** How far it is in broadcast; null if no process has used that yet, or it did not say. */
  readonly broadcast: MemberLog | null;
}

/** What leases alone tell of a member. */
export type StatusOfLeases = Omit<MemberStatus, 'claims' | 'broadcast'>;

/** What is known of a member besides its connection. */
interface Known {
  readonly incarnation: number | null;
  readonly silentForUs: number | null;
  readonly isNoting?: boolean;
  readonly storedView?: number;
}

type Answer = Extract<LeaseEvent, { kind: 'status-told' | 'bootstrapped' }>;

/** Numbers of these calls are apart from the numbers of leases: they have the upper half. */
const FIRST_CALL_NUMBER = LEASE_NUMBERS_MAX + 1;
/** A status waits so many attempts for members that do not answer. */
const STATUS_ATTEMPTS = 3;
const BOOTSTRAP_US = 5_000_000;

const WHY: Record<NonNullable<MemberStanding['bar']>, string> = {
  votes: 'votes already',
  lived: 'has voted in an earlier life',
  bound: 'was started again meanwhile, or is part of another bootstrap',
  failed: 'has a failed disk',
  noting: 'waits for others to note its life',
  outlived: 'was replaced by another process',
};

interface CallGround {
  readonly driver: Pick<LeaseDriver, 'command'>;
  readonly transport: Pick<Transport, 'peerStats'>;
  readonly membership: Membership;
  readonly timing: Timing;
  readonly paceOf: (member: number) => PeerPace;
}

export class MemberCalls {
  readonly #ground: CallGround;
  readonly #calls = new PendingCalls<Answer>();
  #nextNumber = FIRST_CALL_NUMBER;
  #closed: TenureError | null = null;

  constructor(ground: CallGround) {
    this.#ground = ground;
  }

  get isAsked(): boolean {
    return this.#calls.count > 0;
  }

  async status(): Promise<StatusOfLeases[]> {
    const answer = await this.#ask('status', STATUS_ATTEMPTS * this.#ground.timing.attemptUs, undefined);
    const standings = answer.kind === 'status-told' ? answer.members : [];
    return this.connections((member) => {
      const standing = standings.find((one) => one.member === member);
      if (standing === undefined) return { incarnation: null, silentForUs: null };
      const { incarnation, bar, silentForUs, stored } = standing;
      const isOver = bar === 'failed' || bar === 'outlived';
      return { incarnation, silentForUs: isOver ? Infinity : silentForUs, isNoting: bar === 'noting', storedView: stored.epoch };
    });
  }

  /** How each member is connected, with what else is known of it. One without an incarnation was not reached. */
  connections(known: (member: number) => Known): StatusOfLeases[] {
    return this.#ground.membership.places.map(({ id, number: member }) => {
      const { incarnation, silentForUs, isNoting = false, storedView = null } = known(member);
      const stats = this.#ground.transport.peerStats(nodeId(member));
      return {
        id,
        reached: incarnation !== null,
        silentForMs: toMs(silentForUs),
        isNoting,
        roundTripMs: toMs(stats?.rttUs),
        offsetMs: toMs(stats?.offsetUs),
        pace: this.#ground.paceOf(member),
        incarnation,
        storedView,
      };
    });
  }

  async bootstrap(signal: AbortSignal | undefined): Promise<void> {
    const answer = await this.#ask('bootstrap', BOOTSTRAP_US, signal);
    if (answer.kind !== 'bootstrapped') return;
    const absent = answer.absent.map((member) => this.#ground.membership.idOf(member) ?? String(member)).join(', ');
    const barred = answer.barred
      .map(({ member, bar }) => `${this.#ground.membership.idOf(member) ?? member} ${bar ? WHY[bar] : ''}`)
      .join(', ');
    if (absent === '' && barred === '') return;
    const why = [absent && `absent: ${absent}`, barred && `not silent, or not free: ${barred}`].filter(Boolean).join('; ');
    const next = answer.begun
      ? 'All had agreed, and the others vote from now on; these may too, or end their silence by themselves'
      : 'Start every member, and bootstrap only a cell that was never used; otherwise wait until the silence ends by itself';
    throw new TenureError('TENURE_BOOTSTRAP_REFUSED', `the bootstrap was not completed. ${why}. ${next}`, {
      absent,
      barred,
      begun: answer.begun,
    });
  }

  /** True if the event was an answer to one of these calls. */
  answered(event: LeaseEvent): boolean {
    if (event.kind !== 'status-told' && event.kind !== 'bootstrapped') return false;
    this.#calls.resolve(event.lease, event);
    return true;
  }

  fail(error: TenureError): void {
    this.#closed ??= error;
    this.#calls.rejectAll(error);
  }

  async #ask(kind: 'status' | 'bootstrap', waitUs: number, signal: AbortSignal | undefined): Promise<Answer> {
    if (this.#closed) throw this.#closed;
    const { driver } = this.#ground;
    const number = this.#nextNumber++;
    return await this.#calls.answer({
      number,
      signal,
      send: () => driver.command({ kind, lease: number, waitUs }),
      abandoned: () => driver.command({ kind: 'cancel', lease: number }),
    });
  }
}

function toMs(us: number | null | undefined): number | null {
  return us === null || us === undefined ? null : us / 1000;
}
