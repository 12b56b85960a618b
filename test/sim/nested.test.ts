/** Cores inside a core: in the world, on the stage, and step by step. */
import { describe, expect, test } from 'vitest';
import { incarnation, monoUs, NEVER, nodeId, TenureError, wallUs, type MonoUs, type NodeId } from '../../src/kernel/index.ts';
import { NestedCore, type Completion, type Core, type LaneMessage, type Step } from '../../src/core/index.ts';
import { openStage, simulation } from '../../src/sim/index.ts';
import { noteLines } from '../../src/sim/script/note-lines.ts';
import { ByteReader, ByteWriter, lanesCodec, toyCodec } from '../../src/wire/index.ts';
import { PairCore, pair, pairStaging, type PairMessage } from './pair.ts';
import { idleCore } from './tiny.ts';

describe('in the world', () => {
  const simulated = simulation(pair);

  test('two leases and a register in one core keep what each promises, and get on', () => {
    let both = 0;
    let expiry = 0;
    for (let seed = 1; seed <= 30; seed++) {
      const { violations, livenessChecked, sometimes } = simulated.run(seed, null);
      expect(violations).toEqual([]);
      expect(livenessChecked).toBe(true);
      both += sometimes['both'] ?? 0;
      expiry += sometimes['expiry'] ?? 0;
    }
    expect(both).toBeGreaterThan(100);
    expect(expiry).toBeGreaterThan(10);
  });

  test('messages that go to the wrong one of the inner cores are found out', () => {
    const broken = Array.from({ length: 10 }, (_, seed) => simulated.run(seed, 'one-lane')).filter(
      ({ violations }) => violations.length > 0,
    );
    expect(broken.length).toBeGreaterThan(0);
  });
});

describe('on a stage', () => {
  test('messages, accesses and timers of the inner cores are the outer ones', () => {
    const stage = openStage(pairStaging, {}, null);
    stage.startAll();
    const told = (line: string): string[] => stage.line(line).flatMap((note) => noteLines([note], stage));
    told('acquire a');
    for (const member of ['a', 'b']) {
      told(`deliver a→${member} ask #1`);
      told(`deliver ${member}→a yes #1`);
    }
    expect(stage.holdersOf('left')).toEqual([0]);
    expect(stage.holdersOf('right')).toEqual([]);
    told('advance 300ms');
    for (const member of ['a', 'b']) {
      told(`deliver a→${member} ask #2`);
      told(`deliver ${member}→a yes #2`);
    }
    expect(stage.holdersOf('right')).toEqual([0]);
    expect(told('answer a #1')).toEqual(['a is told: both']);
    expect(told('write a')).toContain('a #2: write client/k of unit 0');
    expect(told('answer a #2').join('\n')).toContain('0/k');
    told('advance 800ms');
    expect(told('wake a').filter((text) => text.includes('is told'))).toEqual(['a is told: expired']);
    expect([stage.holdersOf('left'), stage.holdersOf('right')]).toEqual([[], [0]]);
    expect(stage.wakesInUs(0)).toBe(200_000);
    told('advance 200ms');
    expect(told('wake a').filter((text) => text.includes('is told'))).toEqual(['a is told: expired']);
    expect(stage.violations).toEqual([]);
  });

  test('where all goes well, everybody has both in turn', () => {
    const stage = openStage(pairStaging, {}, null);
    stage.startAll();
    stage.line('acquire a');
    stage.line('settle 100ms');
    expect(stage.holdersOf('right')).toEqual([0]);
    stage.line('release a');
    stage.line('acquire b');
    stage.line('settle 100ms');
    expect([stage.holdersOf('left'), stage.holdersOf('right')]).toEqual([[1], [1]]);
    expect(stage.violations).toEqual([]);
  });
});

test('a core with cores inside is restored from its snapshot with all of them', () => {
  const boot = { self: nodeId(0), incarnation: incarnation(1), restarted: false, diskKept: false };
  const core = new PairCore(3, boot, null);
  const step = new Outer();
  core.command({ kind: 'acquire', request: 1 }, step);
  core.command({ kind: 'register', command: { kind: 'read', unit: 0, key: 'k', op: 5 } }, step);
  for (const member of [0, 1]) core.receive(nodeId(member), { lane: 1, message: { kind: 'yes', request: 1 } }, step);
  const again = new PairCore(3, boot, null);
  again.restore(core.snapshot());
  expect(again.snapshot()).toEqual(core.snapshot());
  expect(again.wakeAt).toBe(core.wakeAt);
  expect(core.wakeAt).toBeLessThan(NEVER);
});

/** The step of an outer core, which notes what comes through. */
class Outer implements Step<PairMessage | LaneMessage<1, number>, unknown> {
  monoUs: MonoUs = monoUs(1_000);
  readonly wallUs = wallUs(2_000);
  readonly sent: unknown[] = [];
  readonly asked: unknown[][] = [];
  choose(): number {
    return 0;
  }
  send(_to: NodeId, message: unknown): void {
    this.sent.push(message);
  }
  read(...asked: unknown[]): void {
    this.asked.push(['read', ...asked]);
  }
  write(...asked: unknown[]): void {
    this.asked.push(['write', ...asked]);
  }
  swap(...asked: unknown[]): void {
    this.asked.push(['swap', ...asked]);
  }
  erase(...asked: unknown[]): void {
    this.asked.push(['erase', ...asked]);
  }
  list(...asked: unknown[]): void {
    this.asked.push(['list', ...asked]);
  }
  emit(): void {}
}

