/** What a member lacks of the log it copies from another, page by page: from its own end on, or, if that is kept no more, from the first instance that the other has. */
import { nodeId, type NodeId } from '../../kernel/index.ts';
import type { Snapshot } from '../contract.ts';
import type { BroadcastStep } from './epoch-consensus.ts';
import type { MessageLog } from './log.ts';
import type { BroadcastOwnMessage, LogPiece } from './messages.ts';
import { PAGE_BYTES_MAX } from './pages.ts';

type Copied = Extract<BroadcastOwnMessage, { readonly kind: 'copied' }>;

export interface CopyingGround {
  readonly members: number;
  readonly self: number;
  readonly log: MessageLog;
  suspected(): readonly number[];
  send(to: NodeId, message: BroadcastOwnMessage, step: BroadcastStep): void;
  /** The log is begun anew after this instance and this position. */
  forget(instance: number, position: number): void;
  adopt(piece: LogPiece, step: BroadcastStep): void;
}

export class Copying {
  readonly #ground: CopyingGround;
  /** The instance after which the last page was asked for; -1 if none is under way. */
  #after = -1;
  /** How often an answer was given up: the next member in turn is asked then, for one may have less than this one. */
  #turns = 0;

  constructor(ground: CopyingGround) {
    this.#ground = ground;
  }

  /** Asks for the next page if the member is behind and waits for none. */
  advance(isBehind: boolean, step: BroadcastStep): void {
    if (!isBehind) this.#after = -1;
    else if (this.#after < 0) this.#ask(step);
  }

  /** The answer seems to be lost: the next `advance` asks again, perhaps another member. */
  giveUp(): void {
    if (this.#after >= 0) this.#turns++;
    this.#after = -1;
  }

  #ask(step: BroadcastStep): void {
    const { members, self, log } = this.#ground;
    const others = Array.from({ length: members }, (_, member) => member).filter((member) => member !== self);
    const suspected = this.#ground.suspected();
    const up = others.filter((member) => !suspected.includes(member));
    const asked = up.length > 0 ? up : others;
    if (asked.length === 0) return;
    this.#after = log.instance;
    this.#ground.send(
      nodeId(asked[(step.choose(asked.length) + this.#turns) % asked.length] as number),
      { kind: 'copy', after: this.#after },
      step,
    );
  }

  /** Another member asks for a page. */
  answer(to: NodeId, after: number, step: BroadcastStep): void {
    const { firstInstance: first, instance } = this.#ground.log;
    if (after >= instance) return;
    const pieces = this.#ground.log.piecesFrom(Math.max(first, after + 1), PAGE_BYTES_MAX);
    this.#ground.send(to, { kind: 'copied', after, first, pieces }, step);
  }

  /** A page came, for a member that is behind. False if it is not the page that is needed. */
  take({ after, pieces }: Copied, step: BroadcastStep): boolean {
    const { log } = this.#ground;
    const first = pieces[0];
    if (after !== log.instance || !first) return false;
    this.#after = -1;
    // The instances between are gone.
    if (first.instance > after + 1) this.#ground.forget(first.instance - 1, first.position - 1);
    for (const { instance, position, groups } of pieces) {
      if (instance !== log.instance + 1 || position !== log.position + 1) break;
      this.#ground.adopt({ instance, position, groups: groups.slice() }, step);
    }
    return true;
  }

  snapshot(): Snapshot {
    return [this.#after, this.#turns];
  }

  restore(snapshot: Snapshot): void {
    [this.#after, this.#turns] = snapshot as [number, number];
  }
}
