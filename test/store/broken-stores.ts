/** Stores that break the contract, each in one way. The conformance suite has to find every one of them out. */
import {
  MemoryStore,
  type AccessOptions,
  type Landing,
  type ListOptions,
  type MemorySpace,
  type SwapOutcome,
} from '../../src/store/index.ts';

const turn = async (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** A write becomes visible in two halves. */
class TornWrites extends MemoryStore {
  override async write(key: string, value: Uint8Array | null, options?: AccessOptions): Promise<Landing> {
    if (value !== null && value.length > 1) {
      await super.write(key, value.slice(0, value.length >> 1), options);
      await turn();
    }
    return await super.write(key, value, options);
  }
}

class UnconditionalSwap extends MemoryStore {
  override async swap(key: string, _seen: Uint8Array | null, next: Uint8Array | null, options?: AccessOptions): Promise<SwapOutcome> {
    await super.write(key, next, options);
    return 'won';
  }
}

/** Reads and then writes: right as long as nobody else does. */
class SwapInTwoSteps extends MemoryStore {
  override async swap(key: string, seen: Uint8Array | null, next: Uint8Array | null, options?: AccessOptions): Promise<SwapOutcome> {
    const current = await super.read(key, options);
    await turn();
    if (Buffer.compare(current ?? Buffer.from('nothing'), seen ?? Buffer.from('nothing')) !== 0) return 'lost';
    await super.write(key, next, options);
    return 'won';
  }
}

/** What is sent again lands at the third look at its key, whoever looks: no clock decides whether it is seen. */
class LandsAgain {
  readonly #late = new Map<string, { looks: number; readonly land: () => Promise<unknown> }>();

  /** Of several the first one is kept. */
  keep(key: string, land: () => Promise<unknown>): void {
    if (!this.#late.has(key)) this.#late.set(key, { looks: 0, land });
  }

  async look(key: string): Promise<void> {
    const late = this.#late.get(key);
    if (late === undefined || ++late.looks < 3) return;
    this.#late.delete(key);
    await late.land();
  }

  static readonly #spaces = new WeakMap<MemorySpace, LandsAgain>();

  static in(space: MemorySpace): LandsAgain {
    const known = LandsAgain.#spaces.get(space) ?? new LandsAgain();
    LandsAgain.#spaces.set(space, known);
    return known;
  }
}

/** A client library that sends again what it believes lost. */
class WriteSentTwice extends MemoryStore {
  readonly #again: LandsAgain;

  constructor(space: MemorySpace) {
    super(space);
    this.#again = LandsAgain.in(space);
  }

  override async write(key: string, value: Uint8Array | null, options?: AccessOptions): Promise<Landing> {
    const copy = value?.slice() ?? null;
    const landing = await super.write(key, copy, options);
    this.#again.keep(key, async () => await super.write(key, copy));
    return landing;
  }

  override async read(key: string, options?: AccessOptions): Promise<Uint8Array | null> {
    await this.#again.look(key);
    return await super.read(key, options);
  }
}

/** The same of a creation. */
class CreateSentTwice extends MemoryStore {
  readonly #again: LandsAgain;

  constructor(space: MemorySpace) {
    super(space);
    this.#again = LandsAgain.in(space);
  }

  override async swap(key: string, seen: Uint8Array | null, next: Uint8Array | null, options?: AccessOptions): Promise<SwapOutcome> {
    const copy = next?.slice() ?? null;
    const outcome = await super.swap(key, seen, copy, options);
    if (seen === null && outcome === 'won') this.#again.keep(key, async () => await super.swap(key, null, copy));
    return outcome;
  }

  override async read(key: string, options?: AccessOptions): Promise<Uint8Array | null> {
    await this.#again.look(key);
    return await super.read(key, options);
  }
}

class ListThatMisses extends MemoryStore {
  override async list(prefix: string, options?: ListOptions): Promise<string[]> {
    const keys = await super.list(prefix, options);
    return keys.length > 20 ? keys.toSpliced(11, 1) : keys;
  }
}

/** Every connection remembers what it read for a while. */
class StaleReads extends MemoryStore {
  readonly #remembered = new Map<string, Uint8Array | null>();
  #reads = 0;

  override async read(key: string, options?: AccessOptions): Promise<Uint8Array | null> {
    const remembered = this.#remembered.get(key);
    if (remembered !== undefined && this.#reads++ % 3 !== 0) return remembered?.slice() ?? null;
    const value = await super.read(key, options);
    this.#remembered.set(key, value?.slice() ?? null);
    return value;
  }
}

class CutValues extends MemoryStore {
  override async write(key: string, value: Uint8Array | null, options?: AccessOptions): Promise<Landing> {
    return await super.write(key, value?.slice(0, 4096) ?? null, options);
  }
}

class FoldedKeys extends MemoryStore {
  override async read(key: string, options?: AccessOptions): Promise<Uint8Array | null> {
    return await super.read(key.toLowerCase(), options);
  }

  override async write(key: string, value: Uint8Array | null, options?: AccessOptions): Promise<Landing> {
    return await super.write(key.toLowerCase(), value, options);
  }
}

/** Says that it failed though the write has landed. */
class FailsAfterTheFact extends MemoryStore {
  override async write(key: string, value: Uint8Array | null, options: AccessOptions = {}): Promise<Landing> {
    const landing = await super.write(key, value, {});
    await turn();
    options.signal?.throwIfAborted();
    return landing;
  }
}

class EraseIgnoresCondition extends MemoryStore {
  override async swap(key: string, seen: Uint8Array | null, next: Uint8Array | null, options?: AccessOptions): Promise<SwapOutcome> {
    if (next !== null) return await super.swap(key, seen, next, options);
    await super.write(key, null, options);
    return 'won';
  }
}

class SilentWatch extends MemoryStore {
  override async watch(): Promise<() => Promise<void>> {
    return async () => {};
  }
}

/** Serves on in a new epoch as if nothing had happened. */
class HiddenEpoch extends MemoryStore {
  override async read(key: string, options?: AccessOptions): Promise<Uint8Array | null> {
    await super.epoch();
    return await super.read(key, options);
  }
}

/** Loses what it had acknowledged, and calls itself the same. */
class LostWrites extends HiddenEpoch {
  override async epoch(options?: AccessOptions): Promise<string> {
    await super.epoch(options);
    return 'always';
  }
}

export const BROKEN_STORES: Readonly<Record<string, (space: MemorySpace) => MemoryStore>> = {
  'torn writes': (space) => new TornWrites(space),
  'a swap that ignores its condition': (space) => new UnconditionalSwap(space),
  'a swap in two steps': (space) => new SwapInTwoSteps(space),
  'a write that is sent twice': (space) => new WriteSentTwice(space),
  'a creation that is sent twice': (space) => new CreateSentTwice(space),
  'a list that misses a key': (space) => new ListThatMisses(space),
  'stale reads': (space) => new StaleReads(space),
  'values that are cut': (space) => new CutValues(space),
  'keys that are folded': (space) => new FoldedKeys(space),
  'failures after the fact': (space) => new FailsAfterTheFact(space),
  'an erasure that ignores its condition': (space) => new EraseIgnoresCondition(space),
  'a watch without hints': (space) => new SilentWatch(space),
  'an epoch that is not told': (space) => new HiddenEpoch(space),
  'acknowledged writes that are lost': (space) => new LostWrites(space),
};
