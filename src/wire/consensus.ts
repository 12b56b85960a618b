/** The messages of consensus: the kind in a byte, then numbers, then the value. Timestamps, and rounds that may be none, are one higher, so that none is negative. */
import { invariant, type Incarnation } from '../kernel/index.ts';
import type { ConsensusMessage } from '../core/index.ts';
import type { ByteReader, ByteWriter } from './bytes.ts';
import type { Codec } from './codec.ts';

/** These numbers never change. */
const KINDS = [
  'estimate',
  'newestimate',
  'ack',
  'nack',
  'abort',
  'round',
  'decide',
  'begin',
  'gone',
  'heartbeat',
  'ask',
  'told',
] as const satisfies readonly ConsensusMessage['kind'][];
/** More members than this no consensus has. */
const MEMBERS_MAX = 255;

export const consensusCodec: Codec<ConsensusMessage> = {
  encode(message: ConsensusMessage, out: ByteWriter): void {
    out.u8(KINDS.indexOf(message.kind));
    switch (message.kind) {
      case 'heartbeat':
        out.u53(message.life);
        out.u53(message.decided);
        out.u53(message.votesFrom);
        invariant(message.counts.length <= MEMBERS_MAX, 'a consensus has at most 255 members');
        out.u8(message.counts.length);
        for (const count of message.counts) out.u53(count);
        return;
      case 'ask':
        return out.u53(message.life);
      case 'told':
        out.u53(message.life);
        return out.u53(message.bound);
      default:
        return encodeOfInstance(message, out);
    }
  },

  decode(input: ByteReader): ConsensusMessage | null {
    const kind = KINDS[input.u8()];
    const message = kind === undefined ? null : decoded(kind, input);
    return input.failed ? null : message;
  },
};

type OfInstance = Extract<ConsensusMessage, { readonly instance: number }>;

function encodeOfInstance(message: OfInstance, out: ByteWriter): void {
  out.u53(message.instance);
  if (message.kind === 'gone') return;
  out.u53(message.kind === 'begin' ? message.round + 1 : message.round);
  if (message.kind === 'estimate') out.u53(message.ts + 1);
  if (!('value' in message)) return;
  const { value } = message;
  if (message.kind === 'decide') out.u8(Number(value !== null));
  if (value === null) return;
  out.u32(value.length);
  out.raw(value, 0, value.length);
}

function decoded(kind: ConsensusMessage['kind'], input: ByteReader): ConsensusMessage {
  switch (kind) {
    case 'heartbeat': {
      const life = input.u53() as Incarnation;
      const [decided, votesFrom] = [input.u53(), input.u53()];
      return { kind, life, decided, votesFrom, counts: Array.from({ length: input.u8() }, () => input.u53()) };
    }
    case 'ask':
      return { kind, life: input.u53() as Incarnation };
    case 'told':
      return { kind, life: input.u53() as Incarnation, bound: input.u53() };
    case 'gone':
      return { kind, instance: input.u53() };
    case 'begin':
      return { kind, instance: input.u53(), round: input.u53() - 1 };
    case 'estimate': {
      const [instance, round, ts] = [input.u53(), input.u53(), input.u53() - 1];
      return { kind, instance, round, ts, value: valueOf(input) };
    }
    case 'newestimate': {
      const [instance, round] = [input.u53(), input.u53()];
      return { kind, instance, round, value: valueOf(input) };
    }
    case 'decide': {
      const [instance, round] = [input.u53(), input.u53()];
      return { kind, instance, round, value: input.u8() === 1 ? valueOf(input) : null };
    }
    default: {
      const [instance, round] = [input.u53(), input.u53()];
      return { kind, instance, round };
    }
  }
}

/** A view into the frame: a core that keeps it copies it. */
function valueOf(input: ByteReader): Uint8Array {
  const length = input.u32();
  const start = input.skip(length);
  return input.failed ? input.bytes.subarray(0, 0) : input.bytes.subarray(start, start + length);
}
