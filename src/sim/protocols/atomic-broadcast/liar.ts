/** What a liar among the clients of a broadcast says: messages of others that they never published, and what members say to each other. */
import { incarnation } from '../../../kernel/index.ts';
import { BROADCAST_OWN_LANE, groupBytes, type BroadcastMessage, type BroadcastOwnMessage } from '../../../core/index.ts';
import type { Forger, LiarGround } from '../../protocol.ts';

export const broadcastForger: Forger<BroadcastMessage> = {
  lie(overheard: BroadcastMessage | null, ground: LiarGround): BroadcastMessage {
    if (overheard && ground.choose(4) === 0) return overheard;
    return { lane: BROADCAST_OWN_LANE, message: ownLie(ground) };
  },
  pleasing: (): BroadcastMessage | null => null,
};

function ownLie(ground: LiarGround): BroadcastOwnMessage {
  const choose = (bound: number): number => ground.choose(bound);
  switch (choose(5)) {
    case 0:
      return { kind: 'copied', after: choose(10), first: 1, pieces: [] };
    case 1:
      return { kind: 'epoch', epoch: 2 ** 40 + choose(10) };
    case 2:
      return { kind: 'begin', act: choose(100), life: incarnation(1 + choose(10)), epoch: 2 ** 40, start: 0, position: 0 };
    case 3:
      return { kind: 'copy', after: choose(10) };
    default: {
      const others = Array.from({ length: 12 }, (_, i) => i + 1).filter((life) => life !== ground.boot.incarnation);
      const origin = incarnation(others[choose(others.length)] ?? 1);
      const first = 1 + choose(6);
      const message = Uint8Array.from('lie', (character) => character.charCodeAt(0));
      return {
        kind: 'publish',
        group: groupBytes({ origin, since: choose(3), base: first, first }, new Uint8Array(0), [{ name: new Uint8Array(0), message }]),
      };
    }
  }
}
