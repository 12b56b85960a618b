/** Who holds it? Exact questions, and hints to those who watch. */
import { describe, expect, it } from 'vitest';
import { Cell, name, not, ofKind, R, TERM_US, TIMING, to, type Packet } from './cell.ts';
import { kept } from './census.ts';

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

describe('a question to a quorum', () => {
  it('names the holder, its token, what it said of itself, and how long it can last', () => {
    const cell = new Cell({ clients: 2 });
    const [holder, asker] = [cell.node(3), cell.node(4)];
    holder.acquire({ meta: bytes('10.0.0.1:80') });
    cell.settle();
    cell.pass(TERM_US / 4);
    const question = asker.query();
    expect(cell.settle()).toBe(2);
    const answered = asker.last('answered');
    expect(answered).toMatchObject({ lease: question, certain: true, meta: bytes('10.0.0.1:80') });
    expect(answered.holder).toMatchObject({ owner: holder.incarnation, token: holder.last('granted').token });
    expect(answered.holder?.remainingUsMax).toBeGreaterThanOrEqual(holder.remaining(1));
  });

  it('is sure that nobody holds it when nobody does', () => {
    const cell = new Cell();
    cell.node(0).query();
    cell.settle();
    expect(cell.node(0).last('answered')).toMatchObject({ certain: true, holder: null, meta: null });
  });

  it('is sure that nobody holds it after a release', () => {
    const cell = new Cell();
    const lease = cell.node(0).acquire();
    cell.settle();
    cell.node(0).release(lease);
    cell.settle();
    cell.node(1).query();
    cell.settle();
    expect(cell.node(1).last('answered')).toMatchObject({ certain: true, holder: null });
  });

  it('is not sure when too few answer', () => {
    const cell = new Cell({ clients: 1 });
    cell.node(0).acquire();
    cell.settle();
    cell.node(3).query();
    cell.run(TIMING.attemptUs, not(to(1, 2)));
    expect(cell.node(3).last('answered')).toMatchObject({ certain: false, holder: { owner: cell.node(0).incarnation } });
  });

  it('is not sure when nobody answers', () => {
    const cell = new Cell({ clients: 1 });
    cell.node(3).query();
    cell.run(TIMING.attemptUs, () => false);
    expect(cell.node(3).last('answered')).toMatchObject({ certain: false, holder: null });
  });

  it('counts no answer that comes too late, though no timer ran', () => {
    const cell = new Cell({ clients: 1 });
    cell.node(0).acquire();
    cell.settle();
    cell.node(3).query();
    cell.settle(not(ofKind('ANSWER')));
    cell.pass(100 * TERM_US);
    cell.settle();
    expect(cell.node(3).last('answered').certain).toBe(false);
    expect(cell.node(3).said('answered')).toHaveLength(1);
  });

  it('counts members, not answers', () => {
    const cell = new Cell({ members: 5, clients: 1 });
    cell.node(0).acquire();
    cell.settle();
    cell.node(5).query();
    cell.deliver(to(1));
    const [answer] = cell.drop(ofKind('ANSWER'));
    for (let i = 0; i < 5; i++) cell.hand(answer as Packet);
    expect(cell.node(5).said('answered')).toEqual([]);
  });

  it('sees a minority of votes for what it is', () => {
    const cell = new Cell({ clients: 2 });
    cell.node(3).acquire();
    cell.deliver(to(0));
    cell.drop();
    cell.node(4).query();
    cell.settle();
    expect(cell.node(4).last('answered')).toMatchObject({ certain: true, holder: null });
  });
});

describe('what a holder says of itself', () => {
  it('is still told after renewals', () => {
    const cell = new Cell({ clients: 1 });
    cell.node(3).acquire({ meta: bytes('me'), keep: true });
    cell.run(3 * TERM_US);
    cell.node(0).query();
    cell.settle();
    expect(cell.node(0).last('answered').meta).toEqual(bytes('me'));
  });

  it('is told by those who know it, when another voter came later', () => {
    const cell = new Cell({ clients: 1 });
    cell.node(3).acquire({ meta: bytes('me'), keep: true });
    cell.run(TERM_US);
    cell.node(0).restart();
    cell.run(3 * TERM_US);
    cell.node(1).query();
    cell.settle();
    expect(cell.node(1).last('answered').meta).toEqual(bytes('me'));
  });

  it('is not told of the next holder', () => {
    const cell = new Cell({ clients: 2 });
    const lease = cell.node(3).acquire({ meta: bytes('me') });
    cell.settle();
    cell.node(3).release(lease);
    cell.settle();
    cell.node(4).acquire();
    cell.settle();
    cell.node(0).query();
    cell.settle();
    expect(cell.node(0).last('answered')).toMatchObject({ certain: true, holder: { owner: cell.node(4).incarnation }, meta: null });
  });

  it('of more than a kilobyte is refused before anything has changed', () => {
    const cell = new Cell();
    for (const length of [1025, 65_546]) {
      expect(() => cell.node(0).acquire({ meta: new Uint8Array(length) })).toThrow(
        expect.objectContaining({ code: 'TENURE_BAD_ARGUMENT' }),
      );
    }
    expect(cell.sent).toEqual([]);
    expect(cell.node(0).core.wakeAt).toBe(Infinity);
  });

  it('may be a kilobyte', () => {
    const cell = new Cell();
    cell.node(0).acquire({ meta: new Uint8Array(1024).fill(7) });
    cell.settle();
    cell.node(1).query();
    cell.settle();
    expect(cell.node(1).last('answered').meta).toEqual(new Uint8Array(1024).fill(7));
  });
});

