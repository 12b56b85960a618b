/**
 * Applications that use all that leases can do in the quorum engine. Each handle takes a lease, uses it, and ends it in one of the
 * many ways there are. A handle reports no later end than it allowed itself: if the core goes beyond that, the handle
 * acts on after the end that it reported.
 */
import { monoUs, wallUs, type LeaseMode } from '../../../kernel/index.ts';
import type { QuorumCommand, QuorumEvent } from '../../../core/index.ts';
import type { Desk, HoldDeadline, User } from '../../protocol.ts';
import { HandleUser, type LeaseHandle, type LeaseHolder } from '../leases/handle-user.ts';
import type { Habit } from './mutants.ts';

export interface ModeResource {
  readonly text: string;
  readonly bytes: Uint8Array;
  /** Taken by slot, where there are any; otherwise by readers and writers. */
  readonly slots: number;
}

export interface ModeHabits {
  readonly handles: number;
  readonly resources: readonly ModeResource[];
  readonly maxTermUs: number;
  /** The longest term by now, where that changes; terms are asked for as long. */
  readonly termUsNow?: () => number;
  readonly livenessUs: number;
  readonly habits: readonly Habit[];
  readonly nodes: number;
  /** Where the order of waiters is judged no user upgrades: an upgrade stands before all. Nor does any user choose its heir. */
  readonly orderly: boolean;
  /** How often a lease is used before it is given back, at most. */
  readonly usesMax?: number;
  /** All leases are kept, for the longest term: the leases of a process are in one bundle. Rivals ask often, and seldom wait. */
  readonly steadfast?: boolean;
  /** Use and rest of a slot may be longer than the longest term. */
  readonly overlong?: boolean;
  /** Voters may still be silent that a lease did not need when it was granted, and needs now. */
  readonly mayLose?: boolean;
}

interface Handle extends LeaseHandle {
  resource: ModeResource;
  mode: LeaseMode;
  /** The slot it asked for first, and the slot it has; -1 if none. */
  slotAsked: number;
  slot: number;
  quarantineUs: number;
  /** The request of an upgrade that is under way; 0 if none is. */
  upgrade: number;
  /** It stands in line. */
  upgradeWaits: boolean;
  /** The question for the waiters, from whose answer it will choose an heir; 0 if there is none. */
  lineAsked: number;
  /** How often it may still be offered. */
  offersLeft: number;
  /** The line had a waiter when it last heard of it. */
  isWanted: boolean;
  /** As the history was told last. */
  deadline: HoldDeadline;
  termUs: number;
  /** Its core asks before each renewal. */
  gated: boolean;
  /** Only its own limits end it early. */
  limited: boolean;
  /** Its deadline cannot be beyond this, by what the handle has allowed. */
  bound: HoldDeadline;
  /** Asked for and granted in a healed world: nothing excuses its loss. */
  safe: boolean;
}

type HandleEvent = Extract<QuorumEvent, { readonly lease: number }>;

const UNBOUND: HoldDeadline = { monoUs: monoUs(Infinity), wallUs: wallUs(Infinity) };

export class ModesUser extends HandleUser<QuorumCommand, Handle> implements User<QuorumEvent> {
  readonly #habits: ModeHabits;
  #numbers = 0;

  constructor(habits: ModeHabits, core: LeaseHolder, desk: Desk<QuorumCommand>) {
    super(core, desk);
    this.#habits = habits;
  }

  start(): void {
    const { handles, resources, maxTermUs } = this.#habits;
    for (let i = 0; i < handles; i++) {
      const handle: Handle = {
        state: 'idle',
        resource: resources[0] as ModeResource,
        lease: 0,
        token: 0,
        mode: 'exclusive',
        slotAsked: -1,
        slot: -1,
        quarantineUs: 0,
        upgrade: 0,
        upgradeWaits: false,
        lineAsked: 0,
        offersLeft: 0,
        isWanted: false,
        deadline: UNBOUND,
        termUs: 0,
        keep: false,
        gated: false,
        limited: false,
        bound: UNBOUND,
        usesLeft: 0,
        sinceHealed: false,
        safe: false,
      };
      this.handles.push(handle);
      if (!this.desk.healed) this.later(this.desk.choose(Math.floor(maxTermUs / 2)), () => this.ask(handle));
    }
  }

