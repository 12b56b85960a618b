/** Logs of a cell through the public calls, on virtual time: one order, each message once, whatever happens to members on the way. */
import { describe, expect, test } from 'vitest';
import { BROADCAST, broadcastWith } from '../../src/api/broadcast/kind.ts';
import { PUBLISH_WAITING_BYTES_MAX } from '../../src/api/broadcast/publish-queue.ts';
import { CLIENT_MESSAGE_BYTES_MAX } from '../../src/api/broadcast/timing.ts';
import { nodeOf } from '../../src/api/cell/cell.ts';
import type { ReadOptions, TenureError } from '../../src/api/index.ts';
import { testCell, type TestCell } from '../../src/api/testing.ts';
import { openTestCell } from '../../src/api/testing/test-cell.ts';
import { MESSAGE_BYTES_MAX } from '../../src/core/index.ts';
import { all, endsOf, membersOf, retaining, take } from './log-kit.ts';

/** Logs that keep almost nothing. */
const forgetful = (): Promise<TestCell> => retaining(4);

describe('a log', () => {
  test('is the same at every member and at clients, in one order, with who published what', async () => {
    await using cell = await testCell();
    const everyone = [...membersOf(cell), await cell.client()];
    const positions = await Promise.all(everyone.map((one, i) => one.broadcast('flags').publish(`from ${i}`)));
    expect(positions.toSorted((a, b) => a - b)).toEqual([1, 2, 3, 4]);
    const read = await Promise.all(everyone.map((one) => take(one.broadcast('flags'), 4)));
    for (const messages of read) expect(messages).toEqual(read[0]);
    expect(read[0]?.map(({ position }) => position)).toEqual([1, 2, 3, 4]);
    const authors = new Map(read[3]?.map(({ text, from }) => [text, from]));
    expect(authors).toEqual(new Map([...cell.memberIds, 'client-1'].map((id, i) => [`from ${i}`, id])));
  });

  test('takes text and bytes, empty ones too, and gives back the same bytes', async () => {
    await using cell = await testCell();
    const log = cell.member('a').broadcast();
    const bytes = Uint8Array.from([0, 255, 10, 13]);
    const publishing = log.publish(bytes);
    // The caller may use its bytes again at once.
    bytes.fill(7);
    await Promise.all([publishing, log.publish(''), log.publish('grüße')]);
    const read = await take(cell.member('b').broadcast('main'), 3);
    expect(read.map(({ message }) => [...message])).toEqual([[0, 255, 10, 13], [], [...Buffer.from('grüße')]]);
    expect(read[2]?.text).toBe('grüße');
  });

  test('has the messages of one process in the order of its calls, awaited or not', async () => {
    await using cell = await testCell();
    const client = await cell.client();
    const log = client.broadcast();
    const wanted = Array.from({ length: 500 }, (_, i) => String(i));
    await Promise.all(wanted.map((text) => log.publish(text)));
    expect(await all(cell.member('c').broadcast())).toEqual(wanted);
  });

  test('shares its positions with the other logs of the cell, and has none of their messages', async () => {
    await using cell = await testCell();
    const [one, other] = ['one', 'other'].map((name) => cell.member('a').broadcast(name));
    for (let i = 0; i < 3; i++) {
      await one?.publish(`one ${i}`);
      await other?.publish(`other ${i}`);
    }
    const read = await take(cell.member('b').broadcast('other'), 3);
    expect(read.map(({ position, text }) => [position, text])).toEqual([
      [2, 'other 0'],
      [4, 'other 1'],
      [6, 'other 2'],
    ]);
    expect(await all((await cell.client()).broadcast('one'), { from: 2 })).toEqual(['one 1', 'one 2']);
  });

  test('says what is no name, no message, no position and no option', async () => {
    await using cell = await testCell();
    expect(() => cell.member('a').broadcast('_tenure/x')).toThrow(expect.objectContaining({ code: 'TENURE_BAD_NAME' }));
    const log = cell.member('a').broadcast();
    const bad = expect.objectContaining({ code: 'TENURE_BAD_ARGUMENT' }) as unknown;
    await expect(log.publish(5 as never)).rejects.toEqual(bad);
    await expect(log.publish('x', { sinal: null } as never)).rejects.toEqual(bad);
    await expect(log.keep({ position: 1, state: 'text' as never })).rejects.toEqual(bad);
    for (const from of [0, -1, 1.5, Number.NaN, 'last']) await expect(all(log, { from: from as never })).rejects.toEqual(bad);
  });
});

