/**
 * Applications on a node of a simulated cell: each handle picks a name, tries or waits, uses the lease it
 * gets, renews, gives back, forgets to, or changes its mind. After the world has healed each handle must
 * get a lease once more and keep it as long as it wants.
 */
import { decodeName, encodeName } from '../../../kernel/index.ts';
import type { QuorumCommand, QuorumEvent } from '../../../core/index.ts';
import type { Desk, User } from '../../protocol.ts';
import type { QuorumHabits } from './habits.ts';
import { HandleUser, type LeaseHandle, type LeaseHolder } from './handle-user.ts';
import { ApplicationQuestions } from './questions.ts';
import { RateComparing } from './rate-comparing.ts';

type Resource = QuorumHabits['resources'][number];

interface Handle extends LeaseHandle {
  termUs: number;
  /** Its votes were all given after the world had healed: nothing excuses its loss. */
  safe: boolean;
  /** How often it has proclaimed since its grant. */
  proclaims: number;
  waits: boolean;
}

type HandleEvent = Extract<
  QuorumEvent,
  { kind: 'granted' | 'queued' | 'renewed' | 'proclaimed' | 'renewal-failed' | 'refused' | 'lost' | 'stopped' | 'released' }
>;

/** A few leases before 32 bits end. */
const NEAR_2_32 = 2 ** 32 - 8;
/** Of a term: how often rates are compared, and over how much. */
const RATE_LOOKS = 200;
const RATE_WINDOWS = 16;
/** No user asks for too long a term or for too much, and clocks are near: only a liar's word could say so, and that is not heard. */
const LIARS_WORDS: ReadonlySet<string> = new Set(['too-long', 'ahead', 'no-place', 'no-room']);

export class QuorumUser extends HandleUser<QuorumCommand, Handle> implements User<QuorumEvent> {
  readonly #habits: QuorumHabits;
  readonly #core: LeaseHolder;
  #numbers = 0;
  /** Questions about what a handle of this process says of itself: which register they read. */
  readonly #reads = new Map<number, { readonly register: string; readonly token: number }>();
  readonly #questions: ApplicationQuestions;
  /** Until when it would be silent if it had kept nothing; -Infinity once there is nothing to note. */
  #silentWithoutDisk = -Infinity;

  constructor(habits: QuorumHabits, core: LeaseHolder, desk: Desk<QuorumCommand>) {
    super(core, desk);
    this.#habits = habits;
    this.#core = core;
    this.#questions = new ApplicationQuestions(desk, { number: () => this.#number(), later: (spanUs, act) => this.later(spanUs, act) });
  }

