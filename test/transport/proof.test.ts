/** Proofs of the secret: what they are made of, how they are compared, and that none can be used twice. */
import { timingSafeEqual } from 'node:crypto';
import type * as Crypto from 'node:crypto';
import { expect, test, vi } from 'vitest';
import { nodeId } from '../../src/kernel/index.ts';
import { Witness } from '../../src/transport/conformance.ts';
import { sameProof, Transcript } from '../../src/transport/tcp/proof.ts';
import { ByteReader, CHALLENGE, readChallenge } from '../../src/wire/index.ts';
import { TcpCell } from './cell.ts';
import { RawPeer } from './raw-peer.ts';

vi.mock('node:crypto', async (importOriginal) => {
  const crypto = await importOriginal<typeof Crypto>();
  return { ...crypto, timingSafeEqual: vi.fn<typeof crypto.timingSafeEqual>(crypto.timingSafeEqual) };
});

const SECRET = Buffer.from('the secret of the members');

function transcript(...frames: string[]): Transcript {
  const made = new Transcript();
  for (const frame of frames) made.add(Buffer.from(frame));
  return made;
}

test('a proof is of one side, one secret and every frame in its order', () => {
  const proofs = [
    transcript('hello', 'challenge').prove(SECRET, 'dial'),
    transcript('hello', 'challenge').prove(SECRET, 'accept'),
    transcript('challenge', 'hello').prove(SECRET, 'dial'),
    transcript('hello').prove(SECRET, 'dial'),
    transcript('hello', 'challenge').prove(Buffer.from('another secret'), 'dial'),
  ].map((proof) => Buffer.from(proof).toString('hex'));
  expect(new Set(proofs).size).toBe(proofs.length);
});

test('proofs are compared in a time that says nothing about where they differ', () => {
  const proof = transcript('hello').prove(SECRET, 'dial');
  const other = Uint8Array.from(proof);
  other[31] = (other[31] as number) ^ 1;
  vi.mocked(timingSafeEqual).mockClear();
  expect(sameProof(proof, Uint8Array.from(proof))).toBe(true);
  expect(sameProof(proof, other)).toBe(false);
  expect(sameProof(proof, proof.subarray(1))).toBe(false);
  // Those of the same length are compared byte for byte, whatever they begin with.
  expect(timingSafeEqual).toHaveBeenCalledTimes(2);
});

test('no two challenges are alike, and none is empty', async () => {
  const cell = await TcpCell.of('a');
  const member = cell.transport('member', 'a');
  await member.open(new Witness(member));
  const nonces: string[] = [];
  for (let i = 0; i < 4; i++) {
    const peer = new RawPeer(cell.port('a'));
    peer.hello();
    const frame = await peer.frame(CHALLENGE);
    const input = new ByteReader();
    input.reset(frame, 5, frame.length);
    nonces.push(Buffer.from(readChallenge(input)?.nonce ?? []).toString('hex'));
    peer.socket.destroy();
  }
  await member.close();
  expect(new Set(nonces).size).toBe(4);
  expect(nonces.every((nonce) => /[1-9a-f]/.test(nonce))).toBe(true);
  expect(member.peerStats(nodeId(0))).toBeNull();
});
