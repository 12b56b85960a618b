/**
 * How holds find their rows. An exclusive lease is the only one of its process on its name, so the name's number is the number of its row. Of readers
 * and slots a process may have several on one name: those go by the number of their lease, and their name, mode and quarantine are kept beside.
 */
import { encodeName, NumberMap } from '../../../kernel/index.ts';
import { NameTable } from '../../tables/index.ts';
import { internText, namesInOrder, textOf } from '../snapshots.ts';
import { EXCLUSIVE } from './modes.ts';

export interface HoldKeys {
  /** Numbers rows. */
  readonly names: NameTable;
  /** The row that a lease on the name would have, or -1. */
  find(lease: number, name: Uint8Array): number;
  intern(lease: number, name: Uint8Array): number;
  forget(id: number): void;
  nameOf(id: number): Uint8Array;
  /** By which the voters of the name are found. */
  placementOf(id: number): number;
  modeOf(id: number): number;
  quarantineUsOf(id: number): number;
  /** The rows, in an order that does not depend on the table. */
  inOrder(has: (id: number) => boolean): { id: number; text: string }[];
  restore(lease: number, text: string): number;
}

/** Of exclusive leases. */
export class NameKeys implements HoldKeys {
  readonly names: NameTable;

  constructor(names: NameTable) {
    this.names = names;
  }

  find(_lease: number, name: Uint8Array): number {
    return this.names.find(name, 0, name.length);
  }

  intern(_lease: number, name: Uint8Array): number {
    return this.names.intern(name, 0, name.length);
  }

  forget(): void {}

  nameOf(id: number): Uint8Array {
    return this.names.toBytes(id);
  }

  placementOf(id: number): number {
    return this.names.placementOf(id);
  }

  modeOf(): number {
    return EXCLUSIVE;
  }

  quarantineUsOf(): number {
    return 0;
  }

  inOrder(has: (id: number) => boolean): { id: number; text: string }[] {
    return namesInOrder(this.names, has);
  }

  restore(_lease: number, text: string): number {
    return internText(this.names, text);
  }
}

interface SideHold {
  readonly lease: number;
  readonly name: Uint8Array;
  readonly placement: number;
  mode: number;
  readonly quarantineUs: number;
}

export type SideHoldSnapshot = readonly [lease: number, mode: number, quarantineUs: number];

/** Of all others. */
export class LeaseKeys implements HoldKeys {
  readonly names: NameTable = new NameTable();
  readonly #holds = new Map<number, SideHold>();
  readonly #leases = new NumberMap<number>();
  readonly #placementOf: (name: Uint8Array) => number;
  readonly #key = new Uint8Array(8);
  readonly #view = new DataView(this.#key.buffer);

  constructor(placementOf: (name: Uint8Array) => number) {
    this.#placementOf = placementOf;
  }

  find(lease: number): number {
    return this.#leases.get(lease) ?? -1;
  }

  /** The mode and the quarantine are set before anything is asked of them. */
  intern(lease: number, name: Uint8Array): number {
    this.#view.setFloat64(0, lease);
    const id = this.names.intern(this.#key, 0, this.#key.length);
    this.#leases.set(lease, id);
    if (!this.#holds.has(id)) this.#holds.set(id, { lease, name, placement: this.#placementOf(name), mode: EXCLUSIVE, quarantineUs: 0 });
    return id;
  }

  /** A row for the lease, in this mode. */
  enter(lease: number, name: Uint8Array, mode: number, quarantineUs: number): void {
    const id = this.intern(lease, name);
    this.#holds.set(id, { lease, name, placement: this.#placementOf(name), mode, quarantineUs });
  }

  setMode(id: number, mode: number): void {
    const hold = this.#holds.get(id);
    if (hold) hold.mode = mode;
  }

  forget(id: number): void {
    const hold = this.#holds.get(id);
    if (hold) this.#leases.delete(hold.lease);
    this.#holds.delete(id);
  }

  nameOf(id: number): Uint8Array {
    return (this.#holds.get(id) as SideHold).name;
  }

  placementOf(id: number): number {
    return (this.#holds.get(id) as SideHold).placement;
  }

  modeOf(id: number): number {
    return this.#holds.get(id)?.mode ?? EXCLUSIVE;
  }

  quarantineUsOf(id: number): number {
    return this.#holds.get(id)?.quarantineUs ?? 0;
  }

  inOrder(has: (id: number) => boolean): { id: number; text: string }[] {
    return this.#leases
      .entries()
      .filter(([, id]) => has(id))
      .sort(([a], [b]) => a - b)
      .map(([, id]) => ({ id, text: textOf(this.nameOf(id)) }));
  }

  restore(lease: number, text: string): number {
    return this.intern(lease, encodeName(text));
  }

  restoreModes(holds: readonly SideHoldSnapshot[]): void {
    for (const [lease, mode, quarantineUs] of holds) this.enter(lease, this.nameOf(this.find(lease)), mode, quarantineUs);
  }

  snapshot(): SideHoldSnapshot[] {
    return this.#leases.entries().map(([lease, id]) => [lease, this.modeOf(id), this.quarantineUsOf(id)]);
  }
}
