/** Pages of the log for readers: pieces from a position on, of one name or of all, and the messages in them. */
import { decodeName } from '../../kernel/index.ts';
import type { LogEntry } from './contract.ts';
import { GroupCursor } from './group.ts';
import type { MessageLog } from './log.ts';
import type { LogPiece } from './messages.ts';

/** What a reader asks for. */
export interface LogQuestion {
  readonly after: number;
  readonly name: Uint8Array | null;
  readonly bytesMax: number;
}

export interface LogPage {
  /** Without messages before the question's position, and of its name only. */
  readonly pieces: readonly LogPiece[];
  /** All positions up to here are looked at. */
  readonly upTo: number;
}

/** So many bytes of pages are looked through at a time, whatever the reader allows: they travel in one frame. */
export const PAGE_BYTES_MAX: number = 192 * 1024;
/** No page has more pieces. */
const PIECES_MAX = 4096;

/** The next page after a position that is kept. */
export function pageOf(log: MessageLog, { after, name, bytesMax }: LogQuestion): LogPage {
  const limit = Math.min(bytesMax, PAGE_BYTES_MAX);
  const pieces: LogPiece[] = [];
  const cursor = new GroupCursor();
  let upTo = after;
  let bytes = 0;
  let instance = log.instanceAfter(after);
  for (let piece = log.piece(instance); piece !== null && bytes < limit && pieces.length < PIECES_MAX; piece = log.piece(++instance)) {
    if (piece.position > after && name === null) {
      if (pieces.length > 0 && bytes + piece.groups.length > limit) break;
      pieces.push(piece);
      bytes += piece.groups.length;
      upTo = Math.max(upTo, endOf(piece, cursor));
      continue;
    }
    let position = piece.position;
    cursor.open(piece.groups);
    while (bytes < limit && cursor.nextGroup()) {
      const taken = cut(cursor, { instance, position, after, name, bytesMax: limit - bytes }, pieces);
      bytes += taken.bytes;
      upTo = Math.max(upTo, taken.upTo);
      position += cursor.count;
    }
  }
  return { pieces, upTo };
}

/** The messages of these pieces, in order. */
export function entriesOf(pieces: readonly LogPiece[]): LogEntry[] {
  const entries: LogEntry[] = [];
  const cursor = new GroupCursor();
  for (const { groups, position: start } of pieces) {
    let position = start;
    cursor.open(groups);
    while (cursor.nextGroup()) {
      const { origin, fromStart, messagesStart, first } = cursor;
      const from = decodeName(groups, fromStart, messagesStart) ?? '';
      for (let number = first; cursor.nextMessage(); number++) {
        const name = groups.subarray(cursor.nameStart, cursor.nameEnd);
        const message = groups.subarray(cursor.bodyStart, cursor.bodyEnd);
        entries.push({ position: position++, origin, from, number, name, message });
      }
    }
  }
  return entries;
}

interface Wanted {
  readonly instance: number;
  /** Of the first message of the group. */
  readonly position: number;
  readonly after: number;
  readonly name: Uint8Array | null;
  readonly bytesMax: number;
}

/** Adds a piece for each run of wanted messages of this group, until they have so many bytes: how many they have, and up to which position it came. */
function cut(
  cursor: GroupCursor,
  { instance, position, after, name, bytesMax }: Wanted,
  pieces: LogPiece[],
): { readonly bytes: number; readonly upTo: number } {
  let run: { number: number; position: number; start: number; end: number } | null = null;
  let bytes = 0;
  const end = (): void => {
    if (run === null) return;
    const groups = cursor.slice(run.number, at - run.position, run.start, run.end);
    pieces.push({ instance, position: run.position, groups });
    bytes += groups.length;
    run = null;
  };
  let at = position;
  for (; bytes < bytesMax && cursor.nextMessage(); at++) {
    if (at <= after || (name !== null && !cursor.hasName(name))) end();
    else if (run === null) run = { number: cursor.first + at - position, position: at, start: cursor.messageStart, end: cursor.bodyEnd };
    else run.end = cursor.bodyEnd;
  }
  end();
  return { bytes, upTo: at - 1 };
}

function endOf({ groups, position }: LogPiece, cursor: GroupCursor): number {
  let end = position - 1;
  cursor.open(groups);
  while (cursor.nextGroup()) end += cursor.count;
  return end;
}
