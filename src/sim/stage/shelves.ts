/**
 * Storage on a stage: disks and shared units of registers. An access stands still until an action lets it take effect or
 * answers it. A read may be answered with anything a regular register allows, as in the simulator's `storage.ts`.
 */
import { OWN_DISK } from '../../core/index.ts';
import type { AccessRef, AnswerRef } from './actions.ts';
import type { Asked } from './player.ts';

/** A place in the order of all beginnings, effects and answers. */
type Place = number;
const NOT_YET: Place = Infinity;

interface Write {
  readonly by: AccessRef;
  readonly value: Uint8Array;
  place: Place;
  ended: Place;
}

interface Register {
  newest: Write | null;
  readonly writes: Write[];
}

/** An access under way. */
export interface ShelfAccess extends Asked, AccessRef {
  readonly incarnation: number;
  readonly began: Place;
  readonly register: Register;
  /** Null for a read. */
  readonly write: Write | null;
  isEffective: boolean;
  /** What a read that took effect has found. */
  found: Uint8Array | null;
}

export class Shelves {
  readonly #registers = new Map<string, Register>();
  readonly #numbers = new Map<number, number>();
  readonly #accesses: ShelfAccess[] = [];
  #places: Place = 0;

  /** Oldest first. */
  get underWay(): readonly ShelfAccess[] {
    return this.#accesses;
  }

  find({ node, access }: AccessRef): ShelfAccess | null {
    return this.#accesses.find((one) => one.node === node && one.access === access) ?? null;
  }

  /** Begins an access and numbers it among its node's. */
  ask(node: number, incarnation: number, asked: Asked): ShelfAccess {
    const number = (this.#numbers.get(node) ?? 0) + 1;
    this.#numbers.set(node, number);
    const register = this.#register(node, asked);
    const by = { node, access: number };
    const write = asked.value === null ? null : { by, value: asked.value, place: NOT_YET, ended: NOT_YET };
    if (write) register.writes.push(write);
    const access = { ...asked, ...by, incarnation, began: ++this.#places, register, write, isEffective: false, found: null };
    this.#accesses.push(access);
    return access;
  }

  takeEffect(access: ShelfAccess): void {
    if (access.isEffective) return;
    const { register, write } = access;
    access.isEffective = true;
    if (write) {
      write.place = ++this.#places;
      register.newest = write;
    } else {
      access.found = register.newest?.value ?? null;
    }
  }

  /** It is over. What was read, or null; `finding` is one of what `mayFind` allows. */
  end(access: ShelfAccess, ok: boolean, finding: AccessRef | null | undefined): Uint8Array | null {
    this.#accesses.splice(this.#accesses.indexOf(access), 1);
    if (!ok) return null;
    this.takeEffect(access);
    if (access.write) access.write.ended = ++this.#places;
    if (finding === undefined) return access.found;
    return finding === null ? null : (writeOf(access, finding)?.value ?? null);
  }

  /** Whether a regular register may answer this read with that write; null is that nothing was written. Disks are not that weak. */
  mayFind(access: ShelfAccess, finding: AccessRef | null): boolean {
    if (access.write || access.unit === OWN_DISK) return false;
    let oldest = 0;
    for (const { ended, place } of access.register.writes) if (ended < access.began && place > oldest) oldest = place;
    if (finding === null) return oldest === 0;
    const found = writeOf(access, finding);
    return found !== null && found.place >= oldest;
  }

  /** The access that a process knows by this number, and with it a write of this value, if it is to find that. */
  refOf(node: number, isIts: (life: number) => boolean, op: number, finding: Uint8Array | null | undefined): AnswerRef | null {
    const found = this.#accesses.find((one) => one.node === node && one.op === op && isIts(one.incarnation));
    if (!found) return null;
    const ref = { node, access: found.access };
    if (finding === undefined) return ref;
    if (finding === null) return { ...ref, finding };
    const text = finding.join(' ');
    const write = found.register.writes.find((one) => one.value.join(' ') === text && this.mayFind(found, one.by));
    return write ? { ...ref, finding: write.by } : null;
  }

  /** The process is gone: what it wrote to its own disk took effect before, or never will. */
  crash(incarnation: number): void {
    for (let i = this.#accesses.length - 1; i >= 0; i--) {
      const access = this.#accesses[i] as ShelfAccess;
      if (access.incarnation === incarnation && access.unit === OWN_DISK) this.#accesses.splice(i, 1);
    }
  }

  wipeDisk(node: number): void {
    for (const key of this.#registers.keys()) if (key.startsWith(`disk ${node} `)) this.#registers.delete(key);
  }

  #register(node: number, { unit, key }: Asked): Register {
    const name = unit === OWN_DISK ? `disk ${node} ${key}` : `unit ${unit} ${key}`;
    let register = this.#registers.get(name);
    if (!register) this.#registers.set(name, (register = { newest: null, writes: [] }));
    return register;
  }
}

function writeOf({ register }: ShelfAccess, { node, access }: AccessRef): Write | null {
  return register.writes.find(({ by }) => by.node === node && by.access === access) ?? null;
}
