/** Words of a member to watchers: it passes on the words of holders, and says when there is no room for one more watcher. */
import type { HashKey, Incarnation, NodeId, SpanUs } from '../../../kernel/index.ts';
import { Audience, type WatchSnapshot } from '../audience.ts';
import type { QuorumStep } from './config.ts';
import { BUNDLE, BUNDLE_LEARNED, HAS_LEASE, LEARNED, LET_GO, NO_WATCH, QuorumMessage, REFUSED } from './messages.ts';

export class Watchers {
  readonly #audience: Audience;
  readonly #word = new QuorumMessage();

  constructor(keepUs: SpanUs, key?: HashKey, watchesMax?: number) {
    this.#audience = new Audience({ keepUs, key, watchesMax });
  }

  /** `message.name` is the prefix; a term of 0 takes the watcher off. */
  watch(from: NodeId, message: QuorumMessage, step: QuorumStep): void {
    const { owner, name, nameStart, nameEnd } = message;
    if (message.termUs === 0) this.#audience.end(owner, name, nameStart, nameEnd);
    else if (!this.#audience.keep(from, owner, name, nameStart, nameEnd, step.monoUs)) this.#turnAway(from, message, step);
  }

  isWatched({ name, nameStart, nameEnd }: QuorumMessage): boolean {
    return this.#audience.isWatched(name, nameStart, nameEnd);
  }

  /** Passes a holder's word on to all watchers of the name. */
  relay(message: QuorumMessage, step: QuorumStep): void {
    const { name, nameStart, nameEnd } = message;
    const word = this.#word;
    word.kind = LEARNED;
    word.holder = message.owner;
    word.token = message.token;
    word.remainingUs = message.termUs;
    word.flags = (message.flags & (LET_GO | BUNDLE)) | HAS_LEASE;
    word.ballot = message.ballot;
    word.setMode(message.mode);
    word.setName(name, nameStart, nameEnd);
    word.meta = message.meta;
    word.metaStart = message.metaStart;
    word.metaEnd = message.metaEnd;
    for (const { owner, node } of this.#audience.of(name, nameStart, nameEnd, step.monoUs)) {
      word.owner = owner;
      step.send(node, word);
    }
  }

  /** A holder has renewed a bundle: each watcher hears of it once, and not of all that is in it. */
  relayBundle(holder: Incarnation, remainingUs: number, step: QuorumStep): void {
    const word = this.#word;
    word.kind = BUNDLE_LEARNED;
    word.holder = holder;
    word.remainingUs = remainingUs;
    word.flags = 0;
    word.lease = 0;
    for (const { owner, node } of this.#audience.all(step.monoUs)) {
      word.owner = owner;
      step.send(node, word);
    }
  }

  #turnAway(from: NodeId, { owner, lease, ballot }: QuorumMessage, step: QuorumStep): void {
    const word = this.#word;
    word.kind = REFUSED;
    word.reason = NO_WATCH;
    word.owner = owner;
    word.lease = lease;
    word.flags = 0;
    word.ballot = ballot;
    word.clock = ballot;
    word.remainingUs = 0;
    step.send(from, word);
  }

  snapshot(): readonly WatchSnapshot[] {
    return this.#audience.snapshot();
  }

  restore(watches: readonly WatchSnapshot[]): void {
    this.#audience.restore(watches);
  }
}
