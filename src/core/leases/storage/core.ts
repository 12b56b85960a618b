/**
 * A core for leases on shared storage: one per process, any number of names. It has no peers and sends nothing; all
 * it does is read and write records. This file hands each command and answer to the claim it is for, keeps the epoch
 * (rule 23), and refuses what a store cannot do.
 */
import { decodeName, monoAfter, monoUs, NEVER, spanUs, TenureError, type MonoUs, type WallUs } from '../../../kernel/index.ts';
import type { Boot, Completion, Core, Snapshot } from '../../contract.ts';
import { META_BYTES_MAX } from '../limits.ts';
import { newClaim, type Doing, type WantedClaim } from './claim.ts';
import {
  SYNC_BYTES_MAX,
  type FigureState,
  type StorageCommand,
  type StorageConfig,
  type StorageEvent,
  type StorageStep,
} from './config.ts';
import { DataMemory } from './data-memory.ts';
import { ClaimDesk } from './desk.ts';
import { FreedRecords } from './freed.ts';
import { StorageLeases, type StorageProtocol } from './leases.ts';
import type { StorageRules } from './rules.ts';
import { Sightings } from './sightings.ts';

type Of<Kind extends StorageCommand['kind']> = Extract<StorageCommand, { kind: Kind }>;

interface CoreSnapshot {
  readonly desk: Snapshot;
  readonly sightings: Snapshot;
  readonly freed: Snapshot;
  readonly data: Snapshot;
  readonly takesFrom: MonoUs;
  readonly isWaiting: boolean;
}

export class StorageCore<Does extends Doing> implements Core<never, StorageCommand, StorageEvent> {
  readonly #config: StorageConfig;
  readonly #rules: StorageRules;
  readonly #desk = new ClaimDesk<Does>();
  readonly #sightings: Sightings;
  readonly #freed = new FreedRecords();
  readonly #data = new DataMemory();
  readonly #leases: StorageLeases<Does>;
  readonly #protocol: StorageProtocol<Does>;
  /** Under a new epoch nothing is taken before this. */
  #takesFrom: MonoUs = monoUs(0);
  #isWaiting = false;

  constructor(config: StorageConfig, boot: Boot, rules: StorageRules, protocol: (leases: StorageLeases<Does>) => StorageProtocol<Does>) {
    this.#config = config;
    this.#rules = rules;
    this.#sightings = new Sightings(config.timing.observationUs, rules.observesThisUid);
    const ground = {
      config,
      owner: boot.incarnation,
      rules,
      desk: this.#desk,
      sightings: this.#sightings,
      freed: this.#freed,
      data: this.#data,
      takesFrom: () => this.#takesFrom,
    };
    this.#leases = new StorageLeases(ground, () => this.#protocol);
    this.#protocol = protocol(this.#leases);
  }

  get wakeAt(): MonoUs {
    return this.#isWaiting ? monoUs(Math.min(this.#takesFrom, this.#desk.nextAt)) : this.#desk.nextAt;
  }

