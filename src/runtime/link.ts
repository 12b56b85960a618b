/**
 * What a driver needs of a transport: a place to encode a message for a peer, and the promise that what
 * was encoded within one turn of the event loop leaves together.
 */
import type { NodeId } from '../kernel/index.ts';
import type { ByteWriter } from '../wire/index.ts';

export interface Link {
  /** Where to encode one message for the peer; null if it cannot be reached now (the message is lost, as messages may be). */
  begin(to: NodeId): ByteWriter | null;
  /** The message begun last is complete. */
  end(to: NodeId): void;
}
