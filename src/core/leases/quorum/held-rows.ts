/** The rows of the leases this node holds, and what is reckoned from them: how long each lasts, which members vote on it, what learners are told. */
import { monoUs, wallUs, type BallotTime, type MonoUs, type NodeId, type WallUs } from '../../../kernel/index.ts';
import { HoldTable } from '../../tables/index.ts';
import type { QuorumStep } from './config.ts';
import { LIMITED } from './hold-agenda.ts';
import type { HoldKeys } from './hold-keys.ts';
import type { HoldLimit, HoldLimits } from './hold-limits.ts';
import { BUNDLE, LEARN, type QuorumMessage } from './messages.ts';
import { EXCLUSIVE } from './modes.ts';
import type { QuorumOutbox } from './outbox.ts';
import type { Publications } from './publications.ts';
import type { HolderSnapshot } from './under-way.ts';

interface RowGround {
  readonly out: QuorumOutbox;
  readonly keys: HoldKeys;
  readonly limits: HoldLimits;
  readonly published: Publications;
}

export class HeldRows {
  readonly table: HoldTable;
  readonly #ground: RowGround;

  constructor(ground: RowGround) {
    this.#ground = ground;
    this.table = new HoldTable(ground.keys.names);
  }

  find(lease: number, name: Uint8Array): number {
    const id = this.#ground.keys.find(lease, name);
    return id >= 0 && this.table.has(id) && this.table.lease(id) === lease ? id : -1;
  }

  /** A holder is dead when either of its clocks says so (rule 12). */
  remaining(id: number, mono: MonoUs, wall: WallUs): number {
    const byMono = this.table.deadlineMono(id) - mono;
    return this.#ground.out.rules.holderWatchesWall ? Math.min(byMono, this.table.deadlineWall(id) - wall) : byMono;
  }

  isOver(id: number, step: QuorumStep): boolean {
    return this.remaining(id, step.monoUs, step.wallUs) <= 0;
  }

  /** As its caller is told. */
  deadline(id: number): { readonly deadlineMonoUs: MonoUs; readonly deadlineWallUs: WallUs } {
    return { deadlineMonoUs: monoUs(this.table.deadlineMono(id)), deadlineWallUs: this.wallDeadline(id) };
  }

  wallDeadline(id: number): WallUs {
    return wallUs(this.#ground.out.rules.holderWatchesWall ? this.table.deadlineWall(id) : Infinity);
  }

  /** From an instant on, for a term, but not beyond the limit of the lease. */
  setDeadline(id: number, startMono: number, startWall: number, termUs: number): void {
    const limit = this.limitOf(id);
    this.table.setDeadlineMono(id, Math.min(startMono + termUs, limit?.monoUs ?? Infinity));
    this.table.setDeadlineWall(id, Math.min(startWall + termUs, limit?.wallUs ?? Infinity));
  }

  limitOf(id: number): HoldLimit | undefined {
    const { out, limits } = this.#ground;
    return (this.table.flags(id) & LIMITED) === 0 || !out.rules.limitFromStart ? undefined : limits.get(this.table.lease(id));
  }

  isAtLimit(id: number): boolean {
    return this.table.deadlineMono(id) === this.limitOf(id)?.monoUs;
  }

  is(id: number, flag: number): boolean {
    return (this.table.flags(id) & flag) !== 0;
  }

  set(id: number, flags: number): void {
    this.table.setFlags(id, this.table.flags(id) | flags);
  }

  clear(id: number, flags: number): void {
    this.table.setFlags(id, this.table.flags(id) & ~flags);
  }

  termUs(id: number): number {
    return this.table.termMs(id) * 1000;
  }

  /** By which the voters of its name are found. Where every member votes on every name, the name is not read. */
  placement(id: number): number {
    const { out, keys } = this.#ground;
    return out.electorate.isPlain ? 0 : keys.placementOf(id);
  }

  voters(id: number): readonly NodeId[] {
    return this.#ground.out.electorate.votersOf(this.placement(id));
  }

  isVoter(from: NodeId, id: number): boolean {
    return this.#ground.out.electorate.isVoter(from, this.placement(id));
  }

  /** A message about the lease, to be sent by `sendToVoters`. */
  compose(kind: number, id: number, flags: number): QuorumMessage {
    const { out, keys } = this.#ground;
    const message = out.compose(kind, this.table.lease(id), keys.nameOf(id));
    message.flags = flags;
    const mode = keys.modeOf(id);
    if (mode !== EXCLUSIVE) message.setMode(mode);
    return message;
  }

  sendToVoters(id: number, step: QuorumStep): void {
    const { out, keys } = this.#ground;
    out.sendFor(keys.modeOf(id), this.voters(id), step);
  }

  /** Members pass it on to watchers. A release is told before it is proposed (P6). */
  tellLearners(id: number, remainingUs: number, flags: number, step: QuorumStep): void {
    // Of leases in a bundle they hear with the bundle from here on.
    const message = this.compose(LEARN, id, this.table.bundled(id) === 0 ? flags : flags | BUNDLE);
    message.token = this.table.token(id);
    message.ballot = this.table.token(id) as BallotTime;
    message.termUs = remainingUs;
    if (flags === 0) this.#ground.published.fillNews(this.table.lease(id), message);
    this.sendToVoters(id, step);
  }

  snapshot(): HolderSnapshot['rows'] {
    const { table } = this;
    return this.#ground.keys
      .inOrder((id) => table.has(id))
      .map(({ id, text }) => [
        text,
        table.lease(id),
        table.token(id),
        table.ballot(id),
        table.deadlineMono(id),
        table.deadlineWall(id),
        table.termMs(id),
        table.flags(id),
        table.bundled(id),
      ]);
  }

  /** Puts the rows back; the numbers of these. */
  restore(rows: HolderSnapshot['rows']): number[] {
    return rows.map(([text, lease, token, ballot, mono, wall, termMs, flags, bundled]) => {
      const id = this.#ground.keys.restore(lease, text);
      this.table.add(id, lease, token, ballot, mono, wall, termMs, flags);
      this.table.setBundled(id, bundled);
      return id;
    });
  }
}
