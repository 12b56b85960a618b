/** A proposal that waits at an acceptor: a copy, because the message it came in is used again. */
import { encodeName, monoUs, type BallotTime, type Incarnation, type MonoUs, type NodeId } from '../../../kernel/index.ts';
import { PARK, PROPOSE, QuorumMessage } from './messages.ts';

export interface ParkedSnapshot {
  readonly from: NodeId;
  readonly until: MonoUs;
  readonly fields: readonly [
    flags: number,
    owner: Incarnation,
    lease: number,
    ballot: BallotTime,
    token: number,
    termUs: number,
    print: number,
    viewEpoch: number,
    viewId: number,
    row: number,
  ];
  readonly mode: readonly [mode: number, slots: number];
  readonly meta: readonly number[];
}

export class ParkedProposal {
  readonly from: NodeId;
  readonly until: MonoUs;
  /** The message as it is decided: like a proposal that never waited. */
  readonly message: QuorumMessage;

  constructor(from: NodeId, message: QuorumMessage, until: MonoUs) {
    this.from = from;
    this.until = until;
    const { name, nameStart, nameEnd, meta, metaStart, metaEnd } = message;
    const copy = new QuorumMessage();
    copy.kind = PROPOSE;
    copy.flags = message.flags & ~PARK;
    copy.owner = message.owner;
    copy.lease = message.lease;
    copy.ballot = message.ballot;
    copy.token = message.token;
    copy.termUs = message.termUs;
    copy.print = message.print;
    copy.viewEpoch = message.viewEpoch;
    copy.viewId = message.viewId;
    copy.row = message.row;
    copy.setName(name.slice(nameStart, nameEnd), 0, nameEnd - nameStart);
    copy.setMeta(meta.slice(metaStart, metaEnd));
    copy.setMode(message.mode, message.slots);
    this.message = copy;
  }

  snapshot(): ParkedSnapshot {
    const { flags, owner, lease, ballot, token, termUs, print, viewEpoch, viewId, row, mode, slots, meta } = this.message;
    return {
      from: this.from,
      until: this.until,
      fields: [flags, owner, lease, ballot, token, termUs, print, viewEpoch, viewId, row],
      mode: [mode, slots],
      meta: [...meta],
    };
  }

  static restore({ from, until, fields, mode, meta }: ParkedSnapshot, name: string): ParkedProposal {
    const message = new QuorumMessage();
    const [flags, owner, lease, ballot, token, termUs, print, viewEpoch, viewId, row] = fields;
    Object.assign(message, { flags, owner, lease, ballot, token, termUs, print, viewEpoch, viewId, row });
    const bytes = encodeName(name);
    message.setName(bytes, 0, bytes.length);
    message.setMeta(Uint8Array.from(meta));
    message.setMode(mode[0], mode[1]);
    return new ParkedProposal(from, message, monoUs(until));
  }
}
