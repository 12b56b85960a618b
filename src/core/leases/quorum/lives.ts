/** The lives of all members that a bootstrap names, in the metadata of its messages: eight bytes each, in the order of the members. */
import type { Incarnation } from '../../../kernel/index.ts';
import type { QuorumMessage } from './messages.ts';

export function encodeLives(lives: readonly Incarnation[]): Uint8Array {
  const view = new DataView(new ArrayBuffer(lives.length * 8));
  for (const [member, life] of lives.entries()) view.setFloat64(member * 8, life);
  return new Uint8Array(view.buffer);
}

export function decodeLives({ meta, metaStart, metaEnd }: QuorumMessage): Incarnation[] {
  const view = new DataView(meta.buffer, meta.byteOffset + metaStart, metaEnd - metaStart);
  return Array.from({ length: Math.floor((metaEnd - metaStart) / 8) }, (_, member) => view.getFloat64(member * 8) as Incarnation);
}
