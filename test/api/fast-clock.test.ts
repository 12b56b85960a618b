/** Processes whose clocks really run at another rate, by libfaketime (the Debian package `faketime`): they notice, stop, and are noticed. */
import { spawn } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, expect, it, onTestFinished } from 'vitest';
import { connect } from '../../src/api/index.ts';
import { ROOT } from '../support/tree.ts';
import { freePorts } from './real-cell.ts';

const LIBRARIES = '/usr/lib';
const IDS = ['a', 'b', 'c'] as const;

type Said = Readonly<Record<string, unknown>>;

/** Where Debian puts it: below a folder named after the machine's kind. */
function findFaketime(): string | undefined {
  const folders = existsSync(LIBRARIES) ? readdirSync(LIBRARIES) : [];
  return folders.map((folder) => join(LIBRARIES, folder, 'faketime/libfaketime.so.1')).find((path) => existsSync(path));
}

const faketime = findFaketime();

/** A process whose clocks run at this rate, and what it has said so far. */
class Rated {
  readonly said: Said[] = [];
  readonly #news = new EventEmitter<{ news: [] }>();

  constructor(options: object, rate: number) {
    const clock = rate === 1 ? {} : { LD_PRELOAD: faketime, FAKETIME: `+0 x${rate}` };
    const child = spawn(process.execPath, [join(ROOT, 'test/api/processes/rated.mjs'), JSON.stringify(options)], {
      stdio: ['pipe', 'pipe', 'inherit'],
      env: { ...process.env, ...clock },
    });
    createInterface({ input: child.stdout }).on('line', (line) => {
      this.said.push(JSON.parse(line) as Said);
      this.#news.emit('news');
    });
    onTestFinished(() => void child.kill('SIGKILL'));
  }

  /** The first thing it says that is like this. */
  async until(wanted: Said): Promise<Said> {
    for (;;) {
      const found = this.said.find((said) => Object.entries(wanted).every(([key, value]) => said[key] === value));
      if (found) return found;
      await once(this.#news, 'news');
    }
  }
}

async function membersAt(
  rates: Readonly<Record<(typeof IDS)[number], number>>,
): Promise<[options: { cell: string; members: Record<string, string> }, ...Rated[]]> {
  const ports = await freePorts(IDS.length);
  const options = { cell: 'rates', members: Object.fromEntries(IDS.map((id, i) => [id, `127.0.0.1:${ports[i]}`])) };
  return [options, ...IDS.map((self) => new Rated({ ...options, self, maxTerm: '4s' }, rates[self]))];
}

// In CI a missing package is a mistake.
describe.skipIf(faketime === undefined && !process.env['CI'])('a clock that really runs at another rate', { timeout: 60_000 }, () => {
  it('is noticed by its member, which votes no more, and by the others, which go on without it', async () => {
    expect(faketime, 'the Debian package faketime is installed').toBeDefined();
    const [options, a, b, c] = (await membersAt({ a: 1, b: 1, c: 1.4 })) as [Parameters<typeof connect>[0], Rated, Rated, Rated];
    await c.until({ kind: 'warning', code: 'TENURE_CLOCK_RATE', pace: 'fast' });
    await Promise.all([a, b].map((other) => other.until({ kind: 'warning', code: 'TENURE_CLOCK_RATE', id: 'c', pace: 'faster' })));
    await Promise.all([a, b].map((other) => other.until({ kind: 'ready' })));
    const client = await connect(options);
    onTestFinished(() => client.close());
    await client.ready();
    const status = await client.status();
    expect(status[2]?.silentForMs).toBeGreaterThan(0);
    expect((await client.acquire('x')).valid).toBe(true);
    expect([a, b].flatMap(({ said }) => said).filter(({ pace }) => pace === 'slow' || pace === 'fast')).toEqual([]);
  });

  it('that is slow costs a client its leases, which may be over by the members’ clocks', async () => {
    const [options, ...members] = await membersAt({ a: 1, b: 1, c: 1 });
    await Promise.all(members.map((member) => member.until({ kind: 'ready' })));
    const slow = new Rated(options, 0.5);
    await slow.until({ kind: 'granted' });
    await slow.until({ kind: 'warning', code: 'TENURE_CLOCK_RATE', pace: 'slow' });
    expect(await slow.until({ kind: 'lost' })).toMatchObject({ message: expect.stringContaining('clock') as string });
    await slow.until({ kind: 'state', state: 'no-quorum' });
    expect(members.flatMap(({ said }) => said).filter(({ kind }) => kind === 'warning')).toEqual([]);
  });
});
