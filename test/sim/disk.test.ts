import { describe, expect, test } from 'vitest';
import { OWN_DISK, type Core } from '../../src/core/index.ts';
import { simulation, type Desk, type FaultPlan, type User } from '../../src/sim/index.ts';
import { idleCore, idleUser, tiny, tinyWorld } from './tiny.ts';

/** Writes a number to its disk as it is told; when it starts, says what it finds there. */
type DiskEvent = { kind: 'found'; value: number | null } | { kind: 'written'; value: number };

function diskCore(): Core<number, number, DiskEvent> {
  return idleCore<number, DiskEvent>({
    start: (step) => step.read(OWN_DISK, 'x', 0),
    command: (value, step) => step.write(OWN_DISK, 'x', Uint8Array.of(value >> 8, value & 255), value),
    completed: ({ op, value }, step) => {
      if (op > 0) step.emit({ kind: 'written', value: op });
      else step.emit({ kind: 'found', value: value && ((value[0] as number) << 8) + (value[1] as number) });
    },
  });
}

interface Restart {
  /** The greatest number whose write was answered, and the greatest whose write was begun, in all lives before. */
  readonly answered: number;
  readonly begun: number;
  readonly found: number | null;
}

/** One node that counts up on its disk, crashes, and comes back: what each life but the first found. */
function restartsWith(faults: Partial<FaultPlan>, runs = 20): Restart[] {
  const restarts: Restart[] = [];
  for (let seed = 0; seed < runs; seed++) {
    let answered = 0;
    let begun = 0;
    let life = 0;
    const user = (_scenario: unknown, _core: unknown, desk: Desk<number>): User<DiskEvent> => {
      const isFirst = life++ === 0;
      return idleUser<DiskEvent>({
        event: (event) => {
          if (event.kind === 'written') answered = event.value;
          else if (!isFirst) restarts.push({ answered, begun, found: event.value });
          desk.command(++begun);
        },
        healed: () => desk.done(),
      });
    };
    const world = tinyWorld({ faults: { crashEveryUs: 20_000, downUsMax: 1_000, storageUsSpread: 4_000, ...faults }, safetyUs: 1_000_000 });
    simulation(tiny<number, DiskEvent>({ plan: () => world, core: diskCore, user })).run(seed, null);
  }
  expect(restarts.length).toBeGreaterThan(100);
  return restarts;
}

describe('the own disk', () => {
  test('a write that was answered survives a restart that keeps the disk', () => {
    const restarts = restartsWith({ keepDiskPpm: 1_000_000 });
    expect(restarts.filter(({ found, answered, begun }) => (found ?? 0) < answered || (found ?? 0) > begun)).toEqual([]);
  });

  test('a write under way at the crash is there afterwards, or is not', () => {
    const torn = restartsWith({ keepDiskPpm: 1_000_000 }).filter(({ answered, begun }) => begun > answered);
    expect(torn.some(({ found, begun }) => found === begun)).toBe(true);
    expect(torn.some(({ found, answered }) => (found ?? 0) === answered)).toBe(true);
  });

  test('a lost disk is empty', () => {
    const restarts = restartsWith({ keepDiskPpm: 0 });
    expect(restarts.filter(({ found }) => found !== null)).toEqual([]);
  });

  test('that is damaged gives back what nobody wrote, or forgets what it acknowledged', () => {
    const corrupt = restartsWith({ keepDiskPpm: 1_000_000, diskCorruptEveryUs: 10_000 });
    expect(corrupt.some(({ found, begun }) => (found ?? 0) > begun)).toBe(true);
    const forgetful = restartsWith({ keepDiskPpm: 1_000_000, diskForgetEveryUs: 10_000 });
    expect(forgetful.some(({ found, answered }) => (found ?? 0) < answered)).toBe(true);
    expect(forgetful.every(({ found, begun }) => (found ?? 0) <= begun)).toBe(true);
  });

  test('a core is told the truth about its disk', () => {
    const told: boolean[] = [];
    const found: boolean[] = [];
    const protocol = tiny<number, DiskEvent>({
      plan: () => tinyWorld({ faults: { crashEveryUs: 50_000, downUsMax: 1_000, keepDiskPpm: 500_000 } }),
      core: (_scenario, { restarted, diskKept }) => {
        if (restarted) told.push(diskKept);
        let isRestarted = restarted;
        return {
          ...diskCore(),
          completed: ({ op, value }, step) => {
            if (op === 0 && isRestarted) found.push(value !== null);
            isRestarted = false;
            if (op === 0) step.write(OWN_DISK, 'x', Uint8Array.of(0, 1), 1);
          },
        };
      },
      user: (_scenario, _core, desk) => idleUser({ healed: () => desk.done() }),
    });
    simulation(protocol).run(4, null);
    const cutShort = told.length - found.length;
    expect(cutShort).toBeLessThan(told.length / 4);
    expect(told.includes(true) && told.includes(false)).toBe(true);
    // Lives too short to have written leave nothing behind though the disk is kept; nothing is found on a lost one.
    expect(found.filter(Boolean).length).toBeLessThanOrEqual(told.filter(Boolean).length);
  });
});

describe('an own disk that is not well', () => {
  /** One node that counts up on its disk, as long as it is answered: what each life was told, and how many lives there were. */
  const livesWith = (faults: Partial<FaultPlan>): { told: DiskEvent[][]; counts: Record<string, number> } => {
    const told: DiskEvent[][] = [];
    const user = (_scenario: unknown, _core: unknown, desk: Desk<number>): User<DiskEvent> => {
      const heard: DiskEvent[] = [];
      told.push(heard);
      return idleUser<DiskEvent>({
        event: (event) => {
          heard.push(event);
          desk.command(heard.length);
        },
        healed: () => desk.done(),
      });
    };
    const sometimes = ['disk-hung', 'disk-answer-lost', 'disk-failed'].map((name) => ({ name, description: name }));
    const world = tinyWorld({ faults: { keepDiskPpm: 1_000_000, ...faults }, safetyUs: 1_000_000 });
    const run = simulation({ ...tiny<number, DiskEvent>({ plan: () => world, core: diskCore, user }), sometimes }).run(3, null);
    return { told, counts: run.sometimes };
  };

  test('leaves a process without an answer, and the healed world has another in its place', () => {
    const { told, counts } = livesWith({ diskLostAnswerPpm: 1_000_000 });
    expect(counts['disk-answer-lost']).toBeGreaterThan(0);
    expect(told[0]).toEqual([]);
    expect(told.length).toBe(2);
  });

  test('says that it failed, and the next process finds what is there', () => {
    const { told, counts } = livesWith({ diskFailEveryUs: 1, diskFailUsMax: 1_000_000 });
    expect(counts['disk-failed']).toBeGreaterThan(0);
    expect(told.length).toBe(2);
  });

  test('that only hangs strands nobody', () => {
    const { told, counts } = livesWith({ diskHangPpm: 1_000_000 });
    expect(counts['disk-hung']).toBeGreaterThan(0);
    expect(told.length).toBe(1);
  });
});
