/**
 * States of storage by number, and everything that can happen to the accesses under way. An access takes effect, is answered or fails at
 * any time, or never; a read of a shared unit finds whatever a regular register allows, as on a stage. A state is plain data and as small as its
 * future: of the changes that took effect those that a read may still find, in their order, and of their answers the last in that order.
 */
import { invariant, stateHash, TenureError, type Json } from '../../kernel/index.ts';
import { OWN_DISK, type Completion } from '../../core/index.ts';
import { inOrder, type Perspective } from '../../check/index.ts';
import type { AccessRequest } from '../registers.ts';

/** The number of a state of storage. 0: nothing was written, nothing is under way. */
export type StorageId = number;

/** Bytes as text, so that states are plain data. */
type Text = string;

/** A change that took effect by its place in the order of effects, from 0. */
type Place = number;
/** Before all that is still kept. */
const PAST: Place = -1;

interface Register {
  /** The node whose disk it is on; null on a shared unit. */
  readonly disk: number | null;
  readonly unit: number;
  readonly key: string;
  /** What took effect, in that order. */
  readonly effects: readonly Text[];
  /** The last place that was answered: a read that begins now finds nothing older. PAST: a read may also find nothing at all. */
  readonly floor: Place;
  /** Of writes that failed before they took effect: a read may find them, or not. */
  readonly loose: readonly Text[];
}

interface Access {
  readonly node: number;
  /** Of a process that has crashed nobody waits for the answer. */
  readonly incarnation: number | null;
  readonly op: number;
  readonly disk: number | null;
  readonly unit: number;
  readonly key: string;
  /** What is written; null for a read. */
  readonly value: Text | null;
  /** Of a read, the floor when it began; of a write, its place; null if it has none yet. */
  readonly at: Place | null;
}

interface State {
  readonly registers: readonly Register[];
  readonly accesses: readonly Access[];
}

/** Something that can happen to an access. */
export interface StorageMove {
  readonly kind: 'effect' | 'answer' | 'fail';
  readonly node: number;
  /** Null: nobody is told. */
  readonly incarnation: number | null;
  readonly op: number;
  /** What a read of a shared unit finds; undefined where there is no choice. */
  readonly finding: Uint8Array | null | undefined;
  /** What the process is told. */
  readonly completion: Completion;
  readonly next: StorageId;
}

const NOTHING: State = { registers: [], accesses: [] };

export class StorageStates {
  readonly #states: State[] = [];
  readonly #ids = new Map<string, StorageId>();
  readonly #moves: (readonly StorageMove[] | undefined)[] = [];
  readonly #asks = new Map<string, StorageId>();

  constructor() {
    this.#intern(NOTHING);
  }

  renamed(id: StorageId, { node, incarnation }: Omit<Perspective, 'now'>): Json {
    const { registers, accesses } = this.#states[id] as State;
    const disk = (one: number | null): number | string | null => (one === null ? null : node(one));
    return {
      registers: inOrder(registers.map((one) => ({ ...one, disk: disk(one.disk) })) as Json[]),
      accesses: inOrder(
        accesses.map((one) => ({
          ...one,
          node: node(one.node),
          incarnation: one.incarnation === null ? null : incarnation(one.incarnation),
          disk: disk(one.disk),
        })) as Json[],
      ),
    };
  }

  /** A node has begun accesses; `askedId` is a number for the list, for remembering. */
  ask(id: StorageId, node: number, incarnation: number, asked: readonly AccessRequest[], askedId: number): StorageId {
    const key = `${id} ${node} ${incarnation} ${askedId}`;
    const known = this.#asks.get(key);
    if (known !== undefined) return known;
    const { registers, accesses } = this.#states[id] as State;
    const begun = asked.map((request): Access => {
      const { op, unit, key: name } = request;
      const value = valueOf(request);
      const disk = unit === OWN_DISK ? node : null;
      const floor = findRegister(registers, { disk, unit, key: name })?.floor ?? PAST;
      return { node, incarnation, op, disk, unit, key: name, value: value && textOf(value), at: value === null ? floor : null };
    });
    const next = this.#intern({ registers, accesses: [...accesses, ...begun] });
    this.#asks.set(key, next);
    return next;
  }

  /** A process is gone and so is its disk. What it wrote to shared units may still take effect. */
  crashed(id: StorageId, node: number, incarnation: number): StorageId {
    const { registers, accesses } = this.#states[id] as State;
    const left = accesses.flatMap((access): Access[] => {
      if (access.incarnation !== incarnation) return [access];
      return access.value === null || access.disk !== null ? [] : [{ ...access, incarnation: null }];
    });
    return this.#intern({ registers: registers.filter(({ disk }) => disk !== node), accesses: left });
  }

  /** Everything that can happen to the accesses under way. */
  moves(id: StorageId): readonly StorageMove[] {
    const known = this.#moves[id];
    if (known) return known;
    const state = this.#states[id] as State;
    const moves = state.accesses.flatMap((access) => this.#movesOf(state, access));
    this.#moves[id] = moves;
    return moves;
  }

  #movesOf(state: State, access: Access): StorageMove[] {
    const { node, incarnation, op } = access;
    const move = (kind: StorageMove['kind'], next: State, found?: Text | null): StorageMove => ({
      kind,
      node,
      incarnation,
      op,
      finding: access.disk === null && access.value === null && kind === 'answer' ? bytesOf(found ?? null) : undefined,
      completion: completionOf(access, kind !== 'fail', found ?? null),
      next: this.#intern(next),
    });
    if (access.value === null) {
      const over = withoutAccess(state, access);
      return [...findable(state, access).map((found) => move('answer', over, found)), move('fail', over)];
    }
    const effective = access.at === null ? withEffect(state, access) : null;
    const isAwaited = incarnation !== null;
    return [
      // An orphan that has taken effect is over: nobody is told, and it stays concurrent with all that follows.
      ...(effective ? [move('effect', isAwaited ? effective.state : withoutAccess(effective.state, effective.access))] : []),
      ...(isAwaited ? [move('answer', withAnswer(effective?.state ?? state, effective?.access ?? access))] : []),
      ...(isAwaited ? [move('fail', withFailure(state, access))] : []),
    ];
  }

