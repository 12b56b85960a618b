#!/usr/bin/env node
// The launcher of the command line: loads the bundled program and hands it the arguments. In a clone where
// something was compiled after the bundle was made, it takes the compiled files, so that nobody tests yesterday's.
'use strict';
const { existsSync, readdirSync, statSync } = require('node:fs');
const path = require('node:path');
const { pathToFileURL } = require('node:url');
const { keep, useKept } = require('./code-cache.js');

const dist = path.join(__dirname, '..', 'dist');
const bundled = path.join(dist, 'command', 'main.js');
const compiled = path.join(dist, 'cli', 'main.js');
const EXIT_INTERNAL = 70;

/** When a layer was last compiled is the date of its build record; packages have none. */
function isStale() {
  const bundledMs = statSync(bundled).mtimeMs;
  return readdirSync(dist).some((layer) => {
    const record = statSync(path.join(dist, layer, '.tsbuildinfo'), { throwIfNoEntry: false });
    return record !== undefined && record.mtimeMs > bundledMs;
  });
}

async function start() {
  const args = process.argv.slice(2);
  if (existsSync(bundled) && !(existsSync(compiled) && isStale())) {
    useKept(path.join(dist, 'command'));
    process.exitCode = await require(bundled).main(args);
    // It starts most often, and has needed what others need too.
    if (args[0] === 'run' && process.exitCode === 0) keep();
  } else if (existsSync(compiled)) {
    process.exitCode = await (await import(pathToFileURL(compiled).href)).main(args);
  } else {
    console.error('tenure: not built yet; run: npm run build');
    process.exitCode = EXIT_INTERNAL;
  }
}

start().catch((error) => {
  console.error(error);
  process.exitCode = EXIT_INTERNAL;
});