  event(event: QuorumEvent): void {
    if (event.kind === 'outlived' && event.member === this.desk.node) this.desk.quit(this.desk.choose(this.#habits.maxTermUs));
    const handle = 'lease' in event ? this.handleOf(event.lease) : undefined;
    if (event.kind === 'line-told') this.#chooseHeir(event);
    if (handle) this.#handleEvent(handle, event as HandleEvent);
  }

  #handleEvent(handle: Handle, event: HandleEvent): void {
    const desk = this.desk;
    switch (event.kind) {
      case 'granted':
        this.#granted(handle, event);
        return;
      case 'queued':
        if (handle.state === 'holding') handle.upgradeWaits = true;
        else desk.record({ kind: 'queued', resource: handle.resource.text, request: event.lease });
        return;
      case 'renewed':
      case 'shortened':
        this.#tellDeadline(handle, this.#bounded(handle, event));
        return;
      case 'upgraded':
        this.#upgraded(handle, event);
        return;
      case 'upgrade-refused':
        if (event.reason === 'held' || event.reason === 'upgrading') desk.sometimes(`upgrade-refused-${event.reason}`);
        desk.abandoned(handle.resource.text, handle.upgrade);
        handle.upgrade = 0;
        return;
      case 'downgraded':
        desk.sometimes('downgraded');
        handle.mode = 'shared';
        desk.renewed(handle.resource.text, handle.token, handle.deadline, 'shared');
        return;
      case 'wanted':
        desk.sometimes('wanted');
        handle.isWanted = true;
        return;
      case 'handed-over':
        this.#handedOver(handle, event.to);
        return;
      case 'hand-over-failed':
        if (event.reason === 'nobody') desk.sometimes(handle.isWanted ? 'too-few-ready' : 'nobody-to-hand-to');
        // It has it all the same, and does something with it.
        handle.usesLeft = desk.healed ? 12 : 1 + desk.choose(4);
        handle.isWanted = false;
        return;
      case 'renewal-due':
        this.#renewOrNot(handle);
        return;
      case 'refused':
        desk.abandoned(handle.resource.text, event.lease);
        this.#idle(handle);
        return;
      case 'lost':
        if (event.why === 'max-hold') desk.sometimes('reached-max-hold');
        this.#judgeLoss(handle, 'lost');
        this.#tellEnd(handle, 'lost');
        this.#idle(handle);
        return;
      case 'stopped':
        this.#tellEnd(handle, 'released');
        return;
      case 'released':
        this.#tellEnd(handle, 'released');
        if (handle.state === 'letting-go') this.#idle(handle);
        return;
      default:
        return;
    }
  }

  // ── A handle's life ────────────────────────────────────────────────────────────────────────────────

  #does(habit: Habit, outOf: number): boolean {
    return this.#habits.habits.includes(habit) && this.desk.choose(outOf) === 0;
  }

  protected ask(handle: Handle): void {
    const desk = this.desk;
    if (handle.state !== 'idle' || (desk.healed && handle.sinceHealed)) return;
    const { resources, maxTermUs, livenessUs } = this.#habits;
    handle.state = 'asking';
    handle.resource = resources[desk.choose(resources.length)] as ModeResource;
    handle.lease = ++this.#numbers;
    handle.token = 0;
    handle.safe = false;
    const { slots } = handle.resource;
    const takesSlot = slots > 0 && desk.choose(4) > 0;
    const isReader = slots === 0 && this.#habits.habits.includes('shared') && desk.choose(3) > 0;
    handle.mode = isReader || takesSlot ? 'shared' : 'exclusive';
    handle.slot = -1;
    handle.slotAsked = takesSlot && desk.choose(2) === 0 ? desk.choose(slots) : -1;
    handle.upgrade = 0;
    handle.lineAsked = 0;
    handle.isWanted = false;
    handle.offersLeft = 2;
    const longUs = this.#habits.termUsNow?.() ?? maxTermUs;
    const { steadfast = false, overlong = false } = this.#habits;
    handle.termUs = desk.healed || steadfast ? longUs : Math.ceil((longUs * (1 + desk.choose(4))) / 4000) * 1000;
    handle.keep = desk.healed || steadfast || desk.choose(2) > 0;
    handle.gated = handle.keep && this.#does('ends', 3);
    handle.bound = UNBOUND;
    const maxHoldUs = this.#does('ends', 4) ? Math.floor(maxTermUs / 8) + 1000 * desk.choose(Math.floor(maxTermUs / 400)) : undefined;
    handle.limited = maxHoldUs !== undefined;
    handle.quarantineUs =
      takesSlot && desk.choose(2) === 0 ? 1000 * (1 + desk.choose(Math.floor(maxTermUs / (overlong ? 1000 : 2000)))) : 0;
    // Members remember it for as long as it is used and rests.
    handle.termUs = overlong ? longUs : Math.min(handle.termUs, longUs - handle.quarantineUs);
    const waitUs = desk.healed ? livenessUs : Number(desk.choose(steadfast ? 4 : 2) === 1) * (1 + desk.choose(maxTermUs * 4));
    const { lease, resource, termUs, keep, gated } = handle;
    if (maxHoldUs !== undefined) handle.bound = { monoUs: monoUs(maxHoldUs), wallUs: wallUs(maxHoldUs) };
    desk.requested(resource.text, lease, handle.mode);
    const wanted = takesSlot
      ? { slots, quarantineUs: handle.quarantineUs, ...(handle.slotAsked < 0 ? {} : { slot: handle.slotAsked }) }
      : { mode: handle.mode };
    desk.command({ kind: 'acquire', lease, name: resource.bytes, termUs, waitUs, keep, gated, maxHoldUs, ...wanted });
    if (!desk.healed && desk.choose(16) === 0) this.later(desk.choose(Math.floor(maxTermUs / 4)), () => this.#cancel(handle, lease));
  }

  #cancel(handle: Handle, lease: number): void {
    if (handle.state === 'asking' && handle.lease === lease) this.desk.command({ kind: 'cancel', lease });
  }

