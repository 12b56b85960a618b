/**
 * Who wants to hear of which names, at one member. Watchers make themselves known again and again, and
 * are forgotten when they stop. While nobody watches, nothing is sent and nothing is looked up.
 */
import { monoAfter, type Incarnation, type MonoUs, type NodeId, type SpanUs } from '../../../kernel/index.ts';
import { WATCHES_MAX, type QuorumStep } from './config.ts';
import { HAS_LEASE, LEARNED, LET_GO, QuorumMessage } from './messages.ts';

interface Watcher {
  readonly node: NodeId;
  readonly owner: Incarnation;
  readonly prefix: Uint8Array;
  until: MonoUs;
}

export class Watchers {
  readonly #watchers: Watcher[] = [];
  readonly #keepUs: SpanUs;
  readonly #relay = new QuorumMessage();

  constructor(keepUs: SpanUs) {
    this.#keepUs = keepUs;
  }

  /** `message.name` is the prefix; a term of 0 takes the watcher off. */
  watch(from: NodeId, message: QuorumMessage, step: QuorumStep): void {
    // Those whose names nobody leases are never told anything: they would stay for ever.
    for (let i = this.#watchers.length - 1; i >= 0; i--)
      if ((this.#watchers[i] as Watcher).until <= step.monoUs) this.#watchers.splice(i, 1);
    const { name, nameStart, nameEnd, owner } = message;
    const index = this.#watchers.findIndex(
      (watcher) => watcher.owner === owner && watcher.node === from && isEqual(watcher.prefix, name, nameStart, nameEnd),
    );
    const until = monoAfter(step.monoUs, this.#keepUs);
    const known = this.#watchers[index];
    if (message.termUs === 0) {
      if (known) this.#watchers.splice(index, 1);
    } else if (known) {
      known.until = until;
    } else if (this.#countOf(owner) < WATCHES_MAX) {
      this.#watchers.push({ node: from, owner, prefix: name.slice(nameStart, nameEnd), until });
    }
  }

  #countOf(owner: Incarnation): number {
    let count = 0;
    for (const watcher of this.#watchers) if (watcher.owner === owner) count++;
    return count;
  }

  isWatched({ name, nameStart, nameEnd }: QuorumMessage): boolean {
    return this.#watchers.length > 0 && this.#watchers.some(({ prefix }) => isPrefix(prefix, name, nameStart, nameEnd));
  }

  /** Passes a holder's word on to all who watch the name. */
  relay(message: QuorumMessage, step: QuorumStep): void {
    const { name, nameStart, nameEnd } = message;
    for (let i = this.#watchers.length - 1; i >= 0; i--) {
      const watcher = this.#watchers[i] as Watcher;
      if (watcher.until <= step.monoUs) {
        this.#watchers.splice(i, 1);
        continue;
      }
      if (!isPrefix(watcher.prefix, name, nameStart, nameEnd)) continue;
      const relay = this.#relay;
      relay.kind = LEARNED;
      relay.owner = watcher.owner;
      relay.holder = message.owner;
      relay.token = message.token;
      relay.remainingUs = message.termUs;
      relay.flags = (message.flags & LET_GO) | HAS_LEASE;
      relay.ballot = message.ballot;
      relay.setName(name, nameStart, nameEnd);
      relay.meta = message.meta;
      relay.metaStart = message.metaStart;
      relay.metaEnd = message.metaEnd;
      step.send(watcher.node, relay);
    }
  }

  snapshot(): readonly (readonly [number, number, readonly number[], number])[] {
    return this.#watchers.map(({ node, owner, prefix, until }) => [node, owner, [...prefix], until] as const);
  }

  restore(watchers: readonly (readonly [number, number, readonly number[], number])[]): void {
    this.#watchers.length = 0;
    for (const [node, owner, prefix, until] of watchers) {
      this.#watchers.push({ node: node as NodeId, owner: owner as Incarnation, prefix: Uint8Array.from(prefix), until: until as MonoUs });
    }
  }
}

function isPrefix(prefix: Uint8Array, name: Uint8Array, start: number, end: number): boolean {
  if (prefix.length > end - start) return false;
  for (let i = 0; i < prefix.length; i++) if (prefix[i] !== name[start + i]) return false;
  return true;
}

function isEqual(prefix: Uint8Array, name: Uint8Array, start: number, end: number): boolean {
  return prefix.length === end - start && isPrefix(prefix, name, start, end);
}
