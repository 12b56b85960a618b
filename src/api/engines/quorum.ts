/** The quorum engine, Tenure's own: relative terms, one round trip, queues, lists and watches. */
import { deriveTiming, QuorumCore } from '../../core/index.ts';
import { Driver } from '../../runtime/index.ts';
import { quorumCodec } from '../../wire/index.ts';
import type { Abilities, Engine, EngineGround, RunningEngine, TermOptions } from './engine.ts';
import { RTT_US } from '../cell/options.ts';

const ABILITIES: Abilities = {
  ordered: true,
  renew: true,
  releaseLater: false,
  watch: 'prefix',
  list: true,
  status: true,
  bootstrap: true,
  dataDir: true,
};

export function quorumEngine(terms: TermOptions): Engine {
  const timing = deriveTiming({ rttUs: RTT_US, ...terms });
  return {
    name: 'quorum',
    text: 'quorum',
    timing,
    skewUs: 0,
    config: { engine: 'quorum' },
    can: ABILITIES,
    run(ground: EngineGround): RunningEngine {
      const { memberKeys, replication, keeps, hashKey, limits, succession, boot } = ground;
      const core = new QuorumCore({ memberKeys, replication, timing, keeps, hashKey, limits, succession }, boot);
      const driver = new Driver({
        ...ground,
        core,
        codec: quorumCodec(),
        ownCodec: quorumCodec(),
        self: boot.self,
      });
      return { driver, core };
    },
  };
}