describe('reading', () => {
  test('goes on from a position, begins with the oldest or with what comes, and ends where the log ends', async () => {
    await using cell = await testCell();
    const client = await cell.client();
    for (const reader of [cell.member('b').broadcast(), client.broadcast()]) {
      const log = cell.member('a').broadcast();
      const at = await log.publish('a');
      await log.publish('b');
      await log.publish('c');
      expect(await all(reader, { from: at + 1 })).toEqual(['b', 'c']);
      expect((await all(reader, { from: 'first' })).slice(-3)).toEqual(['a', 'b', 'c']);
      expect(await all(reader, { from: at + 3 })).toEqual([]);
      const next = take(reader, 1, { from: 'next' });
      await cell.advance('100ms');
      await log.publish('d');
      expect((await next)[0]?.text).toBe('d');
    }
  });

  test('a log that is empty ends at once where nothing is waited for', async () => {
    await using cell = await testCell();
    for (const one of [cell.member('a'), await cell.client()]) expect(await all(one.broadcast())).toEqual([]);
  });

  test('several readers of a process are at places of their own, and one that is slow holds up nobody', async () => {
    await using cell = await testCell();
    const log = cell.member('a').broadcast();
    const slow = log.read();
    await Promise.all(Array.from({ length: 100 }, (_, i) => log.publish(String(i))));
    expect((await slow.next()).value).toMatchObject({ position: 1 });
    expect(await take(log, 100)).toHaveLength(100);
    expect((await slow.next()).value).toMatchObject({ position: 2 });
    await slow.return();
  });

  test('ends with the reason of its signal, also while it waits', async () => {
    await using cell = await testCell();
    for (const one of [cell.member('a'), await cell.client()]) {
      const stop = new AbortController();
      const reading = take(one.broadcast(), 1, { signal: stop.signal });
      await cell.advance('1s');
      stop.abort(new Error('enough'));
      await expect(reading).rejects.toThrow('enough');
      await expect(take(one.broadcast(), 1, { signal: stop.signal })).rejects.toThrow('enough');
    }
  });
});

