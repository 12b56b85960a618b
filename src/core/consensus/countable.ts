/** Numbers that no member ever says. Members trust each other, but a broken member must not make another count for ever. */
import type { ConsensusMessage } from './messages.ts';

/** Far above all that ever comes to be, and far below where counting ends. */
const NUMBER_MAX = 2 ** 52;

/** Rounds and accusations are counted on from numbers heard. Where integers end, adding one changes nothing, and looking for the next round would never end. */
export function isCountable(message: ConsensusMessage): boolean {
  switch (message.kind) {
    case 'heartbeat':
      return message.decided <= NUMBER_MAX && message.counts.every((count) => count <= NUMBER_MAX);
    case 'ask':
      return true;
    case 'told':
      return message.bound <= NUMBER_MAX;
    default:
      return message.instance <= NUMBER_MAX && (message.kind === 'gone' || message.round <= NUMBER_MAX);
  }
}
