/** What `for await` reads from objects of this package. `AsyncIterableIterator` says less, and takes other arguments in older versions of TypeScript. */
export interface AsyncSequence<Item> extends AsyncIterable<Item> {
  next(): Promise<IteratorResult<Item, undefined>>;
  /** Its reader has left the loop. */
  return(): Promise<IteratorResult<Item, undefined>>;
  [Symbol.asyncIterator](): this;
}
