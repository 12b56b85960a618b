/** A user's project in a folder of its own: the package is installed in it, its files are compiled as a user would, and run. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import { ROOT } from './tree.ts';

const COMPILER_OPTIONS = {
  target: 'es2023',
  module: 'nodenext',
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  noUnusedLocals: true,
  noUnusedParameters: true,
  noEmitOnError: true,
  skipLibCheck: true,
  types: ['node'],
  typeRoots: [join(ROOT, 'node_modules', '@types')],
};

const folders: string[] = [];

/** For `afterAll`. */
export function removeProjects(): void {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
}

/** The folder of a project with these files, by name. Those in TypeScript are compiled. */
export function projectWith(files: Readonly<Record<string, string>>): string {
  const folder = mkdtempSync(join(tmpdir(), 'tenure-project-'));
  folders.push(folder);
  mkdirSync(join(folder, 'node_modules'));
  symlinkSync(ROOT, join(folder, 'node_modules', 'tenure'), 'junction');
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions: COMPILER_OPTIONS, include: ['*.ts'] }));
  for (const [file, text] of Object.entries(files)) writeFileSync(join(folder, file), text);
  if (!Object.keys(files).some((file) => file.endsWith('.ts'))) return folder;
  const compiler = spawnSync(process.execPath, [join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc'), '-p', folder], {
    encoding: 'utf8',
  });
  expect(`${compiler.stdout}${compiler.stderr}`).toBe('');
  return folder;
}

/** What a program of the project prints; it must end well and complain of nothing. */
export function run(folder: string, file: string): string {
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(folder, file)], { cwd: folder, encoding: 'utf8' });
  expect(stderr).toBe('');
  expect(status).toBe(0);
  return stdout;
}
