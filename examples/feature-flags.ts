/**
 * A map of feature flags that every replica has: changes go through a log, and every replica applies them in the log's order. So all replicas agree, also on changes
 * that depend on what is there when their turn comes. Nobody leads, and nobody waits for a lock.
 */
import type { BroadcastLog } from 'tenure';
import { threeMembers } from './three-members.js';

/** Sets a flag; `expected`: only if it has this value then. */
interface Change {
  readonly flag: string;
  readonly value: string;
  readonly expected?: string | null;
}

const SNAPSHOT_EVERY = 1000;

class FlagMap {
  readonly #log: BroadcastLog;
  #flags = new Map<string, string>();
  /** All changes up to this position are in the map. */
  #position = 0;
  /** Whether the change at a position was made, for the caller that published it. */
  readonly #waiters = new Map<number, (made: boolean) => void>();
  readonly #outcomes = new Map<number, boolean>();

  constructor(log: BroadcastLog) {
    this.#log = log;
  }

  get(flag: string): string | null {
    return this.#flags.get(flag) ?? null;
  }

  /** Resolves when this replica has applied it: what follows sees it. False if the flag did not have the expected value. */
  async set(change: Change): Promise<boolean> {
    const position = await this.#log.publish(JSON.stringify(change));
    const outcome = this.#outcomes.get(position);
    this.#outcomes.delete(position);
    return outcome ?? new Promise((resolve) => this.#waiters.set(position, resolve));
  }

  /** Applies changes for as long as the signal lets it. */
  async follow(signal: AbortSignal): Promise<void> {
    const restore = ({ position, state }: { position: number; state: Uint8Array }): void => {
      this.#flags = new Map(JSON.parse(new TextDecoder().decode(state)) as [string, string][]);
      this.#position = position;
    };
    for await (const { position, text } of this.#log.read({ from: this.#position + 1, restore, signal })) {
      const made = this.#apply(JSON.parse(text) as Change);
      this.#position = position;
      const waiter = this.#waiters.get(position);
      this.#waiters.delete(position);
      if (waiter) waiter(made);
      else this.#outcomes.set(position, made);
      if (position % SNAPSHOT_EVERY === 0)
        await this.#log.keep({ position, state: new TextEncoder().encode(JSON.stringify([...this.#flags])) });
    }
  }

  /** The same at every replica: it looks at nothing but the map and the change. */
  #apply({ flag, value, expected }: Change): boolean {
    if (expected !== undefined && this.get(flag) !== expected) return false;
    this.#flags.set(flag, value);
    return true;
  }
}

const { cells, close } = await threeMembers();
await cells[0]?.bootstrap({ only: 'broadcast' }); // once in the life of a cell
const stop = new AbortController();
const [one, two, three] = cells.map((member) => new FlagMap(member.broadcast('flags')));
if (!one || !two || !three) throw new Error('three members make three maps');
const following = [one, two, three].map((map) => map.follow(stop.signal).catch((reason: unknown) => reason));

await one.set({ flag: 'dark-mode', value: 'off' });
// Two replicas switch it on at the same moment; the log decides which of them it was.
const made = await Promise.all([
  one.set({ flag: 'dark-mode', value: 'on, by one', expected: 'off' }),
  two.set({ flag: 'dark-mode', value: 'on, by two', expected: 'off' }),
]);
console.log(`${made.filter(Boolean).length} of ${made.length} switched it on`);

await three.set({ flag: 'beta', value: 'on' }); // whatever was before it is applied at this replica, too
console.log(three.get('dark-mode') === (made[0] ? 'on, by one' : 'on, by two') ? 'all replicas agree' : 'never printed');

stop.abort();
await Promise.all(following);
await close();
