/** A core of FastCT alone: tests hand it what others would say, and look at what it says, stores and tells. */
import { incarnation, monoUs, nodeId, wallUs } from '../../../src/kernel/index.ts';
import { FastCtCore, type Boot, type FastCtConfig, type FastCtEvent, type FastCtMessage, type Step } from '../../../src/core/index.ts';
import { CONFIG } from './group.ts';

export const BOOT: Boot = { self: nodeId(0), incarnation: incarnation(1), restarted: false, diskKept: false };
export const DONE = { ok: true, isLost: false, value: null, version: null, keys: null } as const;
export const LAMBDA = 4;

const FAST: FastCtConfig = {
  consensus: CONFIG,
  lambda: { kind: 'fixed', size: LAMBDA },
  isLiteralInterval: false,
  asksAhead: false,
  rttUs: 1000,
};

export class Recorder {
  readonly core: FastCtCore;
  readonly sent: FastCtMessage['message'][] = [];
  readonly events: FastCtEvent[] = [];
  /** Accesses without an answer, by key. */
  readonly ops = new Map<string, number>();
  readonly step: Step<FastCtMessage, FastCtEvent>;

  constructor(boot: Partial<Boot> = {}) {
    this.core = new FastCtCore(FAST, { ...BOOT, ...boot });
    const access = (_unit: number, key: string, ...more: readonly unknown[]): void => void this.ops.set(key, more.at(-1) as number);
    const nothing = (): void => undefined;
    this.step = {
      monoUs: monoUs(0),
      wallUs: wallUs(0),
      choose: () => 0,
      send: (_to, { message }) => void this.sent.push({ ...message }),
      read: access,
      write: access,
      swap: nothing,
      erase: access,
      list: nothing,
      emit: (event) => void this.events.push(event),
    };
    this.core.start(this.step);
  }

  /** The disk, which is blank, answers until nothing is under way. */
  settle(): void {
    for (let [next] = this.ops; next; [next] = this.ops) {
      const [key, op] = next;
      this.ops.delete(key);
      this.core.completed({ ...DONE, op }, this.step);
    }
  }
}
