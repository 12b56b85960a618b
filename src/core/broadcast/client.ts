/**
 * Atomic broadcast, on a client: it publishes through a member, and reads the log of one. If that member does not answer, or nothing moves, it turns to another; the log knows its messages by their process and their
 * numbers, so none is delivered twice, whichever members it went through.
 */
import { monoAfter, NEVER, nodeId, spanUs, TenureError, type Incarnation, type MonoUs, type NodeId } from '../../kernel/index.ts';
import type { Boot, Completion, Core, Sender, Snapshot, Step } from '../contract.ts';
import { earliest } from '../nested.ts';
import { BROADCAST_LIMITS, type BroadcastClientConfig } from './config.ts';
import { surveyOf, type BroadcastCommand, type BroadcastEvent, type Publication } from './contract.ts';
import { publicationBytes } from './group.ts';
import { BROADCAST_OWN_LANE, type BroadcastMessage, type BroadcastOwnMessage } from './messages.ts';
import { OwnMessages } from './own-messages.ts';
import { entriesOf, type LogQuestion } from './pages.ts';
import { StateCopies } from './state-copies.ts';

type ClientStep = Step<BroadcastMessage, BroadcastEvent>;
type Page = Extract<BroadcastOwnMessage, { readonly kind: 'page' }>;
type End = Extract<BroadcastOwnMessage, { readonly kind: 'end' }>;
type Published = Extract<BroadcastOwnMessage, { readonly kind: 'published' }>;

interface Asking {
  readonly question: LogQuestion;
  /** So often it was looked whether it has an answer, since it was last asked. */
  ticks: number;
}

/** What members say to clients. */
const FROM_MEMBERS: ReadonlySet<BroadcastOwnMessage['kind']> = new Set([
  'published',
  'end',
  'page',
  'gone',
  'part',
  'renewed',
  'surveyed',
] as const);
/** A question that a member has heard is asked again after so many ticks. */
const PATIENT_TICKS = 8;
/** After so many ticks without progress another member is tried, though this one answers. */
const STUCK_TICKS = 4;

export class BroadcastClientCore implements Core<BroadcastMessage, BroadcastCommand, BroadcastEvent> {
  readonly #config: BroadcastClientConfig;
  readonly #life: Incarnation;
  readonly #own: OwnMessages;
  readonly #states: StateCopies<ClientStep>;
  readonly #readers = new Map<number, Asking>();
  readonly #envelope: { readonly lane: typeof BROADCAST_OWN_LANE; message: BroadcastOwnMessage };
  #member: number;
  /** The epoch of the log, as far as it has heard; 0 before. */
  #epoch = 0;
  /** The highest position it knows of, and when it last heard of the end of the log. */
  #position = 0;
  #positionAt: MonoUs = -Infinity as MonoUs;
  /** Messages that wait until it knows where the log ends. */
  #held: Publication[] = [];
  #heldBytes = 0;
  #looks = 0;
  #hasHeard = false;
  /** The `end` of a lower epoch, if one came since the last tick; and how many silent ticks in a row had one. */
  #lower: End | null = null;
  #lowerTicks = 0;
  #firstThen = 0;
  #stuckTicks = 0;
  #retryAt: MonoUs = NEVER;
  #renewUntil: MonoUs = NEVER;
  #renewWaitUs = 0;

