/**
 * The referees for the explorer. A state's past is what the referees remember of it, and the open holds: a snapshot of the stage's own chronicle.
 * Before a step is judged, a fresh chronicle is restored from it. Each question is answered once and remembered.
 */
import { stateHash, type Json, type MonoUs, type WallUs } from '../../kernel/index.ts';
import { asItIs, type Perspective, type Referee } from '../../check/index.ts';
import { Chronicle, type ChronicleClocks, type ApplicationReport } from '../chronicle.ts';

export interface InstantClocks {
  /** True time. */
  nowAt(instant: number): number;
  monoOf(node: number, instant: number): MonoUs;
  wallOf(node: number, instant: number): WallUs;
}

/** The number of a past; -1 where the step broke a promise. */
export type PastId = number;

export class Judge {
  readonly #referees: () => readonly Referee[];
  readonly #clocks: InstantClocks;
  /** What the referees remember in each past. Instants are counted from the instant at which the past was interned. */
  readonly #pasts: Json[] = [];
  readonly #ids = new Map<string, PastId>();
  readonly #answers = new Map<string, PastId>();

  constructor(referees: () => readonly Referee[], clocks: InstantClocks) {
    this.#referees = referees;
    this.#clocks = clocks;
    this.#intern(new Chronicle(referees(), this.#clocksAt(0)).snapshot(asItIs(0)));
  }

  /** The past in which nothing has happened. */
  get nothing(): PastId {
    return 0;
  }

  get count(): number {
    return this.#pasts.length;
  }

  /** A past in the names that nodes, and so their lives, would have under each renumbering. */
  renamings(past: PastId): (names: Omit<Perspective, 'now'>) => Json {
    const chronicle = this.#restored(past, this.#clocksAt(0));
    return (names) => chronicle.snapshot({ ...names, now: this.#clocks.nowAt(0) });
  }

  /** The reports of a node's application in one step; `reportsId` is the number of that list, by which the answer is remembered. */
  reported(
    past: PastId,
    instant: number,
    node: number,
    incarnation: number,
    reports: readonly ApplicationReport[],
    reportsId: number,
  ): PastId {
    return this.#answer(`${past} ${instant} ${node} ${incarnation} ${reportsId}`, past, instant, (chronicle) => {
      for (const report of reports) chronicle.report(node, incarnation, report);
    });
  }

  crashed(past: PastId, instant: number, node: number, incarnation: number): PastId {
    return this.#answer(`${past} ${instant} ${node} ${incarnation} crashed`, past, instant, (chronicle) =>
      chronicle.crashed(node, incarnation),
    );
  }

  /** An instant has gone by: holds that are over by the clocks of their holders are over. */
  closePassed(past: PastId, instant: number): PastId {
    return this.#answer(`${past} ${instant}`, past, instant, (chronicle) => chronicle.closeAllPassed(), instant - 1);
  }

  /** `from` is the last instant at which anything was written into the past. */
  #answer(key: string, before: PastId, instant: number, act: (chronicle: Chronicle) => void, from: number = instant): PastId {
    const known = this.#answers.get(key);
    if (known !== undefined) return known;
    const clocks = this.#clocksAt(from);
    const chronicle = this.#restored(before, clocks);
    clocks.instant = instant;
    act(chronicle);
    const isBroken = chronicle.panel.violationCount > 0;
    const answer = isBroken ? -1 : this.#intern(chronicle.snapshot(asItIs(clocks.now())));
    this.#answers.set(key, answer);
    return answer;
  }

  #clocksAt(instant: number): ChronicleClocks & { instant: number } {
    const clocks = this.#clocks;
    return {
      instant,
      now() {
        return clocks.nowAt(this.instant);
      },
      monoOf(node: number) {
        return clocks.monoOf(node, this.instant);
      },
      wallOf(node: number) {
        return clocks.wallOf(node, this.instant);
      },
    };
  }

  #restored(past: PastId, clocks: ChronicleClocks): Chronicle {
    const chronicle = new Chronicle(this.#referees(), clocks);
    chronicle.restore(this.#pasts[past] as Json);
    return chronicle;
  }

  #intern(memory: Json): PastId {
    const key = stateHash(memory);
    const known = this.#ids.get(key);
    if (known !== undefined) return known;
    this.#ids.set(key, this.#pasts.length);
    return this.#pasts.push(memory) - 1;
  }
}