  #granted(handle: Handle, event: Extract<QuorumEvent, { kind: 'granted' }>): void {
    const desk = this.desk;
    handle.state = 'holding';
    handle.token = event.token;
    if (handle.limited) {
      // It began before it was granted, so it ends no later than if it had begun now.
      const { monoUs: mono, wallUs: wall } = handle.bound;
      handle.bound = { monoUs: monoUs(desk.monoUs + mono), wallUs: wallUs(desk.wallUs + wall) };
    } else if (handle.gated) handle.bound = { monoUs: event.deadlineMonoUs, wallUs: event.deadlineWallUs };
    handle.slot = event.slot ?? -1;
    this.#tellGrant(handle, handle.lease, this.#bounded(handle, event));
    if (event.waited) desk.sometimes('waiter-served');
    handle.usesLeft = 1 + desk.choose(this.#habits.usesMax ?? 6);
    if (this.isOwed(handle)) {
      handle.safe = handle.keep && !handle.gated && !handle.limited && event.deadlineMonoUs - handle.termUs >= this.healedAt;
      this.served(handle, this.#habits.maxTermUs);
    }
    this.#useLater(handle, handle.lease);
  }

  #bounded({ bound }: Handle, { deadlineMonoUs, deadlineWallUs }: { deadlineMonoUs: number; deadlineWallUs: number }): HoldDeadline {
    return { monoUs: monoUs(Math.min(bound.monoUs, deadlineMonoUs)), wallUs: wallUs(Math.min(bound.wallUs, deadlineWallUs)) };
  }

  // ── What the history is told ───────────────────────────────────────────────────────────────────────

