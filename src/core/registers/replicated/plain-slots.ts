/**
 * The blocks that one life of a process writes on plain units: one for each register and unit, with one write under way. Contents wanted meanwhile are
 * written next, the newest only. A block whose write was not heard of is left for good, and the next one takes its place: the write may land yet, over
 * nothing that counts.
 */
import { NEVER, type MonoUs } from '../../../kernel/index.ts';
import type { Snapshot } from '../../contract.ts';
import { asSnapshot, fromSnapshot } from '../../state-snapshot.ts';
import { covers, merged, type RegisterContent } from './contents.ts';
import { blockKeyOf } from './keys.ts';

interface Slot {
  readonly unit: number;
  readonly place: string;
  /** Which of the blocks of this life it is. */
  number: number;
  /** The content of this block, or one before it, for certain. */
  held: RegisterContent | null;
  writing: { readonly op: number; readonly content: RegisterContent; readonly untilUs: MonoUs } | null;
  /** The content to be written next. */
  wanted: RegisterContent | null;
  /** Tasks, and what each waits for. */
  waiting: { readonly task: number; readonly content: RegisterContent }[];
}

export class PlainSlots {
  readonly #life: number;
  #slots = new Map<string, Slot>();
  /** Writes under way. */
  readonly #writes = new Map<number, Slot>();

  constructor(life: number) {
    this.#life = life;
  }

  get writingUntilUs(): MonoUs {
    let first: MonoUs = NEVER;
    for (const { writing } of this.#writes.values()) if (writing !== null && writing.untilUs < first) first = writing.untilUs;
    return first;
  }

  overdue(nowUs: MonoUs): number[] {
    return [...this.#writes].filter(([, { writing }]) => writing !== null && writing.untilUs <= nowUs).map(([op]) => op);
  }

  keyOf(unit: number, place: string): string {
    return blockKeyOf(place, this.#life, this.#slot(unit, place).number);
  }

  /** All that the block is to have with this content in it, whether anything else is under way or not. */
  withBegun(unit: number, place: string, content: RegisterContent): RegisterContent {
    const slot = this.#slot(unit, place);
    return (slot.held = merged(slot.held, content));
  }

  /** The task waits until this content is in the block. */
  join(unit: number, place: string, content: RegisterContent, task: number): void {
    const slot = this.#slot(unit, place);
    slot.waiting.push({ task, content });
    if (!covers(slot.held, content)) slot.wanted = slot.wanted === null ? content : merged(slot.wanted, content);
  }

  /** The content to be written now; null if there is none, or another write is under way. */
  write(unit: number, place: string, op: number, untilUs: MonoUs): { readonly key: string; readonly content: RegisterContent } | null {
    const slot = this.#slot(unit, place);
    const { wanted, held } = slot;
    if (slot.writing !== null || wanted === null) return null;
    slot.wanted = null;
    if (covers(held, wanted)) return null;
    const content = merged(held, wanted);
    slot.writing = { op, content, untilUs };
    this.#writes.set(op, slot);
    return { key: blockKeyOf(place, this.#life, slot.number), content };
  }

  /** A write ended; null if it is none of these. Tasks that waited in vain are named. */
  completed(op: number, ok: boolean): { readonly unit: number; readonly place: string; readonly failed: readonly number[] } | null {
    const slot = this.#writes.get(op);
    if (slot === undefined) return null;
    this.#writes.delete(op);
    const { unit, place, writing } = slot;
    if (writing?.op !== op) return { unit, place, failed: [] };
    slot.writing = null;
    if (ok) slot.held = writing.content;
    else slot.number++;
    return { unit, place, failed: ok ? [] : this.#giveUp(slot) };
  }

  /** Tasks whose content is in the block. */
  served(unit: number, place: string): number[] {
    const slot = this.#slot(unit, place);
    const served = slot.waiting.filter(({ content }) => covers(slot.held, content));
    slot.waiting = slot.waiting.filter(({ content }) => !covers(slot.held, content));
    return served.map(({ task }) => task);
  }

  /** Nothing of before is on the unit. Writes under way may land: they have blocks of their own. The tasks that waited for them are named. */
  forget(unit: number): number[] {
    return [...this.#slots.values()].flatMap((slot) => {
      if (slot.unit !== unit) return [];
      slot.number++;
      slot.held = null;
      slot.writing = null;
      return this.#giveUp(slot);
    });
  }

  snapshot(): Snapshot {
    return asSnapshot(this.#slots);
  }

  restore(snapshot: Snapshot): void {
    this.#slots = fromSnapshot(snapshot) as Map<string, Slot>;
    this.#writes.clear();
    for (const slot of this.#slots.values()) if (slot.writing !== null) this.#writes.set(slot.writing.op, slot);
  }

  #giveUp(slot: Slot): number[] {
    const given = slot.waiting.map(({ task }) => task);
    slot.waiting = [];
    slot.wanted = null;
    return given;
  }

  #slot(unit: number, place: string): Slot {
    const key = `${unit} ${place}`;
    let slot = this.#slots.get(key);
    if (slot === undefined) this.#slots.set(key, (slot = { unit, place, number: 0, held: null, writing: null, wanted: null, waiting: [] }));
    return slot;
  }
}
