#!/usr/bin/env node
// The launcher of the command line: loads the built program and hands it the arguments.
import { existsSync } from 'node:fs';

const program = new URL('../dist/cli/main.js', import.meta.url);
const EXIT_INTERNAL = 70;

if (existsSync(program)) {
  try {
    const { main } = await import(program.href);
    process.exitCode = await main(process.argv.slice(2));
  } catch (error) {
    console.error(error);
    process.exitCode = EXIT_INTERNAL;
  }
} else {
  console.error('tenure: not built yet; run: npm run build');
  process.exitCode = EXIT_INTERNAL;
}
