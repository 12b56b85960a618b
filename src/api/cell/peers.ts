/** The processes that are connected to this node: the identity that each has proved, and its name. */
import type { Sender } from '../../core/index.ts';
import type { Incarnation, NodeId } from '../../kernel/index.ts';
import type { PeerInfo } from '../../transport/index.ts';
import { VERSION_OF_BUNDLES, VERSION_OF_MODES } from '../../wire/index.ts';
import { CLIENT_NUMBER, type Membership } from './membership.ts';

export class Peers {
  readonly #membership: Membership;
  /** Among members, each has proved the members' secret to the other. */
  readonly #isAmongMembers: boolean;
  readonly #senders = new Map<number, Sender>();
  /** What clients that dialled in call themselves. */
  readonly #clientNames = new Map<number, string>();
  readonly #versions = new Map<number, number>();

  constructor(membership: Membership, self: number) {
    this.#membership = membership;
    this.#isAmongMembers = this.isMember(self);
  }

  isMember(peer: number): boolean {
    return peer < CLIENT_NUMBER;
  }

  nameOf(peer: number): string {
    return this.#membership.idOf(peer) ?? this.#clientNames.get(peer) ?? '';
  }

  senderOf(peer: number): Sender | undefined {
    return this.#senders.get(peer);
  }

  /** Its version of the protocol knows exclusive leases only. */
  isPlain(peer: number): boolean {
    return (this.#versions.get(peer) ?? VERSION_OF_MODES) < VERSION_OF_MODES;
  }

  /** Its version renews each lease by itself. */
  isSingle(peer: number): boolean {
    return (this.#versions.get(peer) ?? VERSION_OF_BUNDLES) < VERSION_OF_BUNDLES;
  }

  /** The peer's incarnation. */
  lifeOf(peer: number): Incarnation | undefined {
    return this.#senders.get(peer)?.incarnation;
  }

  add(peer: NodeId, { id, incarnation, version, isAdmin = false }: PeerInfo): void {
    if (this.isMember(peer)) this.#versions.set(peer, version);
    this.#senders.set(peer, { node: peer, incarnation, isAdmin: isAdmin || (this.#isAmongMembers && this.isMember(peer)) });
    if (!this.isMember(peer)) this.#clientNames.set(peer, id);
  }

  delete(peer: number): void {
    this.#senders.delete(peer);
    this.#clientNames.delete(peer);
  }

  clear(): void {
    this.#senders.clear();
  }

  /** Connected members that know of no view but the first. */
  plainMembers(): number[] {
    return this.members().filter((peer) => this.isPlain(peer));
  }

  members(): number[] {
    return [...this.#senders.keys()].filter((peer) => this.isMember(peer));
  }
}
