/** What a liar among the clients of a consensus says: what members say, with other values, rounds and instances. */
import { incarnation } from '../../../kernel/index.ts';
import type { ConsensusMessage } from '../../../core/index.ts';
import type { Forger, LiarGround } from '../../protocol.ts';
import { encoded } from './user.ts';

export const consensusForger: Forger<ConsensusMessage> = {
  lie(overheard: ConsensusMessage | null, ground: LiarGround): ConsensusMessage {
    const choose = (bound: number): number => ground.choose(bound);
    const value = encoded(`lie.${choose(1000)}`);
    const near = (number: number): number => Math.max(0, number + choose(3) - 1);
    const instance = overheard && 'instance' in overheard ? near(overheard.instance) : choose(20);
    const round = overheard && 'round' in overheard ? near(overheard.round) : choose(10);
    switch (choose(6)) {
      case 0:
        return { kind: 'decide', instance, round, value };
      case 1:
        return { kind: 'newestimate', instance, round, value };
      case 2:
        return { kind: 'estimate', instance, round, ts: near(round), value };
      case 3:
        return { kind: 'ack', instance, round };
      case 4:
        return { kind: 'told', life: incarnation(1 + choose(20)), bound: 0 };
      default:
        return overheard ?? { kind: 'gone', instance };
    }
  },
  pleasing(asked: ConsensusMessage): ConsensusMessage | null {
    if (asked.kind === 'newestimate') return { kind: 'ack', instance: asked.instance, round: asked.round };
    if (asked.kind === 'ask') return { kind: 'told', life: asked.life, bound: 0 };
    return null;
  },
};
