/**
 * What simulated applications of all lease engines share: handles, each with one lease at a time, timers that do something, and the progress that each
 * handle is owed once the world has healed.
 */
import type { MonoUs, WallUs } from '../../../kernel/index.ts';
import type { Desk } from '../../protocol.ts';

/** What an application asks of its core directly. */
export interface LeaseHolder {
  remainingUs(lease: number, name: Uint8Array, mono: MonoUs, wall: WallUs): number;
  /** Votes given in this life. */
  readonly votes?: number;
  /** The token of the lease its learner believes in; 0 if in none. */
  believed?(name: Uint8Array, mono: MonoUs, wall: WallUs): number;
}

export interface LeaseHandle {
  state: 'idle' | 'asking' | 'holding' | 'letting-go';
  resource: { readonly text: string; readonly bytes: Uint8Array };
  lease: number;
  token: number;
  /** The core was told to keep renewing the lease. */
  keep: boolean;
  usesLeft: number;
  /** It has been granted a lease since the world healed. */
  sinceHealed: boolean;
}

export abstract class HandleUser<Command, Handle extends LeaseHandle> {
  protected readonly desk: Desk<Command>;
  protected readonly handles: Handle[] = [];
  protected healedAt: number = Infinity;
  readonly #core: LeaseHolder;
  readonly #timers = new Map<number, () => void>();
  #nextTimer = 1;

  constructor(core: LeaseHolder, desk: Desk<Command>) {
    this.#core = core;
    this.desk = desk;
  }

  /** Asks for a lease, if the handle is idle and still wants one. */
  protected abstract ask(handle: Handle): void;

  timer(tag: number): void {
    const act = this.#timers.get(tag);
    this.#timers.delete(tag);
    act?.();
  }

  healed(): void {
    this.healedAt = this.desk.monoUs;
    if (this.handles.length === 0) this.desk.done();
    for (const handle of this.handles) {
      handle.sinceHealed = false;
      if (handle.state === 'idle') this.ask(handle);
    }
  }

  waitingFor(): string {
    const owing = this.handles.filter(({ sinceHealed }) => !sinceHealed);
    return owing.map(({ state, resource, lease }) => `${resource.text} (handle ${state}, lease ${lease})`).join(' and ');
  }

  /** It has not had a lease since the world healed. */
  protected isOwed({ sinceHealed }: Handle): boolean {
    return this.desk.healed && !sinceHealed;
  }

  /** The handle got its lease in the healed world. When all have, this user is done, so much later. */
  protected served(handle: Handle, graceUs: number): void {
    handle.sinceHealed = true;
    if (this.handles.every(({ sinceHealed }) => sinceHealed)) this.later(graceUs, () => this.desk.done());
  }

  protected handleOf(lease: number): Handle | undefined {
    return this.handles.find((handle) => handle.lease === lease);
  }

  /** What every application asks before it acts. */
  protected isValid({ lease, resource }: Handle): boolean {
    return this.#core.remainingUs(lease, resource.bytes, this.desk.monoUs, this.desk.wallUs) > 0;
  }

  protected later(spanUs: number, act: () => void): void {
    const tag = this.#nextTimer++;
    this.#timers.set(tag, act);
    this.desk.after(spanUs, tag);
  }
}
