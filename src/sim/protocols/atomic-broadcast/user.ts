/**
 * The application on a member or a client: it publishes, reads the whole log, and tells the history of both. Once the world has healed it publishes a little more, and waits until it has read that. On the first member, an
 * operator begins a stopped group anew, once: in some worlds in which members lose their memory, and wherever the disks show that the founding was lost. A group that stops otherwise fails.
 */
import { quorumOf } from '../../../kernel/index.ts';
import { remembersFounding } from '../../../core/index.ts';
import type { BroadcastCommand, BroadcastEvent, BroadcastStanding, LogEntry } from '../../../core/index.ts';
import type { Desk, Sometime, User } from '../../protocol.ts';
import { CONSENSUS_TERM_US } from '../consensus/worlds.ts';
import type { BroadcastWorld } from './worlds.ts';

export const BROADCAST_INTERESTS: readonly Sometime[] = [
  { name: 'delivery', description: 'a reader delivered a message' },
  { name: 'acknowledgement', description: 'a publisher was told the position of its message' },
  { name: 'batch', description: 'a publisher was told the positions of several messages at once' },
  { name: 'client-publishes', description: 'a client was told the position of its message' },
  { name: 'position-gone', description: 'a reader was so far behind that the log had dropped what it asked for' },
  { name: 'uncertain', description: 'a publisher was told that nobody knows any more whether its message was delivered' },
  { name: 'no-room', description: 'a publisher had to wait for room' },
  { name: 'caught-up', description: 'a member copied what it lacked of the log' },
  { name: 'amnesiac-votes-again', description: 'a member that had lost its memory votes again, and has the log' },
  { name: 'no-majority-remembers', description: 'so many members lost their memory that the group stopped' },
  { name: 'begun-anew', description: 'an operator began the group anew' },
];

/** What the user looks at, of a member. */
export interface LookedAt {
  readonly position: number;
  readonly room: number;
  readonly standing?: BroadcastStanding;
  readonly suspected?: readonly number[];
  readonly isStopped?: boolean;
}

const PUBLISH = 0;
const READ = 1;
/** After the world has healed every node publishes so many messages more. */
const OWED = 2;
const NAMES = ['a', 'b'];
const RENEW_US = CONSENSUS_TERM_US * 5;

export class BroadcastUser implements User<BroadcastEvent> {
  readonly #world: BroadcastWorld;
  readonly #core: LookedAt;
  readonly #desk: Desk<BroadcastCommand>;
  readonly #isMember: boolean;
  #published = 0;
  #acknowledged = 0;
  #readUpTo = 0;
  #isGap = false;
  /** It has read the log of a lost epoch further than the new one may ever go: its own messages need not come. */
  #isReadLost = false;
  /** Of the messages that it has read; null before the first. */
  #epochRead: number | null = null;
  #wasAbstaining = false;
  #wasBehind = false;
  #isRenewing = false;
  #isRenewed = false;
  /** A member has told this client that the group has stopped. */
  #isToldStopped = false;
  /** The number of the message that it waits to read; Infinity before the world has healed. */
  #goal = Infinity;
  #ownRead = 0;
  #healedUs = Infinity;

  constructor(world: BroadcastWorld, core: LookedAt, desk: Desk<BroadcastCommand>) {
    this.#world = world;
    this.#core = core;
    this.#desk = desk;
    this.#isMember = desk.node < world.broadcast.members;
  }

  start(): void {
    this.#desk.after(1 + this.#desk.choose(this.#world.pauseUsMax), PUBLISH);
    this.#desk.command({ kind: 'read', reader: 1, after: 0, name: null, bytesMax: this.#pageBytes });
  }

