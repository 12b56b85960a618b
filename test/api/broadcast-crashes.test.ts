/** Logs whose members crash, with disks and without, on virtual time: what was acknowledged is there, or the log says why it cannot go on. */
import { describe, expect, test } from 'vitest';
import { testCell } from '../../src/api/testing.ts';
import { all, endsOf, membersOf, retaining, take } from './log-kit.ts';

describe('a log whose members crash', () => {
  test('a client goes on when the member dies that it reads from, and misses nothing', async () => {
    await using cell = await retaining(64, true);
    const client = await cell.client();
    const reading = take(client.broadcast(), 30);
    for (const id of cell.memberIds) {
      const others = cell.memberIds.filter((other) => other !== id);
      for (let i = 0; i < 10; i++)
        await cell
          .member(others[i % 2] ?? '')
          .broadcast()
          .publish(`${id}${i}`);
      cell.crash(cell.member(id));
      await cell.advance('5s');
      await cell.restart(id);
      await cell.advance('5s');
    }
    expect((await reading).map(({ text }) => text)).toEqual(
      cell.memberIds.flatMap((id) => Array.from({ length: 10 }, (_, i) => `${id}${i}`)),
    );
  });

  test('goes on without a minority, and whoever comes back has everything', async () => {
    await using cell = await testCell();
    const client = await cell.client();
    await client.broadcast().publish('before');
    for (const id of cell.memberIds) {
      cell.crash(cell.member(id));
      const publishing = client.broadcast().publish(`without ${id}`);
      await cell.advance('10s');
      await publishing;
      const back = await cell.restart(id);
      const ready = back.broadcast().ready();
      await cell.advance('10s');
      await ready;
      expect((await all(back.broadcast())).at(-1)).toBe(`without ${id}`);
    }
    expect(await all(client.broadcast())).toEqual(['before', ...cell.memberIds.map((id) => `without ${id}`)]);
  });

  test('with disks has its log after all members have crashed', async () => {
    await using cell = await retaining(64, true);
    const texts = Array.from({ length: 40 }, (_, i) => String(i));
    for (const text of texts) await cell.member('a').broadcast().publish(text);
    for (const id of cell.memberIds) cell.crash(cell.member(id));
    for (const id of cell.memberIds) await cell.restart(id);
    const publishing = cell.member('b').broadcast().publish('after');
    await cell.advance('20s');
    expect(await publishing).toBe(41);
    for (const member of membersOf(cell)) expect(await all(member.broadcast())).toEqual([...texts, 'after']);
  });

  test('without disks stands still when most have lost their memory, says so, and is begun anew by an act', async () => {
    await using cell = await testCell();
    const client = await cell.client();
    for (let i = 1; i <= 5; i++) await client.broadcast().publish(`old ${i}`);
    const reading = client.broadcast().read();
    for (let i = 1; i <= 5; i++) await reading.next();
    for (const id of ['a', 'b']) cell.crash(cell.member(id));
    for (const id of ['a', 'b']) await cell.restart(id);
    const ends = endsOf([client.broadcast().publish('new'), cell.member('a').broadcast().ready(), cell.member('c').broadcast().ready()]);
    await cell.advance('20s');
    for (const stopped of await ends) {
      expect(stopped).toMatchObject({
        code: 'TENURE_NOT_BEGUN',
        details: { service: 'broadcast', without: 'a, b' },
        message: expect.stringContaining('tenure bootstrap --broadcast --yes') as unknown,
      });
    }
    const begun = client.bootstrap({ only: 'broadcast' });
    await cell.advance('20s');
    await begun;
    // It goes on with the longest log that a member has; and what was given up before may be published yet.
    expect(await client.broadcast().publish('after')).toBe(7);
    expect(await all(cell.member('a').broadcast())).toEqual(['old 1', 'old 2', 'old 3', 'old 4', 'old 5', 'new', 'after']);
    // Whoever read before may have read what is lost.
    await expect(reading.next()).rejects.toMatchObject({ code: 'TENURE_POSITION_GONE', details: { from: 6 } });
    const again = endsOf([client.bootstrap({ only: 'broadcast' })]);
    await cell.advance('20s');
    expect(await again).toMatchObject([{ code: 'TENURE_BOOTSTRAP_REFUSED', details: { service: 'broadcast' } }]);
  });

  test('is brand-new where nobody remembers anything: it is begun by a bootstrap, and says so until then', async () => {
    await using cell = await testCell({ silent: true });
    const ends = endsOf([cell.member('a').broadcast().ready()]);
    await cell.advance('10s');
    expect(await ends).toMatchObject([{ code: 'TENURE_NOT_BEGUN', details: { without: 'a, b, c' } }]);
    const begun = cell.member('b').bootstrap();
    await cell.advance('10s');
    await begun;
    expect(await cell.member('a').broadcast().publish('x')).toBe(1);
    const [read] = await take(cell.member('c').broadcast(), 1);
    expect(await all(cell.member('c').broadcast(), { from: 1, epoch: read?.epoch ?? 0 })).toEqual(['x']);
    await expect(all(cell.member('c').broadcast(), { from: 1, epoch: 1 })).rejects.toMatchObject({ code: 'TENURE_POSITION_GONE' });
  });
});
