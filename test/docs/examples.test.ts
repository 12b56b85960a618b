/** Every TypeScript block of the pages that names its file is type-checked against the built package and run. */
import { afterAll, describe, expect, it } from 'vitest';
import { removeProjects, run } from '../support/project.ts';
import { projectOf } from './pages.ts';

afterAll(removeProjects);

describe('the examples of the pages compile and run', { timeout: 120_000 }, () => {
  it('the README simulates every protocol', () => {
    const output = run(projectOf('README.md'), 'simulate.js');
    expect(output).toMatch(/^quorum: \d+ worlds, \d+ leases granted, 0 with a violation$/m);
    expect(output).toMatch(/^toy: \d+ worlds, \d+ leases granted, [1-9]\d* with a violation$/m);
    expect(output).toMatch(/tenure sim toy --replay \d+/);
  });

  it('the README joins a cell and works under a lease', () => {
    expect(run(projectOf('README.md'), 'nightly.js')).toMatch(/^mine, with token \d+$/m);
  });

  it('the README works under two leases of a store', () => {
    expect(run(projectOf('README.md'), 'on-a-store.js')).toBe('all mine: accounts/1, accounts/2\n');
  });

  it('a cell in one file grants a lease to one at a time', () => {
    expect(run(projectOf('docs/api.md'), 'cell.js')).toBe('token true, valid true, free for others false\n');
  });

  it('a directory that is shared grants a lease to one at a time', () => {
    const storage = projectOf('docs/storage.md');
    expect(run(storage, 'shared-directory.js')).toBe('compare-and-set: held true, certain true\nfree again: true\n');
    expect(run(storage, 'position.js')).toBe('row 4711 shared shared\n');
    const stores = projectOf('docs/stores.md');
    expect(run(stores, 'by-url.js')).toBe('won\nlost\nhello\n');
    expect(run(stores, 'own-store-test.js')).toMatch(/^(?:#|ℹ) pass [1-9]\d$[^]*^(?:#|ℹ) fail 0$/m);
  });

  it('claims give every integer once', () => {
    const claims = projectOf('docs/claims.md');
    expect(run(claims, 'invoices.js')).toBe('invoices 0 to 999 are ours\n500 to 520 are taken; ask from 1000 on\n');
    expect(run(claims, 'shards.js')).toBe(
      [
        'a owns 0 to 4095; b owns 4096 to 8191; c owns 8192 to 12287',
        "{\n  ok: false,\n  reason: 'overlap',\n  overlap: { from: 4000, to: 4100 },\n  nextFree: 12288\n}",
        '',
      ].join('\n'),
    );
    expect(run(claims, 'orders.js')).toBe('order 0\norder 1\norder 2\n');
  });

  it('a cell tells what it does in four ways', () => {
    expect(run(projectOf('docs/observability.md'), 'seeing.js')).toBe(
      [
        'log: lease granted reports/nightly',
        'channel: reports/nightly was held true',
        'log: lease released reports/nightly',
        'counters: { grants: 1, releases: 1, losses: 0, waits: 1 }',
        'history: 1 file',
        '',
      ].join('\n'),
    );
  });

  it('an election has one leader after the other, and what it proclaims is told', () => {
    expect(run(projectOf('docs/api.md'), 'elections.js')).toBe('host-1, serving\ntrue, token rises: true\nhost-2\n');
  });

  it('a core stepped by hand grants a lease after one round trip', () => {
    const output = run(projectOf('docs/architecture.md'), 'by-hand.js');
    expect(output).toMatch(/^granted after 1 round trip, token \d+, 10000 ms left$/m);
  });

  it('an error is known by its code', () => {
    expect(run(projectOf('docs/errors.md'), 'too-short.js')).toMatch(/too short for round trips .* \{ maxTermUs: 10000, /);
  });

  it('the testing kit tests code that holds leases, and lease services', () => {
    const folder = projectOf('docs/testing.md');
    expect(run(folder, 'nightly-test.js')).toMatch(/^(?:#|ℹ) pass 3$[^]*^(?:#|ℹ) fail 0$/m);
    expect(run(folder, 'storage-test.js')).toMatch(/^(?:#|ℹ) pass 2$[^]*^(?:#|ℹ) fail 0$/m);
    expect(run(folder, 'conformance-test.js')).toMatch(/^(?:#|ℹ) pass [2-9]\d$[^]*^(?:#|ℹ) fail 0$/m);
  });
});
