/** Exclusion for worlds whose assumptions break until they heal: two may hold the same, but not once all of before has ended. */
import { modesClash, type Json, type LeaseMode } from '../../../kernel/index.ts';
import {
  inOrder,
  whoSeen,
  type HistoryRecord,
  type Perspective,
  type RecordKind,
  type Referee,
  type Violation,
  type WhoMemory,
} from '../../../check/index.ts';

interface Hold {
  readonly token: number;
  readonly incarnation: number;
  readonly node: number | string;
  readonly mode?: LeaseMode;
}

type HoldMemory = readonly [resource: string, who: WhoMemory, token: number, mode: LeaseMode];

export class EventualExclusion implements Referee {
  readonly property = 'exclusion' as const;
  readonly handles: readonly RecordKind[] = ['granted', 'renewed', 'used', 'ended', 'crashed'];
  readonly #fromUs: number;
  readonly #open = new Map<string, Hold[]>();

  constructor(fromUs: number) {
    this.#fromUs = fromUs;
  }

  observe(record: HistoryRecord): Violation | null {
    switch (record.kind) {
      case 'granted':
        this.#holdsOf(record.resource).push(record);
        return this.#judge(record);
      case 'renewed':
      case 'used':
        return this.#judge(record);
      case 'ended': {
        const holds = this.#holdsOf(record.resource);
        const at = holds.findIndex(({ token, incarnation }) => token === record.token && incarnation === record.incarnation);
        if (at >= 0) holds.splice(at, 1);
        return null;
      }
      case 'crashed':
        for (const [resource, holds] of this.#open) {
          const others = holds.filter(({ incarnation }) => incarnation !== record.incarnation);
          this.#open.set(resource, others);
        }
        return null;
      default:
        return null;
    }
  }

  finish(): readonly Violation[] {
    return [];
  }

  snapshot(seen: Perspective): Json {
    const holds = [...this.#open].flatMap(([resource, all]) =>
      all.map((one): HoldMemory => [resource, whoSeen(one, seen), one.token, one.mode ?? 'exclusive']),
    );
    return inOrder(holds);
  }

  restore(memory: Json): void {
    for (const [resource, [node, incarnation], token, mode] of memory as readonly HoldMemory[])
      this.#holdsOf(resource).push({ node, incarnation, token, mode });
  }

  #judge({ at, node, resource, mode = 'exclusive' }: Extract<HistoryRecord, { kind: 'granted' | 'renewed' | 'used' }>): Violation | null {
    const holders = this.#holdsOf(resource);
    const clash = holders.some((one) => modesClash(mode, one.mode ?? 'exclusive'));
    if (at < this.#fromUs || holders.length < 2 || !clash) return null;
    const message = `${holders.length} hold '${resource}' long after the world has healed, ${node} among them`;
    return { property: this.property, at, message };
  }

  #holdsOf(resource: string): Hold[] {
    const holds = this.#open.get(resource) ?? [];
    this.#open.set(resource, holds);
    return holds;
  }
}