describe('messages that are kept no more', () => {
  test('are told of, with the first that is kept, and nothing is skipped', async () => {
    await using cell = await forgetful();
    const log = cell.member('a').broadcast('few');
    for (let i = 1; i <= 20; i++) await log.publish(String(i));
    for (const one of [cell.member('b'), await cell.client()]) {
      const gone = await all(one.broadcast('few')).catch((error: unknown) => error);
      expect(gone).toMatchObject({ code: 'TENURE_POSITION_GONE', details: { name: 'few', from: 1, first: 17 } });
      expect(await all(one.broadcast('few'), { from: 17 })).toEqual(['17', '18', '19', '20']);
      expect(await all(one.broadcast('few'), { from: 'first' })).toEqual(['17', '18', '19', '20']);
    }
  });

  test('a reader that falls behind is told so in the middle', async () => {
    await using cell = await forgetful();
    const log = cell.member('a').broadcast();
    await log.publish('1');
    const slow = log.read();
    expect((await slow.next()).value).toMatchObject({ text: '1' });
    for (let i = 2; i <= 20; i++) await log.publish(String(i));
    const rest = (async () => {
      for await (const { position } of slow) if (position > 15) return position;
      return 0;
    })();
    await expect(rest).rejects.toMatchObject({ code: 'TENURE_POSITION_GONE' });
  });

  test('are made good by a state that a process has left with any member, of this log only', async () => {
    await using cell = await forgetful();
    const log = cell.member('a').broadcast('sum');
    for (let i = 1; i <= 20; i++) {
      await log.publish(String(i));
      if (i === 10)
        await cell
          .member('c')
          .broadcast('sum')
          .keep({ position: 10, state: Buffer.from('55') });
      if (i === 18)
        await cell
          .member('b')
          .broadcast('sum')
          .keep({ position: 18, state: Buffer.from('171') });
    }
    await cell
      .member('b')
      .broadcast('another')
      .keep({ position: 20, state: Buffer.from('not this') });
    for (const one of [...membersOf(cell), await cell.client()]) {
      let sum = 0;
      const restore: ReadOptions['restore'] = ({ position, state }) => {
        expect(position).toBe(18);
        sum = Number(Buffer.from(state).toString());
      };
      for await (const { text } of one.broadcast('sum').read({ restore, follow: false })) sum += Number(text);
      expect(sum).toBe(210);
      await expect(all(one.broadcast('third'), { restore })).rejects.toMatchObject({ code: 'TENURE_POSITION_GONE' });
    }
    await expect((await cell.client()).broadcast().keep({ position: 1, state: new Uint8Array(1) })).rejects.toMatchObject({
      code: 'TENURE_UNSUPPORTED',
    });
  });
});

describe('publishing', () => {
  test('a message whose answer was lost is there once, and its publisher is told where', async () => {
    await using cell = await testCell();
    const client = await cell.client();
    const log = client.broadcast();
    await log.publish('before');
    const publishing = Promise.all(Array.from({ length: 20 }, (_, i) => log.publish(String(i))));
    // It has left, and whatever comes back does not arrive.
    await cell.advance('1ms');
    cell.cutOff(client);
    await cell.advance('5s');
    await cell.mend(client);
    await cell.advance('5s');
    expect(await publishing).toEqual(Array.from({ length: 20 }, (_, i) => i + 2));
    expect(await all(cell.member('b').broadcast())).toEqual(['before', ...Array.from({ length: 20 }, (_, i) => String(i))]);
  });

  test('a member that is cut off waits, and its messages are there once it is back', async () => {
    await using cell = await testCell();
    const [a, b] = [cell.member('a'), cell.member('b')];
    await b.broadcast().publish('first');
    cell.cutOff(a);
    const waiting = a.broadcast().publish('from a');
    const others = b.broadcast().publish('from b');
    await cell.advance('5s');
    expect(await others).toBe(2);
    await cell.mend(a);
    await cell.advance('5s');
    expect(await waiting).toBe(3);
    expect(await all(a.broadcast())).toEqual(['first', 'from b', 'from a']);
  });

  test('is given up by its signal: what has not left is not published, and the rest goes on', async () => {
    await using cell = await testCell();
    const log = cell.member('a').broadcast();
    const stop = new AbortController();
    const [kept, given] = [log.publish('kept'), log.publish('given up', { signal: stop.signal })];
    stop.abort(new Error('no more'));
    await expect(given).rejects.toThrow('no more');
    expect(await kept).toBe(1);
    await expect(log.publish('never', { signal: stop.signal })).rejects.toThrow('no more');
    expect(await all(log)).toEqual(['kept']);

    // What has left may be published; its caller waits no more.
    cell.cutOff(cell.member('a'));
    const late = new AbortController();
    const left = log.publish('left', { signal: late.signal });
    await cell.advance('1s');
    late.abort(new Error('too late'));
    await expect(left).rejects.toThrow('too late');
    await cell.mend(cell.member('a'));
    await cell.advance('5s');
    expect(await all(log)).toEqual(['kept', 'left']);
  });

  test('refuses what is too large, and more than may wait', async () => {
    await using cell = await testCell();
    const [member, client] = [cell.member('a').broadcast(), (await cell.client()).broadcast()];
    const limit = expect.objectContaining({ code: 'TENURE_LIMIT' }) as unknown;
    await expect(member.publish(new Uint8Array(MESSAGE_BYTES_MAX + 1))).rejects.toEqual(limit);
    await expect(client.publish(new Uint8Array(CLIENT_MESSAGE_BYTES_MAX + 1))).rejects.toEqual(limit);
    expect(await member.publish(new Uint8Array(MESSAGE_BYTES_MAX).fill(1))).toBe(1);
    expect(await client.publish(new Uint8Array(CLIENT_MESSAGE_BYTES_MAX).fill(2))).toBe(2);
    const read = await take(client, 2);
    expect(read.map(({ message }) => [message.length, message.every((byte) => byte === message[0])])).toEqual([
      [MESSAGE_BYTES_MAX, true],
      [CLIENT_MESSAGE_BYTES_MAX, true],
    ]);

    cell.cutOff(cell.member('a'));
    const large = new Uint8Array(MESSAGE_BYTES_MAX);
    const most = Math.floor(PUBLISH_WAITING_BYTES_MAX / MESSAGE_BYTES_MAX);
    const ends = endsOf(Array.from({ length: most + 1 }, () => member.publish(large)));
    await cell.advance('1s');
    cell.crash(cell.member('a'));
    const codes = (await ends).map((error) => (error as TenureError).code);
    expect(codes.filter((code) => code === 'TENURE_LIMIT').length).toBeGreaterThan(0);
    expect(codes.slice(0, most - 1)).toEqual(Array.from({ length: most - 1 }, () => 'TENURE_CLOSED'));
  });

  test('ends with the cell, and so does reading', async () => {
    await using cell = await testCell();
    const a = cell.member('a');
    await a.broadcast().publish('x');
    cell.cutOff(a);
    const [waiting, reading] = [a.broadcast().publish('y'), take(a.broadcast(), 2)];
    await cell.advance('1ms');
    const [closing] = [a.close(), cell.advance('5s')];
    for (const ended of [waiting, reading]) await expect(ended).rejects.toMatchObject({ code: 'TENURE_CLOSED' });
    await closing;
    expect(() => a.broadcast()).toThrow(expect.objectContaining({ code: 'TENURE_CLOSED' }));
  });
});

