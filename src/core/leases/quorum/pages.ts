/**
 * A member's side of a listing: its live leases under a prefix, a page at a time. Each lease is a message of its
 * own and the end of the page says how many there were; a page is bounded in leases, in bytes and in rows looked
 * at, and the next is sent when it is asked for, so that no listing stops the member or fills a connection.
 */
import type { NodeId } from '../../../kernel/index.ts';
import type { NameTable } from '../../tables/index.ts';
import type { QuorumStep } from './config.ts';
import { HAS_LEASE, LISTED, PAGED, QuorumMessage } from './messages.ts';

/** What a page asks of the acceptor. */
export interface RowView {
  /** Fills in the live lease of the name, with its ballot and metadata, and since when it is so; HAS_LEASE is not set if there is none. */
  describe(id: number, hash: number, into: QuorumMessage, step: QuorumStep): void;
  /** How long no vote under the prefix has run out, among votes whose rows are gone. */
  quietUs(prefix: QuorumMessage, step: QuorumStep): number;
  toldClock(step: QuorumStep): QuorumMessage['clock'];
}

const BYTES_PER_PAGE = 65_536;
const ROWS_PER_PAGE = 4096;

interface PageGround {
  readonly names: NameTable;
  readonly rows: RowView;
  readonly sign: (end: QuorumMessage, print: number) => void;
  /** Leases of one page. */
  readonly leasesMax: number;
}

export class Pages {
  readonly #names: NameTable;
  readonly #rows: RowView;
  readonly #sign: PageGround['sign'];
  readonly #leasesMax: number;
  readonly #reply = new QuorumMessage();
  /** The number of the last sending: each has a number of its own, also within one instant, and in a later life mostly a higher one. */
  sending = 0;

  constructor({ names, rows, sign, leasesMax }: PageGround) {
    this.#sign = sign;
    this.#names = names;
    this.#rows = rows;
    this.#leasesMax = leasesMax;
  }

  /** From the row that `message.token` says. A name keeps its row while it is leased, so a name that is leased throughout is not missed. */
  send(from: NodeId, message: QuorumMessage, step: QuorumStep): void {
    const names = this.#names;
    const reply = this.#reply;
    reply.owner = message.owner;
    reply.lease = message.lease;
    reply.page = message.page;
    // A request that came twice is answered twice, and votes may have changed in between.
    this.sending = Math.max(this.sending + 1, Math.floor(step.monoUs));
    reply.sending = this.sending;
    reply.count = 0;
    const end = Math.min(names.idLimit, message.token + ROWS_PER_PAGE);
    let id = message.token;
    let quietUs = this.#rows.quietUs(message, step);
    for (let bytes = 0; id < end && reply.count < this.#leasesMax && bytes < BYTES_PER_PAGE; id++) {
      if (!this.#begins(id, message)) continue;
      this.#rows.describe(id, names.hashOf(id), reply, step);
      if ((reply.flags & HAS_LEASE) === 0) {
        quietUs = Math.min(quietUs, reply.steadyUs);
        continue;
      }
      const start = names.startOf(id);
      reply.kind = LISTED;
      reply.setName(names.pageOf(id), start, start + names.lengthOf(id));
      this.#sign(reply, message.print);
      step.send(from, reply);
      reply.count++;
      bytes += names.lengthOf(id) + reply.meta.length;
    }
    reply.kind = PAGED;
    reply.flags = 0;
    reply.steadyUs = quietUs;
    reply.token = id < names.idLimit ? id : 0;
    reply.clock = this.#rows.toldClock(step);
    this.#sign(reply, message.print);
    step.send(from, reply);
  }

  #begins(id: number, { name, nameStart, nameEnd }: QuorumMessage): boolean {
    const length = nameEnd - nameStart;
    if (this.#names.lengthOf(id) < Math.max(1, length)) return false;
    const bytes = this.#names.pageOf(id);
    const start = this.#names.startOf(id);
    for (let i = 0; i < length; i++) if (bytes[start + i] !== name[nameStart + i]) return false;
    return true;
  }
}