  start(): void {
    const { handles, maxTermUs, resources, rush, brief, restarted, silenceUs } = this.#habits;
    if (restarted) this.#silentWithoutDisk = this.desk.monoUs + silenceUs;
    for (let i = 0; i < handles; i++) {
      const resource = resources[0] as Resource;
      const handle: Handle = {
        state: 'idle',
        resource,
        lease: 0,
        token: 0,
        keep: false,
        termUs: 0,
        safe: false,
        usesLeft: 0,
        proclaims: 0,
        sinceHealed: false,
        waits: false,
      };
      this.handles.push(handle);
      if (!this.desk.healed && !rush) this.later(this.desk.choose(maxTermUs / (brief ? 10 : 2)), () => this.ask(handle));
    }
    this.#bootstrapLater();
    const { compares } = this.#habits;
    if (compares) this.#compareRates(new RateComparing(this.desk, compares.members, compares.rateErrorPpm, maxTermUs / RATE_WINDOWS));
    if (this.#habits.curious) this.#questions.wonder(resources, maxTermUs);
    if (this.#habits.watches && this.desk.choose(4) === 0) {
      this.desk.command({ kind: 'watch', prefix: new Uint8Array(0) });
      if (this.#habits.tellsBeliefs) this.#questions.lookAround(resources, maxTermUs, this.#core);
    }
  }

  #compareRates(rates: RateComparing): void {
    this.later(Math.floor(this.#habits.maxTermUs / RATE_LOOKS), () => {
      rates.look();
      this.#compareRates(rates);
    });
  }

  /** An operator of a brand-new cell may bootstrap it from any member, and from several at once. */
  #bootstrapLater(): void {
    const { bootstraps, isMember, restarted, opened, maxTermUs } = this.#habits;
    const desk = this.desk;
    if (!bootstraps || !isMember || restarted || desk.choose(2) === 0) return;
    this.later(desk.choose(maxTermUs / 10), () => {
      if (opened.asked) return;
      // Some do not wait for members that are slow to answer, or down.
      const patienceUs = desk.choose(4) > 0 ? maxTermUs * 4 : maxTermUs / 20;
      desk.command({ kind: 'bootstrap', lease: this.#number(), waitUs: desk.choose(patienceUs) });
    });
  }

  override timer(tag: number): void {
    if (this.desk.monoUs < this.#silentWithoutDisk && (this.#core.votes ?? 0) > 0) {
      this.#silentWithoutDisk = -Infinity;
      this.desk.sometimes('voted-instead-of-silence');
    }
    super.timer(tag);
  }

  event(event: QuorumEvent): void {
    const desk = this.desk;
    switch (event.kind) {
      case 'ready':
        desk.sometimes(event.restored > 0 ? 'votes-restored' : 'silence-over');
        return;
      case 'noting':
        desk.sometimes('waited-to-be-noted');
        return;
      case 'outlived':
        desk.sometimes(event.member === desk.node ? 'outlived-itself' : 'older-life-left-out');
        // The operator starts it anew.
        if (event.member === desk.node) desk.quit(desk.choose(this.#habits.maxTermUs));
        return;
      case 'disk-failed':
        desk.sometimes('disk-failed');
        return;
      case 'answered':
        if (event.certain) desk.sometimes(event.holder ? 'query-finds-holder' : 'query-finds-nobody');
        this.#questions.answered(event);
        this.#read(event);
        return;
      case 'listed':
        if (event.certain) desk.sometimes(event.leases.length > 0 ? 'list-finds-leases' : 'list-finds-none');
        this.#questions.listed(event);
        return;
      case 'learned':
        desk.sometimes('learned');
        return;
      case 'watch-refused':
      case 'renewal-due':
      case 'shortened':
      case 'upgraded':
      case 'upgrade-refused':
      case 'downgraded':
      case 'wanted':
      case 'handed-over':
      case 'hand-over-failed':
      case 'line-told':
      case 'view':
      case 'view-adopted':
      case 'view-vote':
        return;
      case 'status-told':
        if (event.members.length > 0) desk.sometimes('status-told');
        return;
      case 'bootstrapped':
        desk.sometimes(event.begun && event.absent.length === 0 ? 'bootstrapped' : 'bootstrap-refused');
        return;
      default:
        this.#handleEvent(event);
    }
  }

  /** Tells the handle of a lease what became of it. A handle that has another lease by now is told nothing. */
  #handleEvent(event: HandleEvent): void {
    const desk = this.desk;
    const handle = this.handleOf(event.lease);
    if (!handle) return;
    switch (event.kind) {
      case 'granted':
        this.#granted(handle, event);
        return;
      case 'queued':
        desk.sometimes('queued');
        desk.record({ kind: 'queued', resource: handle.resource.text, request: event.lease });
        return;
      case 'renewed':
        desk.renewed(handle.resource.text, handle.token, { monoUs: event.deadlineMonoUs, wallUs: event.deadlineWallUs });
        return;
      case 'proclaimed':
        desk.sometimes('proclaimed');
        desk.record({ kind: 'responded', register: registerOf(handle, desk), op: event.number });
        // Some voters may not have heard of it yet.
        if (desk.choose(2) === 0) this.#readBack(handle);
        return;
      case 'renewal-failed':
        desk.sometimes('renewal-failed');
        return;
      case 'refused':
        if (!LIARS_WORDS.has(event.reason)) desk.sometimes(`refused-${event.reason}`);
        desk.abandoned(handle.resource.text, event.lease);
        this.#idle(handle);
        return;
      case 'lost':
        this.#judgeLoss(handle, 'lost');
        desk.ended(handle.resource.text, handle.token, 'lost');
        this.#idle(handle);
        return;
      case 'stopped':
        this.#judgeLoss(handle, 'was made to stop using');
        desk.ended(handle.resource.text, handle.token, 'released');
        return;
      case 'released':
        this.#judgeLoss(handle, 'gave back');
        if (event.byQuorum) desk.sometimes('release-acknowledged');
        desk.ended(handle.resource.text, handle.token, 'released');
        if (handle.state === 'letting-go') this.#idle(handle);
        return;
    }
  }

  get #isRestless(): boolean {
    return this.#habits.restless === true && !this.desk.healed;
  }

  get #isHasty(): boolean {
    return this.#habits.hasty === true && !this.desk.healed;
  }

  get #speaks(): boolean {
    return this.#habits.speaks ?? this.#habits.extras;
  }

  // ── A handle's life ────────────────────────────────────────────────────────────────────────────────

