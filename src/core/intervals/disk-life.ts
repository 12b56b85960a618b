/**
 * The life of a member's disk (rule 26). A disk that was lost is not a blank beginning: it gets a new generation, which so many others store that every majority
 * without this member has one of them; then this member holds what these hold as taken, and answers from then on. Generations go with every answer, so an ACK of the lost
 * disk is not counted together with answers of members that know. Where the disks of all are blank, one act of a person begins them, never a member of itself.
 */
import { NEVER, nodeId, quorumOf, type MonoUs, type NodeId } from '../../kernel/index.ts';
import type { Snapshot } from '../contract.ts';
import { earliest } from '../nested.ts';
import type { IntervalAcceptor } from './acceptor.ts';
import { PIECES_PER_PAGE, type IntervalStep } from './config.ts';
import { DiskNotice } from './disk-notice.ts';
import { Foundation } from './foundation.ts';
import type { CopyCursor, DiskMessage, DiskPhase, DiskStanding, FoundedAnswer } from './messages.ts';

export interface DiskLifeOptions {
  readonly self: NodeId;
  readonly members: number;
  readonly rttUs: number;
  readonly incarnation: number;
  readonly piecesPerPage?: number | undefined;
  /** False in a mutant: a blank disk is in use at once. */
  readonly lostIsNotBlank: boolean;
  readonly copiedIsTaken: boolean;
  /** An outer core says when a blank disk may be used. */
  readonly isTold: boolean;
}

/** Another member, as far as it has helped this one to join. */
interface CopySource {
  /** The generation of its own disk when it noted this one's; 0 before. */
  generation: number;
  cursor: CopyCursor | null;
  isCopied: boolean;
}

/** By which disks begin. */
type Act = Pick<Extract<DiskMessage, { kind: 'begin' }>, 'founding' | 'start' | 'disks'>;
const NO_ACT: Act = { founding: 0, start: 1, disks: [] };

const AGAIN_TRIPS = 2;
const FIRST_PAGE: CopyCursor = { space: '', from: 0 };

export class DiskLife {
  readonly #options: DiskLifeOptions;
  readonly #acceptor: IntervalAcceptor<IntervalStep>;
  /** So many others that every majority without this member has one of them. */
  readonly #needed: number;
  #phase: DiskPhase = 'reading';
  /** What others say of this member's generation, by member; -1 is nothing. */
  #known: number[] = [];
  #sources: CopySource[] = [];
  /** An outer core has said that this disk may be used: it is, once all taken integers are written. */
  #isToldToBegin = false;
  /** A head under way makes this phase the present one. */
  #becomes: DiskPhase | null = null;
  #againAt: MonoUs = NEVER;
  #rttUs: number;
  readonly #foundation: Foundation;
  readonly #notice: DiskNotice;

  constructor(options: DiskLifeOptions, acceptor: IntervalAcceptor<IntervalStep>) {
    const { members, rttUs } = options;
    this.#options = options;
    this.#acceptor = acceptor;
    this.#needed = members - quorumOf(members) + 1;
    this.#rttUs = rttUs;
    this.#foundation = new Foundation(members, options.incarnation);
    this.#notice = new DiskNotice(options.self, members);
    this.#forgetSources();
  }

  get isReady(): boolean {
    return this.#phase === 'ready';
  }

  /** It is in use, and no other member is known to take it for an older one. */
  get isKnown(): boolean {
    return this.isReady && this.#notice.isOver;
  }

  get phase(): DiskPhase {
    return this.#phase;
  }

