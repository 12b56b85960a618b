/** SIGINT, SIGTERM and SIGHUP as an AbortSignal, so that a command can give back its leases before it ends. */
import { constants } from 'node:os';

export interface StopSignals {
  readonly signal: AbortSignal;
  /** As if a signal had come: our output has no reader any more. */
  stop(): void;
  /** From here on the signals have their usual effect. */
  disarm(): void;
}

/** From the keyboard, from a supervisor, and of a terminal that was closed. */
const STOPS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** The first asks to stop; a second ends the process at once, for an impatient user. */
export function stopSignals(stops: readonly NodeJS.Signals[] = STOPS): StopSignals {
  const controller = new AbortController();
  const onSignal = (name: NodeJS.Signals): void => {
    if (controller.signal.aborted) {
      // By the signal itself: leaving in good order waits for threads of packages, which may be in the middle of something.
      disarm();
      process.kill(process.pid, name);
    } else controller.abort(new StoppedBySignal(name));
  };
  const disarm = (): void => {
    for (const name of stops) process.off(name, onSignal);
  };
  for (const name of stops) process.on(name, onSignal);
  return { signal: controller.signal, stop: () => controller.abort(new StoppedBySignal('SIGPIPE')), disarm };
}

export class StoppedBySignal extends Error {
  readonly signal: NodeJS.Signals;

  constructor(signal: NodeJS.Signals) {
    super(`stopped by ${signal}`);
    this.name = 'StoppedBySignal';
    this.signal = signal;
  }

  /** What a shell says of a process that a signal ended. */
  get exitCode(): number {
    return 128 + constants.signals[this.signal];
  }
}
