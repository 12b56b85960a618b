/** The application on a node: members begin their disks, and claimants claim intervals that others want, inside and across them, and blocks wherever they are. */
import { INTEGER_MAX, type IntervalCommand, type IntervalEvent, type IntervalLeaseCore } from '../../../core/index.ts';
import type { Desk, User } from '../../protocol.ts';
import { Claimer } from './claimer.ts';
import { INTERVAL_TERM_US, type ClaimHabits, type IntervalWorld } from './worlds.ts';

const ASK = 0;
const BOOTSTRAP = -1;
const LOOK = -2;
const BOOTSTRAP_WAIT_US = INTERVAL_TERM_US;
/** A claim that was answered is called off as well, now and then: the answer and the call may cross. */
const CALL_OFF_US = INTERVAL_TERM_US / 100;

export class IntervalUser implements User<IntervalEvent> {
  readonly #habits: ClaimHabits;
  readonly #members: number;
  readonly #claims: boolean;
  readonly #core: IntervalLeaseCore;
  readonly #desk: Desk<IntervalCommand>;
  readonly #claimer: Claimer;
  /** Where the next integers are that may be free, by space. */
  readonly #front = new Map<string, number>();
  /** The block that this process is owed after the world has healed; 0 before it asked. */
  #owed = 0;
  /** Spaces in which it has something, so that a claim of everything is refused. */
  readonly #has = new Set<string>();
  #isServed = false;

  constructor({ core: { members }, habits, membersClaim }: IntervalWorld, core: IntervalLeaseCore, desk: Desk<IntervalCommand>) {
    this.#habits = habits;
    this.#members = members;
    this.#claims = desk.node >= members || membersClaim;
    this.#core = core;
    this.#desk = desk;
    this.#claimer = new Claimer(desk);
  }

