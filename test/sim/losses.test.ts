/**
 * The judge of losses: after the world has healed a lease that is renewed by itself lasts until its user gives it back. Cores
 * that lose leases for no reason, each in another way, must not get past it, though it excuses leases asked for before.
 */
import { describe, expect, it } from 'vitest';
import { deriveSeed, SeededChooser } from '../../src/kernel/index.ts';
import type { Core, LeaseCommand } from '../../src/core/index.ts';
import { simulation, type SimProtocol } from '../../src/sim/index.ts';
import { quorumProtocol } from '../../src/sim/protocols/quorum/protocol.ts';
import { fleaseProtocol, paxosLeaseProtocol, paxosLeaseSkewed } from '../../src/sim/protocols/rounds/protocol.ts';
import { sized } from '../support/sizes.ts';

type Acquire = Extract<LeaseCommand, { kind: 'acquire' }>;
type AnyCore = Core<unknown, LeaseCommand, { readonly kind: string; readonly lease?: number }>;
type AnyStep = Parameters<AnyCore['wake']>[0];

const RUNS = sized(20, 40);
/** In a world of many names some handles never hold long enough to need a renewal; so many runs have one that does. */
const CAUGHT_MIN = RUNS / 10;

interface Fault {
  readonly name: string;
  /** What the core is told instead of the command. */
  command?(command: LeaseCommand): LeaseCommand;
  /** What becomes of a wake-up of a core that holds `lease`. */
  wake?(core: AnyCore, lease: Acquire, step: AnyStep, chooser: SeededChooser): void;
}

const FAULTS: readonly Fault[] = [
  {
    name: 'never renews',
    command: (command) => (command.kind === 'acquire' ? { ...command, keep: false } : command),
  },
  {
    name: 'gives a lease back that nobody asked it to',
    wake(core, { lease, name }, step, chooser) {
      if (chooser.below(4) === 0) core.command({ kind: 'release', lease, name }, step);
    },
  },
];

/** The same protocol with a core that does one thing wrong. */
function broken(protocol: unknown, fault: Fault): ReturnType<typeof simulation> {
  const whole = protocol as SimProtocol<unknown, LeaseCommand, { readonly kind: string; readonly lease?: number }, object, AnyCore>;
  return simulation({
    ...whole,
    core(scenario, boot, mutant): AnyCore {
      const core = whole.core(scenario, boot, mutant);
      const chooser = new SeededChooser(boot.incarnation);
      const wanted = new Map<number, Acquire>();
      const held = new Map<number, Acquire>();
      /** Keeps account of what is held. */
      const listening = (step: AnyStep): AnyStep =>
        new Proxy(step, {
          get(target, key): unknown {
            const value: unknown = Reflect.get(target, key, target);
            if (key !== 'emit') return typeof value === 'function' ? (value.bind(target) as unknown) : value;
            return (event: { readonly kind: string; readonly lease?: number }): void => {
              const acquire = wanted.get(event.lease ?? 0);
              if (event.kind === 'granted' && acquire) held.set(acquire.lease, acquire);
              if (event.kind === 'lost' || event.kind === 'stopped' || event.kind === 'released') held.delete(event.lease ?? 0);
              target.emit(event);
            };
          },
        });
      return new Proxy(core, {
        get(target, key): unknown {
          if (key === 'command')
            return (command: LeaseCommand, step: AnyStep): void => {
              if (command.kind === 'acquire') wanted.set(command.lease, command);
              target.command(fault.command?.(command) ?? command, listening(step));
            };
          if (key === 'receive')
            return (from: never, message: unknown, step: AnyStep): void => target.receive(from, message, listening(step));
          if (key === 'wake')
            return (step: AnyStep): void => {
              target.wake(listening(step));
              for (const acquire of held.values()) fault.wake?.(target, acquire, listening(step), chooser);
            };
          const value: unknown = Reflect.get(target, key, target);
          return typeof value === 'function' ? (value.bind(target) as unknown) : value;
        },
      });
    },
  });
}

describe.each([quorumProtocol, fleaseProtocol, paxosLeaseProtocol, paxosLeaseSkewed])('$name: a core that', (protocol) => {
  it.each(FAULTS)('$name is caught', (fault) => {
    const simulated = broken(protocol, fault);
    let caught = 0;
    for (let run = 0; run < RUNS; run++) {
      const { violations } = simulated.run(deriveSeed(11, run), null);
      if (violations.some(({ property, message }) => property === 'liveness' && message.includes('which it was renewing'))) caught++;
    }
    expect(caught).toBeGreaterThanOrEqual(CAUGHT_MIN);
  });
});