  protected ask(handle: Handle): void {
    if (handle.state !== 'idle') return;
    if (this.desk.healed) {
      this.#askHealed(handle);
      return;
    }
    const desk = this.desk;
    const { maxTermUs, lapseOnly, impatient = false, patient = false, resources, renews, brief } = this.#habits;
    const waits = desk.choose(2) === 0 && !impatient;
    const keep = !lapseOnly && renews && !brief && !this.#isHasty && desk.choose(2) === 0;
    const isShort = (this.#isHasty || this.#habits.curious === true) && desk.choose(2) === 0;
    const termUs = isShort ? Math.ceil(maxTermUs / 8000) * 1000 : this.#drawTerm();
    this.#acquire(
      handle,
      resources[desk.choose(resources.length)] as Resource,
      termUs,
      waits && !lapseOnly ? 1 + desk.choose(maxTermUs * 4) : 0,
      keep,
    );
    if (lapseOnly || desk.choose(16) === 0) {
      const { lease } = handle;
      // Without attempt deadlines only the caller's patience ends an attempt: some have little, some have much.
      const patienceUs = lapseOnly && (patient || desk.choose(2) === 0) ? maxTermUs * 5 : Math.floor(maxTermUs / 4);
      this.later((patient ? patienceUs : 0) + desk.choose(patienceUs), () => this.#changeMind(handle, lease));
    }
    const { extras } = this.#habits;
    if (extras && !lapseOnly && desk.choose(32) === 0) desk.command({ kind: 'status', lease: this.#number(), waitUs: maxTermUs });
    // What a runtime measures may be anything, and changes.
    if (!lapseOnly && desk.choose(8) === 0) desk.command({ kind: 'retime', rttUs: 1 + desk.choose(maxTermUs) });
    if (!lapseOnly && desk.choose(8) === 0) this.#questions.query(handle.resource);
    if (extras && !lapseOnly && desk.choose(16) === 0) this.#questions.list();
  }

  #askHealed(handle: Handle): void {
    const { rush, trying, resources, maxTermUs, sureTermUs = maxTermUs, livenessUs, lapseOnly, renews, brief } = this.#habits;
    if (handle.sinceHealed) return;
    const resource = rush ? (resources[0] as Resource) : (resources[this.desk.choose(resources.length)] as Resource);
    this.#acquire(handle, resource, sureTermUs, trying ? 0 : livenessUs, !lapseOnly && renews && !brief);
  }

  #acquire(handle: Handle, resource: Resource, termUs: number, waitUs: number, keep: boolean): void {
    handle.state = 'asking';
    handle.resource = resource;
    handle.lease = this.#number();
    handle.token = 0;
    handle.keep = keep;
    handle.termUs = termUs;
    handle.safe = false;
    handle.waits = waitUs > 0;
    this.#habits.opened.asked = true;
    this.desk.requested(resource.text, handle.lease);
    this.desk.command({ kind: 'acquire', lease: handle.lease, name: resource.bytes, termUs, waitUs, keep, meta: resource.bytes });
  }

  #changeMind(handle: Handle, lease: number): void {
    if (handle.state !== 'asking' || handle.lease !== lease) return;
    this.desk.command({ kind: 'cancel', lease });
  }