  /** How long a lease may still be acted under, by both clocks; 0 when it is not held. */
  remainingUs(lease: number, name: Uint8Array, mono: MonoUs, wall: WallUs): number {
    const claim = this.#desk.get(lease);
    if (claim?.phase !== 'holding' || claim.name !== textOf(name)) return 0;
    return Math.max(0, this.#leases.remainingUs(claim, mono, wall));
  }

  /** How long this process still takes nothing, because the store may have lost writes. */
  silentForUs(mono: MonoUs): number {
    return this.#isWaiting ? Math.max(0, this.#takesFrom - mono) : 0;
  }

  /** Whether a claim that no caller wants any more may yet become a lease, or is not given back yet. */
  get isLettingGo(): boolean {
    return this.#desk.all().some(({ phase, isCalledOff }) => phase === 'releasing' || (phase === 'contending' && isCalledOff));
  }

  /** The state of a request as the paper's Figures 1 and 4 name it. */
  stateOf(lease: number, mono: MonoUs, wall: WallUs): FigureState {
    const claim = this.#desk.get(lease);
    switch (claim?.phase) {
      case 'queued':
      case 'contending':
        return 'try';
      case 'holding':
        if (this.#leases.remainingUs(claim, mono, wall) <= 0) return 'exit';
        return this.#protocol.isRenewing(claim) ? 'renew' : 'hold';
      case 'releasing':
        return 'release';
      default:
        return 'free';
    }
  }

  start(): void {}
  receive(): void {}
  admits(): boolean {
    return false;
  }

  command(command: StorageCommand, step: StorageStep): void {
    switch (command.kind) {
      case 'acquire':
        this.#acquire(command, step);
        return;
      case 'cancel': {
        const claim = this.#desk.get(command.lease);
        if (claim) this.#leases.callOff(claim, step);
        return;
      }
      case 'renew':
        this.#renew(command, step);
        return;
      case 'proclaim':
        this.#proclaim(command, step);
        return;
      case 'release':
        this.#release(command, step);
        return;
      case 'lapse':
        this.#lapse(command);
        return;
      case 'query':
        this.#ask(this.#asked(command, 'holder'), step);
        return;
      case 'compact':
        this.#ask(this.#asked(command, 'erasure'), step);
        return;
      case 'sync':
        this.#sync(command, step);
        return;
      case 'fetch':
        this.#ask(this.#asked(command, 'data'), step);
        return;
      case 'hint': {
        const name = textOf(command.name);
        const first = this.#desk.firstFor(name);
        for (const one of [...(first ? [first] : []), ...this.#desk.readersOf(name)]) {
          if (one.phase === 'contending' && this.#protocol.isResting(one)) this.#leases.due(one, step);
        }
        return;
      }
      case 'epoch':
        this.#enterEpoch(command.isWaitedOut, step);
        return;
      case 'list':
        throw unsupported('has no list of what is held: ask holder() of a name');
      case 'watch':
        throw unsupported('tells nobody of its leases: ask holder() now and then');
      case 'status':
      case 'bootstrap':
      case 'enter-view':
      case 'hear-view':
      case 'view-stored':
        throw unsupported('has no members');
      // There are no members whose answers, round trips or clocks would matter.
      case 'unlist':
      case 'unwatch':
      case 'retime':
      case 'greet':
      case 'rate':
        return;
      case 'upgrade':
      case 'cancel-upgrade':
      case 'downgrade':
        throw unsupported('does not change how a lease is held');
      case 'hand-over':
      case 'line':
        throw unsupported('hands no lease over: release it');
    }
  }

  // ── Commands ───────────────────────────────────────────────────────────────────────────────────────

  #acquire({ lease, name, termUs, waitUs, keep, meta, mode = 'exclusive' }: Of<'acquire'>, step: StorageStep): void {
    this.#checkTerm(termUs);
    checkMeta(meta);
    if (mode === 'shared' && !this.#protocol.canShare) throw unsupported('to the letter of the paper has one name for all readers');
    const waitUntil = monoAfter(step.monoUs, spanUs(waitUs));
    const wanted = this.#wanted(lease, name, 'lease', { mode, waits: waitUs > 0, waitUntil, termUs, keep, meta: meta?.slice() ?? null });
    this.#leases.enter(newClaim(wanted, 'queued', this.#protocol.idle), step);
  }

  #renew({ lease, name, termUs }: Of<'renew'>, step: StorageStep): void {
    this.#checkTerm(termUs);
    const claim = this.#held(lease, name, step);
    if (!claim) {
      step.emit({ kind: 'renewal-failed', lease });
      return;
    }
    claim.termUs = termUs;
    // Join a renewal that is under way: beginning anew with each call would never let a renewal end.
    if (!this.#protocol.isRenewing(claim)) this.#protocol.renew(claim, step);
  }

  #proclaim({ lease, name, meta, number }: Of<'proclaim'>, step: StorageStep): void {
    checkMeta(meta);
    const claim = this.#held(lease, name, step);
    if (!claim) {
      step.emit({ kind: 'renewal-failed', lease });
      return;
    }
    claim.meta = meta.slice();
    claim.proclaiming = number;
    // A renewal that is under way is let end, and the next carries it.
    if (!this.#protocol.isRenewing(claim)) this.#protocol.renew(claim, step);
  }

  /** Only the holder writes, and readers write nothing. */
  #sync({ lease, name, data, number }: Of<'sync'>, step: StorageStep): void {
    if (data.length > SYNC_BYTES_MAX) {
      throw new TenureError('TENURE_BAD_ARGUMENT', `the data of a lease may have ${SYNC_BYTES_MAX} bytes, not ${data.length}`);
    }
    const claim = this.#held(lease, name, step);
    if (claim?.mode === 'exclusive') this.#protocol.sync(claim, data.slice(), number, step);
    else step.emit({ kind: 'sync-failed', lease, number, refused: true });
  }

  #release({ lease, name }: Of<'release'>, step: StorageStep): void {
    const claim = this.#desk.get(lease);
    const isHeld = claim?.phase === 'holding' && claim.name === textOf(name);
    if (isHeld) this.#leases.release(claim, step);
    else if (claim?.phase !== 'releasing' || claim.isQuiet) step.emit({ kind: 'released', lease, byQuorum: false });
  }

  /** A renewal that is under way is void: the deadline stands from here on. */
  #lapse({ lease, name }: Of<'lapse'>): void {
    const claim = this.#desk.get(lease);
    if (claim?.phase !== 'holding' || claim.name !== textOf(name)) return;
    claim.keep = false;
    this.#desk.turn(claim, this.#protocol.idle, claim.deadlineMono);
  }

  #ask(wanted: WantedClaim, step: StorageStep): void {
    const claim = newClaim(wanted, 'asking', this.#protocol.idle);
    this.#desk.add(claim);
    this.#protocol.ask(claim, step);
  }

  /** A claim that is held by now; a claim that ran out unnoticed is lost first. */
  #held(lease: number, name: Uint8Array, step: StorageStep): ReturnType<ClaimDesk<Does>['get']> {
    const claim = this.#desk.get(lease);
    if (claim?.phase !== 'holding' || claim.name !== textOf(name)) return undefined;
    if (!this.#leases.isOver(claim, step)) return claim;
    this.#leases.lose(claim, step);
    return undefined;
  }

  #asked({ lease, name }: Of<'query' | 'compact' | 'fetch'>, wants: WantedClaim['wants']): WantedClaim {
    return this.#wanted(lease, name, wants, { mode: 'exclusive', waits: false, waitUntil: NEVER, termUs: 0, keep: false, meta: null });
  }

