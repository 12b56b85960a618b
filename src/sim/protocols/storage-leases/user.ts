/**
 * Applications on a client of a simulated store: each handle picks a name, tries or waits, uses its lease, renews, gives
 * back, forgets to, or changes its mind. After the world has healed each must get a lease once more.
 */
import { encodeName, type LeaseMode, type MonoUs, type WallUs } from '../../../kernel/index.ts';
import type { StorageCommand, StorageEvent } from '../../../core/index.ts';
import type { Desk, User } from '../../protocol.ts';
import { HandleUser, type LeaseHandle, type LeaseHolder } from '../leases/handle-user.ts';

export interface StorageHabits {
  readonly resources: readonly { readonly text: string; readonly bytes: Uint8Array }[];
  readonly maxTermUs: number;
  readonly livenessUs: number;
  /** Records are erased now and then. */
  readonly compacts: boolean;
  /** So long after the world has healed something of before may still land. */
  readonly calmAfterUs: number;
  /** Leases are kept until that is over. */
  readonly clings: boolean;
  /**
   * A process that is named for certain is the holder. In a store that went back to an earlier state, or created a record a second time, the name of an
   * earlier holder may be there again. That no process holds is certain all the same.
   */
  readonly namesAreCertain: boolean;
  /** Leases that are renewed last in a healed world. */
  readonly keepsLast: boolean;
  /** No living holder loses a lease before its end. */
  readonly losesAtEndOnly: boolean;
  /** Some share their leases with others, and holders store data under their leases. */
  readonly shares?: boolean;
  /** The first handle of the first client writes, and all others read, again and again. */
  readonly crowds?: boolean;
}

type Resource = StorageHabits['resources'][number];

/** The only shared unit. */
const STORE = 0;

interface Handle extends LeaseHandle {
  mode: LeaseMode;
  deadlineMonoUs: MonoUs;
  deadlineWallUs: WallUs;
}

export class StorageUser extends HandleUser<StorageCommand, Handle> implements User<StorageEvent> {
  readonly #habits: StorageHabits;
  /** Names that were asked about, by the number of the question. */
  readonly #questions = new Map<number, string>();
  /** Syncs that were not answered yet. */
  readonly #syncs = new Set<number>();
  /** The store went into another epoch while this process used it. */
  #isReopened = false;
  #numbers = 0;

  constructor(habits: StorageHabits, handles: number, core: LeaseHolder, desk: Desk<StorageCommand>) {
    super(core, desk);
    this.#habits = habits;
    for (let i = 0; i < handles; i++)
      this.handles.push({
        state: 'idle',
        resource: habits.resources[0] as Resource,
        lease: 0,
        token: 0,
        mode: 'exclusive',
        keep: false,
        deadlineMonoUs: 0 as MonoUs,
        deadlineWallUs: 0 as WallUs,
        usesLeft: 0,
        sinceHealed: false,
      });
  }

