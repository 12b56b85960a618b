/**
 * Questions to a quorum that wait for their answer: the holder of a name, the leases under a prefix. Each can be
 * given up by its signal, and all end with the service.
 */
import type { HolderHint, LeaseCommand, LeaseEvent } from '../../core/index.ts';
import { compareNames, decodeName, encodeName, encodePrefix, TenureError, type LeaseMode } from '../../kernel/index.ts';
import { PendingCalls } from '../pending-calls.ts';

export interface HolderInfo {
  /** Which start of which process: changes with every restart. */
  readonly incarnation: number;
  readonly token: number;
  /** It cannot last longer than this unless it is renewed. */
  readonly remainingMsMax: number;
  /** `shared` if readers hold it: this is one of them. */
  readonly mode?: LeaseMode;
}

export interface HolderAnswer {
  readonly holder: HolderInfo | null;
  /** True if it was so at some instant between question and answer. False if too few members answered, or the lease changed hands meanwhile. */
  readonly certain: boolean;
  /** What the holder says of itself, as bytes … */
  readonly meta: Uint8Array | null;
  /** … and as text; null if it says nothing, or nothing that is text. */
  readonly text: string | null;
}

export interface ListedLease {
  readonly name: string;
  readonly holder: HolderInfo;
  /** As of an answer to a question about this name alone. */
  readonly certain: boolean;
  readonly meta: Uint8Array | null;
  readonly text: string | null;
}

export interface Listing {
  /** In the order of their names. */
  readonly leases: readonly ListedLease[];
  /** True if every lease that was held from beginning to end is listed. False if too few members answered, or leases ran out meanwhile: some may be missing. */
  readonly certain: boolean;
}

type Answer = Extract<LeaseEvent, { kind: 'answered' | 'listed' }>;
type Question = Extract<LeaseCommand, { kind: 'query' | 'list' }>;

/** A question that found no certain answer is asked again so often. */
const QUESTIONS_AGAIN = 2;
/** Of the leases on a list, so many that are not certain are asked about one by one. */
const ASKED_SINGLY_MAX = 256;

export class Questions {
  readonly #command: (command: LeaseCommand) => void;
  readonly #nextNumber: () => number;
  readonly #open = new PendingCalls<Answer>();

  constructor(command: (command: LeaseCommand) => void, nextNumber: () => number) {
    this.#command = command;
    this.#nextNumber = nextNumber;
  }

  get count(): number {
    return this.#open.count;
  }

  /** Asks again if the answer is not certain: too few answered in time, or a vote for it began or ran out meanwhile. */
  async holder(name: string, signal: AbortSignal | undefined): Promise<HolderAnswer> {
    const nameBytes = encodeName(name);
    for (let again = QUESTIONS_AGAIN; ; again--) {
      const answer = await this.#askHolder(nameBytes, signal);
      if (answer.certain || again === 0) return answer;
    }
  }

  /** What the holder of that token says of itself; nothing if another holds the lease by now. Asked once. */
  async note(name: string, token: number): Promise<Uint8Array | null> {
    const { holder, meta } = await this.#askHolder(encodeName(name), undefined);
    return holder?.token === token ? meta : null;
  }

  async #askHolder(name: Uint8Array, signal: AbortSignal | undefined): Promise<HolderAnswer> {
    const answer = await this.#ask((lease) => ({ kind: 'query', lease, name }), signal);
    if (answer.kind !== 'answered') throw new TenureError('TENURE_INTERNAL', 'the answer is to another question');
    const { holder, certain, meta } = answer;
    return { holder: holder && tellHolder(holder), certain, meta, text: asText(meta) };
  }

  async list(prefix: string, signal: AbortSignal | undefined): Promise<Listing> {
    const bytes = encodePrefix(prefix);
    let answer = await this.#askList(bytes, signal);
    for (let again = QUESTIONS_AGAIN; again > 0 && !answer.certain; again--) answer = await this.#askList(bytes, signal);
    const told = answer.leases.map(({ name, holder, certain, meta }): ListedLease => ({
      name: tellName(name),
      holder: tellHolder(holder),
      certain,
      meta,
      text: asText(meta),
    }));
    const leases = await this.#makeSure(told, signal);
    leases.sort((a, b) => compareNames(a.name, b.name));
    return { leases, certain: answer.certain };
  }

  /** A lease that has just begun or ended is at some members only: by now it may be certain. */
  async #makeSure(told: ListedLease[], signal: AbortSignal | undefined): Promise<ListedLease[]> {
    const unsure = told.filter(({ certain }) => !certain);
    if (unsure.length === 0 || unsure.length > ASKED_SINGLY_MAX) return told;
    const answers = await Promise.all(unsure.map(async ({ name }) => ({ name, answer: await this.holder(name, signal) })));
    const certain = new Map(answers.filter(({ answer }) => answer.certain).map(({ name, answer }) => [name, answer]));
    return told.flatMap((lease): ListedLease[] => {
      const answer = certain.get(lease.name);
      if (!answer) return [lease];
      const { holder, meta, text } = answer;
      return holder ? [{ name: lease.name, holder, certain: true, meta, text }] : [];
    });
  }

  async #askList(prefix: Uint8Array, signal: AbortSignal | undefined): Promise<Extract<Answer, { kind: 'listed' }>> {
    const answer = await this.#ask((lease) => ({ kind: 'list', lease, prefix }), signal);
    if (answer.kind !== 'listed') throw new TenureError('TENURE_INTERNAL', 'the answer is to another question');
    return answer;
  }

  resolveAnswer(answer: Answer): void {
    this.#open.resolve(answer.lease, answer);
  }

  /** None of them will be answered any more. */
  rejectAll(error: unknown): void {
    this.#open.rejectAll(error);
  }

  #ask(ask: (number: number) => Question, signal: AbortSignal | undefined): Promise<Answer> {
    const question = ask(this.#nextNumber());
    const { kind, lease: number } = question;
    return this.#open.answer({
      number,
      signal,
      send: () => this.#command(question),
      abandoned: () => {
        if (kind === 'list') this.#command({ kind: 'unlist', lease: number });
      },
    });
  }
}

export function tellName(name: Uint8Array): string {
  return decodeName(name, 0, name.length) ?? '';
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** What a holder says of itself, if that is text. */
export function asText(meta: Uint8Array | null): string | null {
  if (meta === null) return null;
  try {
    return utf8.decode(meta);
  } catch {
    return null;
  }
}

export function tellHolder({ owner, token, remainingUsMax, mode }: HolderHint): HolderInfo {
  const told = { incarnation: owner, token, remainingMsMax: remainingUsMax / 1000 };
  return mode === undefined ? told : { ...told, mode };
}
