/**
 * Whether this member may vote. After a start it is silent until no vote that it has forgotten can matter
 * (rule 4); records on its disk may make that shorter, and `bootstrap` ends it in a cell that is brand-new.
 * The silence covers the whole node, its own vote included, and ends by monotonic time only.
 */
import {
  invariant,
  monoAfter,
  monoUs,
  NEVER,
  spanUs,
  wallUs,
  type Incarnation,
  type MonoUs,
  type NodeId,
  type WallUs,
} from '../../../kernel/index.ts';
import type { Boot, Completion, Snapshot } from '../../contract.ts';
import type { BootstrapBar } from '../contract.ts';
import type { QuorumStep } from './config.ts';
import type { Succession } from '../succession.ts';
import type { Ledger } from './ledger.ts';
import { BIND, QuorumMessage, STATUS, STATUS_TOLD } from './messages.ts';
import { decodeLives } from './lives.ts';
import type { QuorumRules } from './rules.ts';
import type { Timing } from '../timing.ts';
import type { View } from '../views.ts';

/**
 * `loading`: reading its disk. `noting`: too few members have noted its life. `settling`: the silence is over,
 * and the disk is being told. `failed`: its disk failed, and it promises nothing that it cannot keep. `outlived`: another
 * process has taken its place.
 */
type Phase = 'loading' | 'noting' | 'silent' | 'settling' | 'open' | 'failed' | 'outlived';

/** In messages each is a number: its place here. */
export const BARS: readonly (BootstrapBar | null)[] = [null, 'votes', 'lived', 'bound', 'failed', 'noting', 'outlived'];

/** What a silence without end is told as: long, and a number. */
export const SILENT_US_MAX = 86_400_000_000;

interface VotingGround {
  readonly boot: Boot;
  readonly timing: Timing;
  readonly rules: QuorumRules;
  readonly ledger: Ledger | null;
  /** Null where the operator ensures that there is one process per member. */
  readonly succession: Succession | null;
}

export class VotingState {
  readonly #reply = new QuorumMessage();
  readonly #boot: Boot;
  readonly #rules: QuorumRules;
  readonly #ledger: Ledger | null;
  readonly #succession: Succession | null;
  readonly #ended: (step: QuorumStep) => void;
  #phase: Phase = 'open';
  #owedUs = 0;
  #startedAt: MonoUs = monoUs(0);
  #until: MonoUs = monoUs(-Infinity);
  #untilWall: WallUs = wallUs(-Infinity);
  /** The lives of all members with which alone this one will end its silence early. */
  #boundTo: readonly Incarnation[] | null = null;
  #skipped = false;
  /** The cell is in another view than it was set up with: it is not brand-new. */
  #isOfLaterView = false;
  /** From when on its silence runs, and how long one has to be. */
  #silentFrom: MonoUs = monoUs(0);
  #silenceUs: number;
  /** Its clock was off: it gives no vote until then. */
  #hushedUntil: MonoUs = monoUs(-Infinity);

  /** `ended` is called once, before the first vote. */
  constructor({ boot, timing, rules, ledger, succession }: VotingGround, ended: (step: QuorumStep) => void) {
    this.#succession = succession;
    this.#boot = boot;
    this.#silenceUs = timing.silenceUs;
    this.#rules = rules;
    this.#ledger = ledger;
    this.#ended = ended;
  }

  /** STATUS, BIND and GO: how this member stands. */
  answerStatus(
    from: NodeId,
    message: QuorumMessage,
    self: { readonly life: Incarnation; readonly stored: Pick<View, 'epoch' | 'id'> },
    step: QuorumStep,
  ): void {
    const bar = this.answer(message, step);
    if (bar === 'wait') return;
    const reply = this.#reply;
    reply.flags = 0;
    reply.kind = message.kind + (STATUS_TOLD - STATUS);
    reply.owner = message.owner;
    reply.lease = message.lease;
    reply.token = self.life;
    reply.reason = BARS.indexOf(bar);
    reply.setView(self.stored);
    reply.remainingUs = Math.min(this.silentForUs(step.monoUs), SILENT_US_MAX);
    step.send(from, reply);
  }

  get wakeAt(): MonoUs {
    return this.#phase === 'silent' ? this.#until : NEVER;
  }

  get isLoading(): boolean {
    return this.#phase === 'loading';
  }

