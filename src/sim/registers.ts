/**
 * Storage as the simulated world, the stage and the explorer share it: the nodes' own disks and shared units, each a set of registers by key. An access
 * begins, takes effect at one instant, and is answered. When each of this happens, and what goes wrong, is up to the world's draws, the script or the search.
 */
import { compareNames, equalBytes, invariant } from '../kernel/index.ts';
import { OWN_DISK, type Completion, type UnitId, type Version } from '../core/index.ts';
import { NOT_YET, RegularRegister, type RegisterChange, type OrderPlace, type RegisterMemory } from './regular-register.ts';

/** What a core asks of storage. */
export type AccessRequest =
  | { readonly action: 'read'; readonly unit: UnitId; readonly key: string; readonly op: number }
  | { readonly action: 'write'; readonly unit: UnitId; readonly key: string; readonly op: number; readonly value: Uint8Array }
  | { readonly action: 'erase'; readonly unit: UnitId; readonly key: string; readonly op: number }
  | {
      readonly action: 'swap';
      readonly unit: UnitId;
      readonly key: string;
      readonly op: number;
      readonly seen: Version | null;
      readonly value: Uint8Array | null;
    }
  /** The key is a prefix. */
  | { readonly action: 'list'; readonly unit: UnitId; readonly key: string; readonly op: number };

/** An access that has begun. */
export interface BegunAccess {
  readonly request: AccessRequest;
  readonly node: number;
  /** Null for a read and a list, and for what a failing unit does not do. */
  readonly change: RegisterChange | null;
  isEffective: boolean;
  /** A swap that found another record. */
  isLost: boolean;
  /** What a read found. */
  found: Uint8Array | null;
  /** The change that a weak read found, or null for none; undefined where it found the newest record. */
  foundWeakly: RegisterChange | null | undefined;
  /** The keys that a list found; of a weak list, the keys it reports. */
  keys: readonly string[] | null;
  isListedWeakly: boolean;
  /** Its unit went back to an earlier state before it took effect, or was in another epoch all along: it has no effect, and fails. */
  isVoid: boolean;
}

/** A shared unit, or the own disk of a node. */
export type StoragePlace = { readonly unit: UnitId } | { readonly unit: typeof OWN_DISK; readonly node: number };

/** A register, and an access under way, as plain data but for the bytes of the request. */
type PlacedMemory = RegisterMemory & { readonly key: string } & StoragePlace;
export interface AccessMemory {
  readonly node: number;
  readonly request: AccessRequest;
  /** Of a change, the place where it took effect; null: it has not yet. */
  readonly at: OrderPlace | 'lost' | null;
  /** Of a read and a list, the floor of each register when it began, where there was one. */
  readonly floors: readonly (readonly [key: string, floor: OrderPlace])[];
}
export interface StorageMemory {
  readonly registers: readonly PlacedMemory[];
  readonly accesses: readonly AccessMemory[];
}

/** What befalls storage by itself. */
export type Damage =
  /** One byte of a record is inverted. */
  | ({ readonly kind: 'corrupt'; readonly key: string; readonly byte: number } & StoragePlace)
  /** A record loses its last change, whether that was acknowledged or not. */
  | ({ readonly kind: 'forget'; readonly key: string } & StoragePlace)
  /** Every record is gone. */
  | ({ readonly kind: 'wipe' } & StoragePlace)
  /** A shared unit is as it was so many changes ago. It says so (it has another epoch): accesses under way fail and have no effect. */
  | { readonly kind: 'restore'; readonly unit: UnitId; readonly changes: number };

/** So many changes of a unit can be undone. */
const UNDONE_MAX = 64;

export class Registers {
  /** By unit and key; a disk is known by the node it is in. */
  readonly #units = new Map<UnitId, Map<string, RegularRegister>>();
  readonly #disks = new Map<number, Map<string, RegularRegister>>();
  /** What each of the last changes of a shared unit has replaced, oldest first. */
  readonly #replaced = new Map<UnitId, { readonly key: string; readonly value: Uint8Array | null }[]>();
  /** Accesses to shared units that have not taken effect. */
  readonly #pending = new Set<BegunAccess>();
  /** Lists under way. */
  readonly #lists = new Set<BegunAccess>();
  #places: OrderPlace = 0;
  readonly #isAtomic: boolean;

