/**
 * The identity of a process: a key pair that it makes at its start and never shows or stores. Its incarnation is derived from the
 * public key, so no process has to remember which key belongs to which incarnation; a process that claims an incarnation signs
 * the whole handshake, both nonces included. A second connection takes an incarnation over only if it is
 * the same process.
 */
import { createHash, createPublicKey, generateKeyPairSync, sign, verify, type KeyObject } from 'node:crypto';
import { incarnation, type Incarnation } from '../../kernel/index.ts';
import { KEY_BYTES } from '../../wire/index.ts';

/** What stands before the bytes of an Ed25519 public key in DER. */
const DER_HEADER = Buffer.from('302a300506032b6570032100', 'hex');
const WORD_BYTES = 6;
const MORE_BITS = 5;

export class Identity {
  readonly key: Uint8Array;
  readonly incarnation: Incarnation;
  readonly #privateKey: KeyObject;

  constructor() {
    const { publicKey, privateKey } = generateKeyPairSync('ed25519');
    this.key = Uint8Array.from(publicKey.export({ format: 'der', type: 'spki' }).subarray(-KEY_BYTES));
    this.incarnation = incarnationOf(this.key);
    this.#privateKey = privateKey;
  }

  sign(bytes: Uint8Array): Uint8Array {
    return sign(null, bytes, this.#privateKey);
  }
}

/** 53 bits of the key's hash, and never 0: as good as drawn at random, and another for every key. */
function incarnationOf(key: Uint8Array): Incarnation {
  const digest = createHash('sha256').update(key).digest();
  const more = (digest[WORD_BYTES] as number) >>> (8 - MORE_BITS);
  return incarnation(Math.max(1, digest.readUIntBE(0, WORD_BYTES) * 2 ** MORE_BITS + more));
}

/** Whether the key is the incarnation's, and its owner signed these bytes. */
export function isProved(who: Incarnation, key: Uint8Array, bytes: Uint8Array, signature: Uint8Array): boolean {
  if (incarnationOf(key) !== who) return false;
  try {
    const publicKey = createPublicKey({ key: Buffer.concat([DER_HEADER, key]), format: 'der', type: 'spki' });
    return verify(null, bytes, publicKey, signature);
  } catch {
    // Not every 32 bytes are a key.
    return false;
  }
}
