/**
 * Consensus, instance by instance: *agreement* (no two decide differently), *validity* (the
 * decided value was proposed) and *integrity* (an incarnation decides once). A recovered incarnation may
 * decide again, but the same. Proposals are forgotten at the first decision, old instances in bulk.
 */
import type { Json } from '../kernel/index.ts';
import type { Decided, HistoryRecord, Proposed, RecordKind } from './history.ts';
import { inOrder, whoSeen, type Perspective, type Who, type WhoMemory } from './memory.ts';
import { RecentMap, type RecentMemory } from './recent.ts';
import type { Referee, Violation } from './referee.ts';
import { instant, party, quoted } from './wording.ts';

interface Instance {
  proposed: string[];
  /** The first decision; all others are compared with it. `made` is for messages: null where that was not remembered. */
  first: { readonly value: string; readonly made: Decided | null } | null;
  readonly deciders: Who[];
}

type InstanceMemory = readonly [number: number, proposed: readonly string[], first: string | null, deciders: readonly WhoMemory[]];

interface AgreementMemory {
  readonly instances: RecentMemory<InstanceMemory>;
  readonly forgottenUpTo: number;
}

/** At least so many instances are remembered. */
const INSTANCES_KEPT = 16_384;

export class AgreementReferee implements Referee {
  readonly property = 'agreement' as const;
  /** A crash changes nothing: a decision stays. */
  readonly handles: readonly RecordKind[] = ['proposed', 'decided', 'crashed'];
  readonly #instances: RecentMap<number, Instance>;
  /** Instances up to here may have been forgotten: an unknown instance is not judged. */
  #forgottenUpTo = -1;

  constructor(instancesKept: number = INSTANCES_KEPT) {
    this.#instances = new RecentMap(instancesKept, (dropped) => {
      for (const instance of dropped.keys()) this.#forgottenUpTo = Math.max(this.#forgottenUpTo, instance);
    });
  }

  observe(record: HistoryRecord): Violation | null {
    switch (record.kind) {
      case 'proposed': {
        const instance = this.#instance(record);
        if (instance !== null && instance.first === null && !instance.proposed.includes(record.value)) instance.proposed.push(record.value);
        return null;
      }
      case 'decided':
        return this.#decide(record);
      default:
        return null;
    }
  }

  finish(_at: number): readonly Violation[] {
    return [];
  }

  snapshot(seen: Perspective): Json {
    const instances = this.#instances.snapshot((number, { proposed, first, deciders }): InstanceMemory => [
      number,
      inOrder(proposed),
      first?.value ?? null,
      inOrder(deciders.map((who) => whoSeen(who, seen))),
    ]);
    return { instances, forgottenUpTo: this.#forgottenUpTo };
  }

  restore(memory: Json): void {
    const { instances, forgottenUpTo } = memory as unknown as AgreementMemory;
    this.#forgottenUpTo = forgottenUpTo;
    this.#instances.restore(instances, ([number, proposed, first, deciders]) => [
      number,
      {
        proposed: [...proposed],
        first: first === null ? null : { value: first, made: null },
        deciders: deciders.map(([node, incarnation]) => ({ node, incarnation })),
      },
    ]);
  }

  #decide(record: Decided): Violation | null {
    const instance = this.#instance(record);
    if (instance === null) return null;
    const { first, deciders } = instance;
    for (const decider of deciders) {
      if (decider.node !== record.node || decider.incarnation !== record.incarnation) continue;
      return violation('integrity', record, 'after it had decided there before');
    }
    deciders.push({ node: record.node, incarnation: record.incarnation });
    if (first !== null) {
      if (first.value === record.value) return null;
      const by = first.made === null ? 'another' : party(first.made);
      const when = first.made === null ? 'before' : `at ${instant(first.made.at)}`;
      return violation('agreement', record, `but ${by} decided ${quoted(first.value)} ${when}`);
    }
    instance.first = { value: record.value, made: record };
    const valid = instance.proposed.includes(record.value);
    instance.proposed = [];
    return valid ? null : violation('validity', record, 'which nobody had proposed');
  }

  /** Null for an instance that may be one of the forgotten. */
  #instance(record: Proposed | Decided): Instance | null {
    let instance = this.#instances.get(record.instance);
    if (instance !== undefined) return instance;
    if (record.instance <= this.#forgottenUpTo) return null;
    instance = { proposed: [], first: null, deciders: [] };
    this.#instances.set(record.instance, instance);
    return instance;
  }
}

function violation(property: 'agreement' | 'validity' | 'integrity', record: Decided, why: string): Violation {
  return {
    property,
    at: record.at,
    message: `${party(record)} decided ${quoted(record.value)} in instance ${record.instance} at ${instant(record.at)}, ${why}`,
  };
}
