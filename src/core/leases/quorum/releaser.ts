/**
 * Releases under way: each is sent again until a quorum has answered or the lease has run out. A release as of a later time
 * goes out while its holder still acts: it bounds the votes, and what a voter has not answered by then is sent as a plain one.
 */
import { encodeName, monoUs, NumberMap, VoterSet, type BallotTime, type MonoUs, type NodeId } from '../../../kernel/index.ts';
import { DueHeap } from '../../tables/index.ts';
import { textOf, voterSet } from '../snapshots.ts';
import type { QuorumStep } from './config.ts';
import type { QuorumMessage } from './messages.ts';
import type { Heir, QuorumOutbox } from './outbox.ts';

export interface Releasing {
  readonly lease: number;
  readonly name: Uint8Array;
  readonly mode: number;
  voters: readonly NodeId[];
  readonly ballot: BallotTime;
  readonly answered: VoterSet;
  /** Its votes go to this one's proposal; null where they just go. */
  readonly to: Heir | null;
  /** Until then its holder goes on; 0 where it stopped before. */
  endsAt: MonoUs;
  /** Until then the vote stands; 0 where it may go at once. */
  freeAt: MonoUs;
  /** The lease has run out by then, heard or not. */
  readonly overAt: MonoUs;
  until: MonoUs;
  /** Until it is sent again; doubled each time. */
  gapUs: number;
}

export type ReleasingSnapshot = Omit<Releasing, 'name' | 'voters' | 'answered'> & { name: string; answered: number[] };

/** A release as its holder begins it. */
type Begun = Pick<Releasing, 'lease' | 'name' | 'mode' | 'voters' | 'ballot' | 'to' | 'endsAt' | 'freeAt' | 'overAt'>;

export class Releaser {
  readonly #out: QuorumOutbox;
  /** Called when there is nothing left to do for a release, before that is told. */
  readonly #ended: (releasing: Releasing, step: QuorumStep) => void;
  readonly #open = new NumberMap<Releasing>();
  readonly #due = new DueHeap();

  constructor(out: QuorumOutbox, ended: (releasing: Releasing, step: QuorumStep) => void) {
    this.#out = out;
    this.#ended = ended;
  }

  get wakeAt(): MonoUs {
    return this.#due.nextAt;
  }

  get count(): number {
    return this.#open.size;
  }

  has(lease: number): boolean {
    return this.#open.has(lease);
  }

  /** Noted, and sent by `send`: in between its holder stops, if it stops at once. */
  begin({ lease, name, mode, voters, ballot, to, endsAt, freeAt, overAt }: Begun, step: QuorumStep): void {
    // Written out, and not copied by a spread: that takes V8 a microsecond, and gives a record that is slow to read.
    const [answered, until, gapUs] = [new VoterSet(), step.monoUs, this.#out.timing.resendUs];
    this.#open.set(lease, { lease, name, mode, voters, ballot, answered, to, endsAt, freeAt, overAt, until, gapUs });
  }

  send(lease: number, step: QuorumStep): void {
    const releasing = this.#open.get(lease);
    if (releasing) this.#send(releasing, step);
  }

  /** The holder of a release as of a later time has stopped. */
  stopped(lease: number, step: QuorumStep): void {
    const releasing = this.#open.get(lease);
    if (!releasing) return;
    releasing.endsAt = step.monoUs;
    if (releasing.freeAt > 0) releasing.freeAt = monoUs(Math.max(releasing.freeAt, step.monoUs));
    if (this.#isAnswered(releasing)) {
      this.#end(releasing, true, step);
      return;
    }
    releasing.gapUs = this.#out.timing.resendUs;
    this.#send(releasing, step);
  }

  /** Nothing is given back any more. */
  drop(lease: number): void {
    this.#open.delete(lease);
  }

  answered(from: NodeId, message: QuorumMessage, step: QuorumStep): void {
    const releasing = this.#open.get(message.lease);
    if (!releasing || message.ballot !== releasing.ballot || !releasing.voters.includes(from)) return;
    releasing.answered.add(from);
    if (!this.#isAnswered(releasing) || step.monoUs < releasing.endsAt) return;
    this.#end(releasing, true, step);
  }

  #isAnswered({ answered, name }: Releasing): boolean {
    return this.#out.electorate.isQuorum(answered, this.#out.placementOf(name));
  }

  /** Other members vote on it from here on; the earlier voters may still have its votes. */
  viewChanged(): void {
    for (const releasing of this.#open.values())
      releasing.voters = [...new Set([...releasing.voters, ...this.#out.votersOf(releasing.name)])];
  }

  wake(step: QuorumStep): void {
    for (let at = this.#due.nextAt; at <= step.monoUs; at = this.#due.nextAt) {
      const releasing = this.#open.get(this.#due.take(step.monoUs));
      // Skip stale heap entries: snapshots keep only the current time.
      if (releasing && at === releasing.until) this.#send(releasing, step);
    }
  }

  #send(releasing: Releasing, step: QuorumStep): void {
    if (step.monoUs >= releasing.overAt) {
      this.#end(releasing, false, step);
      return;
    }
    const { voters, answered, lease, name, mode, ballot, to, freeAt } = releasing;
    // The first time no voter has answered, and mostly there is no second.
    const unheard = answered.size === 0 ? voters : voters.filter((voter) => !answered.has(voter));
    if (step.monoUs < freeAt) this.#out.releaseLater(unheard, { lease, name, mode, ballot, afterUs: freeAt - step.monoUs }, step);
    else if (to) this.#out.releaseTo(unheard, { lease, name, mode, ballot, to }, step);
    else this.#out.release(unheard, lease, name, ballot, 0, step, mode);
    releasing.until = monoUs(Math.min(step.monoUs + releasing.gapUs, releasing.overAt));
    releasing.gapUs *= 2;
    this.#due.push(releasing.until, lease);
  }

  #end(releasing: Releasing, byQuorum: boolean, step: QuorumStep): void {
    this.#open.delete(releasing.lease);
    this.#ended(releasing, step);
    step.emit({ kind: 'released', lease: releasing.lease, byQuorum });
  }

  snapshot(): ReleasingSnapshot[] {
    return this.#open
      .values()
      .map(({ voters: _voters, name, answered, ...rest }) => ({ ...rest, name: textOf(name), answered: answered.toArray() }));
  }

  restore(releases: readonly ReleasingSnapshot[]): void {
    for (const { name: text, answered, ...rest } of releases) {
      const name = encodeName(text);
      this.#open.set(rest.lease, { ...rest, name, voters: this.#out.votersOf(name), answered: voterSet(answered) });
      this.#due.push(rest.until, rest.lease);
    }
  }
}
