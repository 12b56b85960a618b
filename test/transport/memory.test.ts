/** What only the hub in memory has: links that can be cut, and a schedule of one's own. */
import { describe, expect, it } from 'vitest';
import { incarnation, nodeId } from '../../src/kernel/index.ts';
import { Witness } from '../../src/transport/conformance.ts';
import { MemoryHub } from '../../src/transport/index.ts';

const [A, B] = [nodeId(0), nodeId(1)];

function place() {
  const tasks: (() => void)[] = [];
  const hub = new MemoryHub({ members: ['a', 'b', 'c'], schedule: (task) => tasks.push(task) });
  let next = 1;
  return {
    hub,
    enter: (id: string, role: 'member' | 'client' = 'member') => {
      const witness = new Witness(hub.transport({ role, id, incarnation: incarnation(next++) }));
      void witness.transport.open(witness);
      return witness;
    },
    run: () => {
      for (let task = tasks.shift(); task; task = tasks.shift()) task();
    },
  };
}

describe('a hub', () => {
  it('runs on the schedule it is given, and nothing happens without it', () => {
    const { enter, run } = place();
    const [a, b] = [enter('a'), enter('b')];
    expect(a.events).toEqual([]);
    run();
    expect(a.isUp(B) && b.isUp(A)).toBe(true);
    a.send(B, 'hello');
    expect(b.messages(A)).toEqual([]);
    run();
    expect(b.messages(A)).toEqual(['hello']);
  });

  it('cuts a link and heals it; what was on its way is lost', () => {
    const { hub, enter, run } = place();
    const [a, b, c] = [enter('a'), enter('b'), enter('c')];
    run();
    a.send(B, 'lost');
    a.transport.flush();
    hub.cut('b', 'a');
    expect(a.isUp(B) || b.isUp(A)).toBe(false);
    expect(a.transport.begin(B)).toBeNull();
    hub.heal('a', 'b');
    run();
    expect(a.isUp(B) && b.isUp(A) && a.isUp(nodeId(2)) && c.isUp(A)).toBe(true);
    expect(b.messages(A)).toEqual([]);
    expect(a.transport.peerStats(B)?.reconnects).toBe(1);
  });

  it('overwrites a message after the call that delivered it', () => {
    const { enter, run } = place();
    const [a, b] = [enter('a'), enter('b')];
    run();
    let kept: Uint8Array | null = null;
    b.message = (_peer, _service, bytes, start, end) => (kept = bytes.subarray(start, end));
    a.send(B, 'kept too long');
    run();
    expect(Buffer.from(kept ?? []).toString()).not.toContain('kept');
  });

  it('keeps the newer of two members with one id', () => {
    const { enter, run } = place();
    const [a, first] = [enter('a'), enter('b')];
    run();
    const second = enter('b');
    run();
    expect(first.isUp(A)).toBe(false);
    expect(second.isUp(A) && a.isUp(B)).toBe(true);
    expect(a.events.find(({ kind }) => kind === 'refused')).toMatchObject({ who: 'b', error: { code: 'TENURE_DUPLICATE_MEMBER' } });
  });

  it('has no place for a member that is not in the list', () => {
    expect(() => place().enter('z')).toThrow(expect.objectContaining({ code: 'TENURE_UNKNOWN_MEMBER' }));
  });
});