describe('a watcher', () => {
  function watched(prefix = ''): Cell {
    const cell = new Cell({ clients: 2 });
    cell.node(4).command({ kind: 'watch', prefix: bytes(prefix) });
    cell.settle();
    return cell;
  }

  it('hears of a grant, of renewals and of the release', () => {
    const cell = watched();
    const [holder, watcher] = [cell.node(3), cell.node(4)];
    const lease = holder.acquire();
    cell.settle();
    const { token } = holder.last('granted');
    expect(watcher.said('learned')).toEqual([
      { kind: 'learned', name: R, holder: { owner: holder.incarnation, token, remainingUsMax: TERM_US }, meta: null },
    ]);
    cell.pass(TERM_US / 2);
    expect(watcher.hint()?.remainingUsMax).toBe(TERM_US / 2);
    holder.renew(lease);
    cell.settle();
    expect(watcher.hint()?.remainingUsMax).toBe(TERM_US);
    holder.release(lease);
    cell.settle();
    expect(watcher.hint()).toBeNull();
    expect(watcher.last('learned')).toEqual({ kind: 'learned', name: R, holder: null, meta: null });
    expect(watcher.said('learned')).toHaveLength(2);
  });

  it('is told of a release before the release is proposed', () => {
    const cell = watched();
    const holder = cell.node(3);
    const lease = holder.acquire();
    cell.settle();
    const mark = cell.sent.length;
    holder.release(lease);
    expect(cell.sent.slice(mark).map(({ kind }) => kind)).toEqual(['LEARN', 'LEARN', 'LEARN', 'RELEASE', 'RELEASE', 'RELEASE']);
  });

  it('has a hint that ends by itself', () => {
    const cell = watched();
    const [holder, watcher] = [cell.node(3), cell.node(4)];
    holder.acquire();
    cell.settle();
    holder.down = true;
    cell.pass(TERM_US - 1);
    expect(watcher.hint()).not.toBeNull();
    cell.pass(1);
    expect(watcher.hint()).toBeNull();
    cell.run(2 * TERM_US);
    expect(watcher.last('learned').holder).toBeNull();
  });

  it('hears only of names that begin as it asked', () => {
    const cell = watched('jobs/');
    const [holder, watcher] = [cell.node(3), cell.node(4)];
    holder.acquire({ name: name('other') });
    cell.settle();
    expect(cell.tally()['LEARN']).toBeUndefined();
    holder.acquire({ name: name('jobs/1') });
    cell.settle();
    expect(watcher.said('learned').map((event) => event.name)).toEqual([bytes('jobs/1')]);
  });

  it('goes on hearing when members restart', () => {
    const cell = watched();
    for (const member of [0, 1, 2]) cell.node(member).restart();
    cell.run(2 * TERM_US);
    cell.node(3).acquire();
    cell.settle();
    expect(cell.node(4).said('learned')).toHaveLength(1);
  });

  it('hears no more when it wants no more, and costs nothing', () => {
    const cell = watched();
    cell.node(4).command({ kind: 'unwatch', prefix: bytes('') });
    cell.settle();
    cell.node(3).acquire();
    cell.settle();
    expect(cell.tally()['LEARN']).toBeUndefined();
    expect(cell.node(4).core.wakeAt).toBe(Infinity);
  });

  it('that died is forgotten by the members', () => {
    const cell = watched();
    expect(kept(cell.node(0).core, '#watchers.#audience.#watchers')).toBe(1);
    cell.node(4).down = true;
    cell.run(3 * TERM_US);
    cell.node(3).acquire({ keep: true });
    cell.run(3 * TERM_US);
    for (const member of [0, 1, 2]) expect(kept(cell.node(member).core, '#watchers.#audience.#watchers')).toBe(0);
  });

  it('of names that nobody leases is forgotten too when it died', () => {
    const cell = watched('nothing/');
    for (let life = 0; life < 20; life++) {
      cell.node(4).restart();
      cell.node(4).command({ kind: 'watch', prefix: bytes('nothing/') });
      cell.run(TERM_US);
    }
    for (const member of [0, 1, 2]) expect(kept(cell.node(member).core, '#watchers.#audience.#watchers')).toBeLessThanOrEqual(3);
  });

  it('takes no word of an older lease for news', () => {
    const cell = watched();
    const [holder, watcher] = [cell.node(3), cell.node(4)];
    const lease = holder.acquire();
    cell.settle();
    const old = cell.sent.filter((packet) => packet.kind === 'LEARNED');
    holder.release(lease);
    cell.settle();
    cell.node(0).acquire();
    cell.settle();
    for (const word of old) cell.hand(word);
    expect(watcher.hint()?.owner).toBe(cell.node(0).incarnation);
  });
});
