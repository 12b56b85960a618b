/**
 * The epoch of a store (rule 23). A store that started anew may have lost what a holder wrote, so its accesses fail until the new
 * epoch was asked for. Here it is asked for, and the core is told before any access of the new epoch reaches it.
 */
import { TenureError } from '../../kernel/index.ts';
import type { Clocks, SharedUnit, UnitAnswer } from '../../runtime/index.ts';
import { adoptParameters, isWaitedOut, noteWaitedOut, type AccessOptions, type Parameters, type Store } from '../../store/index.ts';

interface EpochGround {
  readonly store: Store;
  /** What this process goes by: the store may have lost that as well. */
  readonly parameters: Parameters;
  /** The store as a unit, whatever its epoch. */
  readonly unit: SharedUnit;
  readonly clocks: Pick<Clocks, 'after'>;
  readonly access: AccessOptions;
  readonly retryUs: number;
  /** The store is in an epoch that the core has not seen. */
  readonly entered: (isWaitedOut: boolean) => void;
  /** The parameters were lost, and the store was set up differently since: nothing may be done here any more. */
  readonly refused: (error: TenureError) => void;
}

/** The users of the epoch of a store: a user that asks for it sets it for all accesses of that store, and the others would never hear of it. */
const users = new WeakMap<Store, Set<Epochs>>();

/** The epoch of the store from here on, told to all its users in this process. */
export async function askEpoch(store: Store, access: AccessOptions): Promise<string> {
  const epoch = await store.epoch(access);
  for (const user of users.get(store) ?? []) user.noteEpoch(epoch);
  return epoch;
}

interface Asked {
  readonly epoch: string;
  /** Nothing need be waited for in it. */
  readonly isWaited: boolean;
}

const FAILED = { ok: false, isLost: false, value: null, version: null, keys: null } as const;

export class Epochs {
  /** The unit for the core: accesses end well only in the epoch that the core knows of. */
  readonly unit: SharedUnit;
  readonly #ground: EpochGround;
  /** That the core knows of. */
  #epoch = '';
  /** The epoch of the store's accesses by now, whichever user asked for it. */
  #latest = '';
  /** Counts epochs, and the times between them: an answer counts only if nothing has changed since it was asked. */
  #turn = 0;
  #isCurrent = false;
  #isStopped = false;
  #callOff: () => void = () => {};

  constructor(ground: EpochGround) {
    this.#ground = ground;
    const { unit } = ground;
    this.unit = {
      read: (key, done) => this.#guard(done, (answer) => unit.read(key, answer)),
      write: (key, value, done) => this.#guard(done, (answer) => unit.write(key, value, answer)),
      swap: (key, seen, value, done) => this.#guard(done, (answer) => unit.swap(key, seen, value, answer)),
      erase: (key, done) => this.#guard(done, (answer) => unit.erase(key, answer)),
      list: (prefix, done) => this.#guard(done, (answer) => unit.list(prefix, answer)),
    };
  }

  /** Throws the error that keeps it from knowing the epoch. */
  async begin(access: AccessOptions): Promise<void> {
    const { store } = this.#ground;
    users.set(store, (users.get(store) ?? new Set()).add(this));
    this.#enter(await this.#ask(access));
  }

  /** An access failed. */
  heard(error: unknown): void {
    if (error instanceof TenureError && error.code === 'TENURE_STORE_EPOCH') this.#noteStale();
  }

  /** A user has asked for the epoch of the store. */
  noteEpoch(epoch: string): void {
    this.#latest = epoch;
    if (epoch !== this.#epoch) this.#noteStale();
  }

  /** One observation has passed in this epoch: later openers need not wait. It is a favour to them, and may fail. */
  async waited(): Promise<void> {
    const { store, access } = this.#ground;
    await noteWaitedOut(store, this.#epoch, access).catch(() => undefined);
  }

  stop(): void {
    this.#isStopped = true;
    users.get(this.#ground.store)?.delete(this);
    this.#callOff();
  }

  #noteStale(): void {
    if (!this.#isCurrent) return;
    this.#isCurrent = false;
    this.#turn++;
    void this.#enterLatest();
  }

  async #enterLatest(): Promise<void> {
    while (!this.#isCurrent && !this.#isStopped) {
      try {
        const { store, parameters, access } = this.#ground;
        const asked = await this.#ask(access);
        await adoptParameters(store, parameters, access);
        if (this.#isStopped) return;
        if (asked.epoch === this.#latest) this.#enter(asked);
      } catch (error) {
        if (this.#isStopped) return;
        if (!(error instanceof TenureError) || error.code !== 'TENURE_STORE_PARAMS') await this.#rest();
        else this.#ground.refused(error);
      }
    }
  }

  async #ask(access: AccessOptions): Promise<Asked> {
    const { store } = this.#ground;
    for (;;) {
      const epoch = await askEpoch(store, access);
      const isWaited = store.mayForget === false || (await isWaitedOut(store, epoch, access));
      // Another user may have asked meanwhile, and heard of another.
      if (epoch === this.#latest) return { epoch, isWaited };
    }
  }

  /** What the core asks for when it is told is of this epoch already. */
  #enter({ epoch, isWaited }: Asked): void {
    this.#epoch = epoch;
    this.#isCurrent = true;
    this.#ground.entered(isWaited);
  }

  #rest(): Promise<void> {
    const { clocks, retryUs } = this.#ground;
    return new Promise((resolve) => (this.#callOff = clocks.after(retryUs, resolve)));
  }

  /** An access that began before the core was told of an epoch may be carried out in it: its answer is of no use. */
  #guard(done: UnitAnswer, begin: (answer: UnitAnswer) => void): void {
    const turn = this.#turn;
    if (!this.#isCurrent) {
      queueMicrotask(() => done(FAILED));
      return;
    }
    begin((answer) => done(this.#isCurrent && turn === this.#turn ? answer : FAILED));
  }
}
