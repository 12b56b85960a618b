/**
 * A store out of several: `replicated:?unit=…&unit=…&unit=…`. A written value is at a majority of the units, so a minority of them may be gone, hang, be wiped or
 * lose writes. It reads, writes and lists; it has no compare-and-set, whatever its units can (fail-prone strong objects make no reliable one). Leases on it are plain.
 */
import { randomBytes } from 'node:crypto';
import { compareNames, quorumOf, TenureError } from '../../kernel/index.ts';
import { type UnitsCommand, type UnitsEvent, type UnitStanding } from '../../core/index.ts';
import { checkAccess, checkList, type AccessOptions, type Capabilities, type Landing, type ListOptions, type Store } from '../contract.ts';
import { conflicting, storeUnreachable, unsupportedByStore } from '../failures.ts';
import { Gate, type Call } from '../gate.ts';
import { UnitsDriver } from './driver.ts';
import { encodeMembers, freshUnitIdentity, membersIn, setUpUnits, type StoreMembers } from './members.ts';
import { UnitLink } from './unit-link.ts';

export interface ReplicatedStoreOptions {
  readonly url: string;
  /** As they are opened, and as they are shown; in the same order. */
  readonly units: readonly { readonly url: string; readonly shown: string }[];
  readonly connect: (url: string, create: 'init' | 'never') => Promise<Store>;
  /** `init` names units that nothing was written to yet; `repair` opens also wiped units. */
  readonly create: 'init' | 'never' | 'repair';
}

/** How one unit of a replicated store is. */
export interface UnitReport {
  readonly url: string;
  readonly standing: UnitStanding;
  /** Why it does not answer, if it does not. */
  readonly failure: TenureError | null;
}

/** How long an access to a unit is waited for, and how long it is before the next. */
const UNIT_TIMEOUT_MS = 1000;
const UNIT_RETRY_MS = 50;
const PATIENCE_US = 1_100_000;
/** So many registers are looked at at once. */
const AT_ONCE = 16;

const IN_WORDS: Readonly<Record<UnitStanding, string>> = {
  silent: 'does not answer',
  whole: 'is in use',
  unmarked: 'has lost what it had: run tenure store repair',
  unfinished: 'is in repair, or its repair was interrupted: run tenure store repair again',
  foreign: 'belongs to another store',
  epoch: 'may have lost writes: run tenure store repair',
};

const LAST_RESORT = 'If what the others had is gone for good, let it begin anew with what is left: tenure store repair --begin-anew';

/** A command without its number. */
type Wanted = UnitsCommand extends infer One ? (One extends { readonly op: number } ? Omit<One, 'op'> : never) : never;

type Ended = Extract<UnitsEvent, { readonly op: number }>;

export class ReplicatedStore implements Store {
  readonly url: string;
  readonly kind: string = 'replicated';
  readonly can: Capabilities = { swap: false, list: true, watch: false };
  /** Units that may have lost something do not count. Of a store that has begun anew all of them had. */
  readonly mayForget: boolean;
  /** Each unit passed the probe when it was opened. */
  readonly isProbed: boolean = true;
  readonly #members: StoreMembers;
  readonly #links: readonly UnitLink[];
  readonly #gate: Gate;
  readonly #driver: UnitsDriver;
  readonly #waiting = new Map<
    number,
    { readonly call: Call; readonly resolve: (event: Ended) => void; readonly reject: (error: Error) => void }
  >();
  #ops = 0;
  #failure: TenureError | null = null;

