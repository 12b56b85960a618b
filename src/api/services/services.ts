/**
 * The services of one node beside leases: which of them run here, which peers have them too and set alike, and which of them a message is for. A
 * service stands alone: a service that has broken one of its own rules is over on this node, but leases and other services go on.
 */
import type { Sender } from '../../core/index.ts';
import {
  invariant,
  nodeId,
  quorumOf,
  type Chooser,
  type HashKey,
  type Incarnation,
  type NodeId,
  type TenureError,
} from '../../kernel/index.ts';
import type { Clocks, DiskSection, KeepAlive } from '../../runtime/index.ts';
import type { PeerInfo, Transport } from '../../transport/index.ts';
import type { StatedService } from '../../wire/index.ts';
import type { Observer } from '../observing/observer.ts';
import { atOdds, lackedBy, misaddressed, notForClients, notHere, setOtherwise, stopped, unsettled } from './failures.ts';
import type { RunningService, ServiceKind } from './service.ts';

export interface ServicesGround {
  readonly kinds: readonly ServiceKind[];
  readonly memberIds: readonly string[];
  readonly self: number;
  readonly incarnation: Incarnation;
  readonly transport: Pick<Transport, 'begin' | 'end'>;
  readonly surroundings: ServiceSurroundings;
  readonly senderOf: (peer: NodeId) => Sender | undefined;
  readonly alive: KeepAlive;
  readonly observer: Observer;
  /** Resolves when something has changed that calls wait for. */
  readonly news: (signal: AbortSignal | undefined) => Promise<void>;
  /** A service is over on this node, or not well. */
  readonly failed: (error: TenureError) => void;
  /** A peer sent a message that it may not send, or has set a service otherwise. */
  readonly refused: (who: string, error: TenureError) => void;
}

interface ServiceSurroundings {
  readonly clocks: Clocks;
  readonly chooser: Chooser;
  readonly hashKey: HashKey;
  readonly restarted: boolean;
  readonly kept?: { section?(name: string): DiskSection } | undefined;
}

/** A service that runs here. */
interface Mounted {
  readonly kind: ServiceKind;
  readonly text: string;
  /** Peers that are connected and have it, set alike. */
  readonly sharing: Set<number>;
  readonly service: RunningService;
  /** Why it is over. */
  failure: TenureError | null;
  /** Why no majority of the members can serve it; undefined until that is looked at, after each that has said something. */
  objection: TenureError | null | undefined;
}

/** What a node states in the handshake: a member the services that it has, a client the names of the services that it may ask for. */
export function statedServices(kinds: readonly ServiceKind[], role: 'member' | 'client', hasDisk: boolean): StatedService[] {
  if (role === 'client') return kinds.filter((kind) => kind.isForClients).map(({ number, name }) => ({ number, text: name }));
  return kinds.filter((kind) => hasDisk || kind.disk !== 'needed').map(({ number, text }) => ({ number, text }));
}

export class Services {
  readonly #ground: ServicesGround;
  readonly #mounted = new Map<number, Mounted>();
  /** What each member stated when it last came up, and each client that is connected. */
  readonly #told = new Map<number, readonly StatedService[]>();
  readonly #up = new Set<number>();
  /** Misaddressed messages of members that are connected, each reported once. */
  readonly #reported = new Set<string>();
  #over: TenureError | null = null;

  constructor(ground: ServicesGround) {
    this.#ground = ground;
    for (const { name, text } of ground.kinds) {
      invariant(/^[a-z-]+$/.test(name), `the service ${name} cannot have this name: it is part of keys and of texts`);
      invariant(
        text === name || text.startsWith(`${name}:`),
        `the service ${name} is stated as ${text}, which does not begin with its name`,
      );
      invariant(ground.kinds.filter((kind) => kind.name === name).length === 1, `two services are called ${name}`);
    }
  }

