/** The messages of atomic broadcast as bytes: there and back, and whatever else comes over a wire. */
import { describe, expect, it } from 'vitest';
import * as fc from 'fast-check';
import { incarnation } from '../../src/kernel/index.ts';
import {
  BROADCAST_CONSENSUS_LANE,
  BROADCAST_FAST_LANE,
  BROADCAST_OWN_LANE,
  CONSENSUS_LANE,
  type BroadcastMessage,
  type BroadcastOwnMessage,
  type BroadcastStanding,
} from '../../src/core/index.ts';
import { broadcastCodec, ByteReader, ByteWriter } from '../../src/wire/index.ts';

const count = fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER });
const life = count.map(incarnation);
const bytes = fc.uint8Array({ maxLength: 600 });
const pieces = fc.array(fc.record({ instance: count, position: count, groups: bytes }), { maxLength: 4 });
const members = fc.array(fc.integer({ min: 0, max: 200 }), { maxLength: 5 });
const kind = <Kind extends BroadcastOwnMessage['kind']>(name: Kind): fc.Arbitrary<Kind> => fc.constant(name);

const own: fc.Arbitrary<BroadcastOwnMessage> = fc.oneof(
  fc.record({ kind: kind('publish'), group: bytes }),
  fc.record({ kind: kind('published'), origin: life, first: count, count, position: count, epoch: count }),
  fc.record({ kind: kind('look') }),
  fc.record({ kind: kind('end'), first: count, last: count, epoch: count }),
  fc.record({ kind: kind('read'), reader: count, after: count, bytesMax: count, name: fc.option(bytes) }),
  fc.record({ kind: kind('forget'), reader: count }),
  fc.record({ kind: kind('page'), reader: count, after: count, upTo: count, epoch: count, pieces }),
  fc.record({ kind: kind('gone'), reader: count, after: count, first: count }),
  fc.record({ kind: kind('copy'), after: count }),
  fc.record({ kind: kind('copied'), after: count, first: count, pieces }),
  fc.record({ kind: kind('fetch'), name: bytes, after: count, position: count, at: count }),
  fc.record({ kind: kind('part'), name: bytes, position: count, at: count, size: count, bytes }),
  fc.record({ kind: kind('epoch'), epoch: count }),
  fc.record({ kind: kind('found'), act: count }),
  fc.record({ kind: kind('founded'), act: count, life, epoch: count, logged: count, position: count, decided: count, votesFrom: count }),
  fc.record({ kind: kind('begin'), act: count, life, epoch: count, start: count, position: count }),
  fc.record({ kind: kind('begun'), act: count, epoch: count }),
  fc.record({ kind: kind('renew'), waitUs: count }),
  fc.record({ kind: kind('renewed'), ok: fc.boolean(), epoch: count, absent: members, barred: members }),
  fc.record({ kind: kind('survey') }),
  fc.record({
    kind: kind('surveyed'),
    standing: fc.constantFrom<BroadcastStanding[]>('reading', 'blank', 'asking', 'abstaining', 'behind', 'ready', 'failed', 'silent'),
    epoch: count,
    first: count,
    last: count,
    without: members,
  }),
);
const inner = fc.record({ kind: fc.constant('newestimate' as const), instance: count, round: count, value: bytes });
const message: fc.Arbitrary<BroadcastMessage> = fc.oneof(
  own.map((one): BroadcastMessage => ({ lane: BROADCAST_OWN_LANE, message: one })),
  fc.tuple(inner, count).map(([one, epoch]): BroadcastMessage => ({ lane: BROADCAST_CONSENSUS_LANE, epoch, message: one })),
  fc
    .tuple(inner, count)
    .map(([one, epoch]): BroadcastMessage => ({ lane: BROADCAST_FAST_LANE, epoch, message: { lane: CONSENSUS_LANE, message: one } })),
);

/** At the end, where earlier versions have nothing. */
function hasAddedEpoch(one: BroadcastMessage): boolean {
  return one.lane === BROADCAST_OWN_LANE && (one.message.kind === 'end' || one.message.kind === 'published');
}

function encoded(one: BroadcastMessage): Uint8Array {
  const out = new ByteWriter();
  broadcastCodec().encode(one, out);
  return out.bytes.slice(0, out.length);
}

function decoded(from: Uint8Array): BroadcastMessage | null {
  const input = new ByteReader();
  input.reset(from, 0, from.length);
  return broadcastCodec().decode(input);
}

describe('the codec of atomic broadcast', () => {
  it('brings every message back', () => {
    fc.assert(
      fc.property(message, (one) => {
        // The record tells of an epoch 0 where a message has none.
        expect(decoded(encoded(one))).toEqual({ epoch: 0, ...one });
      }),
    );
  });

  it('reads nothing from a message that was cut', () => {
    fc.assert(
      fc.property(message, fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }), (one, part) => {
        const whole = encoded(one);
        const length = Math.floor(whole.length * part);
        fc.pre(!hasAddedEpoch(one) || length !== whole.length - 8);
        expect(decoded(whole.subarray(0, length))).toBeNull();
      }),
    );
  });

  it('reads the answers of a member of an earlier version, which tells no epoch', () => {
    const end: BroadcastMessage = { lane: BROADCAST_OWN_LANE, message: { kind: 'end', first: 3, last: 7, epoch: 9 } };
    expect(decoded(encoded(end).subarray(0, -8))).toEqual({ lane: BROADCAST_OWN_LANE, epoch: 0, message: { ...end.message, epoch: 0 } });
  });

  it('survives anything', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (junk) => {
        const read = decoded(junk);
        expect(read === null ? null : decoded(encoded({ ...read }))).toEqual(read);
      }),
    );
  });
});
