#!/usr/bin/env node
// The launcher of the command line: loads the bundled program and hands it the arguments. In a clone where
// something was compiled after the bundle was made, it takes the compiled files, so that nobody tests yesterday's.
import { existsSync, readdirSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';

const bundled = new URL('../dist/command/main.js', import.meta.url);
const compiled = new URL('../dist/cli/main.js', import.meta.url);
const EXIT_INTERNAL = 70;

/** When a layer was last compiled is the date of its build record; packages have none. */
function isStale() {
  const bundledMs = statSync(bundled).mtimeMs;
  const dist = new URL('../dist/', import.meta.url);
  return readdirSync(dist).some((layer) => {
    const record = statSync(new URL(`${layer}/.tsbuildinfo`, dist), { throwIfNoEntry: false });
    return record !== undefined && record.mtimeMs > bundledMs;
  });
}

const program = existsSync(bundled) && !(existsSync(compiled) && isStale()) ? bundled : compiled;
if (existsSync(program)) {
  try {
    const { main } = program === bundled ? createRequire(import.meta.url)('../dist/command/main.js') : await import(compiled.href);
    process.exitCode = await main(process.argv.slice(2));
  } catch (error) {
    console.error(error);
    process.exitCode = EXIT_INTERNAL;
  }
} else {
  console.error('tenure: not built yet; run: npm run build');
  process.exitCode = EXIT_INTERNAL;
}