  /** A call that does not fit the state is refused: a number that is in use is not free to contend (Figure 1). */
  #wanted(lease: number, name: Uint8Array, wants: WantedClaim['wants'], rest: Omit<WantedClaim, 'lease' | 'name' | 'wants'>): WantedClaim {
    if (this.#desk.get(lease)) throw new TenureError('TENURE_BAD_ARGUMENT', `the number ${lease} is in use already`);
    return { lease, name: textOf(name), wants, ...rest };
  }

  /** Bad arguments are thrown before anything has changed; the driver hands them to its caller. */
  #checkTerm(termUs: number): void {
    const { maxTermUs } = this.#config.timing;
    if (Number.isSafeInteger(termUs) && termUs > 0 && termUs <= maxTermUs) return;
    throw new TenureError(
      'TENURE_BAD_ARGUMENT',
      `a term is at most ${maxTermUs / 1000} ms, the longest of the store; not ${termUs / 1000}`,
    );
  }

  // ── Epochs ─────────────────────────────────────────────────────────────────────────────────────────

  /**
   * Records may be older than the records read before, so sightings say nothing any more, and writes of the old epoch may be
   * gone. Holders go on until their deadlines: other claims wait until then.
   */
  #enterEpoch(isWaitedOut: boolean, step: StorageStep): void {
    this.#sightings.clear();
    this.#data.clear();
    this.#protocol.enterEpoch?.();
    this.#isWaiting = this.#rules.epochWait && !isWaitedOut;
    this.#takesFrom = this.#isWaiting ? monoAfter(step.monoUs, this.#config.timing.observationUs) : step.monoUs;
    for (const claim of this.#desk.all()) {
      if (claim.phase === 'contending') claim.starts = [];
      if (claim.phase === 'contending' && claim.isCalledOff) this.#leases.end(claim, step);
      else if (claim.phase === 'contending') this.#protocol.contend(claim, step);
      else if (claim.phase === 'asking') this.#protocol.ask(claim, step);
      else if (claim.phase === 'holding' && this.#protocol.isRenewing(claim)) this.#leases.failRenewal(claim, step);
    }
  }

  // ── Inputs ─────────────────────────────────────────────────────────────────────────────────────────

  completed(completion: Completion, step: StorageStep): void {
    const claim = this.#desk.answered(completion.op);
    if (claim) this.#protocol.answered(claim, completion, step);
  }

  wake(step: StorageStep): void {
    if (this.#isWaiting && step.monoUs >= this.#takesFrom) {
      this.#isWaiting = false;
      step.emit({ kind: 'epoch-waited' });
    }
    for (let claim = this.#desk.take(step.monoUs); claim; claim = this.#desk.take(step.monoUs)) this.#leases.due(claim, step);
  }

  snapshot(): Snapshot {
    return {
      desk: this.#desk.snapshot(),
      sightings: this.#sightings.snapshot(),
      freed: this.#freed.snapshot(),
      data: this.#data.snapshot(),
      takesFrom: this.#takesFrom,
      isWaiting: this.#isWaiting,
    };
  }

  restore(snapshot: Snapshot): void {
    const { desk, sightings, freed, data, takesFrom, isWaiting } = snapshot as unknown as CoreSnapshot;
    this.#desk.restore(desk);
    this.#sightings.restore(sightings);
    this.#freed.restore(freed);
    this.#data.restore(data);
    this.#takesFrom = takesFrom;
    this.#isWaiting = isWaiting;
  }
}

function textOf(name: Uint8Array): string {
  const text = decodeName(name, 0, name.length);
  if (text === null) throw new TenureError('TENURE_BAD_NAME', 'these bytes are no name');
  return text;
}

function checkMeta(meta: Uint8Array | undefined): void {
  if (meta === undefined || meta.length <= META_BYTES_MAX) return;
  throw new TenureError('TENURE_BAD_ARGUMENT', `metadata may have ${META_BYTES_MAX} bytes, not ${meta.length}`);
}

function unsupported(why: string): TenureError {
  return new TenureError('TENURE_UNSUPPORTED', `a lease store ${why}`);
}
