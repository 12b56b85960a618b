import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';

const SCRIPT = fileURLToPath(new URL('../../scripts/publishable.mjs', import.meta.url));
const ADDRESSES = { repository: 'r', homepage: 'h', bugs: 'b' };

describe('a package', () => {
  test('that does not say where it lives is not published, and is told what it lacks', () => {
    const { repository, homepage, bugs } = ADDRESSES;
    expect(publishable({ homepage })).toEqual({ status: 1, lacks: 'repository, bugs' });
    expect(publishable({ repository, bugs })).toEqual({ status: 1, lacks: 'homepage' });
  });

  test('that says where it lives may be published', () => {
    expect(publishable(ADDRESSES)).toEqual({ status: 0, lacks: undefined });
  });
});

function publishable(manifest: Partial<typeof ADDRESSES>): { status: number | null; lacks: string | undefined } {
  const folder = mkdtempSync(join(tmpdir(), 'tenure-publishable-'));
  try {
    const file = join(folder, 'package.json');
    writeFileSync(file, JSON.stringify(manifest));
    const { status, stderr } = spawnSync(process.execPath, [SCRIPT, file], { encoding: 'utf8' });
    return { status, lacks: /has no (.*)\./.exec(stderr)?.[1] };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
