/** The messages of the round-based register: kind and action in a byte, then ballots and a value. */
import { ballotTime, type Incarnation } from '../kernel/index.ts';
import type { RoundsRegisterMessage } from '../core/index.ts';
import type { ByteReader, ByteWriter } from './bytes.ts';
import type { Codec } from './codec.ts';

const KINDS = ['ask', 'ack', 'nack'] as const;
const ACTIONS = ['read', 'write'] as const;

export const roundsRegisterCodec: Codec<RoundsRegisterMessage> = {
  encode({ kind, action, time, by, written, writer, value }: RoundsRegisterMessage, out: ByteWriter): void {
    out.u8(KINDS.indexOf(kind) * ACTIONS.length + ACTIONS.indexOf(action));
    for (const word of [time, by, written, writer, value]) out.u53(word);
  },

  decode(input: ByteReader): RoundsRegisterMessage | null {
    const first = input.u8();
    const kind = KINDS[Math.floor(first / ACTIONS.length)];
    const action = ACTIONS[first % ACTIONS.length];
    const time = ballotTime(input.u53());
    const by = input.u53() as Incarnation;
    const written = ballotTime(input.u53());
    const writer = input.u53() as Incarnation;
    const value = input.u53();
    return kind === undefined || action === undefined || input.failed ? null : { kind, action, time, by, written, writer, value };
  },
};
