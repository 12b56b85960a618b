/**
 * Compares the rate of this node's monotonic clock with the members', tells the core which members to count on, and people whose
 * clock is off. The judgement is `RateWatch`'s; what follows from it, the core's.
 */
import { RateWatch, rateWindowUs, type LeaseCommand, type PeerPace, type RateVerdict, type Timing } from '../../core/index.ts';
import { TenureError, type Incarnation } from '../../kernel/index.ts';
import type { MemberReach } from './clock-skew.ts';

export interface ClockRatesGround {
  readonly timing: Timing;
  readonly members: () => readonly MemberReach[];
  /** Which process goes under a member's name. */
  readonly lifeOf: (member: number) => Incarnation | undefined;
  readonly command: (command: LeaseCommand) => void;
  /** A clock is off. */
  readonly onOff: (warning: TenureError) => void;
  /** This node's own clock is fine again. */
  readonly onFine: () => void;
}

export class ClockRates {
  readonly #ground: ClockRatesGround;
  readonly #watch: RateWatch;
  readonly #lives = new Map<number, Incarnation>();
  #verdict: RateVerdict = { own: 'fine', off: [] };
  #off: TenureError | null = null;
  #wasOff = false;

  constructor(ground: ClockRatesGround) {
    this.#ground = ground;
    const { rateErrorPpm } = ground.timing;
    this.#watch = new RateWatch({ rateErrorPpm, windowUs: rateWindowUs(ground.timing) });
  }

  /** Why this node gets and renews nothing; null while its clock is fine. */
  get off(): TenureError | null {
    return this.#off;
  }

  /** Its clock was off at some time. */
  get wasOff(): boolean {
    return this.#wasOff;
  }

  paceOf(member: number): PeerPace {
    return this.#watch.paceOf(member);
  }

  /** Takes the clock readings since the last look. */
  look(): void {
    const before = this.#verdict;
    const verdict = this.#watch.judge(this.#read());
    this.#verdict = verdict;
    const isOff = verdict.own !== 'fine';
    const wasOff = this.#off !== null;
    // Set before the core hears of it: leases it loses over this are lost for this reason.
    if (isOff) this.#off = this.#ownClockOff(verdict.own === 'slow');
    else this.#off = null;
    // While the own clock is off the core is told again and again: its silence begins anew each time.
    if (isOff || wasOff || verdict.off.join() !== before.off.join()) this.#ground.command({ kind: 'rate', ...verdict });
    if (this.#off !== null && !wasOff) {
      this.#wasOff = true;
      this.#ground.onOff(this.#off);
    } else if (wasOff && !isOff) this.#ground.onFine();
    for (const member of verdict.off) if (!before.off.includes(member)) this.#ground.onOff(this.#memberClockOff(member));
  }

  /** The members that are connected. */
  #read(): number[] {
    const present: number[] = [];
    for (const { number: member, self, stats } of this.#ground.members()) {
      const life = this.#ground.lifeOf(member);
      if (self || life === undefined || !stats?.connected) continue;
      if (this.#lives.get(member) !== life) this.#watch.forget(member);
      this.#lives.set(member, life);
      if (stats.clock) this.#watch.read(member, stats.clock);
      present.push(member);
    }
    return present;
  }

  #ownClockOff(isSlow: boolean): TenureError {
    const members = this.#ground.members();
    const others = members.filter(({ number }) => this.paceOf(number) === (isSlow ? 'faster' : 'slower')).map(({ id }) => id);
    const ends = isSlow ? 'what it held is over, ' : '';
    const votes = members.some(({ self }) => self) ? 'it votes for nobody, ' : '';
    return new TenureError(
      'TENURE_CLOCK_RATE',
      `the monotonic clock of this process runs ${isSlow ? 'slower' : 'faster'} than ${listed(others)}, by more than ` +
        `the cell was told of (${this.#bound}), or stood still: ${ends}${votes}nothing is acquired or renewed here. Mend the clock`,
      { pace: isSlow ? 'slow' : 'fast', others: others.join(', ') },
    );
  }

  #memberClockOff(member: number): TenureError {
    const { id = String(member) } = this.#ground.members().find(({ number }) => number === member) ?? {};
    const pace = this.paceOf(member);
    return new TenureError(
      'TENURE_CLOCK_RATE',
      `the monotonic clock of member ${id} runs ${pace} than ours and others', by more than the cell was told of (${this.#bound}): ` +
        'its votes do not count. Mend its clock',
      { id, pace },
    );
  }

  get #bound(): string {
    return `rateError ${this.#ground.timing.rateErrorPpm / 1_000_000}`;
  }
}

function listed(ids: readonly string[]): string {
  return ids.length === 0 ? 'those of the members' : `${ids.length === 1 ? 'that of' : 'those of'} ${ids.join(', ')}`;
}
