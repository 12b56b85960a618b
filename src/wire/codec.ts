/** How a protocol's messages become bytes. The simulator carries encoded messages too, so codecs are tortured with the cores. */
import type { ByteReader, ByteWriter } from './bytes.ts';

export interface Codec<Message> {
  encode(message: Message, out: ByteWriter): void;
  /**
   * The message, or null if the bytes are none. The record may be pooled: it is the caller's only until
   * the next `decode`. Bytes after the known fields are left unread (a newer version may add some).
   */
  decode(input: ByteReader): Message | null;
}
