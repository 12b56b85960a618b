/**
 * The rules of the quorum engine, by name. In production all are in force; only the simulator takes one
 * out (a mutant), to show that something breaks. `docs/research/divergence/quorum.md` says why each is there.
 */
export interface QuorumRules {
  /** Rule 1: an attempt has a deadline, stored as data and checked in every handler. */
  readonly attemptDeadline: boolean;
  /** Rule 2: an acceptor never replaces a live lease of another owner. */
  readonly keepLiveLease: boolean;
  /** Rule 3: an owner is an incarnation, not a node. */
  readonly ownerIsIncarnation: boolean;
  /** Rule 3: a process asks in the name of its own incarnation. */
  readonly asksInOwnName: boolean;
  /** Answers are heard from members only, and counted only from members that were asked. */
  readonly answersFromAsked: boolean;
  /** Rule 3: two handles of one process are two owners. */
  readonly handlesApart: boolean;
  /** Rule 3: a lease is known by its whole number, not by what 32 bits hold of it. */
  readonly wholeNumbers: boolean;
  /** Rule 4: after a start, silence. */
  readonly restartSilence: boolean;
  /** Rule 4: the silence covers a node's vote for itself. */
  readonly silenceCoversOwnVote: boolean;
  /** Rule 4: the silence ends by monotonic time. */
  readonly silenceByMonotonic: boolean;
  /** Lives: a vote of an older life than is known does not count. */
  readonly newestLives: boolean;
  /** Lives: a started member votes only after enough others have noted its life. */
  readonly notedFirst: boolean;
  /** Lives: its silence runs from when they have, not from its start. */
  readonly silenceFromNote: boolean;
  /** Rule 5: voters are counted, not messages. */
  readonly distinctVoters: boolean;
  /** Rule 5: a refusal is no vote. */
  readonly refusalIsNoVote: boolean;
  /** Rule 6: a release removes only a row of that lease with a ballot at most its own. */
  readonly releaseByBallot: boolean;
  /** Rule 6: an attempt is void before its release leaves. */
  readonly voidBeforeRelease: boolean;
  /** Rule 6: the holder has stopped before its release leaves. */
  readonly stopBeforeRelease: boolean;
  /** Rule 6: a failed renewal releases nothing. */
  readonly failedRenewalKeeps: boolean;
  /** Rule 7: an extension never shortens. */
  readonly neverShorten: boolean;
  /** Rule 7: an acceptor refuses its owner's own lower ballots. */
  readonly refuseOwnLower: boolean;
  /** Rule 8: a renewal extends only after a fresh quorum. */
  readonly renewalNeedsQuorum: boolean;
  /** Rule 8: a lease that ran out while it was being renewed stays over. */
  readonly endIsFinal: boolean;
  /** Rule 8: a promise to a contender never blocks the owner. */
  readonly promiseYieldsToOwner: boolean;
  /** P10: an acceptor's term is stretched by the rate error. */
  readonly stretchTerm: boolean;
  /** P10: a node whose clock's rate is off neither votes nor counts votes, and votes of such a member are not counted. */
  readonly rateWatched: boolean;
  /** Rule 11: validity is computed from the clocks when asked. */
  readonly validByClock: boolean;
  /** Rule 12: votes end by monotonic time. */
  readonly votesByMonotonic: boolean;
  /** Rule 12: a holder is dead when either of its clocks says so. */
  readonly holderWatchesWall: boolean;
  /** Of differing metadata of one lease, the metadata with the highest ballot is told. */
  readonly newestMeta: boolean;
  /** Questions: a certain answer was true at all of a quorum at one instant. */
  readonly atOneInstant: boolean;
  /** Ballots too far ahead of a node's own wall clock are not believed. */
  readonly believesNearOnly: boolean;
  /** Rule 18: new grants are above every ballot accepted before. */
  readonly tokenAboveFloor: boolean;
  /** Rule 4, with a disk: a vote is on the disk before its answer leaves. */
  readonly replyAfterWrite: boolean;
  /** Rule 25: an answer waits for the write that has its vote, not for an earlier write under way. */
  readonly replyAfterItsWrite: boolean;
  /** Rule 4, with a disk: an answer waits for the head that makes the place of its vote known. */
  readonly replyAfterHead: boolean;
  /** Rule 4, with a disk: of two votes for one name that are read back, the later counts. */
  readonly laterVoteCounts: boolean;
  /** Rule 4, with a disk: a vote read back is honoured for its whole term. */
  readonly restoredInFull: boolean;
  /** Rule 7, with a disk: a vote is kept with the longest term it was given for. */
  readonly keptAsLong: boolean;
  /** Rule 18, with a disk: the floor under tokens is read back. */
  readonly floorKept: boolean;
  /** Rule 18, with a disk: the floor stays near the wall clock, where members begin that have lost their disks. */
  readonly floorNearClock: boolean;
  /** Bootstrap: a silence ends early only for the life that was asked. */
  readonly bootstrapNamesLives: boolean;
  /** Queues: a proposer that may wait and is refused stands in line. */
  readonly queues: boolean;
  /** Queues: a free lease is the first one's in line. */
  readonly turns: boolean;
  /** Queues: a ticket is above every ticket that a quorum knows. */
  readonly ticketAfterQuorum: boolean;
  /** Section 6: retries are jittered. */
  readonly jitter: boolean;
  /** Ends: a holder that gives back as of a later time stops by then. */
  readonly laterBounded: boolean;
  /** Ends: a vote that is given back as of a later time outlasts its holder, whose clock may be slower. */
  readonly laterStretched: boolean;
  /** Ends: the longest hold counts from the first message of the attempt that won. */
  readonly limitFromStart: boolean;
  /** Ends: a holder that is to be asked is asked before each renewal. */
  readonly gateAsked: boolean;
  /** Modes: a reader is not voted for beside a writer. */
  readonly readersAskWriters: boolean;
  /** Modes: a writer is not voted for beside readers. */
  readonly writersAskReaders: boolean;
  /** Modes: a reader becomes the writer only where no other reader is. */
  readonly upgradeAsksReaders: boolean;
  /** Modes: an upgrade that is refused leaves the reader's vote as it was. */
  readonly upgradeKeepsVote: boolean;
  /** Modes: an upgrade that failed gives nothing back. */
  readonly failedUpgradeKeeps: boolean;
  /** Modes: an upgraded lease lasts from the start of the upgrade, not as long as it did. */
  readonly upgradeFromStart: boolean;
  /** Modes: an upgraded lease has a new token. */
  readonly upgradeNewToken: boolean;
  /** Modes: a writer that becomes a reader is a reader before any other process hears of it. */
  readonly downgradeAtOnce: boolean;
  /** Modes: readers come above the token of a writer that has become a reader. */
  readonly downgradeRaisesFloor: boolean;
  /** Modes: a reader's token is above all writers' before it. */
  readonly readersAboveWriters: boolean;
  /** Modes: a writer's token is above all tokens before it. */
  readonly writersAboveAll: boolean;
  /** Modes: two leases never have votes for the same slot. */
  readonly slotsApart: boolean;
  /** Modes: members remember a slot for as long as it is used and then rests. */
  readonly quarantineInVote: boolean;
  /** Modes: use and rest of a slot fit the longest term, which is what a silence covers. */
  readonly quarantineFits: boolean;
  /** Modes: a slot that is to rest is given back as of the end of its quarantine. */
  readonly releaseAfterQuarantine: boolean;
  /** Line: no reader passes a waiting writer. */
  readonly readersWait: boolean;
  /** Line: a reader that waits to have the name alone stands first. */
  readonly upgradeFirst: boolean;
  /** Line: of two readers that would wait for each other one is refused. */
  readonly oneUpgrade: boolean;
  /** Hand-over: the holder has stopped before its votes go to the heir. */
  readonly handedStopsFirst: boolean;
  /** Hand-over: a proposal that waits is no vote. */
  readonly parkIsNoVote: boolean;
  /** Hand-over: the holder's vote stands until it is released. */
  readonly parkKeepsVote: boolean;
  /** Hand-over: the heir counts from its own first message. */
  readonly handedFromStart: boolean;
  /** Hand-over: an offer that came to nothing is over, and its holder is voted for as before. */
  readonly offerEnds: boolean;
  /** Views: an acceptor votes only in the very view it is in. */
  readonly viewChecked: boolean;
  /** Views: a change passes a joint view. */
  readonly jointFirst: boolean;
  /** Views: in a joint view quorums of both sides are needed. */
  readonly jointBoth: boolean;
  /** Views: a joint view ends in its new side, never in its old one. */
  readonly jointForward: boolean;
  /** Views: the id of a view is the token of the lease that it was made under. */
  readonly viewIdIsToken: boolean;
  /** Views: in a joint view terms are as short as either side has them. */
  readonly jointTerms: boolean;
  /** Views: a joint view ends once so many members of before have stored it, not once they are in it. */
  readonly sealStored: boolean;
  /** Views: they are so many that no quorum of any name is left among the others. */
  readonly sealAllButFew: boolean;
  /** Views: a joint view ends only after the longest term since then. */
  readonly sealAfterSilence: boolean;
  /** Views: a member that goes to another view keeps its votes. */
  readonly rowsStay: boolean;
  /** Views: a member that has voted for a view initiator takes views from no other process. */
  readonly gossipYields: boolean;
  /** Views: tokens of a view are above the tokens of the view before. */
  readonly viewFloor: boolean;
  /** Views: a silence is as long as the terms of the view ask for that the member is in by now. */
  readonly silenceOfView: boolean;
  /** Views: a proposer that most of its voters are behind goes back to them. */
  readonly wayBack: boolean;
  /** Views: there is half a term between views. */
  readonly viewsPaced: boolean;
  /** Bundles: in bulk only leases are renewed that the voter has in its bundle, as its vote said. */
  readonly bulkByLease: boolean;
  /** Bundles: an answer counts for the very bundle that was asked for. */
  readonly bulkByNumber: boolean;
  /** Bundles: a bundle that has run out is not renewed. */
  readonly bulkLapses: boolean;
  /** Bundles: votes of another mode than the lease has now are no reason to renew it in bulk. */
  readonly bulkByMode: boolean;
  /** Bundles: a lease given back as of a later time is not renewed in bulk. */
  readonly bulkSkipsLeaving: boolean;
  /** Bundles: leases renewed in bulk last from the start of the round. */
  readonly bulkFromStart: boolean;
  /** Bundles: all votes of a bundle are for its term, and it is renewed for no longer. */
  readonly bulkAsLongAsVotes: boolean;
  /** Bundles: a bundle is renewed only in the very view the acceptor is in. */
  readonly bulkInView: boolean;
  /** Bundles: a holder and a voter that disagree on a bundle's contents compare them. */
  readonly bulkRepairs: boolean;
  /** Bundles: a lease whose holder is to be asked is never renewed in bulk. */
  readonly bulkAsksGate: boolean;
}

