/** The driver: one step at a time, on clocks, a link and a disk that the test holds in its hands. */
import { describe, expect, test } from 'vitest';
import {
  incarnation,
  monoUs,
  NEVER,
  nodeId,
  SeededChooser,
  TenureError,
  wallUs,
  type MonoUs,
  type NodeId,
} from '../../src/kernel/index.ts';
import { OWN_DISK, type Completion, type Core, type Sender, type Snapshot, type Step } from '../../src/core/index.ts';
import { ByteWriter, type Codec } from '../../src/wire/index.ts';
import { Driver, type Clocks, type Disk, type DiskAnswer } from '../../src/runtime/index.ts';

const SELF = nodeId(0);
const PEER = nodeId(1);
const PEERS = incarnation(77);

const codec: Codec<number> = {
  encode: (message, out) => out.u32(message),
  decode: (input) => {
    const message = input.u32();
    return input.failed ? null : message;
  },
};

type Does = (step: Step<number, string>) => void;

/** Does what the test says, and notes what it was told and when. */
class ToldCore implements Core<number, string, string> {
  wakeAt: MonoUs = NEVER;
  readonly heard: string[] = [];
  readonly times: number[] = [];
  onCommand: Does = () => undefined;
  onReceive: Does = () => undefined;

  readonly denied = new Set<number>();

  start(): void {
    this.heard.push('start');
  }

  admits({ incarnation: who }: Sender, message: number): boolean {
    return who === PEERS && !this.denied.has(message);
  }

  receive(from: NodeId, message: number, step: Step<number, string>): void {
    this.heard.push(`${message} from ${from}`);
    this.times.push(step.monoUs);
    this.onReceive(step);
  }

  command(command: string, step: Step<number, string>): void {
    this.heard.push(command);
    this.onCommand(step);
  }

  wake(): void {
    this.heard.push('wake');
  }

  completed({ op, ok }: Completion): void {
    this.heard.push(`op ${op} ${ok}`);
  }

  snapshot(): Snapshot {
    return null;
  }

  restore(): void {}
}

class Stage {
  readonly core = new ToldCore();
  readonly sent: number[] = [];
  readonly events: string[] = [];
  readonly failures: string[] = [];
  readonly answers: DiskAnswer[] = [];
  nowUs = 1_000_000;
  plannedAt: MonoUs = NEVER;
  fire: () => void = () => undefined;
  onEvent: (event: string) => void = () => undefined;
  known = true;
  readonly driver: Driver<number, string, string>;

  constructor() {
    const clocks: Clocks = {
      mono: () => monoUs(this.nowUs),
      wall: () => wallUs(this.nowUs),
      wakeAt: (at, act) => {
        this.plannedAt = at;
        this.fire = act;
      },
      cancel: () => {
        this.plannedAt = NEVER;
      },
      after: () => () => undefined,
      apart: () => clocks,
    };
    const out = new ByteWriter();
    const keep = (_key: string, done: DiskAnswer): void => void this.answers.push(done);
    const disk: Disk = { read: keep, write: (key, _value, done) => keep(key, done), erase: keep };
    this.driver = new Driver({
      core: this.core,
      codec,
      ownCodec: codec,
      self: SELF,
      link: {
        begin: () => {
          out.reset();
          return out;
        },
        end: () => void this.sent.push(out.readU32(0)),
      },
      clocks,
      chooser: new SeededChooser(1),
      disk,
      senderOf: (node) => (this.known ? { node, incarnation: PEERS, isAdmin: false } : undefined),
      onEvent: (event) => {
        this.events.push(event);
        this.onEvent(event);
      },
      onFailure: ({ code }) => void this.failures.push(code),
    });
    this.driver.start();
    this.core.heard.length = 0;
  }

  receive(message: number): boolean {
    const out = new ByteWriter();
    out.u32(message);
    return this.driver.receive(PEER, out.bytes, 0, out.length);
  }
}

