/**
 * Changing the members of a cell, and its terms, while it runs: the calls of a caller become an initiator of the core, on this process's own
 * connections. It can be killed anywhere; the next caller that asks for the same, in any process, goes on where it was.
 */
import { encodeView, ViewInitiator, type InitiatorState, type LeaseEvent, type View, type ViewConfig } from '../../core/index.ts';
import { hashText, NO_BALLOT, parseDuration, TenureError, type Duration, type MonoUs, type OptionTable } from '../../kernel/index.ts';
import type { Clocks } from '../../runtime/index.ts';
import { parseAddress } from '../../transport/index.ts';
import { makeEngine } from '../engines/index.ts';
import { LEASE_NUMBERS_MAX } from '../leases/service.ts';
import { onAbort } from '../signals.ts';
import { memberText, readMemberText, type Membership } from './membership.ts';
import type { Running } from './running.ts';
import { tellView, type CellView } from './told-view.ts';

/** A wanted change. Parts that are so already stay, so the same change can be asked for again. */
export interface MemberChange {
  /** New members, by id: their addresses. Start them first. */
  readonly add?: Readonly<Record<string, string>>;
  readonly remove?: readonly string[];
  /** One member in the place of another, in one step. */
  readonly replace?: { readonly member: string; readonly by: string; readonly address: string };
  readonly maxTerm?: Duration;
  readonly rateError?: number;
  /** How many members vote on a name; `'all'` of them, however many there are. */
  readonly replication?: number | 'all';
  /** Other members end claims and broadcast in this cell, for ever: where those have begun, nothing is changed unless this says so. */
  readonly dropServices?: boolean;
}

export interface ChangeOptions {
  readonly signal?: AbortSignal;
  /** Called whenever the change waits for something else. */
  readonly onProgress?: (progress: ChangeProgress) => void;
}

export interface ChangeProgress {
  /** Of the view that the cell is in. */
  readonly epoch: number;
  readonly kind: InitiatorState['kind'];
  /** In words. */
  readonly text: string;
  /** The members that it waits for, if there are any. */
  readonly missing: readonly string[];
}

export const CHANGE_OPTIONS: OptionTable<ChangeOptions> = { signal: 'signal', onProgress: 'any' };
export const MEMBER_CHANGE: OptionTable<MemberChange> = {
  add: 'object',
  remove: 'any',
  replace: 'object',
  maxTerm: 'any',
  rateError: 'number',
  replication: 'any',
  dropServices: 'boolean',
};

const PPM = 1_000_000;
const MEMBERS_MAX = 64;
/** Numbers of the leases of views: apart from the numbers of leases, and of calls to members. */
const FIRST_NUMBER = LEASE_NUMBERS_MAX + 1 + 2 ** 40;

/** Makes the wanted cell from the current one; throws if that cannot be. */
export function targetOf(change: MemberChange): (cur: ViewConfig) => ViewConfig {
  const { add = {}, remove = [], replace, maxTerm, rateError, replication } = change;
  const added = { ...add, ...(replace ? { [replace.by]: replace.address } : {}) };
  const removed = new Set([...remove, ...(replace ? [replace.member] : [])]);
  for (const address of Object.values(added)) parseAddress(address);
  const both = Object.keys(added).find((id) => removed.has(id));
  if (both !== undefined) throw bad(`${both} is to be added and removed: decide`);
  const maxTermUs = maxTerm === undefined ? undefined : parseDuration(maxTerm);
  const rateErrorPpm = rateError === undefined ? undefined : Math.round(rateError * PPM);
  return (cur) => {
    const stay = cur.members.filter(({ text }) => !removed.has(readMemberText(text).id));
    const members = [...stay];
    const taken = new Set(cur.members.map(({ number }) => number));
    for (const [id, address] of Object.entries(added)) {
      if (stay.some(({ text }) => readMemberText(text).id === id)) continue;
      const number = freeNumber(taken);
      taken.add(number);
      members.push({ number, key: hashText(id), text: memberText(id, address) });
    }
    const wasWhole = cur.replication === cur.members.length;
    const votes = replication === 'all' || (replication === undefined && wasWhole) ? members.length : (replication ?? cur.replication);
    const target = {
      members: members.sort((a, b) => a.number - b.number),
      replication: replication === undefined ? Math.min(votes, members.length) : votes,
      maxTermUs: maxTermUs ?? cur.maxTermUs,
      rateErrorPpm: rateErrorPpm ?? cur.rateErrorPpm,
    };
    check(cur, target);
    return target;
  };
}

function freeNumber(taken: ReadonlySet<number>): number {
  const above = Math.max(-1, ...taken) + 1;
  if (above < MEMBERS_MAX) return above;
  return Array.from({ length: MEMBERS_MAX }, (_, number) => number).find((number) => !taken.has(number)) ?? MEMBERS_MAX;
}

function check(cur: ViewConfig, target: ViewConfig): void {
  const { members, replication, maxTermUs, rateErrorPpm } = target;
  if (members.length === 0 || members.length > MEMBERS_MAX) throw bad(`a cell has 1 to ${MEMBERS_MAX} members, not ${members.length}`);
  if (!Number.isInteger(replication) || replication < 1 || replication > members.length) {
    throw bad(`replication is a number from 1 to ${members.length}, the number of members; not ${replication}`);
  }
  makeEngine('quorum', { maxTermUs, rateErrorPpm });
  const joint: View = { epoch: 1, id: 1, cur: target, old: cur, floor: NO_BALLOT, isMoved: true };
  if (encodeView(joint) === null) {
    throw new TenureError('TENURE_LIMIT', 'the ids and addresses of these members are too long to be told in one message: shorten them', {
      limit: 'bytes of a view',
    });
  }
}

