import { describe, expect, it } from 'vitest';
import {
  ACCEPTED,
  ANSWER,
  BIND,
  BOUND,
  BUNDLE_LEARNED,
  deriveTiming,
  FREE,
  GO,
  GONE,
  IN_LINE,
  INVITE,
  KIND_NAMES,
  LEARN,
  LEARNED,
  LINE,
  LINE_TOLD,
  LIST,
  LISTED,
  NO_BUNDLE,
  NOTE,
  NOTED,
  OFFER,
  PAGED,
  PREPARE,
  PROMISED,
  PROPOSE,
  QUERY,
  QuorumCore,
  QuorumMessage,
  READY,
  REFUSED,
  RELEASE,
  RELEASED,
  RENEW,
  RENEWED,
  STATUS,
  STATUS_TOLD,
  UNFOLD,
  UNFOLDED,
  UNWAIT,
  VIEW_NAME,
  VIEW_TOLD,
  WAIT,
  WANTED_TOLD,
  WATCH,
  type Sender,
} from '../../../src/core/index.ts';
import { incarnation, nodeId } from '../../../src/kernel/index.ts';

const REQUESTS = [PREPARE, PROPOSE, RELEASE, QUERY, LIST, WAIT, UNWAIT, WATCH, LEARN, STATUS, OFFER, LINE, RENEW, UNFOLD];
const OF_MEMBERS = [BIND, GO];
/** Not even whoever knows the members' secret says these. */
const OF_MEMBERS_ALONE = [NOTE, VIEW_TOLD];
const ANSWERS = [
  PROMISED,
  ACCEPTED,
  REFUSED,
  RELEASED,
  ANSWER,
  LISTED,
  PAGED,
  FREE,
  IN_LINE,
  LEARNED,
  STATUS_TOLD,
  BOUND,
  GONE,
  NOTED,
  INVITE,
  READY,
  LINE_TOLD,
  RENEWED,
  NO_BUNDLE,
  UNFOLDED,
  BUNDLE_LEARNED,
  WANTED_TOLD,
];

const MEMBER: Sender = { node: nodeId(1), incarnation: incarnation(11), isAdmin: false };
const CLIENT: Sender = { node: nodeId(5), incarnation: incarnation(15), isAdmin: false };
const ADMIN: Sender = { ...CLIENT, isAdmin: true };

const timing = deriveTiming({ maxTermUs: 10_000_000, rateErrorPpm: 1000, rttUs: 1000 });
const core = new QuorumCore(
  { memberKeys: [1, 2, 3], timing },
  { self: nodeId(0), incarnation: incarnation(10), restarted: false, diskKept: false },
);

function admitted(kinds: readonly number[], sender: Sender, owner: number, name?: Uint8Array): string[] {
  return kinds
    .filter((kind) => {
      const message = new QuorumMessage();
      message.kind = kind;
      message.owner = incarnation(owner);
      if (name) message.setName(name, 0, name.length);
      return core.admits(sender, message);
    })
    .map((kind) => KIND_NAMES[kind] ?? '');
}

const namesOf = (kinds: readonly number[]): string[] => kinds.map((kind) => KIND_NAMES[kind] ?? '');

describe('who may say what to a node of the quorum engine', () => {
  it('knows every kind of message', () => {
    const all = [...REQUESTS, ...OF_MEMBERS, ...OF_MEMBERS_ALONE, ...ANSWERS].sort((a, b) => a - b);
    expect(namesOf(all)).toEqual(KIND_NAMES.slice(1));
  });

  it('hears requests in the name of the incarnation that sends them', () => {
    for (const sender of [MEMBER, CLIENT, ADMIN]) expect(admitted(REQUESTS, sender, sender.incarnation)).toEqual(namesOf(REQUESTS));
  });

  it('hears no request in the name of another incarnation, whoever sends it', () => {
    for (const sender of [MEMBER, CLIENT, ADMIN]) expect(admitted([...REQUESTS, ...OF_MEMBERS], sender, 99)).toEqual([]);
  });

  it('hears answers from members only', () => {
    expect(admitted(ANSWERS, MEMBER, 10)).toEqual(namesOf(ANSWERS));
    expect(admitted(ANSWERS, CLIENT, 10)).toEqual([]);
    expect(admitted(ANSWERS, ADMIN, 10)).toEqual([]);
  });

  it('hears of lives and views from members alone: what is noted cannot be taken back', () => {
    expect(admitted(OF_MEMBERS_ALONE, MEMBER, MEMBER.incarnation)).toEqual(namesOf(OF_MEMBERS_ALONE));
    expect(admitted(OF_MEMBERS_ALONE, MEMBER, 99)).toEqual([]);
    expect(admitted(OF_MEMBERS_ALONE, ADMIN, ADMIN.incarnation)).toEqual([]);
    expect(admitted(OF_MEMBERS_ALONE, CLIENT, CLIENT.incarnation)).toEqual([]);
  });

  it('hears of the lease of views what asks, and the rest from members and from whoever knows their secret', () => {
    const named = [PREPARE, PROPOSE, RELEASE, QUERY, LIST, WAIT, UNWAIT, WATCH, LEARN, OFFER, LINE];
    for (const sender of [MEMBER, ADMIN]) expect(admitted(named, sender, sender.incarnation, VIEW_NAME)).toEqual(namesOf(named));
    expect(admitted(named, CLIENT, CLIENT.incarnation, VIEW_NAME)).toEqual(namesOf([QUERY, LIST, WATCH, LINE]));
  });

  it('ends a silence early for members and for whoever knows their secret', () => {
    expect(admitted(OF_MEMBERS, MEMBER, MEMBER.incarnation)).toEqual(namesOf(OF_MEMBERS));
    expect(admitted(OF_MEMBERS, ADMIN, ADMIN.incarnation)).toEqual(namesOf(OF_MEMBERS));
    expect(admitted(OF_MEMBERS, CLIENT, CLIENT.incarnation)).toEqual([]);
  });
});
