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

const FAILED = { ok: false, isLost: false, value: null, version: null, keys: null } as const;

export class Epochs {
  /** The unit for the core: accesses end well only in the epoch that the core knows of. */
  readonly unit: SharedUnit;
  readonly #ground: EpochGround;
  #epoch = '';
  /** Counts epochs, and the times between them: an answer counts only if nothing has changed since it was asked. */
  #turn = 0;
  #isSettled = false;
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

  /** Throws what keeps it from knowing the epoch. */
  async begin(access: AccessOptions): Promise<void> {
    this.#ground.entered(await this.#ask(access));
    this.#isSettled = true;
  }

  /** An access failed. */
  heard(error: unknown): void {
    if (!(error instanceof TenureError) || error.code !== 'TENURE_STORE_EPOCH' || !this.#isSettled) return;
    this.#isSettled = false;
    this.#turn++;
    void this.#settle();
  }

  /** One observation has passed in this epoch: later openers need not wait. It is a favour to them, and may fail. */
  async waited(): Promise<void> {
    const { store, access } = this.#ground;
    await noteWaitedOut(store, this.#epoch, access).catch(() => undefined);
  }

  stop(): void {
    this.#isStopped = true;
    this.#callOff();
  }

  async #settle(): Promise<void> {
    while (!this.#isSettled && !this.#isStopped) {
      try {
        const { store, parameters, access } = this.#ground;
        const isWaited = await this.#ask(access);
        await adoptParameters(store, parameters, access);
        if (this.#isStopped) return;
        this.#ground.entered(isWaited);
        this.#isSettled = true;
      } catch (error) {
        if (this.#isStopped) return;
        if (!(error instanceof TenureError) || error.code !== 'TENURE_STORE_PARAMS') await this.#rest();
        else this.#ground.refused(error);
      }
    }
  }

  /** True if nothing need be waited for in the epoch that the store is in. */
  async #ask(access: AccessOptions): Promise<boolean> {
    const { store } = this.#ground;
    const epoch = await store.epoch(access);
    const isWaited = store.mayForget === false || (await isWaitedOut(store, epoch, access));
    this.#epoch = epoch;
    return isWaited;
  }

  #rest(): Promise<void> {
    const { clocks, retryUs } = this.#ground;
    return new Promise((resolve) => (this.#callOff = clocks.after(retryUs, resolve)));
  }

  /** An access that began before the core was told of an epoch may be carried out in it: its answer is of no use. */
  #guard(done: UnitAnswer, begin: (answer: UnitAnswer) => void): void {
    const turn = this.#turn;
    if (!this.#isSettled) {
      queueMicrotask(() => done(FAILED));
      return;
    }
    begin((answer) => done(this.#isSettled && turn === this.#turn ? answer : FAILED));
  }
}
