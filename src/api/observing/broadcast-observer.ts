/** All that is told about what one process publishes, and about the part that a member takes in broadcast. */
import type { BroadcastStanding, LogEntry } from '../../core/index.ts';
import type { Incarnation } from '../../kernel/index.ts';
import { Histogram } from './counters.ts';
import type { Outlets } from './outlets.ts';

export class BroadcastObserver {
  readonly tally: { publishes: number; published: number; uncertain: number } = { publishes: 0, published: 0, uncertain: 0 };
  readonly publishMs: Histogram = new Histogram();
  readonly #outlets: Outlets;
  #last = 0;

  constructor(outlets: Outlets) {
    this.#outlets = outlets;
  }

  /** Whether deliveries go into a history. */
  get keepsHistory(): boolean {
    return this.#outlets.history !== null;
  }

  /** The position of the last message that this member has delivered. */
  get lastPosition(): number {
    return this.#last;
  }

  /** The core has this message of this process. */
  given(number: number): void {
    this.tally.publishes++;
    const { history, origin } = this.#outlets;
    history?.append({ kind: 'broadcast', message: messageName(origin.incarnation, number) });
  }

  published(number: number, position: number, waitUs: number): void {
    this.tally.published++;
    this.publishMs.add(waitUs);
    const { history, origin } = this.#outlets;
    history?.append({ kind: 'acknowledged', message: messageName(origin.incarnation, number), position });
    if (this.#outlets.hears('tenure:broadcast:published'))
      this.#outlets.publish('tenure:broadcast:published', { number, position, waitMs: waitUs / 1000 });
  }

  uncertain(count: number): void {
    this.tally.uncertain += count;
  }

  advanced(last: number): void {
    this.#last = last;
  }

  /** A message of the log, in order. `isAfterGap`: those before it were kept no more. */
  delivered({ origin, number, position }: LogEntry, isAfterGap: boolean): void {
    const gap = isAfterGap ? ({ gap: 'gone' } as const) : {};
    this.#outlets.history?.append({ kind: 'delivered', message: messageName(origin, number), position, ...gap });
  }

  /** The group was begun, or begun anew: messages after this position are lost. */
  begun(epoch: number, position: number): void {
    this.#outlets.history?.append({ kind: 'reset', epoch, position });
    this.#outlets.log.say('info', { epoch, position }, `broadcast begins anew after position ${position}`);
  }

  stands(standing: BroadcastStanding): void {
    this.#outlets.publish('tenure:broadcast:standing', { standing });
    this.#outlets.log.say(standing === 'failed' ? 'error' : 'info', { standing }, STANDINGS[standing]);
  }

  /** Nothing is decided without these members; none if it goes on. */
  stopped(without: readonly string[]): void {
    this.#outlets.publish('tenure:broadcast:stopped', { without });
    if (without.length === 0) this.#outlets.log.say('info', { without }, 'broadcast goes on');
    else
      this.#outlets.log.say(
        'warn',
        { without },
        `broadcast stands still: ${without.join(', ')} do not remember what they voted for, and the others are no majority`,
      );
  }
}

function messageName(origin: Incarnation | number, number: number): string {
  return `${origin}-${number}`;
}

const STANDINGS: Readonly<Record<BroadcastStanding, string>> = {
  reading: 'broadcast: the data directory is being read',
  blank: 'broadcast: this member knows of no log yet: it hears of it from the others, or waits for a bootstrap',
  asking: 'broadcast: this member does not remember what it voted for, and asks the others',
  abstaining: 'broadcast: this member takes no part in what it may have voted in before',
  behind: 'broadcast: this member votes, and copies what it lacks of the log',
  ready: 'broadcast: this member votes, and has the log',
  failed: 'broadcast: the data directory cannot be read or written: this member takes no part any more',
  silent: 'broadcast: this member was restarted, and members do not come back in this model',
};
