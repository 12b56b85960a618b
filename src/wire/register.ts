/** Clients of shared storage say nothing to each other: no bytes are a message of theirs. */
import type { Codec } from './codec.ts';

export const registerCodec: Codec<never> = {
  encode(_message: never): void {},
  decode: (): null => null,
};
