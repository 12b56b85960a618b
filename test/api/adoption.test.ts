/** What a client that was told nothing takes for the configuration of its cell, whoever answers first. */
import { once } from 'node:events';
import fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Adoption, GRACE_US, type Stated } from '../../src/api/cell/adoption.ts';
import { connect, joinCell, parseEngine, type Cell, type ConnectOptions, type JoinOptions } from '../../src/api/index.ts';
import { incarnation, monoUs, wallUs, type TenureError } from '../../src/kernel/index.ts';
import type { Clocks } from '../../src/runtime/index.ts';
import type { StatedConfig } from '../../src/wire/index.ts';
import { freePorts } from './real-cell.ts';

const coded = (code: string, details: object = {}): unknown => expect.objectContaining({ code, details: expect.objectContaining(details) });

const RIGHT: StatedConfig = { engine: 'quorum', maxTermUs: 1_000_000, rateErrorPpm: 1000, replication: 3, view: 1 };
const WRONG: StatedConfig = { ...RIGHT, maxTermUs: 2_000_000 };
const THIRD: StatedConfig = { ...RIGHT, replication: 1 };

/** An adoption by hand: members state something, and time passes when told to. */
class Play {
  adopted: Stated | null = null;
  over: TenureError | null = null;
  #due: (() => void) | null = null;
  readonly adoption: Adoption;