  start(): void {
    for (let i = 0; i < this.#habits.atOnce && this.#claims; i++) this.#askLater();
    const { room, spaces } = this.#habits;
    if (room > 0 && this.#desk.node === this.#members) for (const space of spaces) this.#claimer.claim(space, room, INTEGER_MAX);
    if (this.#desk.node < this.#members) this.#desk.after(INTERVAL_TERM_US / 4, LOOK);
  }

  timer(tag: number): void {
    const desk = this.#desk;
    if (tag === ASK) this.#ask();
    else if (tag === LOOK) this.#look();
    else if (tag === BOOTSTRAP) {
      if (this.#core.diskPhase === 'blank' || this.#core.diskPhase === 'founding')
        desk.command({ kind: 'bootstrap', waitUs: BOOTSTRAP_WAIT_US });
    } else {
      this.#claimer.callOff(tag);
      desk.sometimes('call-off');
    }
    this.#doneIfServed();
  }

  event(event: IntervalEvent): void {
    const desk = this.#desk;
    if (event.kind === 'disk') this.#heardOfDisk(event);
    else if (event.kind === 'bootstrapped') {
      if (event.begun) desk.sometimes('bootstrap');
      else desk.after(INTERVAL_TERM_US / 4 + desk.choose(INTERVAL_TERM_US), BOOTSTRAP);
    } else if (event.kind !== 'standing') this.#heardOfClaim(event);
    this.#doneIfServed();
  }

  healed(): void {
    if (this.#claims) this.#askOwed();
    else this.#isServed = true;
    this.#doneIfServed();
  }

  waitingFor(): string {
    const { diskPhase } = this.#core;
    if (diskPhase !== null && diskPhase !== 'ready') return `its disk to be in use (it is ${diskPhase})`;
    if (diskPhase !== null && !this.#core.isDiskKnown) return 'others to note its disk';
    return this.#isServed ? 'its claims to be cleared' : `claim ${this.#owed}`;
  }

  #askOwed(): void {
    this.#owed = this.#claimer.next(this.#habits.spaces[0] ?? 's', this.#habits.block);
  }

  /** All claims were answered, nothing is left of them but the granted integers, and a member's disk is in use and known to be. */
  #doneIfServed(): void {
    const { diskPhase } = this.#core;
    if (!this.#desk.healed || !this.#isServed || this.#claimer.made.size > 0) return;
    if (diskPhase === null || this.#core.isDiskKnown) this.#desk.done();
  }

  // ── Disks ──────────────────────────────────────────────────────────────────────────────────────────

  #heardOfDisk({ phase, generation }: Extract<IntervalEvent, { kind: 'disk' }>): void {
    const desk = this.#desk;
    if (phase === 'ready') {
      if (generation > 1) {
        desk.sometimes('joined');
        desk.record({ kind: 'rejoined', generation });
      }
      if (this.#core.open > 0) desk.sometimes('open-across-restart');
    } else if (phase === 'failed') {
      desk.sometimes('fell-silent');
    } else if (phase === 'blank' || phase === 'founding') {
      desk.after(desk.node === 0 && phase === 'blank' ? 0 : INTERVAL_TERM_US / 2 + desk.choose(INTERVAL_TERM_US), BOOTSTRAP);
    }
  }

  /** What a copied member holds is taken: open claims it has acknowledged itself. */
  #look(): void {
    if (this.#core.generation > 1 && this.#core.diskPhase === 'ready' && this.#core.open > 0) this.#desk.sometimes('copied-member-voted');
    this.#desk.after(INTERVAL_TERM_US / 4, LOOK);
  }

  // ── Claims ─────────────────────────────────────────────────────────────────────────────────────────

  #askLater(): void {
    this.#desk.after(this.#desk.choose(this.#habits.pauseUsMax), ASK);
  }

  #ask(): void {
    const desk = this.#desk;
    const { spaces, block, blockEvery, callOffEvery, everythingEvery } = this.#habits;
    if (desk.healed) return;
    const space = spaces[desk.choose(spaces.length)] as string;
    const claim = this.#hits(blockEvery)
      ? this.#claimer.next(space, 1 + desk.choose(block))
      : this.#claimSomething(space, this.#has.has(space) && this.#hits(everythingEvery));
    if (this.#hits(callOffEvery)) desk.after(desk.choose(CALL_OFF_US), claim);
  }

  #claimSomething(space: string, isEverything: boolean): number {
    const desk = this.#desk;
    const { block, strays, room } = this.#habits;
    const front = this.#front.get(space) ?? 0;
    if (isEverything) return this.#claimer.claim(space, 0, INTEGER_MAX);
    const start = room > 0 ? desk.choose(room) : front - (front % block);
    if (!strays || desk.choose(2) === 0) return this.#claimer.claim(space, start, start + block - 1);
    const from = Math.max(0, start - desk.choose(block) + desk.choose(2 * block));
    return this.#claimer.claim(space, from, from + desk.choose(2 * block));
  }

  #hits(every: number): boolean {
    return every > 0 && this.#desk.choose(every) === 0;
  }

  #heardOfClaim(event: Extract<IntervalEvent, { claim: number }>): void {
    const desk = this.#desk;
    const wasAnswered = this.#claimer.made.get(event.claim)?.isAnswered ?? true;
    if (!this.#claimer.hear(event) || event.kind === 'cleared') return;
    if (event.kind === 'granted') {
      desk.sometimes('grant');
      this.#has.add(event.space);
      if (event.attempts > 1) desk.sometimes('block-after-refusal');
      this.#moveFront(event.space, event.to + 1);
    } else {
      desk.sometimes('refusal');
      if (event.why === 'exhausted') desk.sometimes('exhausted');
      if (event.overlap && desk.choose(4) > 0) this.#moveFront(event.space, event.overlap[1] + 1);
    }
    if (event.claim === this.#owed) {
      if (event.kind === 'granted' || (this.#habits.room > 0 && event.why === 'exhausted')) this.#isServed = true;
      else desk.failLiveness(`was refused a block: ${event.why}`);
    } else if (!wasAnswered) {
      this.#askLater();
    }
  }

  #moveFront(space: string, to: number): void {
    if (to <= INTEGER_MAX - 1000) this.#front.set(space, Math.max(to, this.#front.get(space) ?? 0));
  }
}
