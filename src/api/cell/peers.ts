/** The processes that are connected to this node: who each has proved to be, and what it calls itself. */
import type { Sender } from '../../core/index.ts';
import type { Incarnation, NodeId } from '../../kernel/index.ts';
import type { PeerInfo } from '../../transport/index.ts';

export class Peers {
  readonly #memberIds: readonly string[];
  readonly #senders = new Map<number, Sender>();
  /** What clients that dialled in call themselves. */
  readonly #clientNames = new Map<number, string>();

  constructor(memberIds: readonly string[]) {
    this.#memberIds = memberIds;
  }

  isMember(peer: number): boolean {
    return peer < this.#memberIds.length;
  }

  nameOf(peer: number): string {
    return this.#memberIds[peer] ?? this.#clientNames.get(peer) ?? '';
  }

  senderOf(peer: number): Sender | undefined {
    return this.#senders.get(peer);
  }

  /** Which start of which process. */
  lifeOf(peer: number): Incarnation | undefined {
    return this.#senders.get(peer)?.incarnation;
  }

  add(peer: NodeId, { id, incarnation, isAdmin = false }: PeerInfo): void {
    this.#senders.set(peer, { node: peer, incarnation, isAdmin });
    if (!this.isMember(peer)) this.#clientNames.set(peer, id);
  }

  delete(peer: number): void {
    this.#senders.delete(peer);
    this.#clientNames.delete(peer);
  }

  clear(): void {
    this.#senders.clear();
  }

  members(): number[] {
    return [...this.#senders.keys()].filter((peer) => this.isMember(peer));
  }
}
