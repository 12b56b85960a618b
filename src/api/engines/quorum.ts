/** The quorum engine, Tenure's own: relative terms, one round trip, queues, lists and watches. */
import { deriveTiming, MEMBER_NUMBERS, QuorumCore } from '../../core/index.ts';
import { quorumCodec } from '../../wire/index.ts';
import { drive, type CellAbilities, type EngineKind } from './engine.ts';
import { RTT_US } from './terms.ts';

const ABILITIES: CellAbilities = {
  ordered: true,
  renew: true,
  releaseLater: true,
  endEarly: true,
  shared: true,
  changeMode: true,
  handOver: true,
  slots: true,
  watch: 'prefix',
  list: true,
  status: true,
  bootstrap: true,
  dataDir: true,
  views: true,
};

export const quorum: EngineKind<object> = {
  name: 'quorum',
  options: [],
  texts: ['quorum'],
  clockless: 'quorum',
  parse: (variant, { skew }) => (variant === undefined && skew === undefined ? {} : null),
  lackingSkew: () => null,
  make(_options, terms) {
    const timing = deriveTiming({ rttUs: RTT_US, ...terms });
    return {
      name: 'quorum',
      text: 'quorum',
      timing,
      skewUs: 0,
      can: ABILITIES,
      run(ground) {
        const { memberKeys, replication, keeps, hashKey, limits, succession, boot, start } = ground;
        const views = { view: start?.view, isViewStored: start?.isStored, memberNumbers: MEMBER_NUMBERS };
        const core = new QuorumCore({ memberKeys, replication, timing, keeps, hashKey, limits, succession, bundles: true, ...views }, boot);
        return drive(ground, core, quorumCodec, core);
      },
    };
  },
};