describe('a group', () => {
  test('costs nothing until somebody speaks of it, and a question about it is not that', async () => {
    await using cell = await testCell();
    const running = (): boolean[] => membersOf(cell).map((member) => nodeOf(member).services.isRunning(BROADCAST));
    const client = await cell.client();
    await client.using('x', () => undefined);
    const asked = client.status();
    await cell.advance('2s');
    expect((await asked).map(({ broadcast }) => broadcast)).toEqual([null, null, null]);
    expect(running()).toEqual([false, false, false]);
    await client.broadcast().publish('x');
    expect(running()).toEqual([true, true, true]);
    const told = client.status();
    await cell.advance('2s');
    expect((await told).map(({ broadcast }) => broadcast)).toEqual(
      Array.from({ length: 3 }, () => ({ standing: 'ready', epoch: expect.any(Number) as number, first: 1, last: 1 })),
    );
  });

  test('orders by Chandra and Toueg as well', async () => {
    await using cell = await openTestCell({}, { services: [broadcastWith('chandra-toueg')] });
    await Promise.all(membersOf(cell).map((member, i) => member.broadcast().publish(String(i))));
    const read = await Promise.all(membersOf(cell).map((member) => all(member.broadcast())));
    expect(new Set(read[0])).toEqual(new Set(['0', '1', '2']));
    for (const texts of read) expect(texts).toEqual(read[0]);
  });

  test('of one member works, too', async () => {
    await using cell = await testCell({ members: 1 });
    expect(await cell.member('a').broadcast().publish('alone')).toBe(1);
    expect(await all((await cell.client()).broadcast())).toEqual(['alone']);
  });
});
