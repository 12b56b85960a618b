/** The fields of every message about a lease: the asker, the lease, the name, and the holder's metadata. Flat and pooled. */
import { NOBODY, type Incarnation } from '../../kernel/index.ts';

const NO_BYTES = new Uint8Array(0);

export class NamedMessage {
  kind = 0;
  flags = 0;
  /** The incarnation that asked: of the sender in requests, of the addressee in answers. */
  owner: Incarnation = NOBODY;
  /** The number the asking incarnation gave to its lease, or to its question. */
  lease = 0;
  name: Uint8Array = NO_BYTES;
  nameStart = 0;
  nameEnd = 0;
  meta: Uint8Array = NO_BYTES;
  metaStart = 0;
  metaEnd = 0;
  /** Of a request: the fingerprint of the asker's roster. */
  print = 0;
  /** Of an answer that counts towards a quorum: which life of its member gave it. */
  life = 0;
  /** The sender's roster, if it differs from the asker's: the lives, eight bytes each, in the order of the members. */
  roster: Uint8Array = NO_BYTES;
  rosterStart = 0;
  rosterEnd = 0;

  setName(bytes: Uint8Array, start: number, end: number): void {
    this.name = bytes;
    this.nameStart = start;
    this.nameEnd = end;
  }

  noName(): void {
    this.setName(NO_BYTES, 0, 0);
  }

  setRoster(bytes: Uint8Array | null): void {
    this.roster = bytes ?? NO_BYTES;
    this.rosterStart = 0;
    this.rosterEnd = this.roster.length;
  }

  noLife(): void {
    this.life = 0;
    this.setRoster(null);
  }

  setMeta(bytes: Uint8Array | undefined): void {
    this.meta = bytes ?? NO_BYTES;
    this.metaStart = 0;
    this.metaEnd = this.meta.length;
  }
}
