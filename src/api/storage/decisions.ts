/** `storage.decide`: one decided value for a key, for ever. The holder of a lease on the store leads; the lease makes it live, never safe. */
import { setTimeout as sleep } from 'node:timers/promises';
import { checkName, checkOptions, parseDuration, TenureError, type Duration, type OptionTable } from '../../kernel/index.ts';
import { deciderOn, VALUE_BYTES_MAX, type Decider, type Store } from '../../store/index.ts';
import type { Lease } from '../leases/lease.ts';
import { copyMeta, type AcquireOptions } from '../leases/requests.ts';
import { onAbort } from '../signals.ts';
import { storageClosed } from './failures.ts';

export interface DecideOptions {
  /** How long to wait for the decision; without it, as long as it takes. */
  readonly wait?: Duration;
  readonly signal?: AbortSignal;
}

const DECIDE_OPTIONS: OptionTable<DecideOptions> = { wait: 'any', signal: 'signal' };

/** The lease of the process that decides. */
const LEADER_LEASE = 'tenure/decisions';
/** After the lease could not be had: the reason, a damaged record perhaps, does not go away in less. */
const REST_MS = 250;
/** No timer is longer. */
const WAIT_MS_MAX = 2 ** 31 - 1;

export interface DecisionGround {
  readonly store: Store;
  acquire(name: string, options: AcquireOptions): Promise<Lease>;
}

export class StoreDecisions {
  readonly #ground: DecisionGround;
  #decider: Decider | null = null;
  readonly #ending = new AbortController();
  /** StoreDecisions that are waited for, and what ends the campaign when there are none. */
  #underWay = 0;
  #campaign: AbortController | null = null;
  /** Why this process could not have the lease when it last asked for it. */
  #hindrance: TenureError | null = null;

  constructor(ground: DecisionGround) {
    this.#ground = ground;
  }

  async decide(key: string, value: Uint8Array | string, options: DecideOptions = {}): Promise<Uint8Array> {
    const { wait, signal } = checkOptions('decide', options, DECIDE_OPTIONS);
    checkName(key);
    const bytes = copyMeta(value);
    if (bytes.length === 0 || bytes.length > VALUE_BYTES_MAX) {
      throw new TenureError('TENURE_BAD_ARGUMENT', `what is decided has from 1 to ${VALUE_BYTES_MAX} bytes, not ${bytes.length}`);
    }
    const timeoutMs = wait === undefined ? WAIT_MS_MAX : Math.min(WAIT_MS_MAX, Math.max(1, Math.ceil(parseDuration(wait) / 1000)));
    const limit = AbortSignal.timeout(timeoutMs);
    const either = AbortSignal.any([this.#ending.signal, limit, ...(signal ? [signal] : [])]);
    const decider = (this.#decider ??= deciderOn(this.#ground.store));
    this.#begin(decider);
    try {
      return await decider.decide(key, bytes, { signal: either, timeoutMs: WAIT_MS_MAX });
    } catch (error) {
      if (!limit.aborted || signal?.aborted === true || this.#ending.signal.aborted) throw error;
      throw this.#late(key);
    } finally {
      this.#end();
    }
  }

  #late(key: string): TenureError {
    const hindrance = this.#hindrance;
    const why = hindrance === null ? '' : ` (this process could not lead: ${hindrance.message})`;
    const message = `'${key}' was not decided in time; ask again: what was proposed may be decided yet${why}`;
    const late = new TenureError('TENURE_WAIT_TIMEOUT', message, { key });
    if (hindrance !== null) late.cause = hindrance;
    return late;
  }

  close(): void {
    this.#ending.abort(storageClosed());
    this.#campaign?.abort();
    this.#decider?.close();
  }

  #begin(decider: Decider): void {
    this.#underWay++;
    if (!decider.needsLeader || this.#campaign !== null) return;
    const campaign = new AbortController();
    this.#campaign = campaign;
    void this.#stand(decider, campaign.signal);
  }

  #end(): void {
    if (--this.#underWay > 0) return;
    this.#campaign?.abort();
    this.#campaign = null;
  }

  /** Leads as long as it holds the lease, and stands again when it has lost it. */
  async #stand(decider: Decider, over: AbortSignal): Promise<void> {
    while (!over.aborted) {
      try {
        const lease = await this.#ground.acquire(LEADER_LEASE, { signal: over });
        this.#hindrance = null;
        decider.lead(true);
        await new Promise<void>((resolve) => {
          onAbort(lease.signal, () => resolve());
          onAbort(over, () => resolve());
        });
        decider.lead(false);
        await lease.release();
      } catch (error) {
        // A store that does not answer is no reason to give up: the caller that waits for the decision says when.
        if (over.aborted || !(error instanceof TenureError) || error.code === 'TENURE_CLOSED') return;
        this.#hindrance = error;
        await rest(over);
      }
    }
  }
}

async function rest(over: AbortSignal): Promise<void> {
  try {
    await sleep(REST_MS, undefined, { signal: over, ref: false });
  } catch {
    // It is over.
  }
}
