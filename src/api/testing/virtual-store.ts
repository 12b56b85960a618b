/**
 * A store in virtual time, for the testing kit. Each process has a connection of its own, which can be cut: then nothing that it
 * sends lands, and no answer comes. A change that is on its way when its process dies lands all the same.
 */
import { TenureError } from '../../kernel/index.ts';
import type { SharedUnit, UnitAnswer } from '../../runtime/index.ts';
import { equalValues, MemoryStore, type AccessOptions, type Capabilities, type MemorySpace } from '../../store/index.ts';
import type { VirtualProcess, VirtualTime } from './virtual-time.ts';

/** An access takes twice this long: once until it lands, once until it is answered. */
const HOP_US = 250;

/** Rare requests to the store, without timing: its epoch, and whether that was waited out. */
export class VirtualStore extends MemoryStore {
  override readonly can: Capabilities;
  readonly space: MemorySpace;
  /** The epoch that accesses are made under. */
  known: number;

  constructor(space: MemorySpace, swap: boolean) {
    super(space);
    this.space = space;
    this.known = space.epoch;
    this.can = { swap, list: true, watch: false };
  }

  override epoch(options?: AccessOptions): Promise<string> {
    this.known = this.space.epoch;
    return super.epoch(options);
  }
}

type Answered = Parameters<UnitAnswer>[0];

const DONE: Answered = { ok: true, isLost: false, value: null, version: null, keys: null };
const FAILED: Answered = { ...DONE, ok: false };

interface VirtualUnitGround {
  readonly store: VirtualStore;
  readonly time: VirtualTime;
  readonly process: VirtualProcess;
  /** How long an answer is waited for. */
  readonly patienceUs: number;
  /** How long a call of the code under test is given to be answered by itself. */
  readonly answerUs: number;
  readonly onFailure: (error: unknown) => void;
}

export class VirtualUnit implements SharedUnit {
  isCut = false;
  readonly #ground: VirtualUnitGround;

  constructor(ground: VirtualUnitGround) {
    this.#ground = ground;
  }

  read(key: string, done: UnitAnswer): void {
    this.#access(done, ({ records }) => {
      const value = records.get(key)?.slice() ?? null;
      return { ...DONE, value, version: value };
    });
  }

  write(key: string, value: Uint8Array, done: UnitAnswer): void {
    this.#put(key, value.slice(), done);
  }

  erase(key: string, done: UnitAnswer): void {
    this.#put(key, null, done);
  }

  swap(key: string, seen: Uint8Array | null, value: Uint8Array | null, done: UnitAnswer): void {
    const [before, after] = [seen?.slice() ?? null, value?.slice() ?? null];
    this.#access(done, (space) => {
      if (!equalValues(space.records.get(key) ?? null, before)) return { ...DONE, isLost: true };
      space.set(key, after);
      return { ...DONE, version: after };
    });
  }

  list(prefix: string, done: UnitAnswer): void {
    this.#access(done, ({ records }) => ({ ...DONE, keys: [...records.keys()].filter((key) => key.startsWith(prefix)) }));
  }

  #put(key: string, value: Uint8Array | null, done: UnitAnswer): void {
    this.#access(done, (space) => {
      space.set(key, value);
      return { ...DONE, version: value };
    });
  }

  #access(done: UnitAnswer, land: (space: MemorySpace) => Answered): void {
    const { store, time, process, patienceUs, answerUs, onFailure } = this.#ground;
    const fail = (code: 'TENURE_STORE_UNREACHABLE' | 'TENURE_STORE_EPOCH', why: string): void => {
      callOff();
      onFailure(new TenureError(code, `the store ${why}`));
      done(FAILED);
    };
    const callOff = time.plan(time.nowUs + patienceUs, process, () => fail('TENURE_STORE_UNREACHABLE', 'did not answer in time'));
    time.answer(answerUs);
    if (this.isCut) return;
    this.#hop(null, () => {
      if (this.isCut) return;
      const isKnown = store.known === store.space.epoch;
      const answer = isKnown ? land(store.space) : null;
      this.#hop(process, () => {
        if (this.isCut) return;
        if (answer === null) {
          fail('TENURE_STORE_EPOCH', 'has started anew');
          return;
        }
        callOff();
        done(answer);
      });
    });
  }

  #hop(process: VirtualProcess | null, task: () => void): void {
    const { time } = this.#ground;
    time.plan(time.nowUs + HOP_US, process, task);
    time.flow(HOP_US);
  }
}
