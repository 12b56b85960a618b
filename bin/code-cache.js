// What V8 made of the two large files of the bundle is kept beside them, so that the next start reads it instead of compiling
// them again: a quarter of the time to start. It is used by the user that kept it, and by nobody else. Where nothing can be kept, all is
// compiled as ever. V8 itself refuses what another version or other flags have made, but not what was damaged: that is
// seen by a digest.
'use strict';
const { createHash } = require('node:crypto');
const { accessSync, constants, lstatSync, readFileSync, renameSync, rmSync, writeFileSync } = require('node:fs');
const path = require('node:path');
const { Script } = require('node:vm');

const LARGE = /^(?:start|cell)-[\w-]+\.js$/;
/** Another Node keeps its own. */
const SUFFIX = `.${process.version}-${process.arch}.cache`;
/** A kept file begins with it. */
const DIGEST_BYTES = 32;
const WRITABLE_BY_OTHERS = 0o022;

/** Coverage is counted in other code, and whoever wants none for Node's own wants none here. */
const isWanted = process.env['NODE_V8_COVERAGE'] === undefined && process.env['NODE_DISABLE_COMPILE_CACHE'] === undefined;
/** Flags change what V8 makes: only what the usual start makes is kept. */
const isUsual = process.execArgv.length === 0 && (process.env['NODE_OPTIONS'] ?? '') === '';

/** @type {Map<string, { script: import('node:vm').Script, source: string }>} */
const compiled = new Map();

/**
 * From here on, the large files of this folder are loaded with what was kept of them.
 * @param {string} folder
 */
function useKept(folder) {
  if (!isWanted) return;
  const usual = require.extensions['.js'];
  require.extensions['.js'] = (module, file) => {
    if (path.dirname(file) === folder && LARGE.test(path.basename(file))) load(module, file);
    else usual?.(module, file);
  };
}

/** @type {(module: NodeModule, file: string) => void} */
function load(module, file) {
  // The bundle is ASCII.
  const source = readFileSync(file, 'latin1');
  const cachedData = kept(file, source);
  const script = new Script(`(function (exports, require, module, __filename, __dirname) {${source}\n})`, {
    filename: file,
    ...(cachedData ? { cachedData } : {}),
  });
  if (!cachedData) compiled.set(file, { script, source });
  script.runInThisContext()(module.exports, (/** @type {string} */ id) => module.require(id), module, file, path.dirname(file));
}

/**
 * @param {string} file
 * @param {string} source
 */
function kept(file, source) {
  try {
    if (!isOwn(file + SUFFIX)) return undefined;
    const bytes = readFileSync(file + SUFFIX);
    const data = bytes.subarray(DIGEST_BYTES);
    return digestOf(source, data).equals(bytes.subarray(0, DIGEST_BYTES)) ? data : undefined;
  } catch {
    return undefined;
  }
}

/**
 * What another user made, or could have changed, is not run: a digest proves nothing of who wrote it.
 * @param {string} file
 */
function isOwn(file) {
  const { uid, mode } = lstatSync(file);
  return process.getuid === undefined || (uid === process.getuid() && (mode & WRITABLE_BY_OTHERS) === 0);
}

/**
 * @param {string} source
 * @param {Uint8Array} data
 */
function digestOf(source, data) {
  return createHash('sha256').update(source, 'latin1').update(data).digest();
}

/** Keeps what was compiled in this process, with all functions that were needed; to be called at its end. */
function keep() {
  if (!isUsual) return;
  for (const [file, { script, source }] of compiled) {
    const unfinished = `${file}.${process.pid}.cache`;
    try {
      accessSync(path.dirname(file), constants.W_OK);
      const data = script.createCachedData();
      writeFileSync(unfinished, Buffer.concat([digestOf(source, data), data]), { flag: 'wx', mode: 0o600 });
      // At once: another that starts now finds all of it or nothing.
      renameSync(unfinished, file + SUFFIX);
    } catch {
      rmSync(unfinished, { force: true });
    }
  }
}

module.exports = { useKept, keep };
