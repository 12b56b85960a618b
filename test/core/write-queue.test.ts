/** Answers that wait for writes: each leaves when all that it says is written, and not before. */
import { describe, expect, it } from 'vitest';
import { OWN_DISK, type Snapshot, type UnitId } from '../../src/core/index.ts';
import { WriteQueue } from '../../src/core/write-queue.ts';

/** A core that keeps one text in each place, and a unit whose writes are done when the test says so. */
class Keeper {
  readonly texts = new Map<number, string>();
  /** Writes under way, in the order in which they began. */
  readonly under: string[] = [];
  readonly left: string[] = [];
  readonly queue: WriteQueue<{ readonly says: string }, this>;

  constructor(afterItsWrite = true) {
    this.queue = new WriteQueue(OWN_DISK, this, afterItsWrite);
  }

  keyOf(place: number): string {
    return `place/${place}`;
  }

  bytesOf(place: number): Uint8Array {
    return new TextEncoder().encode(this.texts.get(place) ?? '');
  }

  leave({ says }: { readonly says: string }): void {
    this.left.push(says);
  }

  write(unit: UnitId, key: string, value: Uint8Array, op: number): void {
    if (unit !== OWN_DISK || key !== `place/${op}`) throw new Error(`a write of place ${op} went to ${key} of unit ${unit}`);
    this.under.push(`${op}: ${new TextDecoder().decode(value)}`);
  }

  /** Changes places; the answer waits for them, and for what is under way at `reads`. True if it left at once. */
  say(says: string, changes: readonly number[], reads: readonly number[] = []): boolean {
    const number = this.queue.enter({ says });
    for (const place of changes) {
      this.texts.set(place, says);
      this.queue.write(place, number, this);
    }
    for (const place of reads) this.queue.await(place, number);
    return this.queue.dismiss(number);
  }

  /** The write under way for this place is done. */
  done(place: number): boolean {
    const at = this.under.findIndex((write) => write.startsWith(`${place}:`));
    if (at >= 0) this.under.splice(at, 1);
    return this.queue.written(place, this);
  }
}

describe('an answer that waits for writes', () => {
  it('leaves when its write is done', () => {
    const keeper = new Keeper();
    expect(keeper.say('one', [3])).toBe(false);
    expect([keeper.under, keeper.left, keeper.queue.size]).toEqual([['3: one'], [], 1]);
    expect(keeper.done(3)).toBe(true);
    expect([keeper.left, keeper.queue.size]).toEqual([['one'], 0]);
  });

  it('leaves at once if it depends on nothing that is being written', () => {
    const keeper = new Keeper();
    expect(keeper.say('nothing', [])).toBe(true);
    expect(keeper.say('reads', [], [1, 2])).toBe(true);
    expect(keeper.queue.size).toBe(0);
  });

  it('waits for all of its writes, in whichever order they are done', () => {
    const keeper = new Keeper();
    keeper.say('all', [1, 2, 3]);
    keeper.done(3);
    keeper.done(1);
    expect(keeper.left).toEqual([]);
    keeper.done(2);
    expect(keeper.left).toEqual(['all']);
  });

  it('waits for what is being written though it changes nothing itself', () => {
    const keeper = new Keeper();
    keeper.say('writes', [1]);
    expect(keeper.say('reads', [], [1])).toBe(false);
    keeper.done(1);
    expect(keeper.left).toEqual(['writes', 'reads']);
  });
});

describe('a place that changes while it is being written', () => {
  it('is written again when that is done, once for all changes', () => {
    const keeper = new Keeper();
    keeper.say('one', [1]);
    keeper.say('two', [1]);
    keeper.say('three', [1]);
    expect(keeper.under).toEqual(['1: one']);
    expect(keeper.done(1)).toBe(false);
    expect([keeper.under, keeper.left]).toEqual([['1: three'], ['one']]);
    expect(keeper.done(1)).toBe(true);
    expect(keeper.left).toEqual(['one', 'two', 'three']);
  });

  it('keeps whoever only reads it waiting for the next write, too', () => {
    const keeper = new Keeper();
    keeper.say('one', [1]);
    keeper.say('two', [1]);
    keeper.say('reads', [], [1]);
    keeper.done(1);
    expect(keeper.left).toEqual(['one']);
    keeper.done(1);
    expect(keeper.left).toEqual(['one', 'two', 'reads']);
  });

  it('lets an answer go with the write before its own in the mutant only', () => {
    const keeper = new Keeper(false);
    keeper.say('one', [1]);
    keeper.say('two', [1]);
    keeper.done(1);
    expect(keeper.left).toEqual(['one', 'two']);
  });

  it('may change with nobody waiting for it', () => {
    const keeper = new Keeper();
    keeper.queue.write(1, null, keeper);
    keeper.queue.write(1, null, keeper);
    expect(keeper.done(1)).toBe(false);
    expect(keeper.done(1)).toBe(true);
    expect(keeper.left).toEqual([]);
  });
});

describe('a write queue', () => {
  it('goes on from a snapshot, and equal queues have equal ones', () => {
    const [before, other] = [new Keeper(), new Keeper()];
    for (const keeper of [before, other]) {
      keeper.say('one', [1, 2]);
      keeper.say('two', [2]);
    }
    expect(before.queue.snapshot()).toEqual(other.queue.snapshot());
    const after = new Keeper();
    after.queue.restore(JSON.parse(JSON.stringify(before.queue.snapshot())) as Snapshot);
    expect(after.queue.snapshot()).toEqual(before.queue.snapshot());
    after.texts.set(2, 'two');
    after.done(2);
    after.done(1);
    expect(after.left).toEqual(['one']);
    expect(after.under).toEqual(['2: two']);
    after.done(2);
    expect([after.left, after.queue.size]).toEqual([['one', 'two'], 0]);
  });

  it('does not go on when a write is answered that is not under way', () => {
    const keeper = new Keeper();
    expect(() => keeper.done(1)).toThrow('a write was answered that is not under way');
    keeper.say('one', [1]);
    keeper.done(1);
    expect(() => keeper.done(1)).toThrow('a write was answered that is not under way');
  });

  it('does not let an answer wait that has left', () => {
    const keeper = new Keeper();
    const number = keeper.queue.enter({ says: 'gone' });
    expect(keeper.queue.dismiss(number)).toBe(true);
    expect(() => keeper.queue.write(1, number, keeper)).toThrow('an answer that has left waits for a write');
  });
});