  start(step: QuorumStep): void {
    const { restarted, diskKept } = this.#boot;
    if (this.#ledger && diskKept) {
      this.#phase = 'loading';
      this.#ledger.load(step);
      return;
    }
    this.#succeed(step);
    if (restarted || this.#ledger) this.#begin(restarted ? this.#silenceUs : 0, step);
  }

  /** It has given no reason to be silent: neither a start nor a failure. */
  get isOpen(): boolean {
    return this.#phase === 'open';
  }

  /** Whether a request of this node is left without a vote. */
  isSilent(from: NodeId, step: QuorumStep): boolean {
    if (step.monoUs < this.#hushedUntil) return true;
    if (this.#phase === 'open') return false;
    if (this.#phase === 'silent' && from === this.#boot.self && !this.#rules.silenceCoversOwnVote) return false;
    this.#look(step);
    // The last look may have opened it, which the compiler does not see.
    return (this.#phase as Phase) !== 'open';
  }

  /** How long it will still be silent, as far as it knows; Infinity if for ever. */
  silentForUs(mono: MonoUs): number {
    const hushedUs = Math.max(0, this.#hushedUntil - mono);
    switch (this.#phase) {
      case 'open':
        return hushedUs;
      case 'failed':
      case 'outlived':
        return Infinity;
      case 'noting':
        return Math.max(1, this.#owedUs);
      case 'silent':
        return Math.max(1, this.#until - mono, hushedUs);
      default:
        return 1;
    }
  }

  /** No vote that it has forgotten, or gave by a clock that was off, is of any lease that lives after this. */
  get clearSince(): number {
    return Math.max(this.#skipped ? -Infinity : this.#until, this.#hushedUntil);
  }

  /** Too few members have noted its life. */
  get isNoting(): boolean {
    return this.#phase === 'noting';
  }

  /** A silence from here on: leases it voted for by a clock that was off are over after it, by any other. */
  hush(step: QuorumStep): void {
    this.#hushedUntil = monoAfter(step.monoUs, spanUs(this.#silenceUs));
  }

  wake(step: QuorumStep): void {
    if (this.#phase === 'noting') this.noted(step);
    this.#look(step);
  }

  completed(completion: Completion, step: QuorumStep): void {
    const ledger = this.#ledger;
    if (!ledger || this.#phase === 'failed' || this.#phase === 'outlived') return;
    const news = ledger.completed(completion, step);
    switch (news) {
      case 'failed':
      case 'ahead':
        this.#phase = 'failed';
        step.emit({ kind: 'disk-failed', why: news === 'ahead' ? 'ahead' : completion.ok ? 'senseless' : 'unreadable' });
        return;
      case 'loaded':
        this.#succeed(step);
        this.#begin(this.#boot.restarted ? ledger.owedUs : 0, step);
        return;
      case 'settled':
        if (this.#phase === 'settling') this.#open(step);
        return;
      default:
    }
  }

  // ── Bootstrap ──────────────────────────────────────────────────────────────────────────────────────

  /** Its answer to STATUS, BIND or GO; `wait` while it has none yet. */
  answer(message: QuorumMessage, step: QuorumStep): BootstrapBar | 'wait' | null {
    if (this.#phase === 'loading' || (this.#phase === 'noting' && message.kind !== STATUS)) return 'wait';
    this.#look(step);
    if (message.kind === STATUS) return this.#bar;
    const lives = decodeLives(message);
    if (message.kind === BIND) return this.#bind(lives);
    const bar = this.#go(lives, step);
    // The bootstrap is done when this member votes; the asker will ask again.
    return bar === null && this.#phase === 'settling' ? 'wait' : bar;
  }

  /** Null if this member is silent and has nothing against ending its silence. */
  get #bar(): BootstrapBar | null {
    if (this.#phase === 'failed' || this.#phase === 'noting' || this.#phase === 'outlived') return this.#phase;
    if (this.#phase !== 'silent') return 'votes';
    return this.#ledger?.hasLived || this.#isOfLaterView ? 'lived' : null;
  }

  /** Promises to end its silence early with these lives of the members only, or says why not. */
  #bind(lives: readonly Incarnation[]): BootstrapBar | null {
    const bar = this.#isDone(lives) ? null : this.#bar;
    if (bar !== null) return bar;
    if (this.#rules.bootstrapNamesLives && lives[this.#boot.self] !== this.#boot.incarnation) return 'bound';
    if (this.#boundTo !== null && !sameLives(this.#boundTo, lives)) return 'bound';
    this.#boundTo = lives;
    return null;
  }

  /** All are bound. Ends the silence unless it is over, if this life was meant. */
  #go(lives: readonly Incarnation[], step: QuorumStep): BootstrapBar | null {
    const meant = this.#boundTo !== null && sameLives(this.#boundTo, lives);
    if (this.#rules.bootstrapNamesLives && !meant) return 'bound';
    if (this.#phase === 'silent') {
      this.#skipped = true;
      this.#over(step);
    }
    return null;
  }

  /** Whether its silence was ended by a bootstrap with these lives: a message that comes twice changes nothing. */
  #isDone(lives: readonly Incarnation[]): boolean {
    return this.#skipped && this.#boundTo !== null && sameLives(this.#boundTo, lives);
  }

  // ── Lives ──────────────────────────────────────────────────────────────────────────────────────────

  #succeed(step: QuorumStep): void {
    if (this.#succession === null) return;
    this.#startedAt = step.monoUs;
    this.#succession.begin(this.#boot.restarted, this.#ledger?.keptLife ?? 0, step);
  }

  /**
   * One more member has noted this life, or a moment has passed. The silence runs from when the last reachable member noted it: until then that member may have voted with the older
   * life.
   */
  noted(step: QuorumStep): void {
    if (this.#phase === 'silent' && this.#rules.silenceFromNote && this.#owedUs > 0) this.#keepSilent(step.monoUs, step);
    if (this.#phase !== 'noting' || !this.#isNoted(step)) return;
    this.#keepSilent(this.#rules.silenceFromNote ? step.monoUs : this.#startedAt, step);
  }

  /** A member that had noted this life may have forgotten it. */
  forgotten(step: QuorumStep): void {
    if (this.#phase === 'silent' && !this.#isNoted(step)) this.#phase = 'noting';
  }

  /** Another process of this member has this life, or a later one. A process that has not voted yet goes above it. */
  outbid(step: QuorumStep): void {
    const succession = this.#succession;
    if (!succession || this.#phase === 'failed' || this.#phase === 'outlived') return;
    const hasVoted = this.#phase === 'open' || this.#phase === 'settling';
    if (!hasVoted && succession.rise(step)) {
      if (this.#rules.notedFirst) this.#phase = 'noting';
      return;
    }
    this.#phase = 'outlived';
    succession.end();
    step.emit({ kind: 'outlived', member: this.#boot.self });
  }

  #isNoted(step: QuorumStep): boolean {
    return !this.#rules.notedFirst || (this.#succession?.isEnough(this.#owedUs > 0, step) ?? true);
  }

  /**
   * In another view terms may be longer. The member may have given votes in that view and forgotten them: a silence that is over is taken up
   * again if it was too short for them.
   */
  inView(silenceUs: number, step: QuorumStep): void {
    this.#isOfLaterView = true;
    this.#silenceUs = silenceUs;
    if (this.#owedUs === 0 || silenceUs <= this.#owedUs || this.#skipped) return;
    this.#owedUs = silenceUs;
    const isOver = this.#phase === 'open' || this.#phase === 'settling';
    if (this.#phase !== 'silent' && (!isOver || step.monoUs >= this.#silentFrom + silenceUs)) return;
    this.#keepSilent(this.#silentFrom, step);
  }

  // ── From phase to phase ────────────────────────────────────────────────────────────────────────────

  #begin(owedUs: number, step: QuorumStep): void {
    const isOwed = this.#rules.restartSilence && owedUs > 0;
    this.#owedUs = isOwed ? Math.max(owedUs, this.#silenceUs) : 0;
    if (this.#boot.restarted && !this.#isNoted(step)) this.#phase = 'noting';
    else this.#keepSilent(step.monoUs, step);
  }

  #keepSilent(from: MonoUs, step: QuorumStep): void {
    this.#phase = 'silent';
    this.#silentFrom = from;
    this.#until = monoAfter(from, spanUs(this.#owedUs));
    this.#untilWall = wallUs(step.wallUs + this.#owedUs);
    if (this.#owedUs === 0) this.#over(step);
  }

  #look(step: QuorumStep): void {
    if (this.#phase !== 'silent') return;
    if (this.#rules.silenceByMonotonic ? step.monoUs >= this.#until : step.wallUs >= this.#untilWall) this.#over(step);
  }

  #over(step: QuorumStep): void {
    const isDue = this.#skipped || step.monoUs >= this.#until || !this.#rules.silenceByMonotonic;
    invariant(isDue, 'a silence ended before its time');
    this.#ended(step);
    if (this.#ledger === null) {
      this.#open(step);
      return;
    }
    this.#phase = 'settling';
    this.#ledger.endSilence(this.#succession?.life ?? 0, step);
  }

  #open(step: QuorumStep): void {
    this.#phase = 'open';
    step.emit({ kind: 'ready', restored: this.#ledger?.restored ?? 0 });
  }

  snapshot(): Snapshot {
    return [
      this.#phase,
      this.#until,
      this.#untilWall,
      this.#boundTo,
      this.#skipped,
      this.#owedUs,
      this.#startedAt,
      this.#hushedUntil,
      this.#silentFrom,
      this.#silenceUs,
      this.#isOfLaterView,
    ];
  }

  restore(snapshot: Snapshot): void {
    [
      this.#phase,
      this.#until,
      this.#untilWall,
      this.#boundTo,
      this.#skipped,
      this.#owedUs,
      this.#startedAt,
      this.#hushedUntil,
      this.#silentFrom,
      this.#silenceUs,
      this.#isOfLaterView,
    ] = snapshot as unknown as [
      Phase,
      MonoUs,
      WallUs,
      readonly Incarnation[] | null,
      boolean,
      number,
      MonoUs,
      MonoUs,
      MonoUs,
      number,
      boolean,
    ];
  }
}

function sameLives(a: readonly Incarnation[], b: readonly Incarnation[]): boolean {
  return a.length === b.length && a.every((life, member) => life === b[member]);
}
