/** The programs in `examples/`, compiled and run as a user would; and the ways in which the package is loaded. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { projectWith, removeProjects, run } from '../support/project.ts';
import { ROOT } from '../support/tree.ts';

afterAll(removeProjects);

const FOLDER = join(ROOT, 'examples');
const FILES = readdirSync(FOLDER).filter((file) => file.endsWith('.ts'));

/** What each prints; those without an entry are no programs. */
const PRINTS: Readonly<Record<string, RegExp>> = {
  'exclusive-job.ts': /^replica \d made the report of 2030-01-01\n1 report\n$/,
  'leader-election.ts': new RegExp(
    '^(?:no leader\n)?' +
      'leader: host-1 \\(warming up\\)\nleader: host-1 \\(serving, token true\\)\nno leader\n' +
      'leader: host-2 \\(warming up\\)\nleader: host-2 \\(serving, token true\\)\n(?:no leader\nin the end: nobody|in the end: nobody(?:\nno leader)?)\n$',
  ),
  'volume-owners.ts':
    /^first owns the volume with number 1\nfirst writes under a light lease: true\nsecond owns the volume with number 2\nsecond writes: true\nfirst writes again: false\n$/,
  'feature-flags.ts': /^1 of 2 switched it on\nall replicas agree\n$/,
  'fenced-write.ts': /^the new holder writes: true\nthe old holder writes: false\nbalance 100\n$/,
  'worker-ids.ts': /^four ids, all different\n$/,
  'transfer.ts': /^alice 80, bob 120\n$/,
  'job-test.ts': /^(?:#|ℹ) pass 1$[^]*^(?:#|ℹ) fail 0$/m,
};

describe('the programs in examples/', { timeout: 120_000 }, () => {
  const project = (): string => projectWith(Object.fromEntries(FILES.map((file) => [file, readFileSync(join(FOLDER, file), 'utf8')])));
  let folder: string | undefined;

  it('are all known here', () => {
    expect(FILES.filter((file) => file !== 'three-members.ts').toSorted()).toEqual(Object.keys(PRINTS).toSorted());
  });

  it.each(Object.keys(PRINTS))('%s compiles, runs and prints what it says', (file) => {
    folder ??= project();
    expect(run(folder, file.replace('.ts', '.js'))).toMatch(PRINTS[file] as RegExp);
  });
});

describe('the package', () => {
  it('is loaded with require as well', () => {
    const folder = projectWith({
      'main.cjs': `
        const { joinCell, connect, TenureError } = require('tenure');
        const { testCell } = require('tenure/testing');
        testCell().then(async (cell) => {
          const client = await cell.client();
          const lease = await client.acquire('x');
          console.log(typeof joinCell, typeof connect, new TenureError('TENURE_CLOSED', 'm').code, lease.valid);
          await cell.close();
        });
      `,
    });
    expect(run(folder, 'main.cjs')).toBe('function function TENURE_CLOSED true\n');
  });

  it('gives back leases, leaderships, watches and cells at the end of a block', () => {
    const folder = projectWith({
      'blocks.ts': `
        import { testCell } from 'tenure/testing';
        await using cell = await testCell();
        const other = await cell.client();
        {
          await using client = await cell.client();
          await using lease = await client.acquire('lease');
          await using leadership = await client.elect('election').campaign();
          await using watch = client.watch();
          const { value } = await watch.next();
          console.log(lease.valid, leadership.valid, value?.kind);
        }
        console.log((await other.list()).leases.length);
      `,
    });
    expect(run(folder, 'blocks.js')).toBe('true true change\n0\n');
  });
});
