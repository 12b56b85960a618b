/** Messages of cores inside a core: the lane in one byte, then the message in the codec of that lane. */
import { invariant } from '../kernel/index.ts';
import type { LaneMessage } from '../core/index.ts';
import type { Codec } from './codec.ts';

/** A codec for each lane, by its number. */
export type LaneCodecs<Message extends LaneMessage<number, unknown>> = {
  readonly [Lane in Message['lane']]: Codec<Extract<Message, { readonly lane: Lane }>['message']>;
};

/** Like the codecs it is made of, it hands out the same record every time. */
export function lanesCodec<Message extends LaneMessage<number, unknown>>(codecs: LaneCodecs<Message>): Codec<Message> {
  const byLane: readonly (Codec<unknown> | undefined)[] = Array.from({ length: 256 }, (_, lane) => codecs[lane as Message['lane']]);
  const read: { lane: number; message: unknown } = { lane: 0, message: null };
  return {
    encode({ lane, message }, out) {
      const codec = byLane[lane];
      invariant(codec !== undefined, 'a message is in a lane that has no codec');
      out.u8(lane);
      codec.encode(message, out);
    },
    decode(input) {
      const lane = input.u8();
      const message = input.failed ? null : (byLane[lane]?.decode(input) ?? null);
      if (message === null) return null;
      read.lane = lane;
      read.message = message;
      return read as Message;
    },
  };
}
