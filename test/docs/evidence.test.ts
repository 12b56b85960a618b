/** docs/evidence.md says what its data says, and docs/scripts.md tells of every published witness. */
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readPage, sectionOf } from './pages.ts';
import { ROOT } from '../support/tree.ts';

describe('docs/evidence.md', () => {
  it('is what npm run docs:evidence writes', () => {
    const { status, stderr } = spawnSync(process.execPath, [join(ROOT, 'scripts', 'evidence.mjs'), '--check'], { encoding: 'utf8' });
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  });

  it('knows no protocol whose product broke, but for the toy', () => {
    const broken = readPage('docs/evidence.md')
      .split(/^## /m)
      .filter((section) => section.includes('**broken**'))
      .map((section) => section.split('\n')[0]);
    expect(broken).toEqual(['toy']);
  });
});

describe('docs/scripts.md', () => {
  const WITNESSES = [
    'ballot-reuse-after-restart',
    'duplicate-quorum-counting',
    'insufficient-quarantine',
    'late-promise-reuse',
    'nonintersecting-reconfiguration',
    'owner-only-release',
    'release-across-proposer-restart',
    'release-after-stale-accept',
    'renewal-over-overwritten-grant',
    'renewal-without-quorum',
    'skipped-paxos-recovery',
    'split-brain-read-without-fence',
    'stale-accept-overwrites-newer',
    'stale-owner-open',
    'suspended-event-loop',
    'unfenced-external-effect',
    'unsafe-clock-source',
    'unsigned-expiry-underflow',
  ];
  const section = sectionOf(readPage('docs/scripts.md'), 'The published witnesses');

  it('has a row for each of the 18 witnesses', () => {
    const rows = [...section.matchAll(/^\| `([\w-]+)` \|/gm)].map(([, name = '']) => name);
    expect(rows.toSorted()).toEqual(WITNESSES);
  });

  it('links to scripts that exist, one of the witness name in each row that has any', () => {
    for (const [, witness = '', row = ''] of section.matchAll(/^\| `([\w-]+)` \| (.*)$/gm)) {
      const links = [...row.matchAll(/\]\(\.\.\/(test\/scripts\/[^)]+)\)/g)].map(([, path = '']) => path);
      for (const path of links) expect(existsSync(join(ROOT, path)), path).toBe(true);
      if (links.length > 0) expect(links[0]).toBe(`test/scripts/quorum/${witness}.txt`);
    }
    expect(readdirSync(join(ROOT, 'test/scripts/quorum')).length).toBeGreaterThanOrEqual(13);
  });
});
