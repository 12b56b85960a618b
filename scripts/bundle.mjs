// Bundles the built command line (`dist/cli`) into a few files (`dist/command`): it starts faster, and what it uses
// (commander, pino, yaml, valibot) is inlined, so that whoever installs the library pulls none of it. Subcommands
// stay files of their own, loaded when wanted. The licences of what was inlined are written beside it. Then the library is
// made into CommonJS as well (`commonjs.mjs`).
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';
import { LEFT_OUT, makeCommonJs } from './commonjs.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const from = join(root, 'dist', 'cli');
const to = join(root, 'dist', 'command');

/** What every bundle here is made with. */
const COMMON = { platform: /** @type {const} */ ('node'), external: LEFT_OUT };

/** One character beyond ASCII makes V8 hold and read a whole file as two bytes a character. All are in texts, where escapes mean the same. */
const inAscii = {
  name: 'ascii',
  /** @type {(options: unknown, files: Record<string, { code?: string }>) => void} */
  generateBundle(_, files) {
    for (const file of Object.values(files)) {
      if (file.code === undefined) continue;
      file.code = file.code.replace(/[\u0080-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
    }
  },
};

const needed = await neededBy(join(from, 'commands', 'run.js'));
const bundle = await rolldown({
  ...COMMON,
  plugins: [inAscii],
  input: { main: join(from, 'main.js'), 'sim-worker': join(from, 'sim-worker.js'), switch: join(from, 'run', 'switch.js') },
});
rmSync(to, { recursive: true, force: true });
const { output } = await bundle.write({
  dir: to,
  // Node loads these faster than modules: at once, and without a wrapper around each of its own modules.
  format: 'cjs',
  // A file that is loaded with code kept from before (bin/code-cache.js) cannot import.
  dynamicImportInCjs: false,
  entryFileNames: '[name].js',
  chunkFileNames: '[name]-[hash].js',
  // Less to read at every start. Names stay, for the stacks in reports.
  minify: { compress: true, mangle: false, codegen: { removeWhitespace: true } },
  // What every command needs, and what every command that talks to a cell needs: two files are found and linked faster than
  // twenty. Only what `tenure run` needs is in the second, because it starts most often: what simulations add is elsewhere.
  codeSplitting: {
    groups: [
      // The dead-man's switch is a program of its own and must not load the rest.
      { name: 'guard', test: /[\\/]cli[\\/]run[\\/](?:cgroup|command-processes|orders|process-group)\.js$/, priority: 3 },
      { name: 'start', test: /[\\/](?:commander|kernel)[\\/]|[\\/]cli[\\/](?:exit-codes|terminal)\.js$/, priority: 2 },
      { name: 'cell', test: (id) => needed.has(id), priority: 1 },
    ],
  },
  comments: { legal: false, annotation: false, jsdoc: false },
});
await bundle.close();
writeFileSync(join(to, 'package.json'), '{ "type": "commonjs" }\n');
writeFileSync(join(to, 'THIRD-PARTY.txt'), licencesOf(output.flatMap((file) => (file.type === 'chunk' ? file.moduleIds : []))));

await makeCommonJs(join(root, 'dist'));

// The manual page is made by the command itself.
mkdirSync(join(root, 'dist', 'man'), { recursive: true });
writeFileSync(join(root, 'dist', 'man', 'tenure.1'), execFileSync(process.execPath, [join(root, 'bin', 'tenure.js'), 'completion', 'man']));

/**
 * The modules of which something is left when a program that is nothing but this one has been shaken.
 * @param {string} program
 */
async function neededBy(program) {
  const alone = await rolldown({ ...COMMON, input: program });
  const { output: chunks } = await alone.generate({ format: 'esm', codeSplitting: { groups: [] } });
  await alone.close();
  const entry = chunks.find((chunk) => chunk.type === 'chunk' && chunk.isEntry);
  return new Set(entry?.type === 'chunk' ? entry.moduleIds : []);
}

/**
 * What was inlined, whose it is and under which licence.
 * @param {readonly string[]} modules
 */
function licencesOf(modules) {
  const folders = new Set(modules.flatMap((id) => (id.includes(`${sep}node_modules${sep}`) ? [packageFolder(id)] : [])));
  const parts = [...folders].sort().map((folder) => {
    const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
    const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
    if (file === undefined) throw new Error(`${name} has no licence file: do not inline it`);
    return `${name} ${version} (${license})\n\n${readFileSync(join(folder, file), 'utf8').trim()}\n`;
  });
  return `The files in this folder contain these packages:\n\n${parts.join(`\n${'-'.repeat(80)}\n\n`)}`;
}

/** @param {string} id */
function packageFolder(id) {
  let folder = dirname(id);
  while (!existsSync(join(folder, 'package.json')) || !('name' in JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')))) {
    folder = dirname(folder);
  }
  return folder;
}
