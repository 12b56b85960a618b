import { describe, expect, it } from 'vitest';
import { deriveRoundTiming, RoundCore, roundKinds, RoundMessage, type Sender } from '../../../src/core/index.ts';
import { incarnation, nodeId } from '../../../src/kernel/index.ts';

const {
  READ,
  ACK_READ,
  WRITE,
  ACK_WRITE,
  NACK,
  ROUND_RELEASE: RELEASE,
  ACK_RELEASE,
  ROUND_LEARN: LEARN,
  ROUND_WATCH: WATCH,
  PASSED_ON,
} = roundKinds;
const REQUESTS = [READ, WRITE, RELEASE, WATCH];
const ANSWERS = [ACK_READ, ACK_WRITE, NACK, ACK_RELEASE];

const MEMBER: Sender = { node: nodeId(1), incarnation: incarnation(11), isAdmin: false };
const CLIENT: Sender = { node: nodeId(5), incarnation: incarnation(15), isAdmin: true };

const core = new RoundCore(
  {
    engine: 'paxoslease',
    algorithm: 4,
    memberKeys: [1, 2, 3],
    timing: deriveRoundTiming({ maxTermUs: 10_000_000, rateErrorPpm: 0, rttUs: 1000, clocks: 'relative', skewUs: 0, skewsInSilence: 1 }),
  },
  { self: nodeId(0), incarnation: incarnation(10), restarted: false, diskKept: false },
);

function admits(sender: Sender, fields: Partial<RoundMessage>): boolean {
  return core.admits(sender, Object.assign(new RoundMessage(), fields));
}

describe('who may say what to a node of Flease or PaxosLease', () => {
  it('hears requests in the name of the incarnation that sends them, and of no other', () => {
    for (const sender of [MEMBER, CLIENT]) {
      for (const kind of REQUESTS) {
        expect(admits(sender, { kind, owner: sender.incarnation, holder: sender.incarnation })).toBe(true);
        expect(admits(sender, { kind, owner: incarnation(99) })).toBe(false);
      }
    }
  });

  it('lets PaxosLease’s owners propose their own leases only', () => {
    expect(admits(CLIENT, { kind: WRITE, owner: CLIENT.incarnation, holder: incarnation(99) })).toBe(false);
  });

  it('hears answers from members only', () => {
    for (const kind of ANSWERS) {
      expect(admits(MEMBER, { kind, owner: incarnation(10) })).toBe(true);
      expect(admits(CLIENT, { kind, owner: incarnation(10) })).toBe(false);
    }
  });

  it('learns of a lease from its owner, or from a member that passes it on', () => {
    const { incarnation: own } = CLIENT;
    expect(admits(CLIENT, { kind: LEARN, owner: own, holder: own })).toBe(true);
    expect(admits(CLIENT, { kind: LEARN, owner: own, holder: incarnation(99) })).toBe(false);
    expect(admits(CLIENT, { kind: LEARN, owner: incarnation(99), holder: incarnation(99) })).toBe(false);
    expect(admits(CLIENT, { kind: LEARN, flags: PASSED_ON, owner: incarnation(10), holder: incarnation(99) })).toBe(false);
    expect(admits(MEMBER, { kind: LEARN, flags: PASSED_ON, owner: incarnation(10), holder: incarnation(99) })).toBe(true);
  });
});