describe('what the core says', () => {
  test('reaches the caller after the step; a command given there is a step of its own', () => {
    const stage = new Stage();
    const order: string[] = [];
    stage.onEvent = () => {
      order.push('told');
      if (stage.events.length === 1) stage.driver.command('again');
    };
    stage.core.onCommand = (step) => {
      step.emit('said');
      order.push('step over');
    };
    stage.driver.command('first');
    expect(order).toEqual(['step over', 'told', 'step over', 'told']);
    expect(stage.core.heard).toEqual(['first', 'again']);
  });

  test('is told though the caller threw at what came before it', () => {
    const stage = new Stage();
    stage.core.onCommand = (step) => {
      step.emit('bad');
      step.emit('good');
    };
    stage.onEvent = (event) => {
      if (event === 'bad') throw new Error('of the caller');
    };
    expect(() => stage.driver.command('one')).toThrow('of the caller');
    stage.core.onCommand = () => undefined;
    stage.driver.command('two');
    expect(stage.events).toEqual(['bad', 'good']);
  });
});

describe('time', () => {
  test('is read once for messages that come together, and anew after that', async () => {
    const stage = new Stage();
    stage.receive(1);
    stage.nowUs += 5000;
    stage.receive(2);
    await Promise.resolve();
    stage.receive(3);
    expect(stage.core.times).toEqual([1_000_000, 1_000_000, 1_005_000]);
  });

  test('a core is not woken before the instant it asked for', () => {
    const stage = new Stage();
    stage.core.wakeAt = monoUs(2_000_000);
    stage.driver.command('plan');
    expect(stage.plannedAt).toBe(2_000_000);
    stage.nowUs = 1_999_999;
    stage.fire();
    expect(stage.core.heard).not.toContain('wake');
    stage.nowUs = 2_000_000;
    stage.fire();
    expect(stage.core.heard).toContain('wake');
  });
});

describe('a message', () => {
  test('to oneself is a step after the one that sent it, and passes no link', () => {
    const stage = new Stage();
    stage.core.onCommand = (step) => {
      step.send(SELF, 7);
      step.send(PEER, 8);
    };
    stage.driver.command('send');
    expect(stage.core.heard).toEqual(['send', '7 from 0']);
    expect(stage.sent).toEqual([8]);
  });

  test('that its sender may not send is refused and not heard', () => {
    const stage = new Stage();
    stage.core.denied.add(13);
    expect(stage.receive(13)).toBe(false);
    expect(stage.receive(14)).toBe(true);
    expect(stage.core.heard).toEqual(['14 from 1']);
  });

  test('of somebody who is not known is refused', () => {
    const stage = new Stage();
    stage.known = false;
    expect(stage.receive(14)).toBe(false);
    expect(stage.core.heard).toEqual([]);
  });

  test('that is none is refused', () => {
    const stage = new Stage();
    expect(stage.driver.receive(PEER, new Uint8Array(1), 0, 1)).toBe(false);
    expect(stage.core.heard).toEqual([]);
  });
});

describe('a core that breaks one of its own rules', () => {
  const failed = (): Stage => {
    const stage = new Stage();
    stage.core.wakeAt = monoUs(2_000_000);
    stage.core.onReceive = (step) => {
      step.send(SELF, 99);
      step.write(OWN_DISK, 'x', new Uint8Array(1), 1);
      throw new TypeError('broken');
    };
    stage.receive(1);
    return stage;
  };

  test('is silent from there on, and says so once', () => {
    const stage = failed();
    expect(stage.failures).toEqual(['TENURE_INTERNAL']);
    expect(stage.driver.isStopped).toBe(true);
    expect(stage.plannedAt).toBe(NEVER);
  });

  test('is stepped no more: by messages, commands, timers or its disk', () => {
    const stage = failed();
    stage.core.heard.length = 0;
    stage.receive(2);
    stage.driver.command('more');
    stage.nowUs = 3_000_000;
    stage.fire();
    for (const answer of stage.answers) answer(true, null);
    expect(stage.core.heard).toEqual([]);
  });
});

test('a bad argument is thrown at its caller and stops nobody', () => {
  const stage = new Stage();
  stage.core.onCommand = () => {
    throw new TenureError('TENURE_BAD_ARGUMENT', 'too long');
  };
  expect(() => stage.driver.command('bad')).toThrow('too long');
  expect(stage.driver.isStopped).toBe(false);
});
