/** What tests of logs share: cells that keep little, and what is in a log. */
import { broadcastWith } from '../../src/api/broadcast/kind.ts';
import type { BroadcastLog, Cell, LogMessage, ReadOptions } from '../../src/api/index.ts';
import type { TestCell } from '../../src/api/testing.ts';
import { openTestCell } from '../../src/api/testing/test-cell.ts';
import { BROADCAST_LIMITS } from '../../src/core/index.ts';

/** The first so many messages. */
export async function take(log: BroadcastLog, count: number, options: ReadOptions = {}): Promise<LogMessage[]> {
  const messages: LogMessage[] = [];
  for await (const message of log.read(options)) if (messages.push(message) === count) break;
  return messages;
}

/** What is there now. */
export async function all(log: BroadcastLog, options: ReadOptions = {}): Promise<string[]> {
  const messages: string[] = [];
  for await (const { text } of log.read({ ...options, follow: false })) messages.push(text);
  return messages;
}

export function membersOf(cell: TestCell): Cell[] {
  return cell.memberIds.map((id) => cell.member(id));
}

/** Logs that keep so many batches. A disk has a place for each, and all are read at a start. */
export function retaining(retainInstances: number, keepVotes = false): Promise<TestCell> {
  const limits = { ...BROADCAST_LIMITS, retainInstances };
  return openTestCell({ keepVotes }, { services: [broadcastWith('fast-ct', limits)] });
}

/** How each ends; nobody is surprised by those that fail meanwhile. */
export function endsOf(calls: readonly Promise<unknown>[]): Promise<unknown[]> {
  return Promise.all(calls.map((call) => call.catch((error: unknown) => error)));
}
