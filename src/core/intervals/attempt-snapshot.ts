/** A request that is under way as plain data, for snapshots of its claimant. */
import { VoterSet } from '../../kernel/index.ts';
import type { Snapshot } from '../contract.ts';
import type { LeaseAttempt } from './claim.ts';

export type AttemptSnapshot = Omit<LeaseAttempt, 'nacks' | 'hopeless'> & {
  readonly nacks: readonly number[];
  readonly hopeless: readonly number[];
};

export function attemptTold({ nacks, hopeless, acks, known, nexts, littered, refusal, ...rest }: LeaseAttempt): Snapshot {
  return {
    ...rest,
    nacks: nacks.toArray(),
    hopeless: hopeless.toArray(),
    acks: [...acks],
    known: [...known],
    nexts: [...nexts],
    littered: [...littered],
    refusal: refusal && { ...refusal },
  };
}

export function attemptOf({ nacks, hopeless, acks, known, nexts, ...rest }: AttemptSnapshot): LeaseAttempt {
  return { ...rest, acks: [...acks], known: [...known], nexts: [...nexts], nacks: votersOf(nacks), hopeless: votersOf(hopeless) };
}

export function votersOf(members: readonly number[]): VoterSet {
  const set = new VoterSet();
  for (const member of members) set.add(member);
  return set;
}