  get #pageBytes(): number {
    return 1 + this.#desk.choose(400);
  }

  timer(tag: number): void {
    const desk = this.#desk;
    if (tag === READ) return desk.command({ kind: 'read', reader: 1, after: this.#readUpTo, name: null, bytesMax: this.#pageBytes });
    desk.after(1 + desk.choose(this.#world.pauseUsMax), PUBLISH);
    if (this.#isExcused) desk.done();
    this.#mayRenew();
    this.#maySurvey();
    if (!desk.healed || this.#published < this.#goal) this.#publish(1 + desk.choose(3));
  }

  #publish(count: number): void {
    const desk = this.#desk;
    const messages = Array.from({ length: count }, (_, i) => {
      const text = `${desk.incarnation}-${this.#published + 1 + i}`;
      const padding = '.'.repeat(desk.choose(this.#world.messageBytesMax));
      return { name: bytesOf(NAMES[desk.choose(NAMES.length)] ?? 'a'), message: bytesOf(`${text}${padding}`) };
    });
    const size = messages.reduce((sum, { message, name }) => sum + message.length + name.length + 5, 0);
    if (this.#core.room < size && this.#published > this.#acknowledged) {
      desk.sometimes('no-room');
      return;
    }
    for (let i = 1; i <= count; i++) desk.record({ kind: 'broadcast', message: `${desk.incarnation}-${this.#published + i}` });
    this.#published += count;
    desk.command({ kind: 'publish', messages });
  }

  event(event: BroadcastEvent): void {
    const desk = this.#desk;
    switch (event.kind) {
      case 'published':
        this.#acknowledge(event);
        break;
      case 'uncertain':
        desk.sometimes('uncertain');
        this.#acknowledged = event.last;
        if (this.#goal <= event.last) this.#goal = event.last + 1;
        break;
      case 'page':
        // The group was begun anew: positions do not mean the same, and the library ends such a reader (`TENURE_POSITION_GONE`).
        if (this.#epochRead !== null && this.#epochRead !== event.epoch) {
          this.#isGap = true;
          if (event.entries.length === 0) this.#isReadLost = true;
        }
        this.#epochRead = event.epoch;
        this.#page(event.entries, event.upTo);
        break;
      case 'gone':
        desk.sometimes('position-gone');
        this.#isGap = true;
        this.#readUpTo = event.first - 1;
        // Its own messages may be among the lost ones.
        this.#ownRead = this.#acknowledged;
        desk.after(1 + desk.choose(this.#world.readUsMax), READ);
        break;
      case 'standing':
        this.#stands(event.standing);
        break;
      case 'stopped':
        if (event.without.length > 0) desk.sometimes('no-majority-remembers');
        break;
      case 'surveyed':
        this.#isToldStopped ||= event.without.length > 0 || event.standing === 'blank';
        break;
      case 'epoch':
        desk.record({ kind: 'reset', epoch: event.epoch, position: event.position });
        this.#readUpTo = Math.min(this.#readUpTo, event.position);
        break;
      case 'renewed':
        this.#isRenewing = false;
        this.#isRenewed ||= event.ok;
        if (event.ok) desk.sometimes('begun-anew');
        break;
      default:
    }
    this.#look();
  }

  #acknowledge({ first, last, position }: Extract<BroadcastEvent, { kind: 'published' }>): void {
    const desk = this.#desk;
    desk.sometimes('acknowledgement');
    if (last > first) desk.sometimes('batch');
    if (!this.#isMember) desk.sometimes('client-publishes');
    if (first !== this.#acknowledged + 1 || last > this.#published)
      desk.failLiveness(`messages ${first} to ${last} were acknowledged after ${this.#acknowledged} of ${this.#published}`);
    this.#acknowledged = last;
    for (let number = first; number <= last; number++)
      desk.record({ kind: 'acknowledged', message: `${desk.incarnation}-${number}`, position: position + number - first });
  }

  #page(entries: readonly LogEntry[], upTo: number): void {
    const desk = this.#desk;
    for (const { position, origin, number, message } of entries) {
      desk.sometimes('delivery');
      const text = textOf(message).replace(/\.*$/, '');
      const isWhole = text === `${origin}-${number}`;
      desk.record({
        kind: 'delivered',
        message: isWhole ? text : `${text} as ${origin}-${number}`,
        position,
        ...(this.#isGap ? { gap: 'gone' } : {}),
      });
      this.#isGap = false;
      if (origin === desk.incarnation) this.#ownRead = number;
    }
    this.#readUpTo = upTo;
    desk.after(1 + desk.choose(this.#world.readUsMax), READ);
  }

  #stands(standing: BroadcastStanding): void {
    const desk = this.#desk;
    if (standing === 'ready' && this.#wasAbstaining) desk.sometimes('amnesiac-votes-again');
    if (standing === 'ready' && this.#wasBehind) desk.sometimes('caught-up');
    if (standing === 'abstaining') this.#wasAbstaining = true;
    if (standing === 'behind') this.#wasBehind = true;
  }

  healed(): void {
    this.#healedUs = this.#desk.monoUs;
    this.#goal = this.#published + OWED;
    if (this.#isExcused) this.#desk.done();
  }

  waitingFor(): string {
    const { standing, position } = this.#core;
    return `message ${this.#goal} of its own (${this.#published} published, ${this.#acknowledged} acknowledged, ${this.#ownRead} read; ${standing ?? 'client'}, log up to ${position}, read up to ${this.#readUpTo})`;
  }

  #look(): void {
    const { standing = 'ready' } = this.#core;
    const isRead = this.#ownRead >= this.#goal || this.#isReadLost || this.#isPastTheEnd;
    if (standing === 'ready' && this.#acknowledged >= this.#goal && isRead) this.#desk.done();
  }

  /** A client was told, in an epoch that is lost, that the log begins after where the new one ends: within an epoch a log never gets shorter. */
  get #isPastTheEnd(): boolean {
    return !this.#isMember && this.#isHealedSince(10) && this.#readUpTo > this.#core.position;
  }

  #isHealedSince(terms: number): boolean {
    return this.#desk.healed && this.#desk.monoUs - this.#healedUs > CONSENSUS_TERM_US * terms;
  }

  /** The group cannot go on by itself, and the world has been well for long: too few remember, or no member is in any epoch. */
  get #isStopped(): boolean {
    const { isStopped, standing } = this.#core;
    return this.#isHealedSince(10) && (isStopped === true || standing === 'blank');
  }

  /** Fewer than a majority of disks remember that the group was founded: members crashed before that was stored. */
  get #isFoundingLost(): boolean {
    const { members, keeps } = this.#world.broadcast;
    if (keeps !== 'disk' || this.#world.mayStop) return false;
    const remembering = Array.from({ length: members }, (_, member) =>
      remembersFounding((key) => this.#desk.recordOn?.(member, key) ?? null),
    );
    return remembering.filter(Boolean).length < quorumOf(members);
  }

  #mayRenew(): void {
    if (this.#desk.node !== 0 || this.#isRenewing || this.#isRenewed || !this.#isStopped) return;
    if (!this.#world.renews && !this.#isFoundingLost) return;
    this.#isRenewing = true;
    this.#desk.command({ kind: 'renew', waitUs: RENEW_US });
  }

  /**
   * Nothing is owed to a group without a majority: of members that remember, where they may forget and no operator stands by; or, where crashed members do not come back, of
   * members that are up.
   */
  get #isExcused(): boolean {
    const { standing, suspected = [] } = this.#core;
    const { members, keeps } = this.#world.broadcast;
    if (!this.#desk.healed) return false;
    if (standing === 'silent') return true;
    if (this.#mayStopForGood && (this.#isMember ? this.#isStopped : this.#isToldStopped)) return true;
    return this.#isHealedSince(10) && keeps === 'crash-stop' && suspected.length > members - quorumOf(members);
  }

  get #mayStopForGood(): boolean {
    return this.#world.mayStop && !this.#world.renews;
  }

  /** A client cannot tell a stopped group from a slow group: it asks. */
  #maySurvey(): void {
    if (!this.#isMember && this.#mayStopForGood && this.#isHealedSince(30)) this.#desk.command({ kind: 'survey' });
  }
}

function bytesOf(text: string): Uint8Array {
  return Uint8Array.from(text, (character) => character.charCodeAt(0));
}

function textOf(bytes: Uint8Array): string {
  return String.fromCharCode(...bytes);
}
