/** The three members of a demo: real daemons on loopback ports, bootstrapped, killed and started again, and looked at as any client does. */
import { randomBytes } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect, type Cell } from '../../api/index.ts';
import { TenureError } from '../../kernel/index.ts';
import { asAdmin, asClient, findSettings } from '../config.ts';
import { holderText } from '../terminal.ts';
import type { Child, Children } from './children.ts';
import type { DemoChronicle } from './chronicle.ts';
import { configIn, historiesIn, MEMBERS, TERM_MS, type MemberId } from './parts.ts';
import { freePorts, HOST } from './ports.ts';

export interface MemberView {
  readonly id: MemberId;
  readonly address: string;
  readonly state: 'votes' | 'silent' | 'starting' | 'down';
  readonly silentForMs: number;
  readonly roundTripMs: number | null;
}

/** A lease as a majority of the members tells it. */
export interface HeldView {
  readonly who: string;
  readonly token: number;
  /** When it is over unless it is renewed, by our clock. */
  readonly untilMs: number;
}

interface Member {
  child: Child | null;
  state: MemberView['state'];
  /** By our clock; it goes on between two looks. */
  silentUntilMs: number;
  roundTripMs: number | null;
}

const START_ATTEMPTS = 5;
const LISTEN_AGAIN_MS = 1000;
const BOOTSTRAP_AGAIN_MS = 100;
const BOOTSTRAP_MS = 10_000;
const LOOK_EVERY_MS = 150;

export class DemoCell {
  readonly #folder: string;
  readonly #children: Children;
  readonly #chronicle: DemoChronicle;
  readonly #members: Record<MemberId, Member>;
  #ports: readonly number[] = [];
  #observer: Cell | null = null;
  #isEnding = false;
  /** The held leases, by name; null while no majority can tell. */
  held: ReadonlyMap<string, HeldView> | null = null;

  constructor(folder: string, children: Children, chronicle: DemoChronicle) {
    this.#folder = folder;
    this.#children = children;
    this.#chronicle = chronicle;
    const absent = (): Member => ({ child: null, state: 'down', silentUntilMs: 0, roundTripMs: null });
    this.#members = { a: absent(), b: absent(), c: absent() };
  }

