/** A member's state of one open instance of consensus: its round, its estimate and, as the coordinator of the round, the members' answers. Plain state; `rounds.ts` says what is done with it. */
import { VoterSet } from '../../kernel/index.ts';
import type { Snapshot } from '../contract.ts';
import { valueBytes, valueText } from './values.ts';

export interface Estimate {
  readonly ts: number;
  readonly value: Uint8Array;
}

export class Instance {
  readonly number: number;
  round: number;
  estimate: Uint8Array;
  ts: number;
  /** The estimate is a proposed value, not an empty one that stands for nothing. */
  hasValue: boolean;
  /** The round in which this member last adopted a proposal; -1 if it never did. */
  adopted = -1;
  /** The round is stored, so its ESTIMATE may leave. A FAST one needs no storing. */
  isRoundStored = false;
  /** The proposal adopted in this round is stored, so its ACK may leave. */
  isAckStored = false;
  /** It acknowledged a FAST proposal. */
  hasAckedFast = false;
  /** Nothing has changed in this round since it was last looked at: its messages are sent again. */
  isStale = false;
  /** A FAST coordinator waits to hear whether it has the lease. */
  isLeaseAsked = false;
  // What the coordinator of this round has heard.
  readonly estimates: Map<number, Estimate> = new Map();
  readonly acks: VoterSet = new VoterSet();
  readonly nacks: VoterSet = new VoterSet();
  /** Its proposal in this round; null if none yet. */
  proposal: Uint8Array | null = null;

  constructor(number: number, round: number, ts: number, value: Uint8Array | null) {
    this.number = number;
    this.round = round;
    this.ts = ts;
    this.estimate = value ?? new Uint8Array(0);
    this.hasValue = value !== null;
  }

  /** Nothing was heard in the new round. */
  moveTo(round: number): void {
    this.round = round;
    this.isRoundStored = false;
    this.isAckStored = false;
    this.isLeaseAsked = false;
    this.isStale = false;
    this.estimates.clear();
    this.acks.clear();
    this.nacks.clear();
    this.proposal = null;
  }

  /** How many members have answered what the coordinator waits for now: estimates, or acknowledgements; a NACK answers both. */
  get answers(): number {
    const answered = this.proposal === null ? [...this.estimates.keys()] : this.acks.toArray();
    return new Set([...answered, ...this.nacks.toArray()]).size;
  }

  snapshot(): Snapshot {
    return {
      number: this.number,
      round: this.round,
      estimate: valueText(this.estimate),
      ts: this.ts,
      hasValue: this.hasValue,
      adopted: this.adopted,
      isRoundStored: this.isRoundStored,
      isAckStored: this.isAckStored,
      hasAckedFast: this.hasAckedFast,
      isLeaseAsked: this.isLeaseAsked,
      isStale: this.isStale,
      estimates: [...this.estimates]
        .sort(([one], [other]) => one - other)
        .map(([member, { ts, value }]) => [member, ts, valueText(value)] as const),
      acks: this.acks.toArray(),
      nacks: this.nacks.toArray(),
      proposal: this.proposal && valueText(this.proposal),
    };
  }

  static restored(snapshot: Snapshot): Instance {
    const told = snapshot as unknown as InstanceSnapshot;
    const instance = new Instance(told.number, told.round, told.ts, valueBytes(told.estimate));
    const { hasValue, adopted, isRoundStored, isAckStored, hasAckedFast, isLeaseAsked, isStale } = told;
    Object.assign(instance, { hasValue, adopted, isRoundStored, isAckStored, hasAckedFast, isLeaseAsked, isStale });
    for (const [member, ts, value] of told.estimates) instance.estimates.set(member, { ts, value: valueBytes(value) });
    for (const member of told.acks) instance.acks.add(member);
    for (const member of told.nacks) instance.nacks.add(member);
    instance.proposal = told.proposal === null ? null : valueBytes(told.proposal);
    return instance;
  }
}

interface InstanceSnapshot {
  readonly number: number;
  readonly round: number;
  readonly estimate: string;
  readonly ts: number;
  readonly hasValue: boolean;
  readonly adopted: number;
  readonly isRoundStored: boolean;
  readonly isAckStored: boolean;
  readonly hasAckedFast: boolean;
  readonly isLeaseAsked: boolean;
  readonly isStale: boolean;
  readonly estimates: readonly (readonly [number, number, string])[];
  readonly acks: readonly number[];
  readonly nacks: readonly number[];
  readonly proposal: string | null;
}