  get generation(): number {
    return this.generations[this.#options.self] ?? 0;
  }

  get generations(): readonly number[] {
    return this.#acceptor.ledger.head.generations;
  }

  get wakeAt(): MonoUs {
    return earliest(this.#againAt, earliest(this.#foundation.wakeAt, this.#notice.wakeAt));
  }

  retime(rttUs: number): void {
    this.#rttUs = rttUs;
  }

  // ── The disk says ──────────────────────────────────────────────────────────────────────────────────

  loaded(step: IntervalStep): void {
    const { phase } = this.#acceptor.ledger.head;
    if (phase === 'ready') {
      this.#enter('ready', step);
      return;
    }
    if (!this.#options.lostIsNotBlank) {
      this.#begin(NO_ACT, step);
      return;
    }
    this.#enter(phase === 'founding' ? 'founding' : 'blank', step);
    this.#greet(step);
  }

  /** The head is on the disk as it is. */
  written(step: IntervalStep): void {
    const becomes = this.#becomes;
    this.#becomes = null;
    if (becomes === null) return;
    this.#enter(becomes, step);
    if (becomes === 'joining') this.#greet(step);
  }

  failed(step: IntervalStep): void {
    this.#againAt = NEVER;
    this.#notice.end();
    this.#enter('failed', step);
  }

  /** After each completion: a copy is whole once all of it is written. */
  wrote(step: IntervalStep): void {
    const { ledger } = this.#acceptor;
    if (this.#becomes !== null || !ledger.isQuiet) return;
    if (this.#phase === 'blank' && this.#isToldToBegin) this.#begin(NO_ACT, step);
    if (this.#phase !== 'joining') return;
    if (this.#sources.filter(({ isCopied }) => isCopied).length >= this.#needed) this.#become('ready', step);
  }

  #become(phase: 'founding' | 'joining' | 'ready', step: IntervalStep): void {
    this.#becomes = phase;
    this.#acceptor.ledger.putHead({ phase }, null, step);
  }

  #enter(phase: DiskPhase, step: IntervalStep): void {
    this.#phase = phase;
    if (phase === 'ready' || phase === 'reading') this.#againAt = NEVER;
    this.#emitStanding(step);
    // No member knows of a newer disk of a member whose disk was never lost.
    const isCopied = this.#acceptor.ledger.head.disks.length === 0;
    if (phase === 'ready' && isCopied && !this.#options.isTold) this.#notice.begin(this.generation, this.#rttUs, step);
  }

  #emitStanding(step: IntervalStep): void {
    step.emit({ kind: 'disk', ...this.#standing });
  }

  get #standing(): DiskStanding {
    const noted = this.#sources.filter(({ generation }) => generation > 0).length;
    const copied = this.#sources.filter(({ isCopied }) => isCopied).length;
    return { phase: this.#phase, generation: this.generation, noted, copied, needed: this.#needed };
  }

  // ── Joining ────────────────────────────────────────────────────────────────────────────────────────

  /** Asks each member that has not helped yet for the next thing it can do. */
  #greet(step: IntervalStep): void {
    this.#againAt = this.#options.isTold ? NEVER : ((step.monoUs + AGAIN_TRIPS * this.#rttUs) as MonoUs);
    if (this.#options.isTold) return;
    for (let member = 0; member < this.#options.members; member++) if (member !== this.#options.self) this.#ask(member, step);
  }

  #ask(member: number, step: IntervalStep): void {
    const generation = this.generation;
    const source = this.#sources[member] as CopySource;
    if (this.#phase !== 'joining') step.send(nodeId(member), { kind: 'hello', asker: this.#options.incarnation });
    else if (source.generation === 0) step.send(nodeId(member), { kind: 'note', generation });
    else if (!source.isCopied) step.send(nodeId(member), { kind: 'copy', generation, ...(source.cursor ?? FIRST_PAGE) });
  }

  /** `known`: from a member whose disk is in use. */
  #heard(from: NodeId, known: Extract<DiskMessage, { kind: 'known' }>, step: IntervalStep): void {
    const { generations } = known;
    if (this.isReady) this.#notice.outnumbered(generations[this.#options.self] ?? 0, this.#rttUs, step);
    const isWaiting = this.#phase === 'blank' || this.#phase === 'founding' || this.#phase === 'joining';
    if (!isWaiting || this.#becomes !== null || this.#options.isTold) return;
    const { ledger } = this.#acceptor;
    // This very disk was there, and blank, when the others began: it may begin as they did.
    if (this.#phase === 'founding' && this.#isAmong(known.disks)) {
      this.#learn(generations);
      this.#begin(known, step);
      return;
    }
    const told = generations[this.#options.self] ?? 0;
    const own = this.generations[this.#options.self] ?? 0;
    if (this.#phase === 'joining' && told <= own) return;
    // What an earlier life was told may be from before the disk that was lost: this one would take the same number.
    if (this.#phase !== 'joining' && known.asker !== this.#options.incarnation) return;
    this.#known[from] = told;
    const heard = this.#known.filter((one) => one >= 0);
    // While this member joins, another that knows a newer disk of it makes it take a newer number still.
    if (this.#phase !== 'joining' && heard.length < this.#needed) return;
    const generation = Math.max(own, ...heard) + 1;
    const next = this.generations.map((one, member) =>
      Math.max(one, member === this.#options.self ? generation : (generations[member] ?? 0)),
    );
    this.#forgetSources();
    ledger.putHead({ generations: next }, null, step);
    this.#become('joining', step);
  }

  #noted(from: NodeId, { generation, generations }: Extract<DiskMessage, { kind: 'noted' }>, step: IntervalStep): void {
    const source = this.#sources[from];
    if (this.isReady) this.#notedInUse(from, generation, generations, step);
    if (this.#phase !== 'joining' || this.#becomes !== null || !source || generation !== this.generation) return;
    const its = generations[from] ?? 0;
    if (source.generation === its) return;
    this.#sources[from] = { generation: its, cursor: FIRST_PAGE, isCopied: false };
    this.#learn(generations);
    this.#ask(from, step);
    this.#emitStanding(step);
  }

  /** Its number changes only when the next disk of this member would hear of it: votes of this one do not count beside that. */
  #notedInUse(from: NodeId, generation: number, told: readonly number[], step: IntervalStep): void {
    if (this.#notice.noted(from, generation, told, this.generations) < this.#needed || generation === this.generation) return;
    const generations = this.generations.map((one, member) => (member === this.#options.self ? generation : one));
    this.#acceptor.ledger.putHead({ generations }, null, step);
    this.#emitStanding(step);
  }

  /** A member can be reached again. */
  reached(member: number, step: IntervalStep): void {
    this.#notice.reached(member, step);
  }

  #page(from: NodeId, page: Extract<DiskMessage, { kind: 'page' }>, step: IntervalStep): void {
    const source = this.#sources[from];
    if (this.#phase !== 'joining' || this.#becomes !== null || !source || source.cursor === null) return;
    if (page.generation !== this.generation) return;
    if (page.space !== source.cursor.space || page.from !== source.cursor.from) return;
    // It has lost its disk since it noted this one's generation: it has to note it again.
    if (page.generations[from] !== source.generation) {
      this.#sources[from] = { generation: 0, cursor: null, isCopied: false };
      this.#ask(from, step);
      return;
    }
    for (const piece of page.pieces) this.#acceptor.adopt(piece, this.#options.copiedIsTaken, step);
    this.#learn(page.generations);
    source.cursor = page.next;
    source.isCopied = page.next === null;
    if (source.isCopied) this.#emitStanding(step);
    else this.#ask(from, step);
    this.wrote(step);
  }

  /** Generations of others' disks are stored with the next head. */
  #learn(generations: readonly number[]): void {
    const { ledger } = this.#acceptor;
    const merged = this.generations.map((one, member) => (member === this.#options.self ? one : Math.max(one, generations[member] ?? 0)));
    ledger.restateHead({ generations: merged });
    // A member that has lost its disk since it helped no longer knows its notes, and has to help again.
    for (const [member, { generation }] of this.#sources.entries())
      if (generation > 0 && generation < (merged[member] ?? 0)) this.#sources[member] = { generation: 0, cursor: null, isCopied: false };
  }

  #forgetSources(): void {
    this.#known = Array.from({ length: this.#options.members }, () => -1);
    this.#sources = this.#known.map(() => ({ generation: 0, cursor: null, isCopied: false }));
  }

  // ── Beginning ──────────────────────────────────────────────────────────────────────────────────────

  /** This disk is in use from here on, like a disk that was never lost. */
  #begin({ founding, start, disks }: Act, step: IntervalStep): void {
    const generations = this.generations.map((one) => Math.max(one, start));
    this.#acceptor.ledger.restateHead({ generations, founding, start, disks: [...disks] });
    this.#become('ready', step);
  }

  /** Whether this disk, and not an earlier one of this member, was there when these were all blank. */
  #isAmong(disks: readonly number[]): boolean {
    const { disk } = this.#acceptor.ledger.head;
    return disk > 0 && disks[this.#options.self] === disk;
  }

  /** An outer core says that this blank disk may be used, once the integers it has handed over are written. */
  permitUse(step: IntervalStep): void {
    this.#isToldToBegin = true;
    this.wrote(step);
  }

  bootstrap(waitUs: number, step: IntervalStep): void {
    this.#foundation.begin(waitUs, this.#rttUs, step);
  }

  // ── Messages ───────────────────────────────────────────────────────────────────────────────────────

  receive(from: NodeId, message: DiskMessage, step: IntervalStep): void {
    switch (message.kind) {
      case 'known':
        return this.#heard(from, message, step);
      case 'noted':
        return this.#noted(from, message, step);
      case 'page':
        return this.#page(from, message, step);
      case 'founded':
      case 'begun':
        return this.#foundation.heard(from, message, this.#rttUs, step);
      case 'standing':
        return;
      default:
        return this.#serve(from, message, step);
    }
  }

  #serve(
    from: NodeId,
    message: Extract<DiskMessage, { kind: 'hello' | 'note' | 'copy' | 'found' | 'begin' | 'look' }>,
    step: IntervalStep,
  ): void {
    switch (message.kind) {
      case 'look':
        return step.send(from, { kind: 'standing', ...this.#standing });
      case 'hello':
        if (this.isReady) this.#sayKnown(from, message.asker, step);
        return;
      case 'note':
        if (this.isReady) this.#note(from, message.generation, step);
        return;
      case 'copy':
        if (this.isReady && this.generations[from] === message.generation) this.#copy(from, message, step);
        return;
      case 'found':
        return this.#found(from, message, step);
      case 'begin':
        return this.#beginAs(from, message, step);
    }
  }

  #sayKnown(to: NodeId, asker: number, step: IntervalStep): void {
    const { generations, founding, start, disks } = this.#acceptor.ledger.head;
    step.send(to, { kind: 'known', asker, generations, founding, start, disks });
  }

  #note(from: NodeId, generation: number, step: IntervalStep): void {
    const { ledger } = this.#acceptor;
    const known = this.generations[from] ?? 0;
    if (generation < known) {
      this.#sayKnown(from, 0, step);
      return;
    }
    ledger.answer({ to: from, message: { kind: 'noted', generation } }, step, (number) => {
      if (generation === known) ledger.awaitHead(number);
      else ledger.putHead({ generations: this.generations.map((one, member) => (member === from ? generation : one)) }, number, step);
    });
  }

  #copy(to: NodeId, { generation, space, from }: Extract<DiskMessage, { kind: 'copy' }>, step: IntervalStep): void {
    const page = this.#acceptor.page({ space, from }, this.#options.piecesPerPage ?? PIECES_PER_PAGE);
    step.send(to, { kind: 'page', generation, space, from, ...page, generations: this.generations });
  }

  #found(from: NodeId, { founding, round, start }: Extract<DiskMessage, { kind: 'found' }>, step: IntervalStep): void {
    const { head } = this.#acceptor.ledger;
    const isUsed = this.isReady || this.#becomes === 'ready';
    if (this.#phase === 'reading' || this.#phase === 'failed' || this.#options.isTold) return;
    const highest = Math.max(head.start, ...head.generations);
    const answer = {
      kind: 'founded',
      founding,
      round,
      isReady: !isUsed,
      disk: head.disk || this.#options.incarnation,
      start: highest,
    } as const;
    if (isUsed) step.send(from, answer);
    else if (round % 2 === 1) this.#sayWhichDisk(from, answer, step);
    else this.#promise(from, answer, start, step);
  }

  /** The first round: the disk has a number from here on, and a disk that takes its place has another. */
  #sayWhichDisk(to: NodeId, answer: FoundedAnswer, step: IntervalStep): void {
    const { ledger } = this.#acceptor;
    ledger.answer({ to, message: answer }, step, (number) => {
      if (ledger.head.phase === 'founding') {
        ledger.awaitHead(number);
        return;
      }
      this.#forgetSources();
      this.#becomes = 'founding';
      ledger.putHead({ phase: 'founding', disk: answer.disk }, number, step);
    });
  }

  /** The second round: from here on no earlier act makes this disk begin. */
  #promise(to: NodeId, answer: FoundedAnswer, start: number, step: IntervalStep): void {
    const { ledger } = this.#acceptor;
    const { head } = ledger;
    const isPromised = head.start === start && head.founding === answer.founding;
    if (head.phase !== 'founding' || (!isPromised && start <= answer.start)) return;
    ledger.answer({ to, message: answer }, step, (number) => {
      if (isPromised) ledger.awaitHead(number);
      else ledger.putHead({ founding: answer.founding, start }, number, step);
    });
  }

  #beginAs(from: NodeId, act: Extract<DiskMessage, { kind: 'begin' }>, step: IntervalStep): void {
    const { ledger } = this.#acceptor;
    // An act that a later one has replaced orders nothing; a member that it has begun may still say so.
    if (!this.#isAmong(act.disks) || ledger.head.start !== act.start || ledger.head.founding !== act.founding) return;
    if (this.#phase === 'founding' && this.#becomes === null) this.#begin(act, step);
    if (!this.isReady && this.#becomes !== 'ready') return;
    const { founding, start } = act;
    ledger.answer({ to: from, message: { kind: 'begun', founding, start } }, step, (number) => ledger.awaitHead(number));
  }

  // ── Instants and snapshots ─────────────────────────────────────────────────────────────────────────

  wake(step: IntervalStep): void {
    this.#foundation.wake(this.#rttUs, step);
    this.#notice.wake(this.#rttUs, step);
    if (step.monoUs < this.#againAt) return;
    this.#greet(step);
  }

  snapshot(): Snapshot {
    return {
      phase: this.#phase,
      known: [...this.#known],
      sources: this.#sources.map(({ generation, cursor, isCopied }) => ({ generation, cursor: cursor && { ...cursor }, isCopied })),
      becomes: this.#becomes,
      isToldToBegin: this.#isToldToBegin,
      againAt: this.#againAt,
      rttUs: this.#rttUs,
      foundation: this.#foundation.snapshot(),
      notice: this.#notice.snapshot(),
    };
  }

  restore(snapshot: Snapshot): void {
    const told = snapshot as unknown as DiskLifeSnapshot;
    this.#phase = told.phase;
    this.#known = [...told.known];
    this.#sources = told.sources.map((source) => ({ ...source }));
    this.#becomes = told.becomes;
    this.#isToldToBegin = told.isToldToBegin;
    this.#againAt = told.againAt;
    this.#rttUs = told.rttUs;
    this.#foundation.restore(told.foundation);
    this.#notice.restore(told.notice);
  }
}

interface DiskLifeSnapshot {
  readonly phase: DiskPhase;
  readonly known: readonly number[];
  readonly sources: readonly CopySource[];
  readonly becomes: DiskPhase | null;
  readonly isToldToBegin: boolean;
  readonly againAt: MonoUs;
  readonly rttUs: number;
  readonly foundation: Snapshot;
  readonly notice: Snapshot;
}
