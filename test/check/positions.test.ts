/** Atomic broadcast by positions: one message at a position, one position of a message, whatever the order in which histories are read. */
import { describe, expect, it } from 'vitest';
import { SequenceReferee, type HistoryRecord } from '../../src/check/index.ts';
import { start, verdicts, type Untimed } from './records.ts';

const a = start(1);
const b = start(2);

function at(node: number, message: string, position: number, gap?: 'gone' | 'name'): Untimed {
  return { node, incarnation: 1, kind: 'delivered', message, position, ...(gap ? { gap } : {}) };
}

function told(node: number, message: string, position: number): Untimed {
  return { node, incarnation: 1, kind: 'acknowledged', message, position };
}

function judged(records: readonly Untimed[]): string[] {
  return verdicts(new SequenceReferee(), [...records]);
}

const sent = a.broadcast('m1', 'm2', 'm3');

describe('the referee of positions', () => {
  it('accepts readers that are at different places of one sequence', () => {
    expect(judged([...sent, at(1, 'm2', 1), at(2, 'm2', 1), at(1, 'm1', 2), at(1, 'm3', 3), at(2, 'm1', 2)])).toEqual([]);
  });

  it('does not mind which history is read first', () => {
    const readers = [at(1, 'm2', 1), at(1, 'm1', 2), told(2, 'm2', 1)];
    expect(judged([...readers, ...sent])).toEqual([]);
    expect(judged([at(1, 'm2', 1), ...sent, at(2, 'm1', 1)])).toEqual(['total-order@50']);
    expect(judged([at(2, 'm1', 1), at(1, 'm2', 1), ...sent])).toEqual(['total-order@20']);
  });

  it('rejects one message at two positions', () => {
    expect(judged([...sent, at(1, 'm1', 1), at(2, 'm2', 1, 'gone'), at(1, 'm1', 2)])).toEqual(['total-order@50', 'total-order@60']);
  });

  it('rejects a gap that the reader does not tell of', () => {
    expect(judged([...sent, at(1, 'm1', 1), at(1, 'm3', 3)])).toEqual(['total-order@50']);
    expect(judged([...sent, at(1, 'm1', 1), at(1, 'm3', 3, 'gone')])).toEqual([]);
  });

  it('rejects a reader that goes back', () => {
    expect(judged([...sent, at(1, 'm1', 1), at(1, 'm2', 2), at(1, 'm1', 1)])).toEqual(['integrity@60']);
  });

  it('lets the next incarnation begin anywhere', () => {
    const again: Untimed = { node: 1, incarnation: 2, kind: 'delivered', message: 'm1', position: 1 };
    expect(judged([...sent, at(1, 'm1', 1), at(1, 'm2', 2), a.crashed(), again])).toEqual([]);
  });

  it('rejects what nobody has broadcast, at the end', () => {
    expect(judged([...b.broadcast('m1'), at(1, 'm1', 1), at(1, 'm9', 2)])).toEqual(['integrity@30']);
  });

  it('rejects that something else is delivered where a message was acknowledged', () => {
    expect(judged([...sent, told(1, 'm1', 1), at(2, 'm2', 1)])).toEqual(['total-order@50']);
    expect(judged([...sent, at(2, 'm2', 1), told(1, 'm1', 1)])).toEqual(['total-order@50']);
  });

  it('lets positions be used again after an act, and only those that the act gave up', () => {
    const act = (epoch: number, position: number): Untimed => ({ node: 1, incarnation: 1, kind: 'reset', epoch, position });
    const before = [...sent, at(1, 'm1', 1), at(1, 'm2', 2), act(2, 1)];
    expect(judged([...before, at(1, 'm3', 2)])).toEqual([]);
    expect(judged([...before, at(2, 'm2', 1)])).toEqual(['total-order@70']);
    expect(judged([...before, at(1, 'm3', 2), act(2, 1), at(2, 'm1', 1), at(2, 'm2', 2)])).toEqual(['total-order@100']);
  });

  it('leaves deliveries without positions to another referee', () => {
    const records: readonly Untimed[] = [...a.delivered('m1', 'm1')];
    expect(judged(records)).toEqual([]);
    const kinds: readonly HistoryRecord['kind'][] = new SequenceReferee().handles;
    expect(kinds).toContain('delivered');
  });
});
