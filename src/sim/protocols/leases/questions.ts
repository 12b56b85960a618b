/** What a simulated application wants to know: the questions it asks of a quorum, what its learner believes, and what the history is told of both. */
import { decodeName, type MonoUs, type WallUs } from '../../../kernel/index.ts';
import type { QuorumCommand, QuorumEvent } from '../../../core/index.ts';
import type { Desk } from '../../protocol.ts';

type AnsweredEvent = Extract<QuorumEvent, { kind: 'answered' }>;
type ListedEvent = Extract<QuorumEvent, { kind: 'listed' }>;
type Holder = AnsweredEvent['holder'];

const NO_PREFIX = new Uint8Array(0);

interface Resource {
  readonly text: string;
  readonly bytes: Uint8Array;
}

/** Of the user that asks. */
interface Asking {
  /** Never the same twice. */
  number(): number;
  later(spanUs: number, act: () => void): void;
}

interface Believer {
  /** The token of the lease its learner believes in; 0 if in none. */
  believed?(name: Uint8Array, mono: MonoUs, wall: WallUs): number;
}

export class ApplicationQuestions {
  readonly #desk: Desk<QuorumCommand>;
  readonly #asking: Asking;
  /** Names that were asked about, by the number of the question. */
  readonly #names = new Map<number, string>();

  constructor(desk: Desk<QuorumCommand>, asking: Asking) {
    this.#desk = desk;
    this.#asking = asking;
  }

  /** Until the world heals, so often that one is open at nearly every moment in which something happens. */
  wonder(resources: readonly Resource[], maxTermUs: number): void {
    const desk = this.#desk;
    this.#asking.later(1 + desk.choose(Math.floor(maxTermUs / 25)), () => {
      if (desk.healed) return;
      if (desk.choose(4) === 0) this.list();
      else this.query(resources[desk.choose(resources.length)] as Resource);
      this.wonder(resources, maxTermUs);
    });
  }

  /** What a learner believes is asked for often: a belief that outlives its lease may do so by a moment only. */
  lookAround(resources: readonly Resource[], maxTermUs: number, core: Believer): void {
    const desk = this.#desk;
    this.#asking.later(1 + desk.choose(Math.floor(maxTermUs / 50)), () => {
      for (const { text, bytes } of resources) {
        const token = core.believed?.(bytes, desk.monoUs, desk.wallUs) ?? 0;
        if (token > 0) desk.record({ kind: 'believed', resource: text, token });
      }
      this.lookAround(resources, maxTermUs, core);
    });
  }

  /** The number of the question. */
  query({ text, bytes }: Resource): number {
    const query = this.#asking.number();
    this.#names.set(query, text);
    this.#desk.record({ kind: 'queried', query, scope: 'name', resource: text });
    this.#desk.command({ kind: 'query', lease: query, name: bytes });
    return query;
  }

  list(): void {
    const query = this.#asking.number();
    this.#desk.record({ kind: 'queried', query, scope: 'prefix', resource: '' });
    this.#desk.command({ kind: 'list', lease: query, prefix: NO_PREFIX });
  }

  answered({ lease, holder, certain }: AnsweredEvent): void {
    const resource = this.#names.get(lease);
    this.#names.delete(lease);
    if (resource !== undefined) this.#answer(lease, resource, holder, certain);
  }

  listed({ lease, leases, certain }: ListedEvent): void {
    for (const { name, holder, certain: isSure } of leases) this.#answer(lease, decodeName(name, 0, name.length) ?? '', holder, isSure);
    this.#desk.record({ kind: 'listed', query: lease, certain: certain ? 'yes' : 'no' });
  }

  #answer(query: number, resource: string, holder: Holder, certain: boolean): void {
    const named = holder && { holder: holder.owner, token: holder.token };
    this.#desk.record({ kind: 'answered', query, resource, certain: certain ? 'yes' : 'no', ...named });
  }
}
