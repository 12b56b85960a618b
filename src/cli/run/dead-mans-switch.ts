/** The dead-man's switch as a kind of guard: how the program of `switch.ts` is started and told. */
import { spawn, type SpawnOptions } from 'node:child_process';
import type { Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import type { GuardKind } from './guard.ts';
import type { Order } from './orders.ts';

/** Little memory, few threads: it only waits. */
const FRUGAL = ['--max-old-space-size=32', '--max-semi-space-size=1', '--v8-pool-size=1'];

/** `heldOpen` is an input of another guard, which thereby ends only when `tenure run` and the switch are both gone. */
export function deadMansSwitch(heldOpen: () => Socket | null): GuardKind {
  return {
    name: "dead-man's switch",
    farewell: null,
    line: (order: Order) => JSON.stringify(order),
    start(order) {
      const program = fileURLToPath(new URL('./switch.js', import.meta.url));
      // A session of its own: signals to our group, or from the keyboard, are not meant for it. No settings of
      // the user's Node, and no folder that it would keep busy.
      const { NODE_OPTIONS: _, ...env } = process.env;
      const stdio = ['pipe', 'pipe', 'ignore', heldOpen() ?? 'ignore'] satisfies SpawnOptions['stdio'];
      return spawn(process.execPath, [...FRUGAL, program, JSON.stringify(order)], { detached: true, cwd: '/', env, stdio });
    },
  };
}