export const ALL_RULES: QuorumRules = {
  attemptDeadline: true,
  keepLiveLease: true,
  ownerIsIncarnation: true,
  asksInOwnName: true,
  answersFromAsked: true,
  handlesApart: true,
  wholeNumbers: true,
  restartSilence: true,
  silenceCoversOwnVote: true,
  silenceByMonotonic: true,
  newestLives: true,
  notedFirst: true,
  silenceFromNote: true,
  distinctVoters: true,
  refusalIsNoVote: true,
  releaseByBallot: true,
  voidBeforeRelease: true,
  stopBeforeRelease: true,
  failedRenewalKeeps: true,
  neverShorten: true,
  refuseOwnLower: true,
  renewalNeedsQuorum: true,
  endIsFinal: true,
  promiseYieldsToOwner: true,
  stretchTerm: true,
  rateWatched: true,
  validByClock: true,
  votesByMonotonic: true,
  holderWatchesWall: true,
  newestMeta: true,
  atOneInstant: true,
  believesNearOnly: true,
  tokenAboveFloor: true,
  replyAfterWrite: true,
  replyAfterItsWrite: true,
  replyAfterHead: true,
  laterVoteCounts: true,
  restoredInFull: true,
  keptAsLong: true,
  floorKept: true,
  floorNearClock: true,
  bootstrapNamesLives: true,
  queues: true,
  turns: true,
  ticketAfterQuorum: true,
  jitter: true,
  laterBounded: true,
  laterStretched: true,
  limitFromStart: true,
  gateAsked: true,
  readersAskWriters: true,
  writersAskReaders: true,
  upgradeAsksReaders: true,
  upgradeKeepsVote: true,
  failedUpgradeKeeps: true,
  upgradeFromStart: true,
  upgradeNewToken: true,
  downgradeAtOnce: true,
  downgradeRaisesFloor: true,
  readersAboveWriters: true,
  writersAboveAll: true,
  slotsApart: true,
  quarantineInVote: true,
  quarantineFits: true,
  releaseAfterQuarantine: true,
  readersWait: true,
  upgradeFirst: true,
  oneUpgrade: true,
  handedStopsFirst: true,
  parkIsNoVote: true,
  parkKeepsVote: true,
  handedFromStart: true,
  offerEnds: true,
  viewChecked: true,
  jointFirst: true,
  jointBoth: true,
  jointForward: true,
  viewIdIsToken: true,
  jointTerms: true,
  sealStored: true,
  sealAllButFew: true,
  sealAfterSilence: true,
  rowsStay: true,
  gossipYields: true,
  viewFloor: true,
  silenceOfView: true,
  wayBack: true,
  viewsPaced: true,
  bulkByLease: true,
  bulkByNumber: true,
  bulkLapses: true,
  bulkByMode: true,
  bulkSkipsLeaving: true,
  bulkFromStart: true,
  bulkAsLongAsVotes: true,
  bulkInView: true,
  bulkRepairs: true,
  bulkAsksGate: true,
};
