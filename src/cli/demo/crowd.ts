/** The contenders of a demo as it sees them: processes that it starts, kills, pauses and starts again, and their reports. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Child, Children } from './children.ts';
import type { DemoChronicle, Tone } from './chronicle.ts';
import { CONTENDER_IDS, CONTENDERS, TERM_MS, type ContenderId, type Report } from './parts.ts';

/** Longer than a term: another takes over meanwhile. */
const START_AGAIN_MS = TERM_MS + 2000;
/** How long contenders may take to give back their leases. */
const FAREWELL_MS = 1500;

export type ContenderState = 'starts' | 'rests' | 'waits' | 'holds' | 'stalls' | 'is dead';

interface Contender {
  child: Child;
  doing: ContenderState;
  token: number;
  isPaused: boolean;
  /** Since when it is in that state. */
  sinceMs: number;
}

/** What the leases protect: it takes no write with a lower token than the highest it has seen. */
export interface ProtectedStore {
  grants: number;
  writes: number;
  refused: number;
  /** `impatient` asked in vain. */
  turnedAway: number;
}

export class Crowd {
  readonly #folder: string;
  readonly #children: Children;
  readonly #chronicle: DemoChronicle;
  readonly #contenders = new Map<ContenderId, Contender>();
  readonly #highest = new Map<string, number>();
  readonly #again = new AbortController();
  readonly store: ProtectedStore = { grants: 0, writes: 0, refused: 0, turnedAway: 0 };

  constructor(folder: string, children: Children, chronicle: DemoChronicle) {
    this.#folder = folder;
    this.#children = children;
    this.#chronicle = chronicle;
  }

  start(): void {
    for (const id of CONTENDER_IDS) this.#start(id);
  }

  doing(id: ContenderId): ContenderState | 'is paused' {
    const contender = this.#contenders.get(id);
    return contender === undefined ? 'is dead' : contender.isPaused ? 'is paused' : contender.doing;
  }

  /** The contender that holds it by its own account: also a paused one, and one that has not noticed its loss. */
  holderOf(lease: string): ContenderId | null {
    const holders = CONTENDER_IDS.filter((id) => {
      const contender = this.#contenders.get(id);
      return CONTENDERS[id].lease === lease && (contender?.doing === 'holds' || contender?.doing === 'stalls');
    });
    // A paused one may have lost it, and another got it.
    return holders.sort((one, other) => this.#tokenOf(other) - this.#tokenOf(one))[0] ?? null;
  }

  waitersFor(lease: string): ContenderId[] {
    return CONTENDER_IDS.filter((id) => CONTENDERS[id].lease === lease && this.#contenders.get(id)?.doing === 'waits').sort(
      (one, other) => (this.#contenders.get(one)?.sinceMs ?? 0) - (this.#contenders.get(other)?.sinceMs ?? 0),
    );
  }

  get paused(): ContenderId | null {
    return CONTENDER_IDS.find((id) => this.#contenders.get(id)?.isPaused) ?? null;
  }

  kill(id: ContenderId): void {
    this.#contenders.get(id)?.child.signal('SIGKILL');
    this.#announce('killed', id, `${id} was killed (-9) while it holds ${CONTENDERS[id].lease}`, 'bad');
  }

  pause(id: ContenderId): void {
    const contender = this.#contenders.get(id);
    if (!contender) return;
    contender.isPaused = true;
    contender.child.signal('SIGSTOP');
    this.#announce('paused', id, `${id} was paused (SIGSTOP) while it holds ${CONTENDERS[id].lease}`, 'bad');
  }

  resume(id: ContenderId): void {
    const contender = this.#contenders.get(id);
    if (!contender) return;
    contender.isPaused = false;
    contender.child.signal('SIGCONT');
    this.#announce('resumed', id, `${id} goes on (SIGCONT)`, 'news');
  }

  /** All give back their leases and close their histories. */
  async end(): Promise<void> {
    this.#again.abort();
    const living = [...this.#contenders.values()];
    for (const { child } of living) {
      child.signal('SIGCONT');
      child.dismiss();
    }
    const late = sleep(FAREWELL_MS, undefined, { ref: false });
    await Promise.race([Promise.all(living.map(({ child }) => child.ended)), late]);
  }

  #start(id: ContenderId): void {
    const child = this.#children.start(['demo', '--part', 'contender', '--who', id, '--folder', this.#folder], (line) =>
      this.#hear(id, JSON.parse(line) as Report),
    );
    this.#contenders.set(id, { child, doing: 'starts', token: 0, isPaused: false, sinceMs: performance.now() });
    void child.ended.then(() => this.#ended(id, child));
  }

  #ended(id: ContenderId, child: Child): void {
    if (this.#contenders.get(id)?.child !== child) return;
    this.#contenders.delete(id);
    const { signal } = this.#again;
    sleep(START_AGAIN_MS, undefined, { signal }).then(
      () => this.#startAgain(id),
      () => {},
    );
  }

  #startAgain(id: ContenderId): void {
    this.#announce('started', id, `${id} was started again`, 'routine');
    this.#start(id);
  }

  #hear(id: ContenderId, report: Report): void {
    const contender = this.#contenders.get(id);
    if (!contender || this.#again.signal.aborted) return;
    const { lease } = CONTENDERS[id];
    const does = (doing: ContenderState): void => {
      if (contender.doing !== doing) Object.assign(contender, { doing, sinceMs: performance.now() });
    };
    if ('token' in report) contender.token = report.token;
    switch (report.event) {
      case 'waits':
        return does('waits');
      case 'holds':
        does('holds');
        this.store.grants++;
        return this.#announce(
          'granted',
          id,
          lease === 'leader' ? `${id} leads` : `${id} holds ${lease}`,
          lease === 'leader' ? 'good' : 'routine',
        );
      case 'writes':
        return this.#write(id, lease, report.token);
      case 'refused':
        does('rests');
        this.store.turnedAway++;
        return this.#announce('refused', id, `${id} finds ${lease} taken, and does not wait`, 'routine');
      case 'stalls':
        does('stalls');
        return this.#announce(
          'stalls',
          id,
          `${id} holds ${lease} and stands still for ${report.forMs / 1000} s: longer than its lease lasts`,
          'bad',
        );
      case 'crashes':
        return this.#announce('crashed', id, `${id} crashes while it holds ${lease}: the lease has to run out`, 'bad');
      case 'lost':
        does('rests');
        return this.#announce('lost', id, `${id} has lost ${lease}, and knows it`, 'bad');
      case 'releases':
        does('rests');
        return this.#announce('released', id, lease === 'leader' ? `${id} resigns` : `${id} gives ${lease} back`, 'routine');
    }
  }

  #write(id: ContenderId, lease: string, token: number): void {
    const highest = this.#highest.get(lease) ?? 0;
    if (token >= highest) {
      this.#highest.set(lease, token);
      this.store.writes++;
      return;
    }
    this.store.refused++;
    const text = `${id} writes with token ${shortToken(token)}: refused, ${shortToken(highest)} was seen`;
    this.#announce('write-refused', id, text, 'good');
  }

  #announce(event: string, id: ContenderId, text: string, tone: Tone): void {
    this.#chronicle.announce(event, text, { who: id, lease: CONTENDERS[id].lease, token: this.#tokenOf(id), tone });
  }

  #tokenOf(id: ContenderId): number {
    return this.#contenders.get(id)?.token ?? 0;
  }
}

/** Tokens are long, and their first digits stay the same for years. */
export function shortToken(token: number): string {
  const text = String(token);
  return text.length <= 8 ? text : `…${text.slice(-8)}`;
}
