/** Questions about a line: which requests wait for a name? The asker merges the answers of a quorum of the name's voters in ticket order. A hint: lines change. */
import { encodeName, monoAfter, type MonoUs, type NodeId } from '../../../kernel/index.ts';
import type { Snapshot } from '../../contract.ts';
import { DueHeap } from '../../tables/index.ts';
import { textOf } from '../snapshots.ts';
import type { QuorumStep } from './config.ts';
import { lineIn, type ToldWaiter } from './line-told.ts';
import { LINE, type QuorumMessage } from './messages.ts';
import { EXCLUSIVE } from './modes.ts';
import type { QuorumOutbox } from './outbox.ts';

interface LineQuestion {
  readonly name: Uint8Array;
  readonly voters: readonly NodeId[];
  readonly told: Map<NodeId, { readonly count: number; readonly waiters: readonly ToldWaiter[] }>;
  readonly until: MonoUs;
}

type LineQuestionSnapshot = readonly [
  number: number,
  name: string,
  until: MonoUs,
  told: readonly (readonly [NodeId, number, readonly ToldWaiter[]])[],
];

export class LineAsker {
  readonly #out: QuorumOutbox;
  readonly #questions = new Map<number, LineQuestion>();
  readonly #due = new DueHeap();

  constructor(out: QuorumOutbox) {
    this.#out = out;
  }

  get wakeAt(): MonoUs {
    return this.#due.nextAt;
  }

  /** Members that know of no such question have no say in it. */
  ask(number: number, name: Uint8Array, step: QuorumStep): void {
    const voters = this.#out.votersOf(name).filter((voter) => !this.#out.isPlain(voter));
    const until = monoAfter(step.monoUs, this.#out.timing.attemptUs);
    this.#questions.set(number, { name, voters, told: new Map(), until });
    this.#due.push(until, number);
    this.#out.compose(LINE, number, name);
    this.#out.sendTo(voters, step);
  }

  answered(from: NodeId, message: QuorumMessage, step: QuorumStep): void {
    const question = this.#questions.get(message.lease);
    if (!question || !question.voters.includes(from) || question.told.has(from)) return;
    const waiters = lineIn(message.meta.slice(message.metaStart, message.metaEnd));
    question.told.set(from, { count: message.count, waiters });
    if (question.told.size >= this.#quorumOf(question)) this.#conclude(message.lease, question, step);
  }

  wake(step: QuorumStep): void {
    for (let number = this.#due.take(step.monoUs); number >= 0; number = this.#due.take(step.monoUs)) {
      const question = this.#questions.get(number);
      if (question) this.#conclude(number, question, step);
    }
  }

  #quorumOf({ name }: LineQuestion): number {
    return this.#out.electorate.quorumFor(this.#out.placementOf(name));
  }

  #conclude(number: number, question: LineQuestion, step: QuorumStep): void {
    this.#questions.delete(number);
    const { told } = question;
    const byKey = new Map<string, ToldWaiter>();
    for (const { waiters } of told.values()) for (const waiter of waiters) byKey.set(`${waiter.owner}/${waiter.lease}`, waiter);
    const waiters = [...byKey.values()].sort((a, b) => a.ticket - b.ticket || a.owner - b.owner || a.lease - b.lease);
    step.emit({
      kind: 'line-told',
      lease: number,
      waiters: waiters.map(({ owner, lease, wanted }) => ({
        owner,
        lease,
        mode: wanted.mode === EXCLUSIVE && wanted.slots === 0 ? 'exclusive' : 'shared',
        slots: wanted.slots,
      })),
      count: Math.max(waiters.length, ...[...told.values()].map(({ count }) => count)),
      certain: told.size >= this.#quorumOf(question),
    });
  }

  snapshot(): Snapshot {
    return [...this.#questions]
      .sort(([a], [b]) => a - b)
      .map(([number, { name, told, until }]) => {
        const heard = [...told].sort(([a], [b]) => a - b).map(([voter, { count, waiters }]) => [voter, count, waiters.map(copyOf)]);
        return [number, textOf(name), until, heard];
      }) as unknown as Snapshot;
  }

  restore(snapshot: Snapshot): void {
    for (const [number, text, until, heard] of snapshot as unknown as LineQuestionSnapshot[]) {
      const name = encodeName(text);
      const voters = this.#out.votersOf(name).filter((voter) => !this.#out.isPlain(voter));
      const told = new Map(heard.map(([voter, count, waiters]) => [voter, { count, waiters }]));
      this.#questions.set(number, { name, voters, told, until });
      this.#due.push(until, number);
    }
  }
}

function copyOf({ wanted, ...waiter }: ToldWaiter): ToldWaiter {
  return { ...waiter, wanted: { ...wanted } };
}
