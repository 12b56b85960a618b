/** What a learner believes, by name. A lease that it was told of and that has not ended is a row of numbers; any other belief is an object. */
import { ballotTime, monoUs, NumberMap, type BallotTime, type Incarnation, type MonoUs } from '../../../kernel/index.ts';
import { LEARN_ROLE, LeaseColumn, OwnerTable, Rows, type F64Column, type NameTable, type U32Column } from '../../tables/index.ts';

export interface Belief {
  holder: Incarnation;
  holderLease: number;
  token: number;
  /** Its owner's when it said so. */
  ballot: BallotTime;
  /** By our own clocks. */
  untilWall: number;
  untilMono: MonoUs;
  /** Its owner lets go: nothing that comes late makes it last longer, nor brings it back. */
  letsGo: boolean;
  /** It has ended here, and is kept only to know late messages. */
  isOver: boolean;
  /** Until when something about it may still be under way. */
  keptUntil: MonoUs;
}

export class Beliefs {
  readonly #names: NameTable;
  readonly #owners: OwnerTable;
  readonly #special = new NumberMap<Belief>();
  readonly #plain: Rows = new Rows({ f64: 4, u32: 2, u16: 1, u8: 0 });
  readonly #token: F64Column = this.#plain.f64(0);
  readonly #untilWall: F64Column = this.#plain.f64(1);
  readonly #untilMono: F64Column = this.#plain.f64(2);
  readonly #ballot: F64Column = this.#plain.f64(3);
  readonly #holder: U32Column = this.#plain.u32(0);
  readonly #lease: LeaseColumn = new LeaseColumn(this.#plain.u32(1), this.#plain.u16(0));
  #count = 0;

  constructor(names: NameTable) {
    this.#owners = new OwnerTable(names.key);
    this.#names = names;
  }

  get count(): number {
    return this.#count;
  }

  /** How many names the node knows, at most. */
  get names(): number {
    return this.#names.idLimit;
  }

  /** The id of a name, for the others here: -1 if nothing is believed of it. */
  find(name: Uint8Array): number {
    const id = this.#names.find(name, 0, name.length);
    return id >= 0 && this.#names.isUsed(id, LEARN_ROLE) ? id : -1;
  }

  nameOf(id: number): Uint8Array {
    return this.#names.toBytes(id);
  }

  /** A caller that changes the belief puts it back. */
  get(id: number): Belief | null {
    if (id < 0 || !this.#names.isUsed(id, LEARN_ROLE)) return null;
    return this.#special.get(id) ?? this.#unpack(id);
  }

  /** The id of the name. */
  put(name: Uint8Array, belief: Belief): number {
    const id = this.#names.intern(name, 0, name.length);
    if (!this.#names.isUsed(id, LEARN_ROLE)) this.#count++;
    this.#clear(id);
    this.#names.retain(id, LEARN_ROLE);
    if (belief.letsGo || belief.isOver || belief.keptUntil !== belief.untilMono) this.#special.set(id, belief);
    else this.#pack(id, belief);
    return id;
  }

  delete(id: number): void {
    this.#clear(id);
    this.#count--;
    this.#names.drop(id, LEARN_ROLE);
  }

  ids(): number[] {
    return Array.from({ length: this.#names.idLimit }, (_, id) => id).filter((id) => this.#names.isUsed(id, LEARN_ROLE));
  }

  #clear(id: number): void {
    if (!this.#names.isUsed(id, LEARN_ROLE) || this.#special.delete(id)) return;
    this.#owners.release(this.#holder.get(id));
    this.#plain.leave(id);
  }

  #pack(id: number, { holder, holderLease, token, ballot, untilWall, untilMono }: Belief): void {
    const index = this.#owners.indexOf(holder);
    this.#owners.retain(index);
    this.#plain.enter(id);
    this.#token.set(id, token);
    this.#ballot.set(id, ballot);
    this.#untilWall.set(id, untilWall);
    this.#untilMono.set(id, untilMono);
    this.#holder.set(id, index);
    this.#lease.set(id, holderLease);
  }

  #unpack(id: number): Belief {
    const untilMono = monoUs(this.#untilMono.get(id));
    return {
      holder: this.#owners.incarnationOf(this.#holder.get(id)),
      holderLease: this.#lease.get(id),
      token: this.#token.get(id),
      ballot: ballotTime(this.#ballot.get(id)),
      untilWall: this.#untilWall.get(id),
      untilMono,
      letsGo: false,
      isOver: false,
      keptUntil: untilMono,
    };
  }
}
