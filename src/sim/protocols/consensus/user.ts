/** A member's application: it proposes values of its own in open instances, tells the history the decisions, and once the world has healed waits for more decisions. */
import { quorumOf } from '../../../kernel/index.ts';
import type { ConsensusEvent, FastCtEvent, Standing } from '../../../core/index.ts';
import type { Desk, Sometime, User } from '../../protocol.ts';
import { CONSENSUS_TERM_US, type ConsensusWorld } from './worlds.ts';

export const CONSENSUS_INTERESTS: readonly Sometime[] = [
  { name: 'decision', description: 'a member learned a decision' },
  { name: 'empty-decision', description: 'an instance was decided in which nobody had anything to propose' },
  { name: 'later-round', description: 'an instance was decided after its first round' },
  { name: 'recovered-coordinator', description: 'an instance was decided by a member that had crashed and come back' },
  { name: 'left-behind', description: 'a member was so far behind that decisions were gone' },
  { name: 'amnesiac-votes-again', description: 'a member that had lost its memory votes again' },
  { name: 'no-majority-remembers', description: 'so many members lost their memory that the group stopped' },
];

/** What the user looks at. */
export interface ConsensusMember {
  readonly standing: Standing;
  readonly decidedUpTo: number;
  readonly openUpTo: number;
  readonly suspected: readonly number[];
  readonly isStopped: boolean;
}

export type ProposeCommand = { readonly kind: 'propose'; readonly instance: number; readonly value: Uint8Array };

/** After the world has healed every member decides so many instances more. */
const OWED = 2;

export class ConsensusUser implements User<ConsensusEvent> {
  readonly #config: ConsensusWorld;
  readonly #core: ConsensusMember;
  protected readonly desk: Desk<ProposeCommand>;
  readonly #isRestarted: boolean;
  #values = 0;
  /** It proposes once in an instance; older instances are decided. */
  #proposed: number[] = [];
  #wasAbstaining = false;
  #goal = Infinity;
  #healedUs = Infinity;

  constructor(config: ConsensusWorld, nodes: number, core: ConsensusMember, desk: Desk<ProposeCommand>) {
    this.#config = config;
    this.#core = core;
    this.desk = desk;
    this.#isRestarted = desk.incarnation > nodes;
  }

  start(): void {
    this.#proposeLater();
  }

  timer(): void {
    this.#proposeLater();
    const { standing, decidedUpTo, openUpTo } = this.#core;
    const desk = this.desk;
    if (this.#isExcused) desk.done();
    if (standing !== 'voting' && standing !== 'abstaining') return;
    const { proposers } = this.#config;
    if (desk.node >= proposers && !(desk.healed && this.#goal > decidedUpTo)) return;
    const instance = decidedUpTo + 1 + desk.choose(openUpTo - decidedUpTo);
    if (this.#proposed.includes(instance)) return;
    this.#proposed = [...this.#proposed.filter((one) => one > decidedUpTo), instance];
    const value = `${desk.node}.${desk.incarnation}.${++this.#values}`;
    desk.record({ kind: 'proposed', instance, value });
    desk.command({ kind: 'propose', instance, value: encoded(value) });
  }

  event(event: ConsensusEvent | FastCtEvent): void {
    const desk = this.desk;
    if (event.kind === 'decided') this.#decided(event);
    else if (event.kind === 'skipped') desk.sometimes('left-behind');
    else if (event.kind === 'stopped' && event.without.length > 0) desk.sometimes('no-majority-remembers');
    else if (event.kind === 'standing') this.#stands(event.standing);
    this.#look();
  }

  #decided({ instance, value, round, isFast }: Extract<ConsensusEvent, { kind: 'decided' }>): void {
    const desk = this.desk;
    const { members, mode } = this.#config.consensus;
    const text = decoded(value);
    desk.sometimes('decision');
    // A member that takes part without a value of its own proposes the empty value.
    if (text === '') {
      desk.sometimes('empty-decision');
      desk.record({ kind: 'proposed', instance, value: text });
    }
    if (!isFast && round > (mode.kind === 'fast' ? members : 0)) desk.sometimes('later-round');
    if (this.#isRestarted && round % members === desk.node) desk.sometimes('recovered-coordinator');
    desk.record({ kind: 'decided', instance, value: text });
  }

  #stands(standing: Standing): void {
    const desk = this.desk;
    if (standing === 'voting' && this.#wasAbstaining) desk.sometimes('amnesiac-votes-again');
    this.#wasAbstaining = standing === 'abstaining';
  }

  healed(): void {
    this.#healedUs = this.desk.monoUs;
    this.#goal = this.#core.decidedUpTo + OWED;
    if (this.#isExcused) this.desk.done();
  }

  waitingFor(): string {
    const { standing, decidedUpTo } = this.#core;
    return `the decision of instance ${this.#goal} (${standing}, ${decidedUpTo} decided)`;
  }

  #look(): void {
    const { standing, decidedUpTo } = this.#core;
    if (standing === 'voting' && decidedUpTo >= this.#goal) this.desk.done();
  }

  /** Nothing is owed to a group without a majority: of members that remember, or, where crashed members do not come back, of members that are up. */
  get #isExcused(): boolean {
    const { standing, suspected, isStopped } = this.#core;
    const { members, keeps } = this.#config.consensus;
    if (!this.desk.healed) return false;
    if (standing === 'silent') return true;
    const isLongHealed = this.desk.monoUs - this.#healedUs > CONSENSUS_TERM_US * 10;
    return isLongHealed && (isStopped || (keeps === 'crash-stop' && suspected.length > members - quorumOf(members)));
  }

  #proposeLater(): void {
    this.desk.after(1 + this.desk.choose(this.#config.pauseUsMax), 0);
  }
}

export function encoded(text: string): Uint8Array {
  return Uint8Array.from(text, (character) => character.charCodeAt(0));
}

export function decoded(bytes: Uint8Array): string {
  return String.fromCharCode(...bytes);
}
