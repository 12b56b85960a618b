/**
 * States of storage by number, and everything that can happen to the accesses under way and to records. An access takes effect, is answered or fails at
 * any time, or never; a read finds, and a list names, whatever a regular register allows. The registers of the stage decide that themselves: a
 * state is a snapshot of them, as small as its future. Where the world has damage, a record is corrupted, forgotten or wiped, or a write goes astray.
 */
import { stateHash, type Json } from '../../kernel/index.ts';
import { OWN_DISK, type Completion } from '../../core/index.ts';
import { inOrder, type Perspective } from '../../check/index.ts';
import {
  isChange,
  Registers,
  type AccessMemory,
  type AccessRequest,
  type BegunAccess,
  type Damage,
  type StorageMemory,
} from '../registers.ts';
import { bytesAsText } from '../regular-register.ts';
import type { SearchAction } from '../stage/actions.ts';
import { plainOf } from './hashes.ts';

/** The number of a state of storage. 0: nothing was written, nothing is under way. */
export type StorageId = number;

interface ExploredAccess extends AccessMemory {
  /** The process that waits for the answer; null: none does, because it has crashed, or was told that the access failed. */
  incarnation: number | null;
}

interface State extends StorageMemory {
  readonly accesses: readonly ExploredAccess[];
}

type Access = BegunAccess & Pick<ExploredAccess, 'incarnation'>;

type StorageAction = Extract<SearchAction, { kind: 'effect' | 'answer' | 'fail' | 'misdirect' | Damage['kind'] }>;

/** Something that can happen. */
export interface StorageMove {
  readonly action: StorageAction;
  /** What the process of the access is told; null where no process is told anything. */
  readonly completion: Completion | null;
  readonly next: StorageId;
}

/** Does an action on storage that was just restored; says what the process is told. */
type Deed = (registers: Registers, accesses: Access[]) => Completion | null;

export class StorageStates {
  readonly #hasDamage: boolean;
  readonly #isAtomic: boolean;
  readonly #states: State[] = [];
  readonly #ids = new Map<string, StorageId>();
  readonly #moves: (readonly StorageMove[] | undefined)[] = [];
  readonly #asks = new Map<string, StorageId>();
  readonly #requests = new Map<AccessRequest, string>();

  constructor({ hasDamage, isAtomic }: { readonly hasDamage: boolean; readonly isAtomic: boolean }) {
    this.#hasDamage = hasDamage;
    this.#isAtomic = isAtomic;
    this.#intern(new Registers(isAtomic), []);
  }

  renamed(id: StorageId, { node, incarnation }: Omit<Perspective, 'now'>): Json {
    const { registers, accesses } = this.#states[id] as State;
    return {
      registers: inOrder(registers.map((one) => ('node' in one ? { ...one, node: node(one.node) } : one)) as Json[]),
      accesses: inOrder(
        accesses.map((one) => ({
          ...this.#plain(one),
          node: node(one.node),
          incarnation: one.incarnation === null ? null : incarnation(one.incarnation),
        })),
      ),
    };
  }

