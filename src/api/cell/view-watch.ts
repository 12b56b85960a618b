/**
 * The views that a node hears of, and what follows: which members its transport reaches, which view is stored, and what its caller is told.
 * The core decides which view it is in; a view that was only heard of changes nothing but which members this node can reach.
 */
import { compareViews, decodeView, encodeView, type View } from '../../core/index.ts';
import { TenureError } from '../../kernel/index.ts';
import type { PeerInfo, Transport } from '../../transport/index.ts';
import { memberRemoved, wrongNumber } from './failures.ts';
import { CLIENT_NUMBER, type Membership } from './membership.ts';

interface ViewWatchGround {
  readonly membership: Membership;
  readonly transport: Pick<Transport, 'regroup'>;
  /** This node's number. */
  readonly self: () => number;
  readonly store: ((view: View) => Promise<void>) | undefined;
  /** No later start of this member is told an older view. */
  readonly stored: (view: View) => void;
  /** There are other members than the cell was set up with. */
  readonly moved: () => void;
  /** This process is no member any more. */
  readonly removed: (error: TenureError) => void;
  /** It took itself for another number than it has: it must not count on anything it did. */
  readonly misnumbered: (error: TenureError) => void;
  readonly changed: (view: View) => void;
  /** A view could not be stored. */
  readonly storing: (error: TenureError) => void;
}

export class ViewWatch {
  readonly #ground: ViewWatchGround;
  /** A member states the view that it votes in. */
  #adopted: View | null = null;
  #id: string | undefined;
  /** Ends when all that was to be stored is, or could not be. */
  #storing: Promise<void> = Promise.resolve();

  constructor(ground: ViewWatchGround) {
    this.#ground = ground;
    this.#id = ground.membership.idOf(ground.self());
  }

  /** The view in a member's greeting; null if it is in the first one. */
  statedBy({ role, config: { viewBytes } }: PeerInfo): View | null {
    return role !== 'member' || viewBytes === undefined ? null : decodeView(viewBytes, 0, viewBytes.length);
  }

  /** Another node is in this view: its members can be reached from here on. */
  heard(view: View): void {
    const { membership } = this.#ground;
    if (membership.view === null || compareViews(view, membership.view) > 0) this.#reach(view);
  }

  /** This node asks in it. */
  follow(view: View): void {
    this.#reach(view);
    this.#ground.changed(view);
  }

  /** This member votes in it. Views are stored one after the other: of two that are written at once the earlier might be stored last. */
  adopted(view: View, isKept: boolean): void {
    const { store } = this.#ground;
    this.#adopted = view;
    this.#reach(view);
    if (store !== undefined) this.#storing = this.#storing.then(() => this.#store(store(view), view, isKept));
  }

  async #store(done: Promise<void>, view: View, isKept: boolean): Promise<void> {
    const { stored, storing } = this.#ground;
    try {
      await done;
    } catch (thrown) {
      const error = new TenureError(
        'TENURE_DATA_DIR',
        `view ${view.epoch} was not stored: ${String(thrown)}. A change waits for members that have not stored it: mend what failed, and start this one again`,
      );
      error.cause = thrown;
      storing(error);
      return;
    }
    if (!isKept) stored(view);
  }

  #reach(view: View): void {
    const { membership, self, moved, removed, misnumbered } = this.#ground;
    const number = self();
    if (!membership.follow(view)) {
      this.#state();
      return;
    }
    this.#state();
    if (view.isMoved) moved();
    if (number < 0 || number >= CLIENT_NUMBER) return;
    this.#id ??= membership.idOf(number);
    const id = this.#id ?? '';
    const there = membership.numberOf(id);
    if (there === undefined) removed(memberRemoved(id, view.epoch));
    else if (there !== number) misnumbered(wrongNumber(id, number, there));
  }

  /** Tells the transport which members to reach, and what to state. */
  #state(): void {
    const { membership, transport } = this.#ground;
    const stated = this.#adopted ?? membership.view;
    const viewBytes = stated === null || stated.epoch === 0 ? undefined : (encodeView(stated) ?? undefined);
    transport.regroup?.({ members: membership.places, viewBytes });
  }
}
