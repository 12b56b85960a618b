/** A demo without a terminal: something happens now and then, and what happens is told as lines, or as JSON. */
import { printJson } from '../terminal.ts';
import type { Actions } from './actions.ts';
import type { DemoChronicle, Happening } from './chronicle.ts';

/** Acts, in seconds since all began to run; after the last the plot begins anew. */
const PLOT: readonly { readonly atS: number; readonly act: (actions: Actions) => void }[] = [
  { atS: 3, act: (actions) => actions.killHolder() },
  { atS: 8, act: (actions) => actions.toggleMember('b') },
  { atS: 10, act: (actions) => actions.toggleMember('b') },
];
const PLOT_S = 20;

/** Prints every happening; of what happens all the time, a story has the first only. */
export function tellStory(chronicle: DemoChronicle, isJson: boolean): void {
  const told = new Set<string>();
  chronicle.listen((happening) => {
    if (isJson) return printJson(asJson(happening));
    const { atMs, event, who, text, tone } = happening;
    if (tone === 'routine') {
      if (told.has(`${event} ${who}`)) return;
      told.add(`${event} ${who}`);
    }
    process.stdout.write(`${(atMs / 1000).toFixed(1).padStart(6)} s  ${text}\n`);
  });
}

function asJson({ atMs, event, who, lease, token, text }: Happening): object {
  return {
    at: new Date().toISOString(),
    afterMs: Math.round(atMs),
    event,
    ...(who === null ? {} : { who }),
    ...(lease === null ? {} : { lease }),
    ...(token === null || token === 0 ? {} : { token }),
    text,
  };
}

/** Acts until the signal comes. */
export function playStory(actions: Actions, signal: AbortSignal): void {
  const timers = PLOT.map(({ atS, act }) => setTimeout(act, atS * 1000, actions));
  const again = setTimeout(() => playStory(actions, signal), PLOT_S * 1000);
  const end = (): void => [...timers, again].forEach((timer) => clearTimeout(timer));
  signal.addEventListener('abort', end, { once: true });
}
