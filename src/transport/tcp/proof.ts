/**
 * Proofs that a side knows the secret: HMAC-SHA256 over everything said so far, both nonces included. The two
 * sides prove under different labels, so that neither can be answered with its own proof.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';

/** Every frame of a handshake as it was sent, fields that this side does not know included. */
export class Transcript {
  readonly #frames: Uint8Array[] = [];

  add(frame: Uint8Array): void {
    this.#frames.push(frame);
  }

  /** Adds a frame that came in; its header is put back, so that both sides count the same bytes. */
  addReceived(kind: number, bytes: Uint8Array, start: number, end: number): void {
    const frame = Buffer.alloc(5 + end - start);
    frame.writeUInt32LE(1 + end - start, 0);
    frame[4] = kind;
    frame.set(bytes.subarray(start, end), 5);
    this.add(frame);
  }

  /** Empty where there is no secret. */
  prove(secret: Uint8Array | undefined, side: 'dial' | 'accept'): Uint8Array {
    if (secret === undefined) return new Uint8Array(0);
    const hmac = createHmac('sha256', secret).update(`tenure handshake 1 ${side}\n`);
    for (const frame of this.#frames) hmac.update(frame);
    return hmac.digest();
  }

  /** What a side signs with the key of its incarnation. */
  toSign(side: 'dial' | 'accept'): Uint8Array {
    return Buffer.concat([Buffer.from(`tenure identity 2 ${side}\n`), ...this.#frames]);
  }
}

/** In a time that says nothing about where they differ. */
export function sameProof(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && timingSafeEqual(a, b);
}
