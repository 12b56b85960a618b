/**
 * Consensus, instance by instance: *agreement* (no two decide differently), *validity* (what is
 * decided was proposed) and *integrity* (an incarnation decides once). A recovered incarnation may
 * decide again, but the same. Proposals are forgotten at the first decision, old instances in bulk.
 */
import type { Decided, Happened, HistoryRecord, Proposed } from './history.ts';
import { RecentMap } from './recent.ts';
import type { Referee, Violation } from './referee.ts';
import { instant, party, quoted } from './wording.ts';

interface Instance {
  proposed: string[];
  /** The first decision; all others are compared with it. */
  first: Decided | null;
  readonly deciders: Pick<Happened, 'node' | 'incarnation'>[];
}

/** At least so many instances are remembered. */
const INSTANCES_KEPT = 16_384;

export class AgreementReferee implements Referee {
  readonly property = 'agreement' as const;
  readonly #instances: RecentMap<number, Instance>;
  /** Instances up to here may have been forgotten: one that is not known is not judged. */
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
      return violation('agreement', record, `but ${party(first)} decided ${quoted(first.value)} at ${instant(first.at)}`);
    }
    instance.first = record;
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