  start(): void {
    this.#openStore();
    for (const handle of this.handles) {
      if (!this.desk.healed) this.later(this.desk.choose(this.#habits.maxTermUs / 2), () => this.ask(handle));
    }
    if (this.#habits.compacts) this.#compactLater();
    if (!this.desk.healed) this.#wonder();
  }

  /** Does the driver's part: looks which epoch the store is in, and whether a process has waited that out. */
  #openStore(): void {
    const isWaitedOut = this.desk.openUnit?.(STORE) ?? true;
    if (!isWaitedOut || this.#isReopened) this.desk.command({ kind: 'epoch', isWaitedOut });
  }

  unitRestored(): void {
    this.#isReopened = true;
    this.#openStore();
  }

  event(event: StorageEvent): void {
    const desk = this.desk;
    if (event.kind === 'answered') {
      if (event.holder || event.certain) desk.sometimes(event.holder ? 'query-finds-holder' : 'query-finds-nobody');
      this.#answered(event);
      return;
    }
    if (event.kind === 'fetched') {
      this.#fetched(event);
      return;
    }
    if (event.kind === 'compacted') {
      if (event.erased) desk.sometimes('record-erased');
      return;
    }
    if (event.kind === 'epoch-waited') {
      desk.sometimes('epoch-waited');
      desk.noteWaitedOut?.(STORE);
    }
    if (event.kind === 'voided') desk.sometimes('void-attempt');
    if (event.kind === 'unreadable') desk.sometimes('unreadable-record');
    if (!('lease' in event)) return;
    const handle = this.handleOf(event.lease);
    if (handle) this.#eventOf(handle, event);
  }

  #eventOf(handle: Handle, event: StorageEvent): void {
    const desk = this.desk;
    const { text } = handle.resource;
    switch (event.kind) {
      case 'granted':
        this.#granted(handle, event);
        return;
      case 'renewed':
        handle.deadlineMonoUs = event.deadlineMonoUs;
        handle.deadlineWallUs = event.deadlineWallUs;
        desk.renewed(text, handle.token, { monoUs: event.deadlineMonoUs, wallUs: event.deadlineWallUs });
        return;
      case 'renewal-failed':
        desk.sometimes('renewal-failed');
        return;
      case 'proclaimed':
        desk.sometimes('proclaimed');
        if (this.#syncs.delete(event.number)) desk.record({ kind: 'synced', resource: text, token: handle.token });
        return;
      case 'sync-failed':
        desk.sometimes(event.refused ? 'sync-refused' : 'sync-unknown');
        this.#syncs.delete(event.number);
        return;
      case 'refused':
        desk.sometimes(`refused-${event.reason}`);
        desk.abandoned(text, event.lease);
        this.#idle(handle);
        return;
      case 'lost':
        this.#judgeLoss(handle);
        desk.ended(text, handle.token, 'lost');
        this.#idle(handle);
        return;
      case 'stopped':
        desk.ended(text, handle.token, 'released');
        return;
      case 'released':
        if (event.byQuorum) desk.sometimes('release-acknowledged');
        desk.ended(text, handle.token, 'released');
        if (handle.state === 'letting-go') this.#idle(handle);
        return;
      default:
        return;
    }
  }

  /** A lease that is renewed by itself lasts in a healed world; and no holder loses a lease before its end, but to an earlier write. */
  #judgeLoss({ resource, keep, sinceHealed, deadlineMonoUs, deadlineWallUs }: Handle): void {
    const desk = this.desk;
    const isCalm = sinceHealed && desk.monoUs > this.healedAt + this.#habits.calmAfterUs;
    if (isCalm && keep && this.#habits.keepsLast) desk.failLiveness(`lost ${resource.text}, which it was renewing, in a healed world`);
    const isEarly = desk.monoUs < deadlineMonoUs && desk.wallUs < deadlineWallUs;
    if (isEarly && this.#habits.losesAtEndOnly) desk.failLiveness(`lost ${resource.text} before its end`);
  }

  // ── A handle's life ────────────────────────────────────────────────────────────────────────────────

  protected ask(handle: Handle): void {
    const desk = this.desk;
    const { maxTermUs, resources, livenessUs, clings, shares = false, crowds = false } = this.#habits;
    if (handle.state !== 'idle' || (desk.healed && handle.sinceHealed && !crowds)) return;
    const resource = resources[desk.choose(resources.length)] as Resource;
    const lease = ++this.#numbers;
    const termUs = desk.healed || desk.choose(3) > 0 ? maxTermUs : 1 + Math.floor(maxTermUs / 8);
    const waitUs = desk.healed ? livenessUs : desk.choose(2) === 0 ? 0 : 1 + desk.choose(maxTermUs * 4);
    const keep = desk.healed || clings || desk.choose(2) === 0;
    const isReader = crowds ? desk.node > 0 || handle !== this.handles[0] : shares && desk.choose(3) > 0;
    const mode: LeaseMode = isReader ? 'shared' : 'exclusive';
    Object.assign(handle, { state: 'asking', resource, lease, token: 0, mode, keep });
    desk.requested(resource.text, lease);
    desk.command({ kind: 'acquire', lease, name: resource.bytes, termUs, waitUs, keep, meta: resource.bytes, mode });
    if (!desk.healed && desk.choose(12) === 0) {
      this.later(desk.choose(maxTermUs / 4), () => {
        if (handle.state === 'asking' && handle.lease === lease) desk.command({ kind: 'cancel', lease });
      });
    }
  }

  /** At any moment, whatever its handles do. */
  #wonder(): void {
    const desk = this.desk;
    const { maxTermUs, resources } = this.#habits;
    this.later(1 + desk.choose(maxTermUs), () => {
      if (desk.healed) return;
      const resource = resources[desk.choose(resources.length)] as Resource;
      if (this.#habits.shares === true && desk.choose(2) === 0) this.#fetch(resource);
      else this.#query(resource);
      this.#wonder();
    });
  }

  #fetch({ text, bytes }: Resource): void {
    const query = ++this.#numbers;
    this.#questions.set(query, text);
    this.desk.record({ kind: 'fetching', query, resource: text });
    this.desk.command({ kind: 'fetch', lease: query, name: bytes });
  }

  #fetched({ lease: query, outcome, data }: Extract<StorageEvent, { kind: 'fetched' }>): void {
    const resource = this.#questions.get(query);
    this.#questions.delete(query);
    if (outcome !== 'unreadable') this.desk.sometimes(`fetch-${outcome}`);
    if (resource === undefined || outcome !== 'found') return;
    this.desk.record({ kind: 'fetched', query, resource, ...(data && { token: data.token }) });
  }

  #query({ text, bytes }: Resource): void {
    const query = ++this.#numbers;
    this.#questions.set(query, text);
    this.desk.record({ kind: 'queried', query, scope: 'name', resource: text });
    this.desk.command({ kind: 'query', lease: query, name: bytes });
  }

  #answered({ lease: query, holder, certain }: Extract<StorageEvent, { kind: 'answered' }>): void {
    const resource = this.#questions.get(query);
    this.#questions.delete(query);
    if (resource === undefined) return;
    const isCertain = certain && (holder === null || this.#habits.namesAreCertain);
    const named = holder && { holder: holder.owner, token: holder.token };
    this.desk.record({ kind: 'answered', query, resource, certain: isCertain ? 'yes' : 'no', ...named });
  }

  #granted(handle: Handle, event: Extract<StorageEvent, { kind: 'granted' }>): void {
    const desk = this.desk;
    const { deadlineMonoUs, deadlineWallUs, token } = event;
    Object.assign(handle, { state: 'holding', token, deadlineMonoUs, deadlineWallUs, usesLeft: desk.choose(6) });
    desk.granted(handle.resource.text, handle.lease, token, { monoUs: deadlineMonoUs, wallUs: deadlineWallUs }, handle.mode);
    if (event.waited) desk.sometimes('waiter-served');
    if (this.isOwed(handle)) this.served(handle, this.#habits.maxTermUs);
    this.#useLater(handle, handle.lease);
  }

  #useLater(handle: Handle, lease: number): void {
    const isBrief = lease % 3 === 0;
    this.later(1 + this.desk.choose(Math.floor(this.#habits.maxTermUs / (isBrief ? 50 : 3))), () => this.#use(handle, lease));
  }

  #use(handle: Handle, lease: number): void {
    const desk = this.desk;
    const { bytes, text } = handle.resource;
    if (handle.state !== 'holding' || handle.lease !== lease) return;
    if (this.isValid(handle)) desk.used(text, handle.token);
    if (handle.usesLeft-- > 0 || this.#holdsOn) {
      const does = desk.choose(12);
      if (this.#habits.shares === true && handle.mode === 'exclusive' && does % 3 === 0) this.#sync(handle, lease);
      else if (does < 2) desk.command({ kind: 'proclaim', lease, name: bytes, meta: bytes, number: ++this.#numbers });
      else if (does < 4) this.#renewEarly(handle, lease);
      this.#useLater(handle, lease);
    } else if (handle.keep || desk.choose(4) > 0) {
      handle.state = 'letting-go';
      desk.command({ kind: 'release', lease, name: bytes });
    }
  }

  #sync({ resource: { bytes: name } }: Handle, lease: number): void {
    const number = ++this.#numbers;
    this.#syncs.add(number);
    this.desk.command({ kind: 'sync', lease, name, data: encodeName(`data ${number}`), number });
  }

  /** For the longest term, or for a short one: the lease does not end sooner for it. */
  #renewEarly({ resource: { bytes: name } }: Handle, lease: number): void {
    const desk = this.desk;
    const { maxTermUs } = this.#habits;
    desk.sometimes('renewed-early');
    desk.command({ kind: 'renew', lease, name, termUs: desk.healed || desk.choose(3) > 0 ? maxTermUs : 1 + Math.floor(maxTermUs / 8) });
  }

  get #holdsOn(): boolean {
    return this.#habits.clings && this.desk.monoUs < this.healedAt + 2 * this.#habits.calmAfterUs;
  }

  #idle(handle: Handle): void {
    const desk = this.desk;
    handle.state = 'idle';
    handle.token = 0;
    const isSoon = desk.choose(2) === 0 || this.#habits.crowds === true;
    this.later(1 + desk.choose(Math.floor(this.#habits.maxTermUs / (isSoon ? 50 : 2))), () => this.ask(handle));
  }

  #compactLater(): void {
    const desk = this.desk;
    const { maxTermUs, resources } = this.#habits;
    this.later(1 + desk.choose(maxTermUs), () => {
      if (desk.healed) return;
      const { bytes } = resources[desk.choose(resources.length)] as Resource;
      desk.command({ kind: 'compact', lease: ++this.#numbers, name: bytes });
      this.#compactLater();
    });
  }
}
