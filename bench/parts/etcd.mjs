/**
 * Three etcd servers on this machine, and puts to them: gRPC written by hand on Node's HTTP/2, one connection to each server, so that neither a JSON gateway
 * nor a client library is what is measured. A put is acknowledged once a majority of the servers has it on its disk, or in memory where that is asked for.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:http2';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePorts } from './processes.mjs';
import { program } from './servers.mjs';

const SERVERS = 3;
/** A file system in memory: etcd has no other way to keep nothing. */
const MEMORY = '/dev/shm';

/** Null where etcd is not installed. @param {{ inMemory: boolean }} options */
export async function startEtcd({ inMemory }) {
  const path = program('etcd');
  if (path === null) return null;
  const folder = mkdtempSync(join(inMemory ? MEMORY : tmpdir(), 'tenure-etcd-'));
  const ports = await freePorts(SERVERS * 2);
  const urls = ports.map((port) => `http://127.0.0.1:${port}`);
  const cluster = Array.from({ length: SERVERS }, (_, i) => `s${i}=${urls[SERVERS + i]}`).join(',');
  const children = Array.from({ length: SERVERS }, (_, i) => {
    const client = urls[i] ?? '';
    const peer = urls[SERVERS + i] ?? '';
    const options = [
      ['--name', `s${i}`],
      ['--data-dir', join(folder, `s${i}`)],
      ['--listen-client-urls', client],
      ['--advertise-client-urls', client],
      ['--listen-peer-urls', peer],
      ['--initial-advertise-peer-urls', peer],
      ['--initial-cluster', cluster],
      ['--initial-cluster-state', 'new'],
    ];
    return spawn(path, options.flat(), { stdio: 'ignore' });
  });
  return {
    urls: urls.slice(0, SERVERS),
    async stop() {
      for (const child of children) {
        child.kill('SIGKILL');
        if (child.exitCode === null && child.signalCode === null) await new Promise((resolve) => child.once('exit', resolve));
      }
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** A connection to each server. Resolves when all take puts. @param {readonly string[]} urls */
export async function openPuts(urls) {
  const sessions = await Promise.all(urls.map(session));
  for (const one of sessions) while (!(await put(one, 'warm', Buffer.from('up')).catch(() => false))) await sleep(50);
  return {
    /** One put, to one server after the other. @param {number} number @param {Uint8Array} value */
    put: (number, value) =>
      put(/** @type {import('node:http2').ClientHttp2Session} */ (sessions[number % sessions.length]), `k${number % 1024}`, value),
    close() {
      for (const one of sessions) one.destroy();
    },
  };
}

/** @param {string} url */
async function session(url) {
  for (;;) {
    const one = connect(url, { settings: { initialWindowSize: 2 ** 20 } });
    const isUp = await new Promise((resolve) => {
      one.once('connect', () => resolve(true));
      one.once('error', () => resolve(false));
    });
    if (isUp) return one.on('error', () => {});
    await sleep(50);
  }
}

/** @param {import('node:http2').ClientHttp2Session} one @param {string} key @param {Uint8Array} value */
function put(one, key, value) {
  return new Promise((resolve, reject) => {
    const stream = one.request({
      ':method': 'POST',
      ':path': '/etcdserverpb.KV/Put',
      'content-type': 'application/grpc',
      te: 'trailers',
    });
    let status = '';
    stream.on('response', (headers) => (status = String(headers['grpc-status'] ?? '')));
    stream.on('trailers', (headers) => (status = String(headers['grpc-status'] ?? '')));
    stream.on('error', reject);
    stream.on('close', () => (status === '0' ? resolve(true) : reject(new Error(`etcd refused a put: ${status}`))));
    stream.resume();
    stream.end(request(key, value));
  });
}

/** A PutRequest: the key is field 1, the value field 2. @param {string} key @param {Uint8Array} value */
function request(key, value) {
  const body = Buffer.concat([
    Buffer.from([0x0a]),
    varint(Buffer.byteLength(key)),
    Buffer.from(key),
    Buffer.from([0x12]),
    varint(value.length),
    value,
  ]);
  const head = Buffer.alloc(5);
  head.writeUInt32BE(body.length, 1);
  return Buffer.concat([head, body]);
}

/** @param {number} value */
function varint(value) {
  const bytes = [];
  for (; value > 0x7f; value = Math.floor(value / 128)) bytes.push((value & 0x7f) | 0x80);
  return Buffer.from([...bytes, value]);
}

/** @param {number} ms */
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
