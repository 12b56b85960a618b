/** The codec of consensus: each kind there and back, and nothing out of bytes that are cut short. */
import { describe, expect, it } from 'vitest';
import { incarnation } from '../../src/kernel/index.ts';
import type { ConsensusMessage } from '../../src/core/index.ts';
import { ByteReader, ByteWriter, consensusCodec } from '../../src/wire/index.ts';

const value = Uint8Array.of(1, 2, 3);
const FAR = 2 ** 53 - 2;

const MESSAGES: readonly ConsensusMessage[] = [
  { kind: 'estimate', instance: 1, round: 0, ts: -1, value },
  { kind: 'estimate', instance: FAR, round: FAR, ts: FAR, value: new Uint8Array(0) },
  { kind: 'newestimate', instance: 2, round: 3, value },
  { kind: 'ack', instance: 2, round: 3 },
  { kind: 'nack', instance: 2, round: 3 },
  { kind: 'abort', instance: 2, round: 3 },
  { kind: 'round', instance: 2, round: 3 },
  { kind: 'decide', instance: 2, round: 3, value },
  { kind: 'begin', instance: 2, round: -1 },
  { kind: 'begin', instance: 2, round: 0 },
  { kind: 'gone', instance: 9 },
  { kind: 'heartbeat', life: incarnation(7), decided: 0, votesFrom: FAR, counts: [0, 1, FAR] },
  { kind: 'ask', life: incarnation(7) },
  { kind: 'told', life: incarnation(7), bound: 12 },
];

function encoded(message: ConsensusMessage): Uint8Array {
  const out = new ByteWriter();
  consensusCodec.encode(message, out);
  return out.bytes.slice(0, out.length);
}

function decoded(bytes: Uint8Array): ConsensusMessage | null {
  const reader = new ByteReader();
  reader.reset(bytes, 0, bytes.length);
  return consensusCodec.decode(reader);
}

describe.each(MESSAGES.map((message) => ({ kind: message.kind, message })))('$kind', ({ message }) => {
  it('comes back as it was', () => {
    expect(decoded(encoded(message))).toEqual(message);
  });

  it('is nothing if any of it is missing', () => {
    const bytes = encoded(message);
    for (let length = 0; length < bytes.length; length++) expect(decoded(bytes.slice(0, length))).toBeNull();
  });
});

it('knows no other kinds', () => {
  expect(decoded(Uint8Array.of(12, ...encoded(MESSAGES[0] as ConsensusMessage).slice(1)))).toBeNull();
});

it('has a test for each kind', () => {
  expect(new Set(MESSAGES.map(({ kind }) => kind)).size).toBe(12);
});