  /** Changes of atomic units are found by every read from the instant of their effect on, and by none before. The caller may make shared units weaker, or not. */
  constructor(isAtomic = false) {
    this.#isAtomic = isAtomic;
  }

  /** `isDone` is false where a failing unit answers without doing anything. `more` is what the caller wants to know of the access. */
  begin<More extends object>(node: number, request: AccessRequest, isDone: boolean, more: More): BegunAccess & More {
    const { action, unit } = request;
    invariant(unit !== OWN_DISK || (action !== 'swap' && action !== 'list'), 'an own disk is read, written and erased, no more');
    const change = isDone && isChange(request) ? { value: valueOf(request), place: NOT_YET } : null;
    const access = begun(node, request, change);
    if (action === 'list') this.#lists.add(access);
    for (const register of this.#readBy(access)) register.beginRead(access);
    // A swap may lose: no read finds it before it has won.
    if (change !== null && action !== 'swap' && !this.#isAtomic) this.#registerOf(access).begin(change);
    if (unit !== OWN_DISK) this.#pending.add(access);
    return Object.assign(access, more);
  }

  /** The instant of the effect. A change may go astray: to another key. */
  takeEffect(access: BegunAccess, astray?: string): void {
    const { request, change } = access;
    if (access.isEffective) return;
    access.isEffective = true;
    this.#pending.delete(access);
    if (access.isVoid) return;
    if (request.action === 'read') access.found = this.#registerOf(access).value;
    else if (request.action === 'list') access.keys = this.#present(request, access.node);
    else if (change === null) return;
    else if (request.action === 'swap') this.#swap(access, request.seen, change);
    else if (astray === undefined) {
      this.#keepReplaced(request.unit, request.key);
      if (this.#isAtomic) this.#registerOf(access).begin(change);
      this.#putInPlace(this.#registerOf(access), change);
    } else {
      this.#registerOf(access).withdraw(change);
      this.#keepReplaced(request.unit, astray);
      this.#register(request.unit, access.node, astray).land(change.value, ++this.#places);
    }
  }

  /** It never takes effect. */
  refuse(access: BegunAccess): void {
    const { change } = access;
    access.isVoid = true;
    this.#pending.delete(access);
    if (change !== null) this.#registerOf(access).withdraw(change);
  }

  /** A change that took effect does so once more. A swap compares again with the newest record. */
  repeat(access: BegunAccess): void {
    const { request, change } = access;
    if (change === null) return;
    const register = this.#registerOf(access);
    if (access.isVoid || (request.action === 'swap' && !equalVersions(register.value, request.seen))) return;
    this.#keepReplaced(request.unit, request.key);
    register.land(change.value, ++this.#places);
  }

  /** No process will ever be told of it. */
  abandon(access: BegunAccess): void {
    this.#pending.delete(access);
    for (const register of this.#readBy(access)) register.endRead(access);
    this.#lists.delete(access);
  }

  /** It is over: what the core is told. */
  end(access: BegunAccess, isAnswered: boolean): Completion {
    const { request, change, isLost, found, keys, isVoid } = access;
    const ok = isAnswered && !isVoid;
    const { op, action } = request;
    if (ok && change !== null) this.#registerOf(access).answered(change);
    this.abandon(access);
    if (action !== 'list' && request.unit !== OWN_DISK) this.#registerOf(access).tidy();
    if (!ok) return { op, ok, isLost: false, value: null, version: null, keys: null };
    const version = isLost || request.unit === OWN_DISK ? null : action === 'read' ? found : valueOf(request);
    return { op, ok, isLost, value: found, version, keys };
  }

  /** What a regular register lets this read find. */
  findable(access: BegunAccess): ReturnType<RegularRegister['findable']> {
    return this.#registerOf(access).findable(access);
  }

  newestOf(access: BegunAccess): RegisterChange | null {
    return this.#registerOf(access).newest;
  }

  /** The keys that a list may leave out or name, each as it likes, and the keys that it must name. */
  listable(access: BegunAccess): { readonly must: string[]; readonly may: string[] } {
    const must: string[] = [];
    const may: string[] = [];
    for (const [key, register] of this.#under(access.request, access.node)) {
      const { changes, orNothing } = register.findable(access);
      if (changes.every(({ value }) => value === null)) continue;
      (orNothing || changes.some(({ value }) => value === null) ? may : must).push(key);
    }
    return { must, may };
  }

  /** The list names these. */
  listAs(access: BegunAccess, keys: readonly string[]): void {
    access.keys = [...keys].sort(compareNames);
    access.isListedWeakly = true;
  }

  /** The shared units and disks that hold or held records. */
  get places(): StoragePlace[] {
    return [...[...this.#units.keys()].map((unit) => ({ unit })), ...[...this.#disks.keys()].map((node) => ({ unit: OWN_DISK, node }))];
  }

  /** Keys of the records that are there, oldest first. */
  keysAt(place: StoragePlace): string[] {
    return [...this.#at(place)].filter(([, { value }]) => value !== null).map(([key]) => key);
  }

  recordAt(place: StoragePlace, key: string): Uint8Array | null {
    return this.#at(place).get(key)?.value ?? null;
  }

  /** False if there is nothing that could be damaged so. */
  damage(damage: Damage): boolean {
    if (damage.kind === 'restore') {
      this.#restore(damage);
      return true;
    }
    if (damage.kind === 'wipe') {
      for (const register of this.#at(damage).values()) register.land(null, ++this.#places);
      return true;
    }
    const register = this.#at(damage).get(damage.key);
    if (!register?.newest) return false;
    if (damage.kind === 'forget') {
      register.forgetNewest(++this.#places);
      return true;
    }
    const byte = register.value?.[damage.byte];
    if (byte === undefined) return false;
    const value = (register.value as Uint8Array).slice();
    value[damage.byte] = byte ^ 0xff;
    register.land(value, ++this.#places, true);
    return true;
  }

  #restore({ unit, changes }: Extract<Damage, { kind: 'restore' }>): void {
    for (const access of this.#pending) if (access.request.unit === unit) this.refuse(access);
    const replaced = this.#replaced.get(unit) ?? [];
    for (const { key, value } of replaced.splice(Math.max(0, replaced.length - changes)).reverse()) {
      this.#register(unit, 0, key).land(value, ++this.#places);
    }
  }

  /** The newest record is about to be replaced. */
  #keepReplaced(unit: UnitId, key: string): void {
    if (unit === OWN_DISK) return;
    const { value } = this.#register(unit, 0, key);
    const replaced = this.#replaced.get(unit);
    if (replaced === undefined) this.#replaced.set(unit, [{ key, value }]);
    else if (replaced.push({ key, value }) > UNDONE_MAX) replaced.shift();
  }

  /** Another disk is put in. */
  replaceDisk(node: number): void {
    this.#disks.delete(node);
  }

  // ── As plain data ──────────────────────────────────────────────────────────────────────────────────

  /** Everything that can still make a difference, of registers and of these accesses, which may still take effect or be answered. `forgets`: newest changes may be undone. */
  snapshot(accesses: readonly BegunAccess[], forgets: boolean): StorageMemory {
    const registers = this.places.flatMap((place) =>
      [...this.#at(place)].flatMap(([key, register]): PlacedMemory[] => {
        const memory = register.snapshot(forgets);
        return memory.effects.length > 0 ? [{ ...memory, ...place, key }] : [];
      }),
    );
    return { registers, accesses: accesses.map((access) => this.#remembered(access, forgets)) };
  }

  #remembered(access: BegunAccess, forgets: boolean): AccessMemory {
    const { node, request, change, isEffective, isLost } = access;
    if (change) {
      const at = isLost ? 'lost' : isEffective ? this.#registerOf(access).rankOf(change.place, forgets) : null;
      return { node, request, at, floors: [] };
    }
    const read = request.action === 'list' ? this.#under(request, node) : [[request.key, this.#registerOf(access)] as const];
    const floors = read.map(([key, register]) => [key, register.rankOf(register.floorOf(access), forgets)] as const);
    return { node, request, at: null, floors: floors.filter(([, floor]) => floor > 0).sort(([a], [b]) => compareNames(a, b)) };
  }

  /** Of storage that was just built: it goes on from there. The accesses under way, in the same order. */
  restore({ registers, accesses }: StorageMemory): BegunAccess[] {
    for (const memory of registers) {
      this.#register(memory.unit, 'node' in memory ? memory.node : 0, memory.key).restore(memory);
      this.#places = Math.max(this.#places, memory.effects.length);
    }
    return accesses.map((memory) => (isChange(memory.request) ? this.#changing(memory) : this.#reading(memory)));
  }

  #changing({ node, request, at }: AccessMemory): BegunAccess {
    const register = this.#register(request.unit, node, request.key);
    const isPlaced = typeof at === 'number';
    const change = (isPlaced && register.changeAt(at)) || { value: valueOf(request), place: isPlaced ? 0 : NOT_YET };
    if (at === null && request.action !== 'swap' && !this.#isAtomic) register.begin(change);
    return Object.assign(begun(node, request, change), { isEffective: at !== null, isLost: at === 'lost' });
  }

  #reading({ node, request, floors }: AccessMemory): BegunAccess {
    const access = begun(node, request, null);
    if (request.action === 'list') this.#lists.add(access);
    for (const register of this.#readBy(access)) register.beginRead(access, 0);
    for (const [key, floor] of floors) this.#register(request.unit, node, key).beginRead(access, floor);
    return access;
  }

  #swap(access: BegunAccess, seen: Version | null, change: RegisterChange): void {
    const register = this.#registerOf(access);
    access.isLost = !equalVersions(register.value, seen);
    if (access.isLost) return;
    this.#keepReplaced(access.request.unit, access.request.key);
    register.begin(change);
    this.#putInPlace(register, change);
  }

  #putInPlace(register: RegularRegister, change: RegisterChange): void {
    register.takeEffect(change, ++this.#places);
    if (this.#isAtomic) register.answered(change);
  }

  #present(request: AccessRequest, node: number): string[] {
    const keys = this.#under(request, node).filter(([, { value }]) => value !== null);
    return keys.map(([key]) => key).sort(compareNames);
  }

  #readBy(access: BegunAccess): RegularRegister[] {
    const { request, node } = access;
    if (request.action === 'read') return [this.#registerOf(access)];
    return request.action === 'list' ? this.#under(request, node).map(([, register]) => register) : [];
  }

  #under({ unit, key: prefix }: AccessRequest, node: number): [string, RegularRegister][] {
    return [...this.#at(unit === OWN_DISK ? { unit, node } : { unit })].filter(([key]) => key.startsWith(prefix));
  }

  #registerOf({ request, node }: BegunAccess): RegularRegister {
    return this.#register(request.unit, node, request.key);
  }

  #register(unit: UnitId, node: number, key: string): RegularRegister {
    const registers = this.#at(unit === OWN_DISK ? { unit, node } : { unit });
    let register = registers.get(key);
    if (register !== undefined) return register;
    registers.set(key, (register = new RegularRegister(unit !== OWN_DISK)));
    // A list that has begun may find keys that come and go meanwhile.
    for (const list of this.#lists) if (list.request.unit === unit && key.startsWith(list.request.key)) register.beginRead(list, 0);
    return register;
  }

  #at(place: StoragePlace): Map<string, RegularRegister> {
    const isDisk = place.unit === OWN_DISK && 'node' in place;
    const places = isDisk ? this.#disks : this.#units;
    const number = isDisk ? place.node : place.unit;
    let registers = places.get(number);
    if (registers === undefined) places.set(number, (registers = new Map()));
    return registers;
  }
}

function begun(node: number, request: AccessRequest, change: RegisterChange | null): BegunAccess {
  return {
    request,
    node,
    change,
    isEffective: false,
    isLost: false,
    found: null,
    foundWeakly: undefined,
    keys: null,
    isListedWeakly: false,
    isVoid: false,
  };
}

/** Whether it would change a record. */
export function isChange({ action }: AccessRequest): boolean {
  return action !== 'read' && action !== 'list';
}

function valueOf(request: AccessRequest): Uint8Array | null {
  return request.action === 'write' || request.action === 'swap' ? request.value : null;
}

/** Units compare bytes. */
function equalVersions(a: Version | null, b: Version | null): boolean {
  return a === b || (a !== null && b !== null && a.length === b.length && equalBytes(a, 0, a.length, b, 0, b.length));
}
