/** The lines of callers in scripts of a cell whose members change: those of leases, and how the cell is to be from now on. */
import { NEVER, parseDuration, TenureError } from '../../../kernel/index.ts';
import {
  ViewInitiator,
  type QuorumCommand,
  type QuorumCore,
  type QuorumEvent,
  type Snapshot,
  type View,
  type ViewConfig,
} from '../../../core/index.ts';
import type { Desk } from '../../protocol.ts';
import type { Actor } from '../../stage/staging.ts';
import { takesNoMore, VOTER_NAMES } from '../../stage/words.ts';
import { LeaseActor, type LeaseActorSnapshot } from '../leases/actor.ts';
import { memberKeysOf } from '../leases/habits.ts';
import { leaseVerbs } from '../leases/staging.ts';

export const VIEW_VERBS: readonly string[] = leaseVerbs({
  release: 'release NODE NAME [in SPAN]',
  more: ['change NODE members NAMES', 'change NODE term SPAN', 'go-on NODE', 'store NODE'],
});

/** Leases of the application have lower numbers. */
const OWN_LEASES = 1_000_000;

/** What an application remembers of leases, and of the cell. */
export interface ViewsActorSnapshot extends LeaseActorSnapshot {
  /** The target of the change, as it was said, and the memory of its initiator; null where there is no initiator. */
  readonly change: { readonly words: readonly string[]; readonly initiator: Snapshot } | null;
  readonly changes: number;
  readonly ownLeases: number;
  /** When the initiator goes on by itself. */
  readonly goesOnAt: number;
  /** The view that this member has adopted and that is not stored yet. */
  readonly unstored: Pick<View, 'epoch' | 'id'> | null;
  readonly hasStored: boolean;
}

export class ViewsActor implements Actor<QuorumEvent> {
  readonly #core: QuorumCore;
  readonly #desk: Desk<QuorumCommand>;
  readonly #leases: LeaseActor;
  #initiator: ViewInitiator | null = null;
  #words: readonly string[] = [];
  #changes = 0;
  #ownLeases = OWN_LEASES;
  #unstored: Pick<View, 'epoch' | 'id'> | null = null;
  #hasStored = false;

  constructor(core: QuorumCore, desk: Desk<QuorumCommand>) {
    this.#core = core;
    this.#desk = desk;
    this.#leases = new LeaseActor(core, desk, { verbs: VIEW_VERBS, releasesLater: true, shares: true });
  }

  act(verb: string, words: readonly string[]): void {
    switch (verb) {
      case 'change':
        takesNoMore(verb, words.slice(2));
        this.#initiator = this.#initiatorFor(words);
        this.#changes++;
        this.#initiator.start(this.#desk.monoUs);
        return;
      case 'go-on':
        takesNoMore(verb, words);
        this.#initiator?.wake(this.#desk.monoUs);
        this.#forgetDone();
        return;
      case 'store':
        takesNoMore(verb, words);
        if (this.#unstored === null)
          throw new TenureError('TENURE_BAD_ARGUMENT', 'cannot store: this node has adopted no view since it stored one');
        this.#desk.command({ kind: 'view-stored', ...this.#unstored });
        this.#unstored = null;
        this.#hasStored = true;
        return;
      default:
        this.#leases.act(verb, words);
    }
  }

  event(event: QuorumEvent): void {
    if (event.kind === 'view-adopted' && !event.isKept) this.#unstored = { epoch: event.view.epoch, id: event.view.id };
    this.#initiator?.event(event, this.#desk.monoUs);
    this.#forgetDone();
    this.#leases.event(event);
  }

  /** When it goes on by itself, without `go-on`. */
  get wakeAt(): number {
    return Math.min(this.#leases.wakeAt, this.#desk.healed ? (this.#initiator?.wakeAt ?? NEVER) : NEVER);
  }

  wake(): void {
    this.#leases.wake();
    this.#initiator?.wake(this.#desk.monoUs);
    this.#forgetDone();
  }

  #forgetDone(): void {
    if (this.#initiator?.state.kind === 'done') this.#initiator = null;
  }

  #initiatorFor(words: readonly string[]): ViewInitiator {
    const core = this.#core;
    const host = {
      get view(): View {
        return core.view;
      },
      nextLease: () => ++this.#ownLeases,
      clockBallot: () => this.#desk.wallUs,
      command: (command: QuorumCommand) => this.#desk.command(command),
    };
    this.#words = words;
    return new ViewInitiator(host, targetOf(words), core.rules);
  }

  snapshot(): Snapshot {
    const initiator = this.#initiator;
    const memory: Omit<ViewsActorSnapshot, keyof LeaseActorSnapshot> = {
      change: initiator && { words: this.#words, initiator: initiator.snapshot() },
      changes: this.#changes,
      ownLeases: this.#ownLeases,
      goesOnAt: initiator?.wakeAt ?? NEVER,
      unstored: this.#unstored,
      hasStored: this.#hasStored,
    };
    return { ...(this.#leases.snapshot() as Readonly<Record<string, Snapshot>>), ...(memory as unknown as Record<string, Snapshot>) };
  }

  restore(snapshot: Snapshot): void {
    const { change, changes, ownLeases, unstored, hasStored } = snapshot as unknown as ViewsActorSnapshot;
    this.#leases.restore(snapshot);
    this.#initiator = change && this.#initiatorFor(change.words);
    if (change) this.#initiator?.restore(change.initiator);
    this.#changes = changes;
    this.#ownLeases = ownLeases;
    this.#unstored = unstored;
    this.#hasStored = hasStored;
  }
}

/** What the cell is to become, as a line says it: all members vote on all names. */
function targetOf([what, how = '']: readonly string[]): (cur: ViewConfig) => ViewConfig {
  if (what === 'term') {
    const maxTermUs = parseDuration(how);
    return (cur) => ({ ...cur, maxTermUs });
  }
  const numbers = how.split(',').map((name) => (name.length === 1 ? VOTER_NAMES.indexOf(name) : -1));
  if (what !== 'members' || numbers.includes(-1))
    throw new TenureError('TENURE_BAD_ARGUMENT', "change takes 'members' with the names of all that vote, such as 'a,b,d', or 'term SPAN'");
  const keys = memberKeysOf(VOTER_NAMES.length);
  const members = numbers.toSorted((a, b) => a - b).map((number) => ({ number, key: keys[number] as number, text: '' }));
  return (cur) => ({ ...cur, members, replication: members.length });
}