  constructor(...memberIds: string[]) {
    const clocks: Clocks = {
      mono: () => monoUs(0),
      wall: () => wallUs(0),
      wakeAt: () => {},
      cancel: () => {},
      after: (delayUs, act) => {
        if (delayUs !== GRACE_US) throw new Error(`waits for ${delayUs}`);
        this.#due = act;
        return () => (this.#due = null);
      },
      apart: () => clocks,
    };
    this.adoption = new Adoption({
      memberIds,
      clocks,
      adopted: (stated) => {
        if (this.adopted) throw new Error('adopted twice');
        this.adopted = stated;
      },
      contradicted: (error) => {
        if (this.over) throw new Error('over twice');
        this.over = error;
      },
    });
  }

  get isWaiting(): boolean {
    return this.#due !== null;
  }

  states(id: string, config: StatedConfig): TenureError | null {
    const error = this.adoption.judge({ role: 'member', id, incarnation: incarnation(1), version: 1, config, services: [] });
    if (!error) this.adoption.reached();
    return error;
  }

  passGrace(): void {
    this.#due?.();
  }
}

describe('a client', () => {
  it('begins with what a majority states, as soon as it has, whoever comes first', () => {
    const five = ['a', 'b', 'c', 'd', 'e'];
    const orders = fc.shuffledSubarray(five, { minLength: 5 });
    fc.assert(
      fc.property(orders, fc.subarray(five, { maxLength: 2 }), (order, odd) => {
        const play = new Play(...five);
        let right = 0;
        for (const [at, id] of order.entries()) {
          const error = play.states(id, odd.includes(id) ? (at % 2 === 0 ? WRONG : THIRD) : RIGHT);
          if (!odd.includes(id)) right++;
          expect(play.adopted?.config ?? null).toEqual(right >= 3 ? RIGHT : null);
          expect(error !== null).toBe(odd.includes(id) && right >= 3);
        }
        for (const id of five) expect(play.adoption.objection(id) !== null).toBe(odd.includes(id));
        expect(play.isWaiting).toBe(false);
        expect(play.over).toBeNull();
      }),
    );
  });

  it('says which member differs from the majority, in what, and what to do', () => {
    const play = new Play('a', 'b', 'c');
    expect([play.states('a', WRONG), play.states('b', RIGHT), play.states('c', RIGHT)]).toEqual([null, null, null]);
    expect(play.adoption.objection('a')).toEqual(
      coded('TENURE_CONFIG_MISMATCH', { id: 'a', field: 'maxTermUs', here: '1000000', there: '2000000' }),
    );
    expect(play.adoption.objection('a')?.message).toBe(
      'member a has maxTermUs = 2000000, a majority (b, c) has 1000000: give a the same as the others and start it again',
    );
    expect(play.states('a', RIGHT)).toBeNull();
  });

  it('begins after a moment with what most of those reached state, if they are no majority', () => {
    const play = new Play('a', 'b', 'c', 'd', 'e', 'f');
    for (const [id, config] of [
      ['a', WRONG],
      ['b', RIGHT],
      ['c', RIGHT],
    ] as const)
      play.states(id, config);
    expect(play.adopted).toBeNull();
    play.passGrace();
    expect(play.adopted?.config).toEqual(RIGHT);
    expect(play.adoption.objection('a')?.message).toMatch(
      /^member a has .*, this client began with 1000000, as b, c said, and no majority /,
    );
    for (const id of ['d', 'e']) expect(play.states(id, RIGHT)).toBeNull();
    expect(play.adoption.objection('a')?.message).toContain('a majority (b, c, d, e) has 1000000');
    expect(play.over).toBeNull();
  });

  it('waits for one it can understand, and turns away those it cannot', () => {
    const play = new Play('a', 'b', 'c');
    expect(play.states('a', { ...RIGHT, engine: 'raft' })).toEqual(coded('TENURE_UNSUPPORTED', { engine: 'raft' }));
    for (const replication of [0, 4]) expect(play.states('a', { ...RIGHT, replication })).toEqual(coded('TENURE_UNSUPPORTED'));
    expect(play.states('a', { ...RIGHT, engine: 'flease:4,skew=1s' })).toEqual(coded('TENURE_BAD_TIMING'));
    expect(play.isWaiting).toBe(false);
    expect(play.adoption.adoptMost()).toBe(false);
    play.states('b', RIGHT);
    play.passGrace();
    expect(play.adopted?.config).toEqual(RIGHT);
  });

  it('is over once a majority states something else, and not before', () => {
    const play = new Play('a', 'b', 'c');
    play.states('a', WRONG);
    play.passGrace();
    expect(play.states('b', RIGHT)?.message).toContain('no majority states the same');
    expect(play.over).toBeNull();
    const error = play.states('c', RIGHT);
    expect(error?.message).toBe(
      'a majority (b, c) has maxTermUs = 1000000, this client began with 2000000, as it was told before: connect again',
    );
    expect(play.over).toBe(error);
    expect(play.states('b', RIGHT)).toEqual(error && coded('TENURE_CONFIG_MISMATCH'));
  });
});

/** Three members on real sockets, each started when the test says. */
async function threeMembers(): Promise<{
  join: (self: string, more?: Partial<JoinOptions>) => Promise<Cell>;
  client: (more?: Partial<ConnectOptions>) => Promise<Cell>;
}> {
  const ports = await freePorts(3);
  const members = { a: `127.0.0.1:${ports[0]}`, b: `127.0.0.1:${ports[1]}`, c: `127.0.0.1:${ports[2]}` };
  const opened: Cell[] = [];
  onTestFinished(async () => void (await Promise.all(opened.map((cell) => cell.close()))));
  const keep = (cell: Cell): Cell => {
    opened.push(cell);
    return cell;
  };
  return {
    join: async (self, more = {}) => keep(await joinCell({ cell: 'adopted', members, self, maxTerm: '500ms', ...more })),
    client: async (more = {}) => keep(await connect({ cell: 'adopted', members, ...more })),
  };
}

/** How long to look for what comes by itself. */
const PATIENT = { timeout: 10_000 };

const errorOf = (cell: Cell, id: string): string | null => cell.members().find((member) => member.id === id)?.stats?.lastError ?? null;

describe('of three members on real sockets', { timeout: 20_000 }, () => {
  it.each<[string, Partial<JoinOptions>, Partial<JoinOptions>]>([
    ['replication', { replication: 1 }, {}],
    ['maxTermUs', { maxTerm: '1s' }, {}],
    ['rateErrorPpm', { rateError: 0.01 }, {}],
    ['engine', { engine: parseEngine('paxoslease') }, {}],
    ['engine', { engine: parseEngine('flease:4,skew=100ms') }, { engine: parseEngine('flease:4,skew=200ms') }],
  ])('the first has another %s: a client works with the others and says so', async (field, odd, right) => {
    const { join, client: open } = await threeMembers();
    const [, b] = await Promise.all([join('a', odd), join('b', right), join('c', right)]);
    const client = await open();
    expect(client.engine).toBe(b.engine);
    await client.ready();
    await client.using('work', (lease) => expect(lease.valid).toBe(true));
    const text = new RegExp(`^member a has ${field} = .*, a majority \\(b, c\\) has .*: give a the same as the others and start it again$`);
    await expect.poll(() => errorOf(client, 'a'), PATIENT).toMatch(text);
    expect(client.state).toBe('degraded');
  });

  it('one that was turned away is let in once it was started again like the others', async () => {
    const { join, client: open } = await threeMembers();
    const [odd] = await Promise.all([join('a', { maxTerm: '1s' }), join('b'), join('c')]);
    const client = await open();
    await expect.poll(() => errorOf(client, 'a'), PATIENT).toContain('give a the same');
    await odd.close();
    await join('a');
    await expect.poll(() => client.state, PATIENT).toBe('ready');
    expect(errorOf(client, 'a')).toBeNull();
  });

  it('all alike are all reached, and nobody is refused', async () => {
    const { join, client: open } = await threeMembers();
    await Promise.all(['a', 'b', 'c'].map((id) => join(id)));
    const client = await open();
    const refused: string[] = [];
    client.on('refused', (who) => refused.push(who));
    expect(client.state).not.toBe('no-quorum');
    await expect.poll(() => client.state, PATIENT).toBe('ready');
    expect(refused).toEqual([]);
  });

  it('one that is up alone is enough to begin with, also where there is less time than the grace', async () => {
    const { join, client: open } = await threeMembers();
    await join('b', { maxTerm: '1s' });
    const clients = await Promise.all([open(), open({ timeout: '800ms' })]);
    for (const client of clients) expect([client.state, client.maxTermMs, errorOf(client, 'b')]).toEqual(['no-quorum', 1000, null]);
    await join('c', { maxTerm: '1s' });
    await Promise.all(clients.map((client) => client.ready()));
  });

  it('no two are alike: a client begins without a majority, and nobody votes with another', async () => {
    const { join, client: open } = await threeMembers();
    await Promise.all([join('a', { replication: 1 }), join('b', { replication: 2 }), join('c', { replication: 3 })]);
    const client = await open();
    await expect.poll(() => client.members().filter(({ stats }) => stats?.connected).length, PATIENT).toBe(1);
    await expect
      .poll(() => client.members().flatMap(({ stats }) => stats?.lastError ?? []), PATIENT)
      .toEqual([expect.stringContaining('no majority states the same'), expect.stringContaining('no majority states the same')]);
    expect(client.state).toBe('no-quorum');
  });

  it('the odd one is up alone and would decide on some names by itself: it grants nothing until a majority says the same', async () => {
    const { join, client: open } = await threeMembers();
    const odd = await join('a', { replication: 1 });
    const client = await open();
    // Alone it is not noted, and does not even end its silence.
    expect(odd.silentForMs).toBeGreaterThan(0);
    const names = Array.from({ length: 20 }, (_, i) => `name-${i}`);
    const tries = await Promise.allSettled(names.map((name) => client.tryAcquire(name)));
    expect(tries).toEqual(names.map(() => ({ status: 'rejected', reason: coded('TENURE_NO_QUORUM') })));
    await join('b', { replication: 1 });
    await client.ready();
    // The silence of both begins only now.
    const isGranted = async (): Promise<boolean> => {
      const again = await Promise.allSettled(names.map((name) => client.tryAcquire(name)));
      return again.some(({ status }) => status === 'fulfilled');
    };
    await expect.poll(isGranted, PATIENT).toBe(true);
  });

  it(
    'all are started anew with another configuration: a client that lived on is over, and so is what it waited for',
    { timeout: 20_000 },
    async () => {
      const { join, client: open } = await threeMembers();
      const before = await Promise.all(['a', 'b', 'c'].map((id) => join(id)));
      const client = await open();
      await client.ready();
      const lease = await client.acquire('work');
      const failure = once(client, 'failure');
      await Promise.all(before.map((member) => member.close()));
      const waiting = client.acquire('more').then(
        () => null,
        (error: unknown) => error,
      );
      await Promise.all(['a', 'b', 'c'].map((id) => join(id, { maxTerm: '1s' })));
      const mismatch = coded('TENURE_CONFIG_MISMATCH', { field: 'maxTermUs', here: '500000', there: '1000000' });
      expect(await failure).toEqual([mismatch]);
      expect(await waiting).toEqual(mismatch);
      expect(lease.valid).toBe(false);
    },
  );

  it('the odd one was up alone: a client that began with it ends loudly when the others come, and the next one works', async () => {
    const { join, client: open } = await threeMembers();
    await join('a', { maxTerm: '1s' });
    const client = await open();
    expect(client.maxTermMs).toBe(1000);
    const waiting = client.acquire('work').then(
      () => null,
      (error: unknown) => error,
    );
    const failure = once(client, 'failure');
    await Promise.all([join('b'), join('c')]);
    const mismatch = coded('TENURE_CONFIG_MISMATCH', { field: 'maxTermUs', here: '1000000', there: '500000' });
    expect(await failure).toEqual([mismatch]);
    expect(await waiting).toEqual(mismatch);
    await expect(client.ready()).rejects.toThrow('this client began with 1000000, as it was told before: connect again');
    await expect(client.acquire('work')).rejects.toEqual(mismatch);
    await expect(client.status()).rejects.toEqual(mismatch);
    expect(client.state).toBe('no-quorum');
    const next = await open();
    await next.ready();
    await next.using('work', (lease) => expect(lease.valid).toBe(true));
  });
});