  #intern(state: State): StorageId {
    const small = forgetting(state);
    const key = stateHash(small as unknown as Json);
    const known = this.#ids.get(key);
    if (known !== undefined) return known;
    this.#ids.set(key, this.#states.length);
    return this.#states.push(small) - 1;
  }
}

type Whereabouts = Pick<Register, 'disk' | 'unit' | 'key'>;

function isAt(register: Whereabouts, { disk, unit, key }: Whereabouts): boolean {
  return register.disk === disk && register.unit === unit && register.key === key;
}

function findRegister(registers: readonly Register[], where: Whereabouts): Register | undefined {
  return registers.find((register) => isAt(register, where));
}

function withRegister(state: State, where: Whereabouts, change: (register: Register) => Register): State {
  const { disk, unit, key } = where;
  const before = findRegister(state.registers, where) ?? { disk, unit, key, effects: [], floor: PAST, loose: [] };
  return { ...state, registers: [...state.registers.filter((register) => !isAt(register, where)), change(before)] };
}

function withoutAccess(state: State, access: Access): State {
  return { ...state, accesses: state.accesses.filter((one) => one !== access) };
}

function withEffect(state: State, access: Access): { state: State; access: Access } {
  const { value } = access;
  invariant(value !== null, 'only a write takes effect');
  let at: Place = 0;
  const written = withRegister(state, access, (register) => {
    at = register.effects.length;
    return { ...register, effects: [...register.effects, value] };
  });
  const effective = { ...access, at };
  return { state: { ...written, accesses: [...withoutAccess(written, access).accesses, effective] }, access: effective };
}

/** It was answered: whoever begins to read from here on finds it, or what took effect after it. */
function withAnswer(state: State, access: Access): State {
  return withRegister(withoutAccess(state, access), access, (register) => ({
    ...register,
    floor: Math.max(register.floor, access.at ?? PAST),
  }));
}

function withFailure(state: State, access: Access): State {
  const over = withoutAccess(state, access);
  const { value } = access;
  // On a disk, what has not taken effect never will.
  if (access.at !== null || value === null || access.disk !== null) return over;
  return withRegister(over, access, (register) => ({ ...register, loose: [...new Set([...register.loose, value])].sort() }));
}

/** What a read may be answered with; null is that nothing was ever written. */
function findable(state: State, access: Access): readonly (Text | null)[] {
  const register = findRegister(state.registers, access);
  const effects = register?.effects ?? [];
  if (access.disk !== null) return [effects.at(-1) ?? null];
  const floor = access.at ?? PAST;
  const pending = state.accesses.flatMap((one) => (isAt(one, access) && one.value !== null && one.at === null ? [one.value] : []));
  const found = [...effects.slice(Math.max(floor, 0)), ...pending, ...(register?.loose ?? [])];
  return [...new Set([...(floor === PAST ? [null] : []), ...found])];
}

/** The same state without what nobody can find any more, in one order. */
function forgetting(state: State): State {
  const bases = new Map<Register, Place>();
  const registers = state.registers.map((register): Register => {
    const { effects, floor, disk } = register;
    const reads = state.accesses.filter((one) => isAt(register, one) && one.value === null).map(({ at }) => at ?? PAST);
    const base = disk === null ? Math.max(0, Math.min(floor, ...reads)) : Math.max(0, effects.length - 1);
    bases.set(register, base);
    // A disk has one user, which finds the newest: there are no floors.
    return { ...register, effects: effects.slice(base), floor: floor === PAST || disk !== null ? PAST : floor - base };
  });
  const accesses = state.accesses.map((access): Access => {
    const register = findRegister(state.registers, access);
    const base = (register && bases.get(register)) ?? 0;
    if (access.at === null || access.at === PAST) return access;
    return { ...access, at: access.disk === null ? Math.max(access.at - base, PAST) : PAST };
  });
  return {
    registers: inOrder(registers as unknown as Json[]) as unknown as Register[],
    accesses: inOrder(accesses as unknown as Json[]) as unknown as Access[],
  };
}

/** What is written; null for a read. */
function valueOf(request: AccessRequest): Uint8Array | null {
  if (request.action === 'read') return null;
  if (request.action === 'write') return request.value;
  throw new TenureError('TENURE_UNSUPPORTED', `the explorer reads and writes storage, but knows no ${request.action}`);
}

/** As the stage tells it: the version of a record on a shared unit is its bytes. */
function completionOf({ op, disk, value: written }: Access, ok: boolean, found: Text | null): Completion {
  const value = ok && written === null ? bytesOf(found) : null;
  const version = !ok || disk !== null ? null : written === null ? value : bytesOf(written);
  return { op, ok, isLost: false, value, version, keys: null };
}

function textOf(bytes: Uint8Array): Text {
  return String.fromCharCode(...bytes);
}

function bytesOf(text: Text | null): Uint8Array | null {
  return text === null ? null : Uint8Array.from(text, (character) => character.charCodeAt(0));
}
