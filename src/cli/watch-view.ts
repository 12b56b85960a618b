/** What a viewer of a simulated world has to know at an instant: the nodes that are up, the holders, the waiters. Built up from the entries of a trace. */
import type { TracedRun, TraceEntry } from '../sim/index.ts';

export interface WatchedNode {
  readonly name: string;
  /** `silent` is a process that is up but takes no part yet: it has not said that it is ready. */
  state: 'up' | 'down' | 'silent' | 'stalled' | 'asleep';
  stateUntilUs: number;
  incarnation: number;
  doing: string;
}

export interface ResourceView {
  readonly name: string;
  /** By `node#incarnation`: there must never be more than one. */
  readonly holders: Map<string, { readonly node: number; readonly token: number; readonly untilUs: number }>;
  /** `node#incarnation#request` of requests that have no answer yet, to the node's number. */
  readonly waiting: Map<string, number>;
}

export class WatchView {
  readonly nodes: readonly WatchedNode[];
  readonly resources: Map<string, ResourceView> = new Map();
  /** The nodes that are cut off, one list for each cut. */
  readonly cuts: (readonly number[])[] = [];
  messages = 0;
  healed = false;
  /** Those starts of processes that say, at some time, that they are ready. */
  readonly #everReady = new Set<number>();

  constructor(run: TracedRun) {
    this.nodes = run.nodeNames.map((name) => ({ name, state: 'down', stateUntilUs: 0, incarnation: 0, doing: '' }));
    for (const { text, incarnation } of run.entries) if (text === READY) this.#everReady.add(incarnation);
  }

  apply(entry: TraceEntry): void {
    if (entry.kind === 'message') this.messages++;
    const view = entry.node === null ? null : (this.nodes[entry.node] ?? null);
    this.#applyFact(entry, view);
    if (view !== null && entry.node !== null) {
      if (entry.record) this.#applyRecord(entry, entry.node);
      if (entry.text === READY && view.incarnation === entry.incarnation && view.state === 'silent') view.state = 'up';
      if (entry.kind === 'step' && entry.text !== 'wakes') view.doing = entry.text;
    }
  }

  /** Ends stalls and sleeps that have passed. */
  endPassed(nowUs: number): void {
    for (const view of this.nodes)
      if ((view.state === 'stalled' || view.state === 'asleep') && view.stateUntilUs <= nowUs) view.state = 'up';
  }

  #applyFact({ fact, incarnation }: TraceEntry, view: WatchedNode | null): void {
    switch (fact?.kind) {
      case 'up':
        if (view === null) return;
        view.incarnation = incarnation;
        view.doing = '';
        view.state = this.#everReady.has(incarnation) ? 'silent' : 'up';
        return;
      case 'down':
        if (view?.incarnation === incarnation) view.state = 'down';
        return;
      case 'blocked':
        if (view === null || view.state === 'down') return;
        view.state = fact.how;
        view.stateUntilUs = fact.untilUs;
        return;
      case 'cut':
        this.cuts.push(fact.around);
        return;
      case 'mended': {
        const index = this.cuts.findIndex((around) => around.join() === fact.around.join());
        if (index >= 0) this.cuts.splice(index, 1);
        return;
      }
      case 'healed':
        this.healed = true;
        this.cuts.length = 0;
        for (const each of this.nodes) if (each.state === 'stalled' || each.state === 'asleep') each.state = 'up';
        return;
      default:
    }
  }

  #applyRecord({ record, incarnation, atUs }: TraceEntry, node: number): void {
    const who = `${node}#${incarnation}`;
    switch (record?.kind) {
      case 'requested':
        this.#resource(record.resource).waiting.set(`${who}#${record.request}`, node);
        return;
      case 'abandoned':
        this.#resource(record.resource).waiting.delete(`${who}#${record.request}`);
        return;
      case 'granted':
        this.#resource(record.resource).waiting.delete(`${who}#${record.request}`);
        this.#resource(record.resource).holders.set(who, { node, token: record.token, untilUs: atUs + record.remainingUs });
        return;
      case 'renewed':
        this.#resource(record.resource).holders.set(who, { node, token: record.token, untilUs: atUs + record.remainingUs });
        return;
      case 'ended':
        this.#resource(record.resource).holders.delete(who);
        return;
      case 'crashed':
        for (const { holders, waiting } of this.resources.values()) {
          holders.delete(who);
          for (const key of waiting.keys()) if (key.startsWith(`${who}#`)) waiting.delete(key);
        }
        return;
      default:
    }
  }

  #resource(name: string): ResourceView {
    let resource = this.resources.get(name);
    if (!resource) this.resources.set(name, (resource = { name, holders: new Map(), waiting: new Map() }));
    return resource;
  }
}

const READY = 'says ready';
