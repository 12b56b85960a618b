/**
 * Questions to every member: how it stands, and the bootstrap of a brand-new cell. A bootstrap asks all members
 * how they stand; if all are silent it binds them to the lives they have now; when all are bound it lets them
 * go. A bound member ends its silence with these lives and no others, so that a member that has voted since
 * and was started again can take part in no other bootstrap that any of the rest is part of.
 */
import { monoAfter, monoUs, NEVER, type Incarnation, type MonoUs, type NodeId } from '../../../kernel/index.ts';
import type { Snapshot } from '../../contract.ts';
import type { MemberStanding } from '../contract.ts';
import type { QuorumStep } from './config.ts';
import { BIND, GO, STATUS, STATUS_TOLD, type QuorumMessage } from './messages.ts';
import { encodeLives } from './lives.ts';
import type { QuorumOutbox } from './outbox.ts';
import { BARS } from './voting-state.ts';

interface Call {
  readonly purpose: 'status' | 'bootstrap';
  /** What is being asked now: STATUS, BIND or GO. */
  asks: number;
  readonly members: readonly NodeId[];
  /** Each member's answer, in the order of the members; null if it has not answered. */
  readonly told: (MemberStanding | null)[];
  lives: readonly Incarnation[];
  readonly until: MonoUs;
  resendAt: MonoUs;
}

export class RollCall {
  readonly #out: QuorumOutbox;
  readonly #calls = new Map<number, Call>();

  constructor(out: QuorumOutbox) {
    this.#out = out;
  }

  get wakeAt(): MonoUs {
    let at = NEVER;
    // Asked after every step, and mostly there is no call.
    if (this.#calls.size === 0) return at;
    for (const { until, resendAt } of this.#calls.values()) at = monoUs(Math.min(at, until, resendAt));
    return at;
  }

  begin(number: number, purpose: Call['purpose'], waitUs: number, step: QuorumStep): void {
    const { members } = this.#out.electorate;
    const told = members.map(() => null);
    const until = monoUs(step.monoUs + waitUs);
    const call: Call = { purpose, asks: STATUS, members, told, lives: [], until, resendAt: until };
    this.#calls.set(number, call);
    this.#ask(number, call, step);
  }

  cancel(number: number): void {
    this.#calls.delete(number);
  }

  answered(from: NodeId, message: QuorumMessage, step: QuorumStep): void {
    const call = this.#calls.get(message.lease);
    const at = call?.members.indexOf(from) ?? -1;
    if (!call || at < 0 || message.kind !== answerTo(call.asks) || step.monoUs >= call.until) return;
    const bar = BARS[message.reason] ?? null;
    // It will stand otherwise in a moment: it is asked again.
    if (call.purpose === 'bootstrap' && bar === 'noting') return;
    const stored = { epoch: message.viewEpoch, id: message.viewId };
    call.told[at] = { member: from, incarnation: message.token as Incarnation, silentForUs: message.remainingUs, bar, stored };
    if (call.purpose === 'bootstrap' && bar !== null) {
      this.#conclude(message.lease, call, step);
      return;
    }
    if (call.told.every((standing) => standing !== null)) this.#next(message.lease, call, step);
  }

  wake(step: QuorumStep): void {
    for (const [number, call] of this.#calls) {
      if (step.monoUs >= call.until) this.#conclude(number, call, step);
      else if (step.monoUs >= call.resendAt) this.#ask(number, call, step);
    }
  }

  #next(number: number, call: Call, step: QuorumStep): void {
    if (call.purpose === 'status' || call.asks === GO) {
      this.#conclude(number, call, step);
      return;
    }
    if (call.asks === STATUS) call.lives = call.told.map((standing) => (standing as MemberStanding).incarnation);
    call.asks = call.asks === STATUS ? BIND : GO;
    call.told.fill(null);
    this.#ask(number, call, step);
  }

  /** Asks the members that have not answered. */
  #ask(number: number, call: Call, step: QuorumStep): void {
    const message = this.#out.compose(call.asks, number, NO_NAME);
    if (call.asks !== STATUS) message.setMeta(encodeLives(call.lives));
    call.members.forEach((member, at) => call.told[at] === null && step.send(member, message));
    call.resendAt = monoAfter(step.monoUs, this.#out.timing.attemptUs);
  }

  #conclude(number: number, call: Call, step: QuorumStep): void {
    this.#calls.delete(number);
    const told = call.told.filter((standing) => standing !== null);
    if (call.purpose === 'status') {
      step.emit({ kind: 'status-told', lease: number, members: told });
      return;
    }
    const barred = told.filter(({ bar }) => bar !== null);
    const absent = call.told.flatMap((standing, at) => (standing === null ? [call.members[at] as NodeId] : []));
    step.emit({ kind: 'bootstrapped', lease: number, barred, absent: barred.length > 0 ? [] : absent, begun: call.asks === GO });
  }

  snapshot(): Snapshot {
    return [...this.#calls]
      .sort(([a], [b]) => a - b)
      .map(([number, { told, lives, ...call }]) => [
        number,
        { ...call, lives: [...lives], told: told.map((standing) => (standing === null ? null : { ...standing })) },
      ]);
  }

  restore(snapshot: Snapshot): void {
    for (const [number, call] of snapshot as unknown as [number, Call][]) this.#calls.set(number, { ...call, told: [...call.told] });
  }
}

const NO_NAME = new Uint8Array(0);

/** Each question is followed by the kind of its answer. */
function answerTo(kind: number): number {
  return kind + (STATUS_TOLD - STATUS);
}
