/** A watch: an async iterator over the changes of names with one prefix. */
import type { AsyncSequence } from '../sequences.ts';
import type { Change, ChangeResult, WatchFeed } from './feed.ts';

export class Watch implements AsyncSequence<Change> {
  readonly #feed: WatchFeed;

  /** Watches are made by `watch`. */
  constructor(feed: WatchFeed) {
    this.#feed = feed;
  }

  next(): Promise<ChangeResult> {
    return this.#feed.next();
  }

  return(): Promise<ChangeResult> {
    return this.#feed.leave();
  }

  /** Ends the loop over it. Changes that were told already are still read. */
  end(): void {
    this.#feed.end();
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.return();
  }
}
