// `npm run show:messages`: every message that a person is likely to meet in the first ten minutes, as it is printed today: typing errors, wrong secrets,
// members that are down or silent, taken ports, lost leases. To be read by somebody who did not write them.
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const BIN = fileURLToPath(new URL('../bin/tenure.js', import.meta.url));
const LIBRARY = new URL('../dist/api/index.js', import.meta.url).href;
const TESTING = new URL('../dist/api/testing.js', import.meta.url).href;
const folder = mkdtempSync(join(tmpdir(), 'tenure-messages-'));
/** @type {import('node:child_process').ChildProcess[]} */
const members = [];
process.on('exit', () => {
  for (const member of members) member.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});

/** @param {number} count */
async function freePorts(count) {
  const servers = await Promise.all(
    Array.from(
      { length: count },
      () =>
        new Promise((resolve) => {
          const server = createServer().listen(0, '127.0.0.1', () => resolve(server));
        }),
    ),
  );
  const ports = servers.map((server) => server.address().port);
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return ports;
}

/**
 * Runs a command as a person would, and prints what that person sees.
 * @param {string} when
 * @param {readonly string[]} args
 * @param {Record<string, string>} [env]
 */
function show(when, args, env = {}) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [BIN, ...args], {
    cwd: folder,
    encoding: 'utf8',
    env: { ...process.env, NO_COLOR: '1', ...env },
    timeout: 60_000,
  });
  console.log(`── ${when}\n$ tenure ${args.join(' ')}\n${stdout}${stderr}[exit code ${status}]\n`);
}

/**
 * The same for a program.
 * @param {string} when
 * @param {string} code
 */
function showProgram(when, code) {
  const imports = `import { connect, joinCell, openStorage } from '${LIBRARY}'; import { testCell } from '${TESTING}';`;
  const program = `${imports}\ntry { ${code} } catch (error) { console.log(\`\${error.name} \${error.code}: \${error.message}\`); }\nprocess.exit(0);`;
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', program], {
    cwd: folder,
    encoding: 'utf8',
    timeout: 60_000,
  });
  console.log(`── ${when}\n> ${code}\n${stdout}${stderr}`);
}

/** @param {string} id @param {readonly string[]} [args] */
async function serve(id, args = []) {
  const member = spawn(process.execPath, [BIN, 'serve', '--config', 'tenure.yaml', '--self', id, '--log-format', 'json', ...args], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  members.push(member);
  await new Promise((resolve) => member.stdout.on('data', (text) => String(text).includes('listening') && resolve(null)));
  return member;
}

const ports = await freePorts(3);
const list = ['a', 'b', 'c'].map((id, i) => `${id}=127.0.0.1:${ports[i]}`).join(',');
const config = { TENURE_CONFIG: 'tenure.yaml' };

show('a command that does not exist', ['stauts']);
show('an option that does not exist', ['run', '--wiat', '5s', 'x', '--', 'true']);
show('no cell', ['status']);
show('a duration that is none', ['run', '-w', '5 minutes', 'x', '--', 'true', '--members', list]);
show('the command without --', ['run', 'nightly', './backup.sh'], { TENURE_CELL: 'x', TENURE_MEMBERS: list });
show('members that are none', ['status', '--cell', 'orders', '--members', 'host-a:4600']);
show('a new config file', ['init', '--cell', 'orders', '--members', list]);
show('the same again', ['init', '--cell', 'orders', '--members', list]);
writeFileSync(join(folder, 'typo.yaml'), 'cell: orders\nmember:\n  a: 127.0.0.1:4600\nmaxTerm: fifteen\n');
show('a config file with typing errors', ['config', 'check', '--config', 'typo.yaml']);
show('no member is up', ['status', '--connect-timeout', '1s'], config);
await serve('a', ['--max-term', '8s']);
show('one of three is up', ['run', '--connect-timeout', '1s', 'nightly', '--', 'true'], config);
show('the port is taken', ['serve', '--self', 'a', '--max-term', '8s'], config);
const b = await serve('b', ['--max-term', '8s']);
show('members have just started and keep silent: the state', ['status'], config);
show('members have just started and keep silent: a lease', ['run', '-w', '1', 'nightly', '--', 'true'], config);
writeFileSync(join(folder, 'wrong.secret'), 'quite another secret, and long enough\n', { mode: 0o600 });
show('a wrong secret', ['status', '--client-secret-file', 'wrong.secret'], config);
show('no secret where one is needed', ['status', '--cell', 'orders', '--members', list]);
show('a bootstrap without --yes', ['bootstrap'], config);
const c = await serve('c', ['--max-term', '8s']);
show('a bootstrap', ['bootstrap', '--yes'], config);
show('all is well', ['status'], config);
const holder = spawn(process.execPath, [BIN, 'acquire', 'nightly'], {
  cwd: folder,
  env: { ...process.env, ...config },
  stdio: ['pipe', 'pipe', 'inherit'],
});
await new Promise((resolve) => holder.stdout.once('data', resolve));
show('another has it, and we do not wait', ['run', '-n', 'nightly', '--', 'true'], config);
show('another has it for longer than we wait', ['run', '-w', '1', 'nightly', '--', 'true'], config);
show('who has it', ['holder', 'nightly'], config);
holder.kill();
show('a command that does not exist, under a lease', ['run', 'nightly', '--', './bakcup.sh'], config);
show('a term that is too long', ['run', '--term', '1h', 'nightly', '--', 'true'], config);
const lost = spawn(process.execPath, [BIN, 'run', 'nightly', '--', 'sleep', '60'], {
  cwd: folder,
  env: { ...process.env, ...config },
  stdio: ['ignore', 'inherit', 'inherit'],
});
console.log('── the lease is lost: two of three members are killed while a command runs\n$ tenure run nightly -- sleep 60');
await new Promise((resolve) => setTimeout(resolve, 1500));
for (const member of [b, c]) member.kill('SIGKILL');
const code = await new Promise((resolve) => lost.once('exit', resolve));
console.log(`[exit code ${code}]\n`);

showProgram(
  'an option that does not exist, in a program',
  "const kit = await testCell(); await (await kit.client()).acquire('x', { timeout: 5000 });",
);
showProgram('a name that is none', "const kit = await testCell(); await (await kit.client()).acquire('');");
showProgram(
  'another holds it',
  "const kit = await testCell(); await kit.member('a').acquire('x', { meta: 'worker 1' }); await kit.member('b').acquire('x', { wait: 0 });",
);
showProgram(
  'an address that leads off this machine, without a secret',
  "await joinCell({ cell: 'orders', self: 'a', members: { a: '10.0.0.1:4600' } });",
);
showProgram('no member is up', `await connect({ cell: 'orders', members: { a: '127.0.0.1:${ports[2]}' }, timeout: '500ms' });`);
showProgram('a store that is none', "await openStorage('mysql://localhost/x');");
showProgram('a directory that is not there', "await openStorage('file:///no/such/folder');");
process.exit(0);
