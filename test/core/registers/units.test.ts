/** Registers over several units, one access at a time: schedules that a search would rarely hit. */
import { describe, expect, test } from 'vitest';
import { UnitsCore, type UnitsCommand, type UnitsEvent, type UnitsStep } from '../../../src/core/index.ts';
import { incarnation, nodeId, type MonoUs, type WallUs } from '../../../src/kernel/index.ts';

interface Access {
  readonly unit: number;
  readonly op: number;
  readonly kind: 'read' | 'write' | 'swap' | 'list';
  readonly key: string;
  readonly value: Uint8Array | null;
  readonly seen: Uint8Array | null;
}

/** Units that need no identity, and one process that uses them. Nothing happens there before `serve`. */
class Bench {
  readonly events: UnitsEvent[] = [];
  readonly pending: Access[] = [];
  readonly #core: UnitsCore;
  readonly #units: Map<string, Uint8Array>[];
  #nowUs = 0;

  constructor(units: Map<string, Uint8Array>[], canSwap: boolean, life = 1) {
    this.#units = units;
    const config = { units: units.map(() => ({ canSwap })), members: null, patienceUs: 1000, retryUs: 100 };
    this.#core = new UnitsCore(config, { self: nodeId(0), incarnation: incarnation(life), restarted: false, diskKept: false });
  }

  command(command: UnitsCommand): void {
    this.#core.command(command, this.#step());
  }

  /** The accesses that are meant take effect and are answered, and those that follow from them. */
  serve(isMeant: (access: Access) => boolean = () => true): void {
    for (let at = this.pending.findIndex(isMeant); at >= 0; at = this.pending.findIndex(isMeant)) {
      const [access] = this.pending.splice(at, 1) as [Access];
      this.#core.completed({ op: access.op, ok: true, ...this.#effect(access) }, this.#step());
    }
  }

  /** Time passes; what is due is done. */
  pass(us: number): void {
    this.#nowUs += us;
    this.#core.wake(this.#step());
  }

  #effect({ unit, kind, key, value, seen }: Access): {
    isLost: boolean;
    value: Uint8Array | null;
    version: Uint8Array | null;
    keys: string[] | null;
  } {
    const registers = this.#units[unit] as Map<string, Uint8Array>;
    const found = registers.get(key) ?? null;
    const none = { isLost: false, value: null, version: null, keys: null };
    if (kind === 'read') return { ...none, value: found, version: found };
    if (kind === 'list') return { ...none, keys: [...registers.keys()].filter((one) => one.startsWith(key)) };
    if (kind === 'swap' && Buffer.compare(found ?? Buffer.alloc(0), seen ?? Buffer.alloc(0)) !== 0) return { ...none, isLost: true };
    registers.set(key, value as Uint8Array);
    return { ...none, version: value };
  }

  #step(): UnitsStep {
    const ask =
      (kind: Access['kind']) =>
      (unit: number, key: string, ...rest: readonly unknown[]): void => {
        const [first, second] = rest as (Uint8Array | null)[];
        const value = kind === 'swap' ? second : kind === 'write' ? first : null;
        this.pending.push({
          unit,
          op: rest.at(-1) as number,
          kind,
          key,
          value: value ?? null,
          seen: kind === 'swap' ? (first ?? null) : null,
        });
      };
    return {
      monoUs: this.#nowUs as MonoUs,
      wallUs: this.#nowUs as WallUs,
      choose: () => 0,
      send: () => {},
      read: ask('read'),
      write: ask('write'),
      swap: ask('swap'),
      erase: () => {},
      list: ask('list'),
      emit: (event) => void this.events.push(event),
    };
  }

  /** What was decided, by the numbers of the calls. */
  get decided(): Record<number, string> {
    const all = this.events.flatMap((event) =>
      event.kind === 'decided' ? [[event.op, Buffer.from(event.value).toString()] as const] : [],
    );
    return Object.fromEntries(all);
  }
}

const units = (count: number): Map<string, Uint8Array>[] => Array.from({ length: count }, () => new Map<string, Uint8Array>());
const bytes = (text: string): Uint8Array => Uint8Array.from(Buffer.from(text));

describe.each([
  ['that compare and set', true],
  ['of plain registers', false],
])('units %s', (_, canSwap) => {
  test('two proposals of one process for the same key are decided alike', () => {
    const bench = new Bench(units(3), canSwap);
    bench.command({ kind: 'lead', isLeader: true });
    bench.command({ kind: 'decide', op: 1, name: 'key', value: bytes('one') });
    bench.command({ kind: 'decide', op: 2, name: 'key', value: bytes('two') });
    for (let i = 0; i < 10; i++) {
      bench.serve();
      bench.pass(1000);
    }
    const { 1: one, 2: two } = bench.decided;
    expect(one).toBeDefined();
    expect(two).toBe(one);
  });
});