  #granted(handle: Handle, event: Extract<QuorumEvent, { kind: 'granted' }>): void {
    const desk = this.desk;
    handle.state = 'holding';
    handle.proclaims = 0;
    handle.token = event.token;
    desk.granted(handle.resource.text, handle.lease, event.token, { monoUs: event.deadlineMonoUs, wallUs: event.deadlineWallUs });
    if (event.trips === 1) desk.sometimes('one-round-trip');
    else if (!event.waited) desk.sometimes('grant-after-split');
    if (event.waited) desk.sometimes('waiter-served');
    const { rush, brief, maxTermUs } = this.#habits;
    if (this.isOwed(handle)) {
      handle.safe = event.deadlineMonoUs - handle.termUs >= this.healedAt;
      // In a rush it is enough to have had it.
      handle.usesLeft = rush || brief ? 0 : 1 + desk.choose(8);
      this.served(handle, rush || brief ? 0 : maxTermUs);
    } else {
      handle.usesLeft = brief ? 0 : desk.choose(6);
    }
    this.#useLater(handle, handle.lease);
  }

  /** A lease that the core renews, and that was not given back, lasts in a healed world: however it ends, that is a violation. */
  #judgeLoss(handle: Handle, how: string): void {
    if (handle.state === 'holding' && handle.safe && handle.keep)
      this.desk.failLiveness(`${how} ${handle.resource.text}, which it was renewing, in a healed world`);
  }

  #useLater(handle: Handle, lease: number): void {
    const isBrief = this.#habits.brief || (this.#isHasty && lease % 2 === 0);
    this.later(this.desk.choose(Math.floor(this.#habits.maxTermUs / (isBrief ? 50 : 3))), () => this.#use(handle, lease));
  }

  #use(handle: Handle, lease: number): void {
    const desk = this.desk;
    const { resource } = handle;
    if (handle.state === 'idle' || handle.lease !== lease) return;
    if (this.isValid(handle)) desk.used(resource.text, handle.token);
    else this.#judgeLoss(handle, 'could not use');
    if (handle.state !== 'holding') {
      this.#useLater(handle, lease);
      return;
    }
    if (handle.usesLeft-- > 0) {
      if (!this.#habits.lapseOnly && !this.#isHasty && (desk.choose(5) === 0 || this.#isRestless)) {
        const termUs = this.#drawTerm();
        desk.command({ kind: 'renew', lease, name: resource.bytes, termUs: this.#isRestless ? Math.ceil(termUs / 10_000) * 1000 : termUs });
      }
      if (this.#speaks && !this.#habits.lapseOnly && !this.#isHasty) this.#speak(handle);
      this.#useLater(handle, lease);
    } else if (!this.#habits.lapseOnly && (handle.keep || this.#habits.brief || this.#isHasty || desk.choose(4) > 0)) {
      handle.state = 'letting-go';
      const inUs = this.#habits.releasesLater && desk.choose(4) === 0 ? desk.choose(Math.floor(this.#habits.maxTermUs / 2)) : 0;
      if (inUs > 0) desk.sometimes('release-later');
      desk.command({ kind: 'release', lease, name: resource.bytes, inUs });
      this.#useLater(handle, lease);
    }
  }

  /** A holder changes its metadata, and asks a quorum for it: to later askers, that is a register. */
  #speak(handle: Handle): void {
    const desk = this.desk;
    const { lease, resource } = handle;
    switch (desk.choose(this.#isRestless ? 2 : 8)) {
      case 0: {
        const number = this.#number();
        const value = String(number);
        if (handle.proclaims++ === 0) this.#spokeFirst(handle);
        desk.record({ kind: 'invoked', register: registerOf(handle, desk), op: number, action: 'write', value });
        desk.command({ kind: 'proclaim', lease, name: resource.bytes, meta: encodeName(value), number });
        return;
      }
      case 1:
        if (handle.proclaims > 0) this.#readBack(handle);
        return;
      default:
        return;
    }
  }

  #readBack(handle: Handle): void {
    const number = this.#questions.query(handle.resource);
    this.#reads.set(number, { register: registerOf(handle, this.desk), token: handle.token });
    this.desk.record({ kind: 'invoked', register: registerOf(handle, this.desk), op: number, action: 'read' });
  }

  /** The metadata of the acquire is the first value. */
  #spokeFirst(handle: Handle): void {
    const op = this.#number();
    const register = registerOf(handle, this.desk);
    this.desk.record({ kind: 'invoked', register, op, action: 'write', value: handle.resource.text });
    this.desk.record({ kind: 'responded', register, op });
  }

  #read(event: Extract<QuorumEvent, { kind: 'answered' }>): void {
    const read = this.#reads.get(event.lease);
    this.#reads.delete(event.lease);
    if (!read || !event.certain || event.holder?.token !== read.token) return;
    this.desk.sometimes('proclaim-read');
    const value = event.meta ? decodeName(event.meta, 0, event.meta.length) : null;
    this.desk.record({ kind: 'responded', register: read.register, op: event.lease, value });
  }

  #idle(handle: Handle): void {
    handle.state = 'idle';
    handle.token = 0;
    const { maxTermUs, trying, brief } = this.#habits;
    if (brief && !this.desk.healed) return;
    if (trying) this.later(Math.floor(maxTermUs / 20), () => this.ask(handle));
    else if (this.desk.healed) this.later(this.desk.choose(Math.floor(maxTermUs / 10)), () => this.ask(handle));
    else
      this.later(this.desk.choose(Math.floor(maxTermUs / (this.#isHasty || this.desk.choose(2) === 0 ? 50 : 2))), () => this.ask(handle));
  }

  /** Never the same twice, and rising. In worlds of wide numbers two in a row have the same lowest 32 bits. */
  #number(): number {
    const count = ++this.#numbers;
    return this.#habits.wideNumbers ? NEAR_2_32 + (count >> 1) + count * 2 ** 32 : count;
  }

  /** Whole milliseconds, from half of the longest term up; in a healed world only what every member grants. */
  #drawTerm(): number {
    const { maxTermUs, sureTermUs = maxTermUs } = this.#habits;
    const maxTermMs = Math.floor((this.desk.healed ? sureTermUs : maxTermUs) / 1000);
    return (this.desk.choose(2) === 0 ? maxTermMs : Math.ceil(maxTermMs / 2) + this.desk.choose(Math.floor(maxTermMs / 2))) * 1000;
  }
}

/** What a holder says of itself under one grant. Where clocks are beyond their bounds, two owners may have had the same token. */
function registerOf({ resource, token }: Handle, { incarnation }: { readonly incarnation: number }): string {
  return `${resource.text} ${token} of #${incarnation}`;
}
