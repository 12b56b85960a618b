/** Registers over several units in the simulator: clean with all rules, broken as docs/research/mutants.md says without one of them, and restored from snapshots at any step. */
import { describe, expect, test } from 'vitest';
import { deriveSeed, incarnation, nodeId } from '../../src/kernel/index.ts';
import { UnitsCore, type Completion, type UnitsEvent, type UnitsStep } from '../../src/core/index.ts';
import { kitNamed } from '../support/kits.ts';
import { deathOf, deathOnPage } from './page-of-mutants.ts';

const NAMES = ['replicated-register', 'ranked-register', 'ranked-consensus', 'delta-lease-replicated'];

describe.each(NAMES)('%s', (name) => {
  const kit = kitNamed(name);

  test('is clean in worlds of every shape', { timeout: 120_000 }, () => {
    for (let run = 0; run < 12; run++) {
      const result = kit.run(deriveSeed(5, run), null);
      expect({ seed: result.seed, violations: result.violations }).toEqual({ seed: result.seed, violations: [] });
    }
  });

  test.each(kit.mutants)('without its rule it breaks as the page of mutants says: $name', { timeout: 60_000 }, (mutant) => {
    expect(deathOf(kit, mutant)).toEqual(deathOnPage(kit, mutant));
  });
});

/** Units that answer one access at a time, in the order in which they were asked. */
class SmallUnits {
  readonly records = new Map<string, Uint8Array>();
  readonly asked: { readonly op: number; readonly answer: () => Omit<Completion, 'op'> }[] = [];
  readonly events: UnitsEvent[] = [];

  step(): UnitsStep {
    const plain = { ok: true, isLost: false, value: null, version: null, keys: null };
    const ask = (op: number, answer: () => Omit<Completion, 'op'>): void => void this.asked.push({ op, answer });
    const set = (at: string, value: Uint8Array | null): void =>
      void (value === null ? this.records.delete(at) : this.records.set(at, value));
    return {
      monoUs: 0 as never,
      wallUs: 0 as never,
      choose: () => 0,
      send: () => undefined,
      read: (unit, key, op) =>
        ask(op, () => {
          const value = this.records.get(`${unit} ${key}`) ?? null;
          return { ...plain, value, version: value };
        }),
      write: (unit, key, value, op) => ask(op, () => (set(`${unit} ${key}`, value), plain)),
      swap: (unit, key, seen, value, op) =>
        ask(op, () => {
          const at = `${unit} ${key}`;
          const isLost = Buffer.compare(this.records.get(at) ?? Buffer.alloc(0), seen ?? Buffer.alloc(0)) !== 0;
          if (!isLost) set(at, value);
          return { ...plain, isLost };
        }),
      erase: (unit, key, op) => ask(op, () => (set(`${unit} ${key}`, null), plain)),
      list: (unit, prefix, op) =>
        ask(op, () => {
          const start = `${unit} `;
          const keys = [...this.records.keys()].filter((key) => key.startsWith(start + prefix)).map((key) => key.slice(start.length));
          return { ...plain, keys };
        }),
      emit: (event) => void this.events.push(event),
    };
  }
}

test('a core that is restored from its own snapshot before each step does the same', () => {
  const boot = { self: nodeId(0), incarnation: incarnation(7), restarted: false, diskKept: false };
  const config = { units: [{ canSwap: true }, { canSwap: false }, { canSwap: true }], members: null, patienceUs: 1000, retryUs: 100 };
  const play = (isRestored: boolean): { events: UnitsEvent[]; records: unknown; last: unknown } => {
    const units = new SmallUnits();
    let core = new UnitsCore(config, boot);
    const next = (act: (on: UnitsCore) => void): void => {
      if (isRestored) {
        const snapshot = core.snapshot();
        core = new UnitsCore(config, boot);
        core.restore(
          JSON.parse(
            JSON.stringify(snapshot, (_, value: unknown) => (value === Infinity ? 'never' : value)),
            (_, value: unknown) => (value === 'never' ? Infinity : value),
          ) as never,
        );
      }
      act(core);
    };
    const value = Uint8Array.of(1, 2, 3);
    next((on) => on.command({ kind: 'lead', isLeader: true }, units.step()));
    next((on) => on.command({ kind: 'write', op: 1, name: 'k', value }, units.step()));
    next((on) => on.command({ kind: 'read', op: 2, name: 'k' }, units.step()));
    next((on) => on.command({ kind: 'decide', op: 3, name: 'd', value }, units.step()));
    for (let asked = units.asked.shift(); asked; asked = units.asked.shift()) {
      const { op, answer } = asked;
      const completion = { ...answer(), op };
      next((on) => on.completed(completion, units.step()));
    }
    return { events: units.events, records: [...units.records.keys()], last: core.snapshot() };
  };
  const whole = play(false);
  expect(play(true)).toEqual(whole);
  expect(whole.events.map(({ kind }) => kind)).toEqual(expect.arrayContaining(['written', 'found', 'decided']));
});