function bad(message: string): TenureError {
  return new TenureError('TENURE_BAD_ARGUMENT', message);
}

interface ChangeGround {
  readonly clocks: Clocks;
  readonly membership: Pick<Membership, 'idOf'>;
}

/** Changes of the cell that are under way on this node. */
export class MemberChanges {
  readonly #ground: ChangeGround;
  readonly #under = new Set<UnderWay>();
  #nextLease = FIRST_NUMBER;

  constructor(ground: ChangeGround) {
    this.#ground = ground;
  }

  get isAsked(): boolean {
    return this.#under.size > 0;
  }

  /** Resolves once the cell is as it should be. */
  change(run: Running, target: (cur: ViewConfig) => ViewConfig, { signal, onProgress }: ChangeOptions): Promise<CellView> {
    signal?.throwIfAborted();
    return new Promise((resolve, reject) => {
      // The reason of a signal is told as it is.
      const fail: (error: unknown) => void = reject;
      const under = new UnderWay(this.#ground, run, target, () => ++this.#nextLease, onProgress, {
        done: (view) => {
          this.#under.delete(under);
          calm();
          resolve(tellView(view));
        },
        failed: (error) => {
          this.#under.delete(under);
          calm();
          fail(error);
        },
      });
      const calm = onAbort(signal, (reason) => under.abandon(reason));
      this.#under.add(under);
      under.begin();
    });
  }

  hear(event: LeaseEvent): void {
    for (const under of this.#under) under.hear(event);
  }

  fail(error: TenureError): void {
    for (const under of this.#under) under.fail(error);
  }
}

interface Outcome {
  done(view: View): void;
  failed(error: unknown): void;
}

class UnderWay {
  readonly #ground: ChangeGround;
  readonly #run: Running;
  readonly #initiator: ViewInitiator;
  readonly #check: () => void;
  readonly #onProgress: ChangeOptions['onProgress'];
  readonly #outcome: Outcome;
  #callOff: (() => void) | null = null;
  #told = '';
  #isOver = false;

  constructor(
    ground: ChangeGround,
    run: Running,
    target: (cur: ViewConfig) => ViewConfig,
    nextLease: () => number,
    onProgress: ChangeOptions['onProgress'],
    outcome: Outcome,
  ) {
    this.#ground = ground;
    this.#run = run;
    this.#onProgress = onProgress;
    this.#outcome = outcome;
    const { views, driver } = run;
    if (views === null) throw new TenureError('TENURE_UNSUPPORTED', 'the members of this cell cannot change');
    const host = {
      get view(): View {
        return views.view;
      },
      nextLease,
      command: driver.command.bind(driver),
    };
    this.#initiator = new ViewInitiator(host, target);
    this.#check = () => void target(views.view.cur);
  }

  /** An impossible change is refused before anything is asked of the cell. */
  begin(): void {
    this.#do(() => {
      this.#check();
      this.#initiator.start(this.#now);
    });
  }

  hear(event: LeaseEvent): void {
    // The core must have done with its step before it is told anything.
    queueMicrotask(() => this.#do(() => this.#initiator.event(event, this.#now)));
  }

  abandon(reason: unknown): void {
    if (this.#isOver) return;
    this.#end();
    this.#initiator.giveUp();
    this.#outcome.failed(reason);
  }

  fail(error: TenureError): void {
    if (this.#isOver) return;
    this.#end();
    this.#outcome.failed(error);
  }

  get #now(): MonoUs {
    return this.#ground.clocks.mono();
  }

  #do(act: () => void): void {
    if (this.#isOver) return;
    try {
      act();
      this.#plan();
    } catch (error) {
      this.abandon(error);
    }
  }

  #plan(): void {
    const { state, wakeAt } = this.#initiator;
    this.#callOff?.();
    this.#callOff = null;
    this.#report(state);
    if (state.kind === 'done') {
      this.#end();
      this.#outcome.done(this.#run.views?.view as View);
    } else if (wakeAt !== Infinity) {
      this.#callOff = this.#ground.clocks.after(Math.max(1, wakeAt - this.#now), () => this.#do(() => this.#initiator.wake(this.#now)));
    }
  }

  #end(): void {
    this.#isOver = true;
    this.#callOff?.();
  }

  #report(state: InitiatorState): void {
    const epoch = this.#run.views?.view.epoch ?? 0;
    const missing = 'missing' in state ? state.missing.map((number) => this.#ground.membership.idOf(number) ?? String(number)) : [];
    const text = wordsFor(state, missing);
    const key = `${epoch} ${text}`;
    if (key === this.#told) return;
    this.#told = key;
    this.#onProgress?.({ epoch, kind: state.kind, text, missing });
  }
}

function wordsFor(state: InitiatorState, missing: readonly string[]): string {
  switch (state.kind) {
    case 'lease':
      return 'waits for a majority of the members, or for another process that changes the cell';
    case 'stored': {
      const [who, has, it] = missing.length === 1 ? [missing[0], 'has', 'it'] : [missing.join(', '), 'have', 'them'];
      return `${who} ${has} not stored view ${state.epoch}: start ${it} with a data directory, or with this view in the configuration`;
    }
    case 'votes':
      return `${missing.join(', ')} ${missing.length === 1 ? 'does' : 'do'} not vote yet, and the next view would have no majority without: start what is not running`;
    case 'terms':
      return `view ${state.epoch} is stored; waits until no lease of before is left`;
    case 'pause':
      return 'waits until holders have followed the last view';
    default:
      return 'done';
  }
}
