/** A holder changes what it says of itself, and keeps its lease. */
import { describe, expect, it } from 'vitest';
import { Cell, name, not, ofKind, TERM_US, TIMING, to } from './cell.ts';

const text = (bytes: Uint8Array | null): string => new TextDecoder().decode(bytes ?? new Uint8Array(0));

function held(clients = 2): { cell: Cell; lease: number } {
  const cell = new Cell({ clients });
  const lease = cell.node(3).acquire({ keep: true, meta: name('first') });
  cell.settle();
  return { cell, lease };
}

function asked(cell: Cell, node: number): string {
  cell.node(node).query();
  cell.settle();
  return text(cell.node(node).last('answered').meta);
}

describe('what is proclaimed', () => {
  it('is at a quorum after one round trip, with the same token, and the lease is renewed by it', () => {
    const { cell, lease } = held();
    const { token } = cell.node(3).last('granted');
    cell.pass(TERM_US / 4);
    const number = cell.node(3).proclaim(lease, 'second');
    expect(cell.settle()).toBe(2);
    expect(cell.node(3).said('proclaimed')).toEqual([{ kind: 'proclaimed', lease, number }]);
    expect(cell.node(3).remaining(lease)).toBe(TERM_US);
    expect(asked(cell, 4)).toBe('second');
    expect(cell.node(4).last('answered').holder?.token).toBe(token);
  });

  it('is told of once, and carried by all renewals after', () => {
    const { cell, lease } = held();
    cell.node(3).proclaim(lease, 'second');
    cell.run(3 * TERM_US);
    expect(cell.node(3).said('proclaimed')).toHaveLength(1);
    for (const member of [0, 1, 2]) cell.node(member).restart();
    cell.run(TERM_US / 2);
    expect(cell.node(3).said('proclaimed')).toHaveLength(1);
  });

  it('is what is told when one voter did not hear of it, whoever answers first', () => {
    for (const late of [0, 1, 2]) {
      const { cell, lease } = held();
      cell.node(3).proclaim(lease, 'second');
      cell.settle(not(to(late)));
      cell.drop();
      expect(cell.node(3).said('proclaimed')).toHaveLength(1);
      cell.node(4).query();
      cell.deliver(ofKind('QUERY'));
      cell.deliver(({ from }) => from === late);
      cell.settle();
      expect(text(cell.node(4).last('answered').meta)).toBe('second');
    }
  });

  it('is not done before a quorum has it', () => {
    const { cell, lease } = held();
    cell.node(3).proclaim(lease, 'second');
    cell.run(TERM_US / 2, not(to(1, 2)));
    expect(cell.node(3).said('proclaimed')).toEqual([]);
    cell.run(TERM_US / 4);
    expect(cell.node(3).said('proclaimed')).toHaveLength(1);
    expect(cell.node(3).holds(lease)).toBe(true);
  });

  it('waits for a renewal that is under way, whose votes do not count for it', () => {
    const { cell, lease } = held();
    cell.node(3).renew(lease);
    cell.deliver(ofKind('PROPOSE'));
    const number = cell.node(3).proclaim(lease, 'second');
    cell.deliver(ofKind('ACCEPTED'));
    expect(cell.node(3).said('proclaimed')).toEqual([]);
    expect(cell.node(3).said('renewed')).toHaveLength(1);
    cell.settle();
    expect(cell.node(3).last('proclaimed').number).toBe(number);
    expect(asked(cell, 4)).toBe('second');
  });

  it('again and again does not keep the lease from being renewed', () => {
    const { cell, lease } = held();
    for (let i = 0; i < 400; i++) {
      cell.node(3).proclaim(lease, `value ${i}`);
      cell.pass(TIMING.rttUs / 2);
      for (const node of cell.nodes) node.wake();
      cell.deliver();
    }
    expect(cell.node(3).said('lost')).toEqual([]);
    expect(cell.node(3).holds(lease)).toBe(true);
    cell.settle();
    expect(asked(cell, 4)).toBe('value 399');
  });

  it('may be nothing', () => {
    const { cell, lease } = held();
    cell.node(3).proclaim(lease, '');
    cell.settle();
    cell.node(4).query();
    cell.settle();
    expect(cell.node(4).last('answered')).toMatchObject({ certain: true, meta: null });
    expect(cell.node(4).last('answered').holder).not.toBeNull();
  });

  it('is refused when it is too long, and comes to nothing when the lease is not held', () => {
    const { cell, lease } = held();
    expect(() => cell.node(3).proclaim(lease, 'x'.repeat(1025))).toThrow(expect.objectContaining({ code: 'TENURE_BAD_ARGUMENT' }));
    cell.node(3).release(lease);
    cell.settle();
    const mark = cell.sent.length;
    cell.node(3).proclaim(lease, 'too late');
    expect(cell.sent).toHaveLength(mark);
    expect(cell.node(3).last('renewal-failed').lease).toBe(lease);
  });
});

describe('who watches', () => {
  it('hears what is proclaimed, once, and what is overtaken not at all', () => {
    const { cell, lease } = held();
    cell.node(4).command({ kind: 'watch', prefix: name('r') });
    cell.node(4).query();
    cell.settle();
    cell.node(3).proclaim(lease, 'second');
    cell.settle(not(ofKind('LEARNED')));
    const second = cell.drop(ofKind('LEARNED'));
    cell.node(3).proclaim(lease, 'third');
    cell.settle();
    for (const packet of second) cell.hand(packet);
    expect(
      cell
        .node(4)
        .said('learned')
        .map(({ meta }) => text(meta)),
    ).toEqual(['first', 'third']);
  });
});
