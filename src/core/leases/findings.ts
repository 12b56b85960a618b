/**
 * What the answers of a name's voters add up to: for every lease engine the same. Voters answer at different instants, so each
 * engine sees to it that enough of them speak of one instant: those are steady.
 */

/** What one voter told. */
export interface VoterAnswer<Vote> {
  /** Null: it has none. */
  readonly vote: Vote | null;
  /** At one instant of the question, the same for all voters, it had no vote but this, for a lease that was not given back since. */
  readonly isSteady: boolean;
}

export interface HolderFinding<Vote> {
  /** The votes for the only possible holder, or for the likeliest; none if there is none. */
  readonly votes: readonly Vote[];
  readonly certain: boolean;
}

interface Electors<Vote> {
  readonly voters: number;
  readonly quorum: number;
  /** Whether two votes are for the same try of the same lease. */
  readonly isSame: (a: Vote, b: Vote) => boolean;
}

/**
 * A holder is certain if a quorum had its votes at that instant. It is ruled out if so many voters had another vote or none that every quorum
 * has one of them: had it held then, and not given back since, that voter would have told. Fewer than a quorum of answers rule out no holder,
 * even where they would block every quorum (two of four voters): none of them may know that one of them is of an older life.
 */
export function findingOf<Vote>(told: readonly VoterAnswer<Vote>[], { voters, quorum, isSame }: Electors<Vote>): HolderFinding<Vote> {
  const blocking = voters - quorum + 1;
  const steady = told.filter(({ isSteady }) => isSteady);
  let likeliest: readonly Vote[] = [];
  for (const { vote } of told) {
    if (vote === null || likeliest.includes(vote)) continue;
    const same = ({ vote: other }: VoterAnswer<Vote>): boolean => other !== null && isSame(vote, other);
    const steadyCount = steady.filter(same).length;
    const votes = told.filter(same).flatMap(({ vote: one }) => one ?? []);
    if (steadyCount >= quorum) return { votes, certain: true };
    if (steady.length - steadyCount < blocking && votes.length > likeliest.length) likeliest = votes;
  }
  return { votes: likeliest, certain: likeliest.length === 0 && steady.length >= blocking && told.length >= quorum };
}

/** The voters of a name, on one side of a view. */
interface Bench<Voter> {
  readonly voters: readonly Voter[];
  readonly quorum: number;
}

/** Where a holder needs quorums of two sides, it is certain if both find it; and so is that there is none. */
export function findingOfSides<Voter, Vote>(
  sides: readonly Bench<Voter>[],
  answerOf: (voter: Voter) => VoterAnswer<Vote> | undefined,
  isSame: (a: Vote, b: Vote) => boolean,
): HolderFinding<Vote> {
  const found = sides.map(({ voters, quorum }) =>
    findingOf(
      voters.flatMap((voter) => answerOf(voter) ?? []),
      { voters: voters.length, quorum, isSame },
    ),
  );
  const [first, ...others] = found as [HolderFinding<Vote>, ...HolderFinding<Vote>[]];
  const agrees = ({ certain, votes }: HolderFinding<Vote>): boolean => {
    const [mine, theirs] = [first.votes[0], votes[0]];
    return certain && (mine === undefined || theirs === undefined ? mine === theirs : isSame(mine, theirs));
  };
  if (others.every(agrees)) return first;
  const likeliest = found.find(({ votes }) => votes.length > 0) ?? first;
  return { votes: likeliest.votes, certain: false };
}
