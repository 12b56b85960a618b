/**
 * The configuration that a client takes for its cell's: a majority of the members states it alike. Members that
 * state something else are turned away, by name, because votes across two configurations protect nothing. Where no
 * majority is reached in time, the client begins with what most reached members state; it has no majority then, and if
 * a majority turns out to state something else, the client is over: it cannot go on with other terms under the same incarnation.
 */
import { decodeView } from '../../core/index.ts';
import { quorumOf, TenureError } from '../../kernel/index.ts';
import type { Clocks, Link } from '../../runtime/index.ts';
import type { PeerInfo } from '../../transport/index.ts';
import { differenceOf, type Disagreement, type StatedConfig } from '../../wire/index.ts';
import type { Engine } from '../engines/engine.ts';
import { knownEngine, makeEngine } from '../engines/index.ts';

/** From the first member reached: so long a majority is waited for. */
export const GRACE_US = 1_000_000;

/** What a member states, understood. */
export interface Stated {
  readonly engine: Engine;
  readonly replication: number;
  readonly config: StatedConfig;
}

export interface AdoptionGround {
  readonly memberIds: readonly string[];
  readonly clocks: Clocks;
  /** Called once, and before anything is asked of any member. */
  adopted(stated: Stated): void;
  /** A majority states something else than the adopted configuration. Called once. */
  contradicted(error: TenureError): void;
}

export class Adoption {
  readonly #ground: AdoptionGround;
  /** What each member stated last. */
  readonly #stated = new Map<string, Stated>();
  #adopted: Stated | null = null;
  /** A majority has stated the adopted configuration. */
  #isConfirmed = false;
  #isContradicted = false;
  #callOff: (() => void) | null = null;

  constructor(ground: AdoptionGround) {
    this.#ground = ground;
  }

  /** A member has proved itself and states its configuration. Null: it may come up. */
  judge({ id, config }: PeerInfo): TenureError | null {
    const stated = understood(id, config, this.#ground.memberIds.length);
    if (stated instanceof TenureError) {
      this.#stated.delete(id);
      return stated;
    }
    this.#stated.set(id, stated);
    const objection = this.objection(id);
    if (!objection) this.#confirm();
    if (objection && !this.#isContradicted && this.#isMajority(stated)) {
      this.#isContradicted = true;
      this.#ground.contradicted(objection);
    }
    return objection;
  }

  /** A member is up: adopts what a majority states, or gives the others a moment to state it. */
  reached(): void {
    if (this.#adopted) return;
    // In a later view than the first, members themselves refuse a client that asks in another.
    const later = [...this.#stated.values()].find(({ config }) => config.viewBytes !== undefined);
    const major = this.#most();
    if (later) this.#adopt(later);
    else if (major && this.#isMajority(major)) this.#adopt(major);
    else this.#callOff ??= this.#ground.clocks.after(GRACE_US, this.#overdue);
  }

  /** Adopts what most reached members state, for want of a majority; false if none has stated anything. */
  adoptMost(): boolean {
    const most = this.#adopted ?? this.#most();
    if (most && !this.#adopted) this.#adopt(most);
    return most !== null;
  }

  stop(): void {
    this.#callOff?.();
  }

  readonly #overdue = (): void => {
    this.#callOff = null;
    this.adoptMost();
  };

  /** Why a member may not be up: it states something else than the adopted configuration. */
  objection(id: string): TenureError | null {
    const stated = this.#stated.get(id);
    const adopted = this.#adopted;
    if (!stated || !adopted) return null;
    const difference = differenceOf(adopted.config, stated.config, true);
    return difference && otherwise(id, difference, this.#alike(adopted), this.#alike(stated), this.#quorum);
  }

  /**
   * Where fewer than all members vote on a name, a single one may be all its voters. It must not grant anything before it is
   * known that the others keep to the same: until then nothing is sent.
   */
  guard(link: Link, replication: number): Link {
    if (this.#isConfirmed || replication === this.#ground.memberIds.length) return link;
    return { begin: (to) => (this.#isConfirmed ? link.begin(to) : null), end: (to) => link.end(to) };
  }

  #confirm(): void {
    const adopted = this.#adopted;
    if (adopted && (adopted.config.viewBytes !== undefined || this.#isMajority(adopted))) this.#isConfirmed = true;
  }

  get #quorum(): number {
    return quorumOf(this.#ground.memberIds.length);
  }

  #adopt(stated: Stated): void {
    this.stop();
    this.#adopted = stated;
    this.#confirm();
    this.#ground.adopted(stated);
  }

  /** The configuration that most members state; of two with as many members, the first stated. */
  #most(): Stated | null {
    let most: Stated | null = null;
    let count = 0;
    for (const stated of this.#stated.values()) {
      const { length } = this.#alike(stated);
      if (length > count) [most, count] = [stated, length];
    }
    return most;
  }

  #isMajority(stated: Stated): boolean {
    return this.#alike(stated).length >= this.#quorum;
  }

  /** The members that state the same. */
  #alike({ config }: Stated): string[] {
    return this.#ground.memberIds.filter((id) => {
      const other = this.#stated.get(id);
      return other !== undefined && differenceOf(config, other.config, true) === null;
    });
  }
}

/** A stated configuration may come from a newer version, which has engines that this one does not know. */
function understood(id: string, config: StatedConfig, members: number): Stated | TenureError {
  const { engine = 'nothing', viewBytes } = config;
  const view = viewBytes === undefined ? null : decodeView(viewBytes, 0, viewBytes.length);
  const { maxTermUs, rateErrorPpm, replication } = view?.cur ?? config;
  const options = knownEngine(engine);
  if (options === null) {
    const message = `member ${id} has the engine '${engine}', which this version does not know: use the version of the members`;
    return new TenureError('TENURE_UNSUPPORTED', message, { engine });
  }
  if (
    maxTermUs === undefined ||
    rateErrorPpm === undefined ||
    replication === undefined ||
    replication < 1 ||
    (view === null && replication > members)
  ) {
    return new TenureError('TENURE_UNSUPPORTED', `member ${id} states terms that this version cannot keep: use the version of the members`);
  }
  try {
    return { engine: makeEngine(options, { maxTermUs, rateErrorPpm }), replication, config };
  } catch (error) {
    if (error instanceof TenureError) return error;
    throw error;
  }
}

/** `agreeing` state the adopted configuration, `others` the same as the member that is turned away. */
function otherwise(
  id: string,
  { field, here, there }: Disagreement,
  agreeing: readonly string[],
  others: readonly string[],
  quorum: number,
): TenureError {
  const has = `member ${id} has ${field} = ${there}`;
  const message =
    agreeing.length >= quorum
      ? `${has}, a majority (${agreeing.join(', ')}) has ${here}: give ${id} the same as the others and start it again`
      : others.length >= quorum
        ? `a majority (${others.join(', ')}) has ${field} = ${there}, this client began with ${here}, as it was told before: connect again`
        : `${has}, this client began with ${here}${agreeing.length === 0 ? '' : `, as ${agreeing.join(', ')} said`}, and no majority states the same: ` +
          `give all members the same and start those again that had something else`;
  return new TenureError('TENURE_CONFIG_MISMATCH', message, { field, here, there, id });
}
