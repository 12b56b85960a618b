/** Runs the built command as a user does: `node bin/tenure.js …`, and says how it ended. */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const BIN = fileURLToPath(new URL('../../bin/tenure.js', import.meta.url));

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export function tenure(args: readonly string[], input = '', env: Readonly<Record<string, string>> = {}): Ended {
  const { status, stdout, stderr } = spawnSync(process.execPath, [BIN, ...args], {
    input,
    env: { ...process.env, ...env },
    encoding: 'utf8',
    maxBuffer: 256 * 1024 * 1024,
  });
  return { code: status, stdout, stderr };
}

/** The same, with its output piped into another command. */
export function tenurePiped(args: readonly string[], into: string): Ended {
  const command = [process.execPath, BIN, ...args].map((word) => `'${word}'`).join(' ');
  const script = `set -o pipefail; ${command} | ${into}`;
  const { status, stdout, stderr } = spawnSync('bash', ['-c', script], { encoding: 'utf8' });
  return { code: status, stdout, stderr };
}