  get isAsked(): boolean {
    for (const { service } of this.#mounted.values()) if (service.isAsked) return true;
    return false;
  }

  /** A member runs its services from its beginning, except those that begin when asked for; a client waits until it is asked, and until members have said how each is set. */
  begin(): void {
    if (!this.#isMember(this.#ground.self)) return;
    for (const kind of this.#ground.kinds) if (kind.begins === 'at once' && this.#isHad(kind)) this.#mount(kind, kind.text);
  }

  /**
   * The service as it runs here. Throws TENURE_UNSUPPORTED if it does not, or if so many members lack it that no majority has it; for a client
   * TENURE_NO_QUORUM, too, as long as no majority has said how it is set.
   */
  of<Service extends RunningService>(kind: ServiceKind<Service>): Service {
    if (this.#over) throw this.#over;
    const mounted = this.#mounted.get(kind.number) ?? this.#mountAsked(kind);
    if (mounted.failure) throw mounted.failure;
    const objection = this.#objectionTo(mounted);
    if (objection) throw objection;
    return mounted.service as Service;
  }

  /** The same, or null where it would throw. */
  running<Service extends RunningService>(kind: ServiceKind<Service>): Service | null {
    try {
      return this.of(kind);
    } catch {
      return null;
    }
  }

  /** The same, once a majority has said how the service is set. */
  async reach<Service extends RunningService>(kind: ServiceKind<Service>, signal?: AbortSignal): Promise<Service> {
    for (;;) {
      signal?.throwIfAborted();
      try {
        return this.of(kind);
      } catch (error) {
        if ((error as TenureError).code !== 'TENURE_NO_QUORUM' || this.#over) throw error;
      }
      await this.#ground.alive.during(this.#ground.news(signal));
    }
  }

  /** Whether the service has begun on this node. */
  isRunning(kind: ServiceKind): boolean {
    return this.#mounted.has(kind.number);
  }

  /** Whether every service that has begun on this node takes its full part. */
  get isReady(): boolean {
    for (const { service, failure } of this.#mounted.values()) if (!failure && service.isReady === false) return false;
    return true;
  }

  /** Whether every member, as far as is known here, has the service, set as a majority sets it. */
  isEverywhere(kind: ServiceKind): boolean {
    const { memberIds, self } = this.#ground;
    const alike = this.#mounted.get(kind.number)?.text ?? this.#majorityText(kind);
    return memberIds.every((_, member) =>
      member === self ? this.#mounted.has(kind.number) || this.#isHad(kind) : this.#statedBy(member, kind) === alike,
    );
  }

  // ── Peers ──────────────────────────────────────────────────────────────────────────────────────────

  met(peer: NodeId, { id, services }: PeerInfo): void {
    this.#told.set(peer, services);
    this.#up.add(peer);
    for (const mounted of this.#mounted.values()) {
      mounted.objection = undefined;
      if (this.#isAlike(mounted, peer)) {
        mounted.sharing.add(peer);
        if (!mounted.failure) mounted.service.reached?.(peer);
      } else this.#differs(mounted, peer, id);
    }
  }

  /** A member may have set the service otherwise. */
  #differs(mounted: Mounted, peer: number, id: string): void {
    const { kind, text } = mounted;
    const there = this.#statedBy(peer, kind);
    if (!this.#isMember(peer) || there === undefined) return;
    this.#ground.refused(id, setOtherwise(kind.name, [id], text, there));
    this.#contradicted(mounted);
  }

  lost(peer: NodeId): void {
    this.#up.delete(peer);
    if (!this.#isMember(peer)) this.#told.delete(peer);
    for (const { sharing } of this.#mounted.values()) sharing.delete(peer);
    for (const report of this.#reported) if (report.startsWith(`${peer} `)) this.#reported.delete(report);
  }

  /** One message of a peer; false if the peer may not send it. It goes to the service it is for, and to no other. */
  receive(from: NodeId, number: number, bytes: Uint8Array, start: number, end: number): boolean {
    const mounted = this.#mounted.get(number) ?? this.#mountSpokenOf(from, number, bytes, start);
    if (mounted === 'asleep') return true;
    if (mounted === undefined || !mounted.sharing.has(from)) {
      this.#misaddressed(from, number);
      return false;
    }
    return mounted.service.driver.receive(from, bytes, start, end);
  }

  /** What a client does is told where its connection is closed. */
  #misaddressed(from: NodeId, number: number): void {
    const report = `${from} ${number}`;
    const member = this.#ground.memberIds[from];
    if (member === undefined || this.#reported.has(report)) return;
    this.#reported.add(report);
    this.#ground.refused(member, misaddressed(member, number));
  }

  // ── How services end ───────────────────────────────────────────────────────────────────────────────

  /** All are over: this process is not what its peers take it for, or they are not. */
  fail(error: TenureError): void {
    this.#over ??= error;
    for (const mounted of this.#mounted.values()) {
      mounted.service.driver.stop();
      if (!mounted.failure) mounted.service.fail(error);
      mounted.failure ??= error;
    }
  }

  async close(why: TenureError): Promise<void> {
    const running = [...this.#mounted.values()].filter(({ failure }) => failure === null);
    // A service that cannot say farewell keeps neither the others nor the cell from closing.
    await Promise.allSettled(running.flatMap(({ service }) => service.close?.(why) ?? []));
    this.fail(why);
  }

  #fail(mounted: Mounted, cause: TenureError): void {
    if (mounted.failure) return;
    const error = stopped(mounted.kind.name, cause);
    mounted.failure = error;
    mounted.service.driver.stop();
    mounted.service.fail(error);
    this.#ground.failed(error);
  }

  // ── Which members have a service ───────────────────────────────────────────────────────────────────

  /** The other members that have said which services they have, and the text of this one, if it is among them. */
  #statements(kind: ServiceKind): { readonly id: string; readonly text: string | undefined }[] {
    const { memberIds, self } = this.#ground;
    return memberIds.flatMap((id, member) =>
      member !== self && this.#told.has(member) ? [{ id, text: this.#statedBy(member, kind) }] : [],
    );
  }

  /** More of them than this, and the others are no majority. */
  get #absentMax(): number {
    const { length } = this.#ground.memberIds;
    return length - quorumOf(length);
  }

  #objectionTo(mounted: Mounted): TenureError | null {
    if (mounted.objection === undefined) mounted.objection = this.#objection(mounted);
    return mounted.objection;
  }

  /** Why no majority of the members can serve it. */
  #objection({ kind, text }: Mounted): TenureError | null {
    const others = this.#statements(kind).filter((stated) => stated.text !== text);
    if (others.length <= this.#absentMax) return null;
    const lacking = idsOf(others.filter((stated) => stated.text === undefined));
    return lacking.length > 0 ? lackedBy(kind.name, lacking) : setOtherwise(kind.name, idsOf(others), text, others[0]?.text ?? '');
  }

  /** A client began with what a majority stated; if another majority states something else, the service is over here. */
  #contradicted(mounted: Mounted): void {
    const { kind, text } = mounted;
    const majority = this.#majorityText(kind);
    if (this.#isMember(this.#ground.self) || majority === null || majority === text) return;
    const ids = idsOf(this.#statements(kind).filter((stated) => stated.text === majority));
    this.#fail(mounted, setOtherwise(kind.name, ids, text, majority));
  }

  /** What a majority of the members states alike to a client. */
  #majorityText(kind: ServiceKind): string | null {
    const texts = this.#statements(kind).map(({ text }) => text);
    const quorum = quorumOf(this.#ground.memberIds.length);
    return texts.find((text) => text !== undefined && texts.filter((one) => one === text).length >= quorum) ?? null;
  }

  #statedBy(peer: number, kind: ServiceKind): string | undefined {
    return this.#told.get(peer)?.find(({ number }) => number === kind.number)?.text;
  }

  #isAlike({ kind, text }: Pick<Mounted, 'kind' | 'text'>, peer: number): boolean {
    const stated = this.#statedBy(peer, kind);
    if (this.#isMember(peer)) return stated === text;
    return kind.isForClients && stated?.split(':')[0] === kind.name;
  }

  #isMember(peer: number): boolean {
    return peer < this.#ground.memberIds.length;
  }

  get #hasDisk(): boolean {
    return this.#ground.surroundings.kept?.section !== undefined;
  }

  // ── How services begin ─────────────────────────────────────────────────────────────────────────────

  /** Whether this member has the service. */
  #isHad(kind: ServiceKind): boolean {
    return statedServices([kind], 'member', this.#hasDisk).length > 0;
  }

  /** A peer that has the service, set alike, speaks of it: a member begins it then, unless that is only a question. */
  #mountSpokenOf(from: NodeId, number: number, bytes: Uint8Array, start: number): Mounted | 'asleep' | undefined {
    const kind = this.#ground.kinds.find((one) => one.number === number);
    if (kind === undefined || this.#over || !this.#isMember(this.#ground.self) || !this.#isHad(kind)) return undefined;
    if (!this.#isAlike({ kind, text: kind.text }, from)) return undefined;
    return (kind.rouses?.(bytes, start) ?? true) ? this.#mount(kind, kind.text) : 'asleep';
  }

  /** Whatever did not begin by itself begins when it is first asked for. */
  #mountAsked(kind: ServiceKind): Mounted {
    const { kinds, memberIds, self } = this.#ground;
    const member = memberIds[self];
    const own = kinds.find(({ number }) => number === kind.number);
    if (member !== undefined && own !== undefined && this.#isHad(own)) return this.#mount(own, own.text);
    if (member !== undefined) throw notHere(kind.name, member);
    if (!kind.isForClients) throw notForClients(kind.name);
    const text = this.#majorityText(kind);
    if (text !== null) return this.#mount(kind, text);
    const statements = this.#statements(kind);
    const lacking = idsOf(statements.filter((stated) => stated.text === undefined));
    if (lacking.length > this.#absentMax) throw lackedBy(kind.name, lacking);
    const unreached = memberIds.filter((id) => !idsOf(statements).includes(id));
    if (unreached.length > 0) throw unsettled(kind.name, unreached);
    throw atOdds(kind.name, statements);
  }

  #mount(kind: ServiceKind, text: string): Mounted {
    const { memberIds, self, incarnation, transport, surroundings, senderOf, alive, observer, failed } = this.#ground;
    const { clocks, chooser, hashKey, restarted, kept } = surroundings;
    const { number, name } = kind;
    const section = this.#isMember(self) && kind.disk !== 'none' ? kept?.section?.(name) : undefined;
    const sharing = new Set<number>();
    const service = kind.run({
      text,
      node: observer.node,
      memberIds,
      boot: { self: nodeId(self), incarnation, restarted, diskKept: section?.isKept ?? false },
      link: { begin: (to) => (sharing.has(to) ? transport.begin(to, number) : null), end: (to) => transport.end(to) },
      clocks: clocks.apart(),
      chooser,
      hashKey,
      disk: section?.disk,
      senderOf,
      shares: (peer) => sharing.has(peer),
      alive,
      observer,
      ailing: failed,
      fail: (error) => this.#fail(mounted, error),
    });
    const mounted: Mounted = { kind, text, sharing, service, failure: null, objection: undefined };
    this.#mounted.set(number, mounted);
    for (const peer of this.#up) {
      if (this.#isAlike(mounted, peer)) sharing.add(peer);
      else if (kind.begins === 'asked') this.#differs(mounted, peer, memberIds[peer] ?? '');
    }
    service.driver.start();
    for (const peer of sharing) service.reached?.(nodeId(peer));
    return mounted;
  }
}

function idsOf(statements: readonly { readonly id: string }[]): string[] {
  return statements.map(({ id }) => id);
}
