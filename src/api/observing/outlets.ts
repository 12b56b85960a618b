/** Where everything goes that is told about one cell or client: diagnostics channels, the log, the history file. */
import type { TenureError } from '../../kernel/index.ts';
import { CHANNELS, type Origin, type TenureChannel, type TenureEvents } from './diagnostics.ts';
import { openHistory, type HistoryFile, type HistoryOptions } from './history-file.ts';
import { Log, type Logger } from './logging.ts';

export interface OutletOptions extends Origin {
  readonly logger?: Logger | undefined;
  readonly history?: string | HistoryOptions | undefined;
}

/** An event on a channel, without its origin. */
type Facts<K extends TenureChannel> = Omit<TenureEvents[K], keyof Origin>;

export class Outlets {
  readonly origin: Origin;
  readonly log: Log;
  readonly history: HistoryFile | null;

  /** Tests bring a disk of their own. */
  constructor({ cell, node, incarnation, logger, history }: OutletOptions, open: typeof openHistory = openHistory) {
    this.origin = { cell, node, incarnation };
    this.log = new Log(logger, { cell, node });
    this.history = history === undefined ? null : open(history, this.origin, (error) => this.#historyFailed(error));
  }

  /** Whether the channel has a subscriber. On the way of a lease this is asked first: objects are made only for subscribers. */
  hears(name: TenureChannel): boolean {
    return CHANNELS[name].hasSubscribers;
  }

  publish<K extends TenureChannel>(name: K, facts: Facts<K>): void {
    const channel = CHANNELS[name];
    if (channel.hasSubscribers) channel.publish({ ...this.origin, ...facts });
  }

  #historyFailed(error: TenureError): void {
    this.publish('tenure:history:failed', { error });
    this.log.say('error', { code: error.code, details: error.details }, error.message);
  }
}