  /** A node has begun accesses; `askedId` is a number for the list, for remembering. */
  ask(id: StorageId, node: number, incarnation: number, asked: readonly AccessRequest[], askedId: number): StorageId {
    const key = `${id} ${node} ${incarnation} ${askedId}`;
    const known = this.#asks.get(key);
    if (known !== undefined) return known;
    const { next } = this.#after(id, (registers, accesses) => {
      for (const request of asked) accesses.push(registers.begin(node, request, true, { incarnation }));
      return null;
    });
    this.#asks.set(key, next);
    return next;
  }

  /** A process is gone and so is its disk. Its changes on shared units may still take effect. */
  crashed(id: StorageId, node: number, incarnation: number): StorageId {
    if (id === 0) return id;
    return this.#after(id, (registers, accesses) => {
      for (const access of accesses.filter((one) => one.incarnation === incarnation)) {
        access.incarnation = null;
        if (mayComeLate(access)) continue;
        registers.abandon(access);
        accesses.splice(accesses.indexOf(access), 1);
      }
      registers.replaceDisk(node);
      return null;
    }).next;
  }

  /** Everything that can happen. */
  moves(id: StorageId): readonly StorageMove[] {
    const known = this.#moves[id];
    if (known) return known;
    const state = this.#states[id] as State;
    const { registers, accesses } = this.#restored(state);
    const moves = accesses.flatMap((access, i) => this.#movesOf(id, registers, access, i));
    if (this.#hasDamage) moves.push(...damages(registers).map((action) => this.#move(id, action, (there) => (there.damage(action), null))));
    this.#moves[id] = moves;
    return moves;
  }

  #movesOf(id: StorageId, registers: Registers, access: Access, index: number): StorageMove[] {
    const { node, incarnation, request } = access;
    const ref = { node, access: { incarnation, request } };
    const end = (ok: boolean, find?: (there: Registers, ended: Access) => void): Deed => {
      return (there, all) => {
        const ended = all[index] as Access;
        if (ok) there.takeEffect(ended);
        find?.(there, ended);
        if (ok || !mayComeLate(ended)) all.splice(index, 1);
        ended.incarnation = null;
        return there.end(ended, ok);
      };
    };
    const failure = this.#move(id, { kind: 'fail', ...ref }, end(false));
    if (request.action === 'list') {
      const listings = listingsOf(registers, access);
      const answers = listings.map((listing) =>
        this.#move(
          id,
          { kind: 'answer', ...ref, listing },
          end(true, (there, ended) => there.listAs(ended, listing)),
        ),
      );
      return [...answers, failure];
    }
    if (request.action === 'read') {
      if (request.unit === OWN_DISK) return [this.#move(id, { kind: 'answer', ...ref }, end(true)), failure];
      const answers = findingsOf(registers, access).map((finding) =>
        this.#move(
          id,
          { kind: 'answer', ...ref, finding },
          end(true, (_there, ended) => (ended.found = finding)),
        ),
      );
      return [...answers, failure];
    }
    const moves: StorageMove[] = [];
    const effect =
      (astray?: string): Deed =>
      (there, all) => {
        const effective = all[index] as Access;
        there.takeEffect(effective, astray);
        // An orphan that has taken effect is over: no process is told, and it stays concurrent with all that follows.
        if (incarnation === null) all.splice(index, 1);
        return null;
      };
    if (!access.isEffective) {
      moves.push(this.#move(id, { kind: 'effect', ...ref }, effect()));
      for (const to of this.#hasDamage && request.action === 'write' ? othersThan(request.key, registers, access) : [])
        moves.push(this.#move(id, { kind: 'misdirect', ...ref, to }, effect(to)));
    }
    if (incarnation !== null) moves.push(this.#move(id, { kind: 'answer', ...ref }, end(true)), failure);
    return moves;
  }

  #move(id: StorageId, action: StorageAction, deed: Deed): StorageMove {
    return { action, ...this.#after(id, deed) };
  }

  #after(id: StorageId, deed: Deed): Pick<StorageMove, 'completion' | 'next'> {
    const { registers, accesses } = this.#restored(this.#states[id] as State);
    const completion = deed(registers, accesses);
    return { completion, next: this.#intern(registers, accesses) };
  }

  #intern(registers: Registers, accesses: readonly Access[]): StorageId {
    const memory = registers.snapshot(accesses, this.#hasDamage);
    const plain = memory.accesses
      .map((one, i) => ({ ...one, incarnation: (accesses[i] as Access).incarnation }))
      .map((access) => ({ access, text: JSON.stringify(this.#plain(access)) }))
      .sort((one, other) => (one.text < other.text ? -1 : one.text > other.text ? 1 : 0));
    const registered = inOrder(memory.registers as unknown as Json[]);
    const state = { registers: registered as unknown as State['registers'], accesses: plain.map(({ access }) => access) };
    const key = stateHash([registered, plain.map(({ text }) => text)]);
    const known = this.#ids.get(key);
    if (known !== undefined) return known;
    this.#ids.set(key, this.#states.length);
    return this.#states.push(state) - 1;
  }

  #restored(state: State): { registers: Registers; accesses: Access[] } {
    const registers = new Registers(this.#isAtomic);
    const accesses = registers.restore(state);
    return {
      registers,
      accesses: accesses.map((access, i) => Object.assign(access, { incarnation: state.accesses[i]?.incarnation ?? null })),
    };
  }

  /** Requests are many times the same object: each is written down once. */
  #plain({ request, node, incarnation, at, floors }: ExploredAccess): Record<string, Json> {
    let text = this.#requests.get(request);
    if (text === undefined) this.#requests.set(request, (text = JSON.stringify(plainOf(request))));
    return { request: text, node, incarnation, at, floors };
  }
}

/** It may take effect when no process waits for it any more. */
function mayComeLate({ request, isEffective }: Access): boolean {
  return isChange(request) && request.unit !== OWN_DISK && !isEffective;
}

/** What a read may be answered with, each once; null is that nothing is there. A corrupt record has no name on a stage unless it is the newest. */
function findingsOf(registers: Registers, access: Access): (Uint8Array | null)[] {
  const { changes, orNothing } = registers.findable(access);
  const newest = registers.newestOf(access);
  const named = changes.filter((change) => change.isCorrupt !== true || change === newest).map(({ value }) => value);
  return [...new Map([...(orNothing ? [null] : []), ...named].map((value) => [bytesAsText(value), value])).values()];
}

/** Every list of keys that a list may be answered with. */
function listingsOf(registers: Registers, access: Access): string[][] {
  const { must, may } = registers.listable(access);
  return may.reduce<string[][]>((lists, key) => lists.flatMap((list) => [list, [...list, key]]), [must]);
}

/** The other keys of records in the same place. */
function othersThan(key: string, registers: Registers, { node, request: { unit } }: Access): string[] {
  return registers.keysAt(unit === OWN_DISK ? { unit, node } : { unit }).filter((other) => other !== key);
}

/** Everything that can befall records: of a corrupt one, the first byte. */
function damages(registers: Registers): Damage[] {
  return registers.places.flatMap((place): Damage[] => {
    const keys = registers.keysAt(place);
    const records = keys.flatMap((key): Damage[] => {
      const isEmpty = registers.recordAt(place, key)?.length === 0;
      return [...(isEmpty ? [] : [{ kind: 'corrupt', ...place, key, byte: 0 } as const]), { kind: 'forget', ...place, key }];
    });
    return keys.length > 0 ? [...records, { kind: 'wipe', ...place }] : [];
  });
}