  /** Slots of a name are held beside each other and exclude writers of the name; each slot by itself is held by one at a time, until it has rested. */
  #tellGrant(handle: Handle, request: number, deadline: HoldDeadline): void {
    const { resource, token, mode, slot, slotAsked, quarantineUs } = handle;
    const desk = this.desk;
    handle.deadline = deadline;
    desk.granted(resource.text, request, token, deadline, mode);
    if (slot >= 0) {
      desk.sometimes('slot-grant');
      if (slotAsked >= 0 && slot !== slotAsked) desk.sometimes('other-slot');
      const number = ++this.#numbers;
      desk.requested(slotText(handle), number);
      desk.granted(slotText(handle), number, token, later(deadline, quarantineUs));
    } else if (mode === 'shared') {
      desk.sometimes('shared-grant');
      const others = this.handles.filter((one) => one.state === 'holding' && one.mode === 'shared' && one.resource === resource);
      if (others.length > 1) desk.sometimes('readers-together');
    }
  }

  #tellDeadline(handle: Handle, deadline: HoldDeadline): void {
    handle.deadline = deadline;
    this.desk.renewed(handle.resource.text, handle.token, deadline);
    if (handle.slot >= 0) this.desk.renewed(slotText(handle), handle.token, later(deadline, handle.quarantineUs));
  }

  /** A slot that has to rest is held until then. */
  #tellEnd(handle: Handle, reason: 'released' | 'lost'): void {
    const desk = this.desk;
    const { resource, token, slot, quarantineUs, deadline } = handle;
    desk.ended(resource.text, token, reason);
    if (slot < 0) return;
    handle.slot = -1;
    // Its use may have ended before, by the wall clock alone.
    const rested = later({ monoUs: desk.monoUs, wallUs: wallUs(Math.min(desk.wallUs, deadline.wallUs)) }, quarantineUs);
    if (quarantineUs === 0) desk.ended(slotText({ resource, slot }), token, reason);
    else if (reason === 'released' && desk.monoUs < deadline.monoUs) {
      desk.sometimes('quarantine');
      if (desk.wallUs < rested.wallUs) desk.renewed(slotText({ resource, slot }), token, rested);
      else desk.ended(slotText({ resource, slot }), token, reason);
    }
  }

  // ── Other modes ────────────────────────────────────────────────────────────────────────────────────

  #changeMode(handle: Handle): void {
    const desk = this.desk;
    const { lease, resource } = handle;
    if (resource.slots > 0 || handle.upgrade > 0 || !this.#habits.habits.includes('shared') || desk.choose(3) > 0) return;
    if (handle.mode === 'exclusive') {
      desk.command({ kind: 'downgrade', lease, name: resource.bytes });
      return;
    }
    if (this.#habits.orderly) return;
    handle.upgrade = ++this.#numbers;
    handle.upgradeWaits = false;
    desk.requested(resource.text, handle.upgrade, 'exclusive');
    const waitUs = desk.choose(2) === 0 ? 0 : desk.healed ? this.#habits.livenessUs : 1 + desk.choose(this.#habits.maxTermUs * 2);
    desk.command({ kind: 'upgrade', lease, name: resource.bytes, waitUs });
    if (!desk.healed && desk.choose(8) === 0) {
      this.later(desk.choose(Math.floor(this.#habits.maxTermUs / 4)), () => desk.command({ kind: 'cancel-upgrade', lease }));
    }
  }

  #upgraded(handle: Handle, event: Extract<QuorumEvent, { kind: 'upgraded' }>): void {
    const desk = this.desk;
    desk.sometimes(handle.upgradeWaits ? 'upgrade-waited' : 'upgraded');
    desk.ended(handle.resource.text, handle.token, 'released');
    handle.token = event.token;
    handle.mode = 'exclusive';
    if (handle.gated && !handle.limited) handle.bound = { monoUs: event.deadlineMonoUs, wallUs: event.deadlineWallUs };
    this.#tellGrant(handle, handle.upgrade, this.#bounded(handle, event));
    handle.upgrade = 0;
  }

  /** The core asks whether to renew. Some do not answer. */
  #renewOrNot(handle: Handle): void {
    const desk = this.desk;
    const { lease, resource, termUs } = handle;
    if (handle.state !== 'holding') return;
    switch (desk.choose(8)) {
      case 0:
        desk.sometimes('renewal-denied');
        desk.command({ kind: 'lapse', lease, name: resource.bytes });
        return;
      case 1:
        desk.sometimes('renewal-unanswered');
        return;
      default: {
        desk.sometimes('renewal-allowed');
        const { monoUs: mono, wallUs: wall } = desk;
        if (!handle.limited) handle.bound = { monoUs: monoUs(mono + termUs), wallUs: wallUs(wall + termUs) };
        desk.command({ kind: 'renew', lease, name: resource.bytes, termUs });
      }
    }
  }

  #judgeLoss(handle: Handle, how: string): void {
    if (handle.state === 'holding' && handle.safe && !this.#habits.mayLose)
      this.desk.failLiveness(`${how} ${handle.resource.text}, which it was renewing, in a healed world`);
  }

  #useLater(handle: Handle, lease: number): void {
    this.later(this.desk.choose(Math.floor(this.#habits.maxTermUs / 3)), () => this.#use(handle, lease));
  }

  #use(handle: Handle, lease: number): void {
    const desk = this.desk;
    if (handle.state === 'idle' || handle.lease !== lease) return;
    const { resource } = handle;
    if (this.isValid(handle)) {
      desk.used(resource.text, handle.token);
      if (handle.slot >= 0) desk.used(slotText(handle), handle.token);
    } else this.#judgeLoss(handle, 'could not use');
    // A reader that waits to be the only holder does not let go.
    const isWaiting = handle.upgrade > 0 && desk.healed;
    if (handle.state === 'holding') this.#changeMode(handle);
    if (handle.state === 'holding' && !isWaiting && --handle.usesLeft < 0) this.#giveBack(handle);
    else if (handle.state === 'holding' && this.#does('ends', 8)) this.#speak(handle);
    else if (handle.state === 'holding' && !handle.gated && !desk.healed && this.#does('shared', handle.keep ? 4 : 2))
      this.#renewBriefly(handle);
    this.#useLater(handle, lease);
  }

  /** From here on its term is short, while its deadline is far: an upgrade is for the short one. */
  #renewBriefly({ lease, resource }: Handle): void {
    this.desk.command({ kind: 'renew', lease, name: resource.bytes, termUs: Math.ceil(this.#habits.maxTermUs / 8000) * 1000 });
  }

  /** A proclaim is carried by a renewal, which must not count as one where the holder is to be asked. */
  #speak({ lease, resource }: Handle): void {
    this.desk.command({ kind: 'proclaim', lease, name: resource.bytes, meta: resource.bytes, number: ++this.#numbers });
  }

  #giveBack(handle: Handle): void {
    const desk = this.desk;
    const { lease, resource } = handle;
    if (handle.upgrade === 0 && handle.offersLeft > 0 && this.#habits.habits.includes('hands') && desk.choose(4) > 0) {
      this.#handOver(handle);
      return;
    }
    // Some leases are left to run out.
    if (!handle.keep && desk.choose(3) === 0) return;
    handle.state = 'letting-go';
    const inUs = this.#does('ends', 2) ? 1 + desk.choose(Math.floor(this.#habits.maxTermUs / 2)) : 0;
    if (inUs > 0) desk.sometimes('release-later');
    desk.command({ kind: 'release', lease, name: resource.bytes, inUs });
    // It has stopped before its time.
    if (inUs > 0 && desk.choose(4) === 0)
      this.later(desk.choose(inUs), () => desk.command({ kind: 'release', lease, name: resource.bytes }));
  }

  /** To the next in line, or to a waiter that it asks for first. It holds on until it hears that it has stopped. */
  #handOver(handle: Handle): void {
    const desk = this.desk;
    const { lease, resource } = handle;
    handle.usesLeft = 1;
    handle.offersLeft--;
    if (!this.#habits.orderly && desk.choose(3) === 0) {
      handle.lineAsked = ++this.#numbers;
      desk.command({ kind: 'line', lease: handle.lineAsked, name: resource.bytes });
    } else desk.command({ kind: 'hand-over', lease, name: resource.bytes, to: null });
  }

  #chooseHeir({ lease: number, waiters }: Extract<QuorumEvent, { kind: 'line-told' }>): void {
    const handle = this.handles.find(({ lineAsked }) => lineAsked === number);
    if (handle?.state !== 'holding') return;
    handle.isWanted = waiters.length > 0;
    const chosen = waiters[this.desk.choose(Math.max(1, waiters.length))];
    const to = chosen ? { owner: chosen.owner, lease: chosen.lease } : null;
    this.desk.command({ kind: 'hand-over', lease: handle.lease, name: handle.resource.bytes, to });
  }

  #handedOver(handle: Handle, heir: number): void {
    const desk = this.desk;
    handle.state = 'letting-go';
    desk.sometimes(handle.lineAsked > 0 ? 'handed-to-named' : 'handed-over');
    this.later(desk.choose(Math.floor(this.#habits.maxTermUs / 4)), () => {
      const lives = Array.from({ length: this.#habits.nodes }, (_, node) => desk.clockOf?.(node)?.life);
      if (!lives.includes(heir)) desk.sometimes('heir-died');
    });
  }

  #idle(handle: Handle): void {
    handle.state = 'idle';
    handle.token = 0;
    this.later(this.desk.choose(Math.floor(this.#habits.maxTermUs / (this.desk.healed ? 10 : 3))), () => this.ask(handle));
  }
}

function slotText({ resource, slot }: Pick<Handle, 'resource' | 'slot'>): string {
  return `${resource.text}#${slot}`;
}

function later({ monoUs: mono, wallUs: wall }: HoldDeadline, spanUs: number): HoldDeadline {
  return { monoUs: monoUs(mono + spanUs), wallUs: wallUs(wall + spanUs) };
}
