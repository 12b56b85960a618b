/**
 * Which places of the disk hold pieces that the log has dropped: they are emptied, so that the disk holds no more than the log does, but for writes under way. The stored pieces decide when: each says up
 * to which instance all were stored when it was written. A member that comes back finds its log around that instance, so nothing is emptied that a log which ends there still has. Pieces of earlier lineages are emptied
 * once one of the newest is stored.
 */
import type { Snapshot } from '../contract.ts';

interface HeldPiece {
  readonly lineage: number;
  readonly instance: number;
}

export class DroppedPlaces {
  /** What each place holds or is about to; that written longest ago first. */
  readonly #held = new Map<number, HeldPiece>();
  /** Of instances that no stored piece tells of yet: up to where the log had dropped when it came to them. Rising. */
  readonly #drops = new Map<number, number>();

  hold(place: number, piece: HeldPiece, dropped: number): void {
    this.#held.delete(place);
    this.#held.set(place, piece);
    if (dropped > 0) this.#drops.set(piece.instance, dropped);
  }

  /** The log is begun anew. */
  reset(): void {
    this.#drops.clear();
  }

  /** A piece is stored that says: all up to `upTo` are. Calls `empty` for each place that is needed no more. */
  noteStored(lineage: number, upTo: number, empty: (place: number) => void): void {
    let dropped = 0;
    for (const [instance, droppedThen] of this.#drops) {
      if (instance > upTo) break;
      dropped = droppedThen;
      this.#drops.delete(instance);
    }
    for (const [place, piece] of this.#held) {
      if (piece.lineage === lineage && piece.instance > dropped) return;
      this.#held.delete(place);
      empty(place);
    }
  }

  snapshot(): Snapshot {
    return {
      held: [...this.#held].map(([place, { lineage, instance }]) => [place, lineage, instance] as const),
      drops: [...this.#drops].map(([instance, dropped]) => [instance, dropped] as const),
    };
  }

  restore(snapshot: Snapshot): void {
    const { held, drops } = snapshot as unknown as DroppedSnapshot;
    this.#held.clear();
    for (const [place, lineage, instance] of held) this.#held.set(place, { lineage, instance });
    this.#drops.clear();
    for (const [instance, dropped] of drops) this.#drops.set(instance, dropped);
  }
}

interface DroppedSnapshot {
  readonly held: readonly (readonly [number, number, number])[];
  readonly drops: readonly (readonly [number, number])[];
}