type Inner = Core<number, string, string>;

function nested(core: Partial<Inner>, heard: (event: string) => void = () => undefined) {
  const inner = idleCore<string, string>(core);
  return new NestedCore<1, number, string, string, PairMessage | LaneMessage<1, number>, unknown>(inner, {
    lane: 1,
    lanes: 3,
    prefix: 'in/',
    heard,
  });
}

const ANSWER: Completion = { op: 0, ok: true, isLost: false, value: null, version: null, keys: null };

describe('a nested core', () => {
  test('sends in its lane, with one record for all messages', () => {
    const step = new Outer();
    const inner = nested({ command: (_command, own) => [7, 8].forEach((message) => own.send(nodeId(1), message)) });
    inner.command('send', step);
    expect(step.sent).toEqual([
      { lane: 1, message: 8 },
      { lane: 1, message: 8 },
    ]);
    expect(step.sent[0]).toBe(step.sent[1]);
  });

  test('may use numbers below 0 for its accesses', () => {
    const step = new Outer();
    const answered: number[] = [];
    const inner = nested({ command: (_command, own) => own.read(0, 'k', -2), completed: ({ op }) => void answered.push(op) });
    inner.command('read', step);
    const op = step.asked[0]?.[3] as number;
    expect(inner.completed({ ...ANSWER, op }, step)).toBe(true);
    expect(inner.completed({ ...ANSWER, op: op + 1 }, step)).toBe(false);
    expect(answered).toEqual([-2]);
  });

  test('asks storage under its prefix, and knows its own answers by their numbers', () => {
    const step = new Outer();
    const answers: Completion[] = [];
    const inner = nested({
      command: (_command, own) => {
        own.read(0, 'a', 1);
        own.write(0, 'a', Uint8Array.of(1), 2);
        own.swap(0, 'a', null, Uint8Array.of(1), 3);
        own.erase(0, 'a', 4);
        own.list(0, 'a', 5);
      },
      completed: (completion) => void answers.push(completion),
    });
    inner.command('ask', step);
    expect(step.asked).toEqual([
      ['read', 0, 'in/a', 4],
      ['write', 0, 'in/a', Uint8Array.of(1), 7],
      ['swap', 0, 'in/a', null, Uint8Array.of(1), 10],
      ['erase', 0, 'in/a', 13],
      ['list', 0, 'in/a', 16],
    ]);
    expect(inner.completed({ ...ANSWER, op: 15 }, step)).toBe(false);
    expect(inner.completed({ ...ANSWER, op: 16, keys: ['in/ab'] }, step)).toBe(true);
    expect(answers).toEqual([{ ...ANSWER, op: 5, keys: ['ab'] }]);
  });

  test('is heard after its step, and commands given there are steps of their own', () => {
    const order: string[] = [];
    const step = new Outer();
    const inner = nested(
      {
        command: (command, own) => {
          own.emit(`${command} said`);
          order.push(`${command} over`);
        },
      },
      (event) => {
        order.push(event);
        if (event === 'first said') inner.command('second', step);
      },
    );
    inner.command('first', step);
    expect(order).toEqual(['first over', 'first said', 'second over', 'second said']);
  });

  test('is woken when it is due, and not for others', () => {
    let woken = 0;
    const inner = nested({ wakeAt: monoUs(5_000), wake: () => void woken++ });
    const step = new Outer();
    inner.wake(step);
    expect(woken).toBe(0);
    step.monoUs = monoUs(5_000);
    inner.wake(step);
    expect(woken).toBe(1);
  });

  test('keeps no step', () => {
    const kept: Step<number, string>[] = [];
    const inner = nested({ command: (_command, own) => void kept.push(own) });
    inner.command('keep', new Outer());
    expect(() => kept[0]?.send(nodeId(0), 1)).toThrow('keeps no step');
  });

  test('that refuses a command can be given the next', () => {
    const heard: string[] = [];
    const command = (text: string, own: Step<number, string>): void => {
      if (text === 'bad') throw new TenureError('TENURE_BAD_ARGUMENT', 'refused');
      own.emit(text);
    };
    const inner = nested({ command }, (event) => void heard.push(event));
    expect(() => inner.command('bad', new Outer())).toThrow('refused');
    inner.command('good', new Outer());
    expect(heard).toEqual(['good']);
  });
});

test('bytes of a lane that is not there, or of no message, are none', () => {
  const codec = lanesCodec<PairMessage>({ 1: toyCodec, 2: toyCodec });
  const out = new ByteWriter();
  codec.encode({ lane: 2, message: { kind: 'yes', request: 9 } }, out);
  const reader = new ByteReader();
  const read = (bytes: Uint8Array): PairMessage | null => {
    reader.reset(bytes, 0, bytes.length);
    return codec.decode(reader);
  };
  const bytes = out.bytes.slice(0, out.length);
  expect(read(bytes)).toEqual({ lane: 2, message: { kind: 'yes', request: 9 } });
  expect(read(Uint8Array.from(bytes, (byte, i) => (i === 0 ? 3 : byte)))).toBeNull();
  expect(read(bytes.slice(0, 3))).toBeNull();
  expect(read(new Uint8Array(0))).toBeNull();
});
