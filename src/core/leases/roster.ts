/**
 * Which life of each member is the newest that this node has heard of. A life is one start of a member: a number that
 * rises with every start of the same id. The known lives only rise. Votes tell the life that gave them, and votes
 * of an older life than is known here do not count: so an old process, whose place a successor has taken, makes no
 * quorum with any voter that knows of the successor.
 *
 * A request carries a fingerprint of the asker's roster; a voter that knows something else sends its whole roster along.
 *
 * A member never forgets a life: a successor with a lower number, whose wall clock was set back, is told and goes above. A
 * client tells no successor. It goes by what each member told it last, so that it forgets what all members have
 * forgotten: a vote is judged by the voters beside it, and those have spoken since.
 */
import type { Incarnation, NodeId } from '../../kernel/index.ts';
import type { Snapshot } from '../contract.ts';
import type { NamedMessage } from './named-message.ts';

/** The life of a member that never was before: nothing of it can be out there. */
export const FIRST_LIFE = 1;
/** Lives of two processes of one id differ in this remainder of their incarnations, though both were to be above the same number. */
const REMAINDERS = 1024;
const BYTES = 8;

export class Roster {
  readonly #lives: Float64Array;
  /** The process that has the known life, where the member said so itself; 0 where another node passed it on. */
  readonly #holders: Float64Array;
  /** Of a client: what each member told last, a row each. */
  readonly #rows: Float64Array | null;
  #print = 0;
  #bytes: Uint8Array | null = null;

  constructor(members: number, isOfClient = false) {
    this.#lives = new Float64Array(members);
    this.#holders = new Float64Array(members);
    this.#rows = isOfClient ? new Float64Array(members * members) : null;
  }

  /** 53 bits that differ where rosters do. 0 while no life is known. */
  get print(): number {
    return this.#print;
  }

  /** 0 for a member that nothing is known of. */
  lifeOf(member: NodeId): number {
    return this.#lives[member] ?? 0;
  }

  /** A member says itself which life it is. False if another process has that life, or a later one. */
  note(member: NodeId, life: number, who: Incarnation): boolean {
    const known = this.lifeOf(member);
    if (life < known || (life === known && this.#holders[member] !== 0 && this.#holders[member] !== who)) return false;
    this.raise(member, life);
    this.#holders[member] = who;
    return true;
  }

  /** True if that is news. */
  raise(member: NodeId, life: number): boolean {
    if (member >= this.#lives.length || life <= this.lifeOf(member)) return false;
    this.#lives[member] = life;
    this.#holders[member] = 0;
    this.#changed();
    return true;
  }

  /** Takes over what a member knows. `grown` is called for each member with a later life than was known. */
  merge(message: NamedMessage, grown: (member: NodeId) => void): void {
    eachLife(message, this.#lives.length, (member, life) => {
      if (this.raise(member, life)) grown(member);
    });
  }

  /**
   * A member told its life, and perhaps its roster. `begun` is called for each member with another life than was
   * known: also for the speaking member, if it was another life when it spoke last.
   */
  hear(from: NodeId, message: NamedMessage, tellsAll: boolean, begun: (member: NodeId) => void): void {
    const rows = this.#rows;
    if (rows === null) {
      if (tellsAll) this.merge(message, begun);
      if (this.raise(from, message.life)) begun(from);
      return;
    }
    const row = rows.subarray(from * this.#lives.length, (from + 1) * this.#lives.length);
    const isAnother = row[from] !== message.life;
    // One process never forgets, though its messages overtake each other; another life of it may have forgotten.
    if (isAnother && tellsAll) row.fill(0);
    if (tellsAll) eachLife(message, row.length, (member, life) => (row[member] = Math.max(row[member] ?? 0, life)));
    row[from] = message.life;
    for (const [member, known] of this.#lives.entries()) {
      const life = this.#highest(rows, member);
      this.#lives[member] = life;
      if (life > known || (isAnother && member === from)) begun(member as NodeId);
    }
    this.#changed();
  }

  #highest(rows: Float64Array, member: number): number {
    let highest = 0;
    for (let at = member; at < rows.length; at += this.#lives.length) highest = Math.max(highest, rows[at] ?? 0);
    return highest;
  }

  /** All of it, for a message. */
  get bytes(): Uint8Array {
    if (this.#bytes !== null) return this.#bytes;
    const known = this.#known;
    const view = new DataView(new ArrayBuffer(known.length * BYTES));
    for (const [member, life] of known.entries()) view.setFloat64(member * BYTES, life, true);
    this.#bytes = new Uint8Array(view.buffer);
    return this.#bytes;
  }

  /** Up to the last member with a known life: nodes that leave room for more members than others say the same. */
  get #known(): Float64Array {
    return this.#lives.subarray(0, this.#lives.findLastIndex((life) => life > 0) + 1);
  }

  #changed(): void {
    this.#bytes = null;
    let [high, low] = [0x9e3779b9, 0x85ebca6b];
    for (const life of this.#known) {
      high = Math.imul(high ^ Math.floor(life / 2 ** 32), 0xc2b2ae35);
      low = Math.imul(low ^ (life >>> 0) ^ (high >>> 15), 0x27d4eb2f);
      high ^= low >>> 13;
    }
    this.#print = (high & 0x1fffff) * 2 ** 32 + (low >>> 0);
  }

  snapshot(): Snapshot {
    return [[...this.#lives], [...this.#holders], this.#rows && [...this.#rows]];
  }

  restore(snapshot: Snapshot): void {
    const [lives, holders, rows] = snapshot as unknown as [number[], number[], number[] | null];
    fill(this.#lives, lives);
    fill(this.#holders, holders);
    if (rows !== null && this.#rows !== null) fill(this.#rows, rows);
    if (lives.some((life) => life > 0)) this.#changed();
  }
}

/** `set` takes longer for lists as short as these, and a search restores rosters all the time. */
function fill(to: Float64Array, from: readonly number[]): void {
  for (let i = 0; i < from.length; i++) to[i] = from[i] as number;
}

function eachLife({ roster, rosterStart, rosterEnd }: NamedMessage, members: number, take: (member: NodeId, life: number) => void): void {
  const view = new DataView(roster.buffer, roster.byteOffset + rosterStart, rosterEnd - rosterStart);
  const told = Math.min(members, Math.floor(view.byteLength / BYTES));
  for (let member = 0; member < told; member++) {
    const life = view.getFloat64(member * BYTES, true);
    if (Number.isSafeInteger(life)) take(member as NodeId, life);
  }
}

/** The number of a life that begins now: above every life of the same member that was heard of, and not behind the wall clock. */
export function lifeAbove(heard: number, wallUs: number, who: Incarnation): number {
  const atLeast = Math.max(heard + 1, Math.floor(wallUs / 1000) * REMAINDERS, FIRST_LIFE + 1);
  return atLeast + ((((who - atLeast) % REMAINDERS) + REMAINDERS) % REMAINDERS);
}