  constructor(config: BroadcastClientConfig, boot: Boot) {
    const { members, from, retryUs, limits = BROADCAST_LIMITS } = config;
    this.#config = config;
    this.#life = boot.incarnation;
    this.#own = new OwnMessages(boot.incarnation, from, limits);
    this.#member = boot.incarnation % members;
    this.#envelope = { lane: BROADCAST_OWN_LANE, message: { kind: 'look' } };
    this.#states = new StateCopies<ClientStep>({
      members,
      self: boot.self,
      retryUs,
      send: (to, message, step) => this.#sendTo(nodeId(to), message, step),
      fetched: (snapshot, step) => step.emit({ kind: 'snapshot', snapshot }),
    });
  }

  /** How many bytes may be published now. */
  get room(): number {
    return Math.max(0, this.#own.room - this.#heldBytes);
  }

  /** How many messages of this process have no position yet. */
  get undecided(): number {
    return this.#own.size + this.#held.length;
  }

  /** The highest position that it knows of. */
  get position(): number {
    return this.#position;
  }

  get wakeAt(): MonoUs {
    const retryAt = this.#isWaiting ? this.#retryAt : NEVER;
    return earliest(retryAt, earliest(this.#renewUntil, this.#states.wakeAt));
  }

  get #isWaiting(): boolean {
    return this.undecided > 0 || this.#readers.size > 0 || this.#looks > 0 || this.#isRenewing;
  }

  get #isRenewing(): boolean {
    return this.#renewUntil !== NEVER;
  }

  start(): void {
    // It has nothing to say before it is asked.
  }

  /** Members have not proved their secret to a client. */
  admits({ node }: Sender, message: BroadcastMessage): boolean {
    return node < this.#config.members && message.lane === BROADCAST_OWN_LANE && FROM_MEMBERS.has(message.message.kind);
  }

  command(command: BroadcastCommand, step: ClientStep): void {
    if (!this.#isWaiting) this.#planRetry(step);
    switch (command.kind) {
      case 'publish':
        return this.#publish(command.messages, step);
      case 'read':
        return this.#read(command.reader, { ...command, name: command.name?.slice() ?? null }, step);
      case 'forget':
        if (this.#readers.delete(command.reader)) this.#send({ kind: 'forget', reader: command.reader }, step);
        return;
      case 'look':
        this.#looks++;
        return this.#send({ kind: 'look' }, step);
      case 'fetch':
        return this.#states.fetch(command.name, command.after, step);
      case 'survey':
        for (let member = 0; member < this.#config.members; member++) this.#sendTo(nodeId(member), { kind: 'survey' }, step);
        return;
      case 'reached':
        if (command.member === this.#member) this.#sayAll(step);
        return;
      case 'renew':
        this.#renewUntil = monoAfter(step.monoUs, spanUs(command.waitUs + 4 * this.#config.retryUs));
        this.#renewWaitUs = command.waitUs;
        return this.#send({ kind: 'renew', waitUs: command.waitUs }, step);
      default:
        throw new TenureError('TENURE_UNSUPPORTED', 'a client keeps no snapshots: a member does');
    }
  }

  receive(from: NodeId, { lane, message }: BroadcastMessage, step: ClientStep): void {
    if (lane !== BROADCAST_OWN_LANE) return;
    if (this.#isOfLowerEpoch(message)) {
      if (message.kind === 'end') this.#lower = { ...message };
      return;
    }
    if (from === this.#member) this.#hasHeard = true;
    switch (message.kind) {
      case 'published':
        return this.#published(message, step);
      case 'end':
        return this.#end(message, step);
      case 'page':
        return this.#page(message, step);
      case 'gone': {
        const { reader, after, first } = message;
        if (this.#readers.get(reader)?.question.after !== after) return;
        this.#readers.delete(reader);
        return step.emit({ kind: 'gone', reader, first });
      }
      case 'part':
        return this.#states.part(from, message, step);
      case 'surveyed':
        return step.emit(surveyOf(from, message));
      case 'renewed':
        if (this.#renewUntil === NEVER) return;
        this.#renewUntil = NEVER;
        return step.emit({ ...message, absent: [...message.absent], barred: [...message.barred] });
      default:
    }
  }

  wake(step: ClientStep): void {
    this.#states.wake(step);
    if (step.monoUs >= this.#renewUntil) {
      this.#renewUntil = NEVER;
      step.emit({ kind: 'renewed', ok: false, absent: [this.#member], barred: [], epoch: 0 });
    }
    if (this.#isWaiting && step.monoUs >= this.#retryAt) this.#retry(step);
  }

  completed(_completion: Completion): void {
    // It has no disk.
  }

  // ── Publishing ─────────────────────────────────────────────────────────────────────────────────────

  /** With nothing under way, the next message notes where the log ends: a client that has not heard of it for a while asks first. */
  #publish(messages: readonly Publication[], step: ClientStep): void {
    const isFresh = step.monoUs - this.#positionAt < this.#config.retryUs;
    if (this.#held.length === 0 && (!this.#own.isIdle || isFresh))
      return this.#sendGroups(this.#own.publish(messages, this.#position), step);
    this.#own.check(messages, this.#heldBytes);
    for (const publication of messages) {
      this.#held.push({ name: publication.name.slice(), message: publication.message.slice() });
      this.#heldBytes += publicationBytes(publication);
    }
    this.#send({ kind: 'look' }, step);
  }

  #sendGroups(groups: readonly Uint8Array[], step: ClientStep): void {
    for (const group of groups) this.#send({ kind: 'publish', group }, step);
  }

  #end({ first, last, epoch }: End, step: ClientStep): void {
    this.#noteEnd(last, epoch, step);
    for (; this.#looks > 0; this.#looks--) step.emit({ kind: 'end', first, last });
    const held = this.#held;
    if (held.length === 0) return;
    this.#held = [];
    this.#heldBytes = 0;
    this.#sendGroups(this.#own.publish(held, this.#position), step);
  }

  /** A member that has not heard of the epoch yet is no help: another is asked. */
  #isOfLowerEpoch(message: BroadcastOwnMessage): boolean {
    return (message.kind === 'end' || message.kind === 'published') && message.epoch > 0 && message.epoch < this.#epoch;
  }

  #noteEnd(position: number, epoch: number, step: ClientStep): void {
    this.#positionAt = step.monoUs;
    if (epoch > this.#epoch && this.#epoch > 0) return this.#turnTo(epoch, position, step);
    this.#epoch = Math.max(this.#epoch, epoch);
    this.#position = Math.max(this.#position, position);
  }

  /**
   * The group was begun anew. Messages that those under way follow may be lost, and a log that lacks them would never take these; nor does `since` mean anything in the new log. A reader may wait for positions
   * that the new log reaches late, or never.
   */
  #turnTo(epoch: number, position: number, step: ClientStep): void {
    this.#epoch = epoch;
    this.#position = position;
    const readers = [...this.#readers];
    this.#readers.clear();
    for (const [reader, { question }] of readers) step.emit({ kind: 'page', reader, entries: [], upTo: question.after, epoch });
    const own = this.#own;
    const lost = own.isIdle ? null : own.conclude(own.first, own.first + own.size - 1);
    if (lost) step.emit({ kind: 'uncertain', ...lost });
    if (own.hasRoomAgain()) step.emit({ kind: 'room' });
  }

  #published({ origin, first, count, position, epoch }: Published, step: ClientStep): void {
    const own = this.#own;
    // Meant for an earlier process with the same number.
    if (origin !== this.#life) return;
    const settled = own.conclude(first, first + count - 1);
    if (!settled) return;
    if (position === 0) {
      step.emit({ kind: 'uncertain', ...settled });
    } else {
      step.emit({ kind: 'published', ...settled, position: position + settled.first - first });
      this.#noteEnd(position + count - 1, epoch, step);
    }
    if (own.hasRoomAgain()) step.emit({ kind: 'room' });
  }

  // ── Reading ────────────────────────────────────────────────────────────────────────────────────────

  #read(reader: number, question: LogQuestion, step: ClientStep): void {
    this.#readers.set(reader, { question, ticks: 0 });
    this.#ask(reader, question, step);
  }

  #ask(reader: number, { after, name, bytesMax }: LogQuestion, step: ClientStep): void {
    this.#send({ kind: 'read', reader, after, name, bytesMax }, step);
  }

  #page({ reader, after, upTo, epoch, pieces }: Page, step: ClientStep): void {
    // It waits at the member.
    if (this.#readers.get(reader)?.question.after !== after || pieces.length === 0) return;
    this.#readers.delete(reader);
    if (epoch >= this.#epoch) this.#noteEnd(upTo, epoch, step);
    const kept = pieces.map((piece) => ({ ...piece, groups: piece.groups.slice() }));
    step.emit({ kind: 'page', reader, entries: entriesOf(kept), upTo, epoch });
  }

  // ── Repetition, and the member it goes to ──────────────────────────────────────────────────────────

  #planRetry(step: ClientStep): void {
    this.#retryAt = monoAfter(step.monoUs, this.#config.retryUs);
  }

  #retry(step: ClientStep): void {
    this.#planRetry(step);
    const { first, isIdle } = this.#own;
    const isStuck = !isIdle && first === this.#firstThen;
    this.#firstThen = first;
    this.#stuckTicks = isStuck ? this.#stuckTicks + 1 : 0;
    const isSilent = !this.#hasHeard;
    this.#hasHeard = false;
    this.#noteLower(isSilent, step);
    if (isSilent || this.#stuckTicks >= STUCK_TICKS) {
      this.#stuckTicks = 0;
      this.#member = (this.#member + 1) % this.#config.members;
      return this.#sayAll(step);
    }
    if (isStuck) this.#sayOwn(step);
    let asked = 0;
    for (const [reader, asking] of this.#readers) {
      if (++asking.ticks < PATIENT_TICKS) continue;
      asking.ticks = 0;
      asked++;
      this.#ask(reader, asking.question, step);
    }
    // A client that only waits has to hear something now and then, or it would turn to another member.
    if (asked === 0) this.#send({ kind: 'look' }, step);
  }

  /** All members have lost their memory, and count epochs anew, if each of them answers and none is in the epoch that it knows. */
  #noteLower(isSilent: boolean, step: ClientStep): void {
    if (!isSilent) this.#lowerTicks = 0;
    else if (this.#lower) this.#lowerTicks++;
    if (this.#lower && this.#lowerTicks > this.#config.members) {
      this.#lowerTicks = 0;
      this.#turnTo(this.#lower.epoch, this.#lower.last, step);
    }
    this.#lower = null;
  }

  #sayAll(step: ClientStep): void {
    this.#sayOwn(step);
    // The member that was asked may never have heard the request; a member that has heard it takes it for the same act.
    if (this.#isRenewing) this.#send({ kind: 'renew', waitUs: this.#renewWaitUs }, step);
    // It answers nothing to a group that it cannot place: it may be in another epoch.
    if (this.#looks > 0 || this.undecided > 0) this.#send({ kind: 'look' }, step);
    for (const [reader, asking] of this.#readers) {
      asking.ticks = 0;
      this.#ask(reader, asking.question, step);
    }
  }

  #sayOwn(step: ClientStep): void {
    for (const { bytes } of this.#own.groups) this.#send({ kind: 'publish', group: bytes }, step);
  }

  #send(message: BroadcastOwnMessage, step: ClientStep): void {
    this.#sendTo(nodeId(this.#member), message, step);
  }

  #sendTo(to: NodeId, message: BroadcastOwnMessage, step: ClientStep): void {
    this.#envelope.message = message;
    step.send(to, this.#envelope);
  }

  snapshot(): Snapshot {
    return {
      own: this.#own.snapshot(),
      states: this.#states.snapshot(),
      readers: [...this.#readers].map(([reader, { question, ticks }]) => [reader, question.after, ticks] as const),
      member: this.#member,
      epoch: this.#epoch,
      position: this.#position,
      positionAt: this.#positionAt,
      held: this.#held.length,
      looks: this.#looks,
      hasHeard: this.#hasHeard,
      lower: this.#lower && { ...this.#lower },
      lowerTicks: this.#lowerTicks,
      firstThen: this.#firstThen,
      stuckTicks: this.#stuckTicks,
      retryAt: this.#retryAt,
      renewUntil: this.#renewUntil,
    };
  }

  restore(_snapshot: Snapshot): void {
    throw new TenureError('TENURE_INTERNAL', 'a client is not restored: no explorer has clients');
  }
}