  /** Starts all members and ends the silence that a brand-new cell need not keep. */
  async start(signal: AbortSignal): Promise<void> {
    mkdirSync(historiesIn(this.#folder));
    for (const name of ['member.secret', 'client.secret'])
      writeFileSync(join(this.#folder, name), `${randomBytes(32).toString('hex')}\n`, { mode: 0o600 });
    for (let attempt = 1; !(await this.#startMembers(attempt > 1)); attempt++) {
      if (attempt === START_ATTEMPTS) throw new TenureError('TENURE_CANNOT_LISTEN', 'others took every port that was free a moment before');
    }
    signal.throwIfAborted();
    await this.#bootstrap(signal);
    this.#observer = await connect({ ...asClient(await findSettings({ config: configIn(this.#folder) }, {})), name: 'demo' }, { signal });
    await this.#observer.ready({ signal });
    await this.#look(this.#observer);
    void this.#lookOn(this.#observer);
  }

  get members(): MemberView[] {
    const nowMs = performance.now();
    return MEMBERS.map((id, index) => {
      const { state, silentUntilMs, roundTripMs } = this.#members[id];
      return { id, address: `${HOST}:${this.#ports[index]}`, state, silentForMs: Math.max(0, silentUntilMs - nowMs), roundTripMs };
    });
  }

  get running(): number {
    return MEMBERS.filter((id) => this.#members[id].child?.isRunning).length;
  }

  isRunning(id: MemberId): boolean {
    return this.#members[id].child?.isRunning === true;
  }

  killMember(id: MemberId): void {
    const member = this.#members[id];
    member.child?.signal('SIGKILL');
    // Forgotten at once: a member that ends without a kill is started again.
    Object.assign(member, { child: null, state: 'down' });
    this.#chronicle.announce('member-killed', `member ${id} was killed (-9)`, { who: id, tone: 'bad' });
  }

  startMember(id: MemberId): void {
    void this.#serve(id);
    this.#chronicle.announce('member-started', `member ${id} was started again, and keeps silent for about ${TERM_MS / 1000} s`, {
      who: id,
    });
  }

  /** Only the looking; the processes are ended with all the others. */
  async end(): Promise<void> {
    this.#isEnding = true;
    await this.#observer?.close({ timeout: 0 });
  }

  /** False if a port was taken after all. */
  async #startMembers(isRetry: boolean): Promise<boolean> {
    // A demo that was just too late for a port looks further up.
    this.#ports = await freePorts(MEMBERS.length, isRetry ? Math.max(...this.#ports) + 1 : undefined);
    const addresses = MEMBERS.map((id, index) => `  ${id}: ${HOST}:${this.#ports[index]}`);
    const secrets = ['secretFile: member.secret', 'clientSecretFile: client.secret'];
    const lines = ['cell: demo', 'members:', ...addresses, ...secrets, `maxTerm: ${TERM_MS / 1000}s`];
    writeFileSync(configIn(this.#folder), `${lines.join('\n')}\n`);
    const outcomes = await Promise.all(MEMBERS.map((id) => this.#serve(id)));
    if (outcomes.every((outcome) => outcome === 'listens')) return true;
    const others = MEMBERS.map((id) => this.#members[id].child).filter((child) => child !== null);
    for (const child of others) child.signal('SIGKILL');
    await Promise.all(others.map((child) => child.ended));
    return false;
  }

  /** Resolves when it listens, or has ended without. */
  #serve(id: MemberId): Promise<'listens' | 'ended'> {
    return new Promise((resolve) => {
      let listens = false;
      const child = this.#children.start(['serve', '--config', configIn(this.#folder), '--self', id, '--log-format', 'json'], (line) => {
        if (!line.includes('"msg":"listening"')) return;
        listens = true;
        resolve('listens');
      });
      const member = this.#members[id];
      Object.assign(member, { child, state: 'starting', roundTripMs: null });
      void child.ended.then(() => {
        resolve('ended');
        return this.#ended(id, child, listens);
      });
    });
  }

  #ended(id: MemberId, child: Child, hasListened: boolean): void {
    const member = this.#members[id];
    if (member.child !== child) return;
    Object.assign(member, { child: null, state: 'down' });
    // Another program took the port while the member was down.
    if (!hasListened && this.#observer !== null) void sleep(LISTEN_AGAIN_MS).then(() => this.#serveAgain(id));
  }

  #serveAgain(id: MemberId): void {
    if (!this.#isEnding && this.#members[id].child === null) void this.#serve(id);
  }

  /** Refused until all members have found each other. */
  async #bootstrap(signal: AbortSignal): Promise<void> {
    const admin = await connect(asAdmin(await findSettings({ config: configIn(this.#folder) }, {})), { signal });
    try {
      const endMs = performance.now() + BOOTSTRAP_MS;
      for (;;) {
        const isDone = await admin.bootstrap({ signal }).then(
          () => true,
          (error: unknown) => {
            if (!(error instanceof TenureError) || performance.now() > endMs) throw error;
            return false;
          },
        );
        if (isDone) return;
        await sleep(BOOTSTRAP_AGAIN_MS, undefined, { signal });
      }
    } finally {
      await admin.close({ timeout: 0 });
    }
  }

  async #lookOn(observer: Cell): Promise<void> {
    while (!this.#isEnding) {
      await this.#look(observer).catch(() => {
        this.held = null;
      });
      await sleep(LOOK_EVERY_MS);
    }
  }

  async #look(observer: Cell): Promise<void> {
    const [standings, { leases, certain }] = await Promise.all([observer.status(), observer.list('')]);
    const nowMs = performance.now();
    for (const id of MEMBERS) {
      const standing = standings.find((one) => one.id === id);
      const member = this.#members[id];
      if (!this.isRunning(id) || !standing?.reached || standing.silentForMs === null) continue;
      const state = standing.silentForMs > 0 ? 'silent' : 'votes';
      if (member.state === 'silent' && state === 'votes')
        this.#chronicle.announce('member-votes', `member ${id} votes again: its silence is over`, { who: id, tone: 'good' });
      Object.assign(member, { state, silentUntilMs: nowMs + standing.silentForMs, roundTripMs: standing.roundTripMs });
    }
    if (!certain) {
      this.held = null;
      return;
    }
    this.held = new Map(
      leases.map(({ name, holder, meta }) => [
        name,
        {
          who: holderText(meta, holder),
          token: holder.token,
          untilMs: nowMs + holder.remainingMsMax,
        },
      ]),
    );
  }
}
