/** The toy's messages: one byte of kind, four of request. */
import type { ToyMessage } from '../core/index.ts';
import type { ByteReader, ByteWriter } from './bytes.ts';
import type { Codec } from './codec.ts';

const KINDS = ['ask', 'yes', 'free'] as const;

export const toyCodec: Codec<ToyMessage> = {
  encode(message: ToyMessage, out: ByteWriter): void {
    out.u8(KINDS.indexOf(message.kind));
    out.u32(message.request);
  },

  decode(input: ByteReader): ToyMessage | null {
    const kind = KINDS[input.u8()];
    const request = input.u32();
    return kind === undefined || input.failed ? null : { kind, request };
  },
};
