/** What happens in a demo, in order: told to the screen, to the story and to JSON lines alike. */

export interface Happening {
  /** Since the demo began. */
  readonly atMs: number;
  readonly event: string;
  /** The member or contender it happened to. */
  readonly who: string | null;
  readonly lease: string | null;
  readonly token: number | null;
  readonly text: string;
  readonly tone: Tone;
}

/** `routine`: happens all the time. `bad`: a process lost something. `good`: it is over. */
export type Tone = 'routine' | 'news' | 'good' | 'bad';

interface Facts {
  readonly who?: string;
  readonly lease?: string;
  readonly token?: number;
  readonly tone?: Tone;
}

export class DemoChronicle {
  readonly startedMs: number = performance.now();
  readonly #listeners: ((happening: Happening) => void)[] = [];

  listen(listener: (happening: Happening) => void): void {
    this.#listeners.push(listener);
  }

  announce(event: string, text: string, { who, lease, token, tone = 'news' }: Facts = {}): void {
    const atMs = performance.now() - this.startedMs;
    const happening = { atMs, event, who: who ?? null, lease: lease ?? null, token: token ?? null, text, tone };
    for (const listener of this.#listeners) listener(happening);
  }
}