  private constructor(
    options: ReplicatedStoreOptions,
    members: StoreMembers,
    stores: readonly (Store | null)[],
    errors: readonly unknown[],
  ) {
    const { url, units, connect, create } = options;
    this.url = url;
    this.#members = members;
    this.mayForget = members.isAnew === true;
    this.#gate = new Gate(url);
    this.#links = units.map((unit, slot) => {
      const link = new UnitLink(
        {
          url: unit.shown,
          connect: () => connect(unit.url, create === 'repair' ? 'init' : 'never'),
          canSwap: members.units[slot]?.swap ?? false,
          timeoutMs: UNIT_TIMEOUT_MS,
          retryMs: UNIT_RETRY_MS,
          inEpoch: (epoch) => this.#driver.command({ kind: 'epoch', unit: slot, epoch: Buffer.from(epoch) }),
        },
        stores[slot] ?? null,
      );
      const error = errors[slot];
      link.lastFailure = error instanceof TenureError ? error : null;
      return link;
    });
    const config = {
      units: members.units.map(({ swap }) => ({ canSwap: swap })),
      members: encodeMembers(members),
      patienceUs: PATIENCE_US,
      retryUs: UNIT_RETRY_MS * 1000,
    };
    this.#driver = new UnitsDriver(this.#links, config, 1 + randomBytes(6).readUIntBE(0, 6), {
      heard: (event) => this.#heard(event),
      failed: (error) => this.#stopped(error),
    });
  }

  static async open(options: ReplicatedStoreOptions, access?: AccessOptions): Promise<ReplicatedStore> {
    const { url, units, create, connect } = options;
    const shown = units.map((unit) => unit.shown);
    const opened = await Promise.allSettled(units.map(async (unit) => await connect(unit.url, create === 'never' ? 'never' : 'init')));
    const stores = opened.map((one) => (one.status === 'fulfilled' ? one.value : null));
    const errors = opened.map((one) => (one.status === 'rejected' ? (one.reason as unknown) : null));
    try {
      const members =
        create === 'init' ? await this.#setUp(url, stores, errors, shown, access) : await membersIn(url, stores, shown, access);
      if (members === null) throw nobodyAnswers(url, shown, errors);
      const store = new ReplicatedStore(options, members, stores, errors);
      await store.#enterEpochs(access);
      if (create !== 'repair') await store.#needMajority(access);
      return store;
    } catch (error) {
      await Promise.all(stores.map(async (store) => await store?.close()));
      throw error;
    }
  }

  /** The caller that opens it hears at once that too few units are there. */
  async #needMajority(access?: AccessOptions): Promise<void> {
    const reports = await this.unitReports(access);
    const whole = reports.filter(({ standing }) => standing === 'whole').length;
    if (whole >= quorumOf(reports.length)) return;
    await this.close();
    throw this.#missing(storeUnreachable(this.url, new Error(`only ${whole} of its ${reports.length} units can be used`)));
  }

  /** All units must be there. */
  static async #setUp(
    url: string,
    stores: readonly (Store | null)[],
    errors: readonly unknown[],
    shown: readonly string[],
    access?: AccessOptions,
  ): Promise<StoreMembers> {
    const there = stores.filter((store) => store !== null);
    if (there.length === stores.length) return await setUpUnits(url, there, shown, access);
    // It was set up before, perhaps: then a minority may be missing.
    const members = await membersIn(url, stores, shown, access);
    if (members !== null && there.length >= quorumOf(stores.length)) return members;
    throw nobodyAnswers(url, shown, errors);
  }

  async #enterEpochs(access?: AccessOptions): Promise<void> {
    await Promise.all(
      this.#links.map(async ({ store }, unit) => {
        const epoch = await store?.epoch(access).catch(() => undefined);
        if (epoch !== undefined) this.#driver.command({ kind: 'epoch', unit, epoch: Buffer.from(epoch) });
      }),
    );
  }

  get lastUnknown(): TenureError | null {
    const { lastUnknown } = this.#gate;
    return lastUnknown && this.#withUnits(lastUnknown);
  }

  async read(key: string, options?: AccessOptions): Promise<Uint8Array | null> {
    checkAccess(key);
    return (await this.#ask(options, { kind: 'read', name: key }, 'found')).value;
  }

  async write(key: string, value: Uint8Array | null, options?: AccessOptions): Promise<Landing> {
    checkAccess(key, value);
    const command = { kind: 'write', name: key, value: value?.slice() ?? null } as const;
    try {
      return await this.#gate.change(options, async (call) => {
        await this.#run(call, command);
        return 'done';
      });
    } catch (error) {
      throw this.#withUnits(error);
    }
  }

  async swap(): Promise<never> {
    throw unsupportedByStore(this.url, 'compare and set');
  }

  async watch(): Promise<never> {
    throw unsupportedByStore(this.url, 'tell of changes');
  }

  /** Erased registers are still somewhere: each listed one was read. */
  async list(prefix: string, options: ListOptions = {}): Promise<string[]> {
    const { after, limit } = checkList(prefix, options);
    const listed = await this.#ask(options, { kind: 'list', prefix }, 'listed');
    const long = await this.#inTurns(listed.places, async (place) => {
      const { name, value } = await this.#ask(options, { kind: 'resolve', place }, 'found');
      return value === null || name === null || !name.startsWith(prefix) ? null : name;
    });
    const names = [...new Set([...listed.names, ...long.filter((name) => name !== null)])].sort(compareNames);
    const asked = after === null ? names : names.filter((name) => compareNames(name, after) > 0);
    const there: string[] = [];
    for (let at = 0; at < asked.length && there.length < limit; at += AT_ONCE) {
      const some = asked.slice(at, at + AT_ONCE);
      const values = await this.#inTurns(some, async (name) => await this.read(name, options));
      there.push(...some.filter((_, index) => values[index] !== null));
    }
    return there.slice(0, limit);
  }

  async identity(options?: AccessOptions): Promise<string> {
    return await this.#gate.ask(options, async () => this.#members.id);
  }

  /** Units have epochs of their own: units that may have lost writes do not count. */
  async epoch(options?: AccessOptions): Promise<string> {
    return await this.#gate.ask(options, async () => `replicated/${this.#members.id}`);
  }

  async close(): Promise<void> {
    this.#gate.close();
    this.#driver.stop();
    await Promise.all(this.#links.map(async (link) => await link.close()));
  }

  // ── Beyond the contract ────────────────────────────────────────────────────────────────────────────

  /** How each unit is, asked now. */
  async unitReports(options?: AccessOptions): Promise<UnitReport[]> {
    await Promise.all(this.#links.map(async (link) => await link.open()));
    await this.#ask(options, { kind: 'look' }, 'looked');
    return this.#reports();
  }

  /** Makes a unit whole that lost its registers, while the others are in use. How many it got. */
  async repair(unit: string, options?: AccessOptions): Promise<number> {
    const slot = this.#members.units.findIndex(({ url }) => url === unit);
    const reports = await this.unitReports(options);
    const report = reports[slot];
    if (report === undefined) throw conflicting(this.url, `${unit} is none of its units`);
    if (report.standing === 'foreign') throw conflicting(this.url, `the unit ${unit} belongs to another store, and is left as it is`);
    if (report.standing === 'silent') throw report.failure ?? storeUnreachable(unit, new Error('it does not answer'));
    // A mark that is taken from a unit that counts would cost the store that unit, until it is repaired.
    if (report.standing === 'whole') return 0;
    if (reports.filter(({ standing }) => standing === 'whole').length < quorumOf(reports.length)) {
      throw this.#missing(storeUnreachable(this.url, new Error(`too few of its units are whole to repair ${unit} from. ${LAST_RESORT}`)));
    }
    const ended = await this.#ask(options, { kind: 'repair', unit: slot, identity: freshUnitIdentity() }, 'repaired', 'not-repaired');
    if (ended.kind === 'repaired') return ended.registers;
    throw storeUnreachable(unit, new Error('it changed or did not answer while it was repaired; repair it again'));
  }

  /** The one decided value of a key. Tried only while this process leads. */
  async decide(key: string, value: Uint8Array, options?: AccessOptions): Promise<Uint8Array> {
    checkAccess(key, value);
    return (await this.#ask(options, { kind: 'decide', name: key, value }, 'decided')).value;
  }

  lead(isLeader: boolean): void {
    this.#driver.command({ kind: 'lead', isLeader });
  }

  /** The connections to its units, for `tenure store compact`: only where all are there and whole. */
  async wholeUnits(options?: AccessOptions): Promise<{ readonly store: Store; readonly canSwap: boolean }[]> {
    const reports = await this.unitReports(options);
    const bad = reports.find(({ standing }) => standing !== 'whole');
    if (bad) throw this.#missing(storeUnreachable(this.url, new Error('not all of its units can be used')));
    return this.#links.map(({ store }) => {
      if (store === null) throw storeUnreachable(this.url, new Error('a unit is gone'));
      return { store, canSwap: store.can.swap };
    });
  }

  // ── Operations ─────────────────────────────────────────────────────────────────────────────────────

  async #ask<Kind extends Ended['kind']>(
    options: AccessOptions | undefined,
    command: Wanted,
    ..._kinds: readonly Kind[]
  ): Promise<Extract<Ended, { kind: Kind }>> {
    try {
      return (await this.#gate.ask(options, async (call) => await this.#run(call, command))) as Extract<Ended, { kind: Kind }>;
    } catch (error) {
      throw this.#withUnits(error);
    }
  }

  async #run(call: Call, command: Wanted): Promise<Ended> {
    if (this.#failure) throw this.#failure;
    const op = ++this.#ops;
    return await new Promise<Ended>((resolve, reject) => {
      this.#waiting.set(op, { call, resolve, reject });
      call.onGivenUp(() => {
        this.#waiting.delete(op);
        this.#driver.command({ kind: 'abandon', op });
      });
      this.#driver.command({ ...command, op });
    });
  }

  #heard(event: UnitsEvent): void {
    if (!('op' in event)) return;
    const waiting = this.#waiting.get(event.op);
    if (waiting === undefined) return;
    if (event.kind === 'leaving') {
      waiting.call.leave();
      return;
    }
    this.#waiting.delete(event.op);
    waiting.resolve(event);
  }

  #stopped(error: TenureError): void {
    this.#failure = error;
    for (const { reject } of this.#waiting.values()) reject(error);
    this.#waiting.clear();
  }

  async #inTurns<Item, Outcome>(items: readonly Item[], act: (item: Item) => Promise<Outcome>): Promise<Outcome[]> {
    const outcomes: Outcome[] = [];
    for (let at = 0; at < items.length; at += AT_ONCE) outcomes.push(...(await Promise.all(items.slice(at, at + AT_ONCE).map(act))));
    return outcomes;
  }

  // ── Reports on units ───────────────────────────────────────────────────────────────────────────────

  #reports(): UnitReport[] {
    const { standings } = this.#driver.core;
    return this.#links.map(({ url, lastFailure, store }, unit) => {
      const standing = store === null || lastFailure !== null ? 'silent' : (standings[unit] ?? 'silent');
      return { url, standing, failure: standing === 'silent' ? lastFailure : null };
    });
  }

  /** An answer that did not come is explained by the units that are missing. */
  #withUnits<Problem>(error: Problem): Problem | TenureError {
    return error instanceof TenureError && error.code === 'TENURE_STORE_UNREACHABLE' ? this.#missing(error) : error;
  }

  #missing(error: TenureError): TenureError {
    const missing = this.#reports().filter(({ standing }) => standing !== 'whole');
    if (missing.length === 0) return error;
    const each = missing.map(({ url, standing, failure }) => `${url} ${troubleOf(standing, failure)}`);
    const said = new TenureError(
      error.code,
      `${error.message}. ${missing.length} of its ${this.#links.length} units are missing: ${each.join('; ')}`,
      { ...error.details, missing: missing.map(({ url }) => url).join(' ') },
    );
    said.cause = error;
    return said;
  }
}

/** A unit that looks as if it was never set up was one, or this would be no store. */
function troubleOf(standing: UnitStanding, failure: TenureError | null): string {
  if (failure === null) return IN_WORDS[standing];
  return failure.code === 'TENURE_STORE_PARAMS' ? IN_WORDS.unmarked : `(${failure.message})`;
}

function nobodyAnswers(url: string, shown: readonly string[], errors: readonly unknown[]): TenureError {
  const each = shown.map((unit, index) => {
    const error = errors[index];
    return `${unit}: ${error instanceof Error ? error.message : 'it has no mark'}`;
  });
  const isThere = errors.every((error) => error === null || (error instanceof TenureError && error.code === 'TENURE_STORE_PARAMS'));
  if (isThere) return conflicting(url, `nobody has set it up: run tenure store init '${url}' once`);
  const missing = shown.filter((_, index) => errors[index] !== null);
  return new TenureError('TENURE_STORE_UNREACHABLE', `the store ${url} cannot be opened: ${each.join('; ')}`, {
    url,
    missing: missing.join(' '),
  });
}
