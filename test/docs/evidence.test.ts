/** docs/research/evidence.md says what its data says, and docs/research/scripts.md tells of every published witness. */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readPage, sectionOf } from './pages.ts';
import { ROOT } from '../support/tree.ts';

describe('docs/research/evidence.md', () => {
  it('is what npm run docs:evidence writes', () => {
    const { status, stderr } = spawnSync(process.execPath, [join(ROOT, 'scripts', 'evidence.mjs'), '--check'], { encoding: 'utf8' });
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  });

  it('knows no protocol that broke, but for the toy and the papers to the letter, which do', () => {
    const broken = readPage('docs/research/evidence.md')
      .split(/^## /m)
      .filter((section) => section.includes('**broken**'))
      .map((section) => section.split('\n')[0]);
    expect(broken).toEqual(['flease-literal', 'paxoslease-literal', 'delta-lease-literal', 'toy']);
  });
});

describe('docs/research/scripts.md', () => {
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
  const section = sectionOf(readPage('docs/research/scripts.md'), 'The published witnesses');

  it('has a row for each of the 18 witnesses', () => {
    const rows = [...section.matchAll(/^\| `([\w-]+)` \|/gm)].map(([, name = '']) => name);
    expect(rows.toSorted()).toEqual(WITNESSES);
  });

  it('links to scripts that exist, the first of the name of its witness', () => {
    const linked = [...section.matchAll(/^\| `([\w-]+)` \| \[[^\]]+\]\(\.\.\/\.\.\/(test\/scripts\/[^)]+)\)/gm)];
    const ofPaper = new Set(['late-promise-reuse', 'stale-owner-open']);
    const folderOf = (witness: string): string => (ofPaper.has(witness) ? 'paxoslease' : 'quorum');
    expect(linked.map(([, , path]) => path)).toEqual(linked.map(([, witness = '']) => `test/scripts/${folderOf(witness)}/${witness}.txt`));
    expect(linked.length).toBe(13);
    const all = [...section.matchAll(/\]\(\.\.\/\.\.\/(test\/scripts\/[^)]+)\)/g)].map(([, path = '']) => path);
    expect(all.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
  });
});
