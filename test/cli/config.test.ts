/** How commands find their cell: the order of sources, and what people are told when something is wrong. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { asClient, asMember, clientConfig, findSettings, placeOfLeases, type CellFlags } from '../../src/cli/config.ts';
import { parseConfig } from '../../src/cli/config-file.ts';
import { SETTING_KEYS } from '../../src/cli/settings.ts';
import { nearestWord } from '../../src/kernel/index.ts';

const folder = mkdtempSync(join(tmpdir(), 'tenure-config-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function file(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

const WHOLE = `cell: orders
self: a
members:
  a: 10.0.0.1:4600
  b: 10.0.0.2:4600
  c: '[::1]:4600'
listen: 0.0.0.0:4600
secretFile: member.secret
clientSecretFile: client.secret
maxTerm: 20s
rateError: 0.002
replication: 3
`;

/** The message without the folder, which differs. */
async function messageOf(act: () => unknown): Promise<string> {
  try {
    await act();
  } catch (error) {
    return error instanceof Error ? error.message.replaceAll(`${folder}/`, '') : String(error);
  }
  return 'nothing was thrown';
}

describe('a config file', () => {
  it('is read as YAML and as JSON alike, and remembers where each setting was said', () => {
    const yaml = parseConfig('/etc/tenure/tenure.yaml', WHOLE);
    expect(yaml.settings).toEqual({
      cell: 'orders',
      self: 'a',
      members: { a: '10.0.0.1:4600', b: '10.0.0.2:4600', c: '[::1]:4600' },
      listen: '0.0.0.0:4600',
      secretFile: '/etc/tenure/member.secret',
      clientSecretFile: '/etc/tenure/client.secret',
      maxTerm: '20s',
      rateError: 0.002,
      replication: 3,
    });
    expect(yaml.origins).toMatchObject({ cell: '/etc/tenure/tenure.yaml:1', maxTerm: '/etc/tenure/tenure.yaml:10' });
    const json = parseConfig('/etc/tenure/tenure.json', JSON.stringify({ cell: 'orders', members: { a: 'x:1' } }, null, 2));
    expect(json.settings).toEqual({ cell: 'orders', members: { a: 'x:1' } });
    expect(json.origins).toEqual({ cell: '/etc/tenure/tenure.json:2', members: '/etc/tenure/tenure.json:3' });
  });

  it.each([
    ['cel: orders', 't.yaml:1: cel: there is no such setting (did you mean cell?)'],
    ['cell: orders\nmaxterm: 15s', 't.yaml:2: maxterm: there is no such setting (did you mean maxTerm?)'],
    ['cell: orders\nwhatever: 1', 't.yaml:2: whatever: there is no such setting'],
    ['cell: 7', 't.yaml:1: cell: a text is needed'],
    ['members:\n  a: x:1\n  b: nowhere', 't.yaml:3: members.b: "nowhere" is no address: write host:port, or [::1]:port for IPv6'],
    ['members:\n  a: 4600', 't.yaml:2: members.a: an address is needed: host:port'],
    ['engine: quorm', 't.yaml:1: engine: an engine is quorum, flease:4,skew=500ms or paxoslease:relative, for example'],
    ['replication: 1.5', 't.yaml:1: replication: a whole number is needed'],
    ['rateError: 7', 't.yaml:1: rateError: a number from 0 to 0.2 is needed; a tenth is 0.1'],
    ['- a\n- b', 't.yaml:1: a config file is a list of lines `key: value`'],
    ['', 't.yaml:1: a config file is a list of lines `key: value`'],
    ['cell: a\ncell: b', 't.yaml:2: map keys must be unique'],
    ['cell: a\n---\ncell: b', 't.yaml:2: a second document begins here; a config file is one: remove this line'],
    ['cell: *a', 't.yaml:1: cell: unresolved alias (the anchor must be set before the alias): a'],
    ['cell: !!x a', 't.yaml:1: unresolved tag: tag:yaml.org,2002:x'],
    ['cell: a\n? [b]\n: c', 't.yaml:2: ["b"]: there is no such setting'],
  ])('that says %j is told its line and key', async (text, told) => {
    expect(await messageOf(() => parseConfig('t.yaml', text))).toBe(told);
  });

  it('with a wrong duration says which are right', async () => {
    expect(await messageOf(() => parseConfig('t.yaml', 'maxTerm: soon'))).toMatch(
      /^t\.yaml:1: maxTerm: cannot use 'soon' as a duration: .*'15s'/,
    );
  });

  it('tells of everything that is wrong in it', async () => {
    const told = await messageOf(() => parseConfig('t.yaml', 'cel: x\nmembers:\n  a: 1\n  b: y\nengine: no'));
    expect(told.split('\n').map((line) => line.split(': ').slice(0, 2).join(': '))).toEqual([
      't.yaml:1: cel',
      't.yaml:3: members.a',
      't.yaml:4: members.b',
      't.yaml:5: engine',
    ]);
  });

  it('may begin and end as documents do', () => {
    expect(parseConfig('t.yaml', '---\ncell: a\n...\n').settings).toEqual({ cell: 'a' });
  });

  it('may say a thing once and use it twice', () => {
    expect(parseConfig('t.yaml', 'cell: &a orders\nself: *a').settings).toEqual({ cell: 'orders', self: 'orders' });
  });

  it('that is a folder is named', async () => {
    expect(await messageOf(() => findSettings({ config: folder }, {}))).toMatch(/: it is a folder$/);
  });

  it('that is not there is named', async () => {
    expect(await messageOf(() => findSettings({ config: join(folder, 'none.yaml') }, {}))).toBe('none.yaml: there is no such file');
  });
});

describe('a setting', () => {
  const config = file('order.yaml', 'cell: from-file\nmembers: { a: f:1 }\nmaxTerm: 1s\n');

  it('comes from its flag before its variable before the file', async () => {
    const env = { TENURE_CONFIG: config, TENURE_CELL: 'from-env', TENURE_MAX_TERM: '2s' };
    const { settings, origins } = await findSettings({ cell: 'from-flag' }, env);
    expect(settings).toEqual({ cell: 'from-flag', maxTerm: '2s', members: { a: 'f:1' } });
    expect(origins).toEqual({ cell: '--cell', maxTerm: 'TENURE_MAX_TERM', members: `${config}:2` });
  });

  it('that is set to nothing in the environment is not set', async () => {
    expect((await findSettings({ config }, { TENURE_CELL: '' })).settings.cell).toBe('from-file');
  });

  it('that is wrong is told with its flag or variable', async () => {
    expect(await messageOf(() => findSettings({ members: 'a=x:1,b' }, { TENURE_LISTEN: 'here' }))).toBe(
      "--members: 'b' is no member: write id=host:port, with commas between members\n" +
        'TENURE_LISTEN: "here" is no address: write host:port, or [::1]:port for IPv6',
    );
    expect(await messageOf(() => findSettings({ members: 'a=x:1,a=y:1' }, {}))).toBe('--members: member a is there twice');
    expect(await messageOf(() => findSettings({ members: 'a=x' }, {}))).toMatch(/^--members\.a: "x" is no address/);
  });

  it('can be given as text everywhere', async () => {
    const env = { TENURE_CELL: 'c', TENURE_MEMBERS: 'a = x:1, b=y:2', TENURE_REPLICATION: '2', TENURE_RATE_ERROR: '0.01' };
    expect((await findSettings({}, env)).settings).toEqual({ cell: 'c', members: { a: 'x:1', b: 'y:2' }, replication: 2, rateError: 0.01 });
  });

  it('that must be there and is not is asked for', async () => {
    expect(await messageOf(() => clientConfig({}, {}))).toBe(
      'which cell? Give --cell (TENURE_CELL) and --members (TENURE_MEMBERS), or --config FILE (TENURE_CONFIG); tenure init writes a config file to start from',
    );
    expect(await messageOf(() => clientConfig({ cell: 'c' }, {}))).toMatch(/^which cell\? Give --members \(TENURE_MEMBERS\), or/);
  });
});

describe('where leases are', () => {
  const config = file('place.yaml', 'cell: from-file\nmembers: { a: f:1 }\n');
  const stored = file('stored.yaml', 'store: file:///from-file\n');
  const placeOf = async (flags: CellFlags, env: Record<string, string>): Promise<string> => placeOfLeases(await findSettings(flags, env));

  it.each([
    ['a store by flag', { store: 'file:///x' }, {}, 'store'],
    ['a store by variable', {}, { TENURE_STORE: 'file:///x' }, 'store'],
    ['a store by file', { config: stored }, {}, 'store'],
    ['a cell by file', { config }, {}, 'cell'],
    ['half a cell', { cell: 'c' }, {}, 'cell'],
    ['a store by flag, a cell around', { store: 'file:///x' }, { TENURE_CELL: 'c', TENURE_CONFIG: config }, 'store'],
    ['a cell by flag, a store around', { cell: 'c' }, { TENURE_STORE: 'file:///x' }, 'cell'],
    ['a cell by the file of a flag, a store around', { config }, { TENURE_STORE: 'file:///x' }, 'cell'],
  ])('is clear: %s', async (_, flags, env, place) => {
    expect(await placeOf(flags, env)).toBe(place);
  });

  it.each([
    ['by flags', { store: 'file:///x', members: 'a=x:1' }, {}, '--members', '--store'],
    ['by variables', {}, { TENURE_STORE: 'file:///x', TENURE_CELL: 'c' }, 'TENURE_CELL', 'TENURE_STORE'],
    ['by a flag and the file of a flag', { store: 'file:///x', config }, {}, 'place.yaml:1', '--store'],
    ['by a variable and the file of a variable', {}, { TENURE_STORE: 'file:///x', TENURE_CONFIG: config }, 'place.yaml:1', 'TENURE_STORE'],
  ])('is refused if both are named %s', async (_, flags, env, cell, store) => {
    expect(await messageOf(() => placeOf(flags, env))).toBe(
      `a cell (${cell}) and a store (${store}) are named, and leases are in one place: give one of them`,
    );
  });

  it('is asked for if neither is named', async () => {
    expect(await messageOf(() => placeOf({}, {}))).toMatch(
      /^which cell or store\? Give --cell .* and --members .*, or --store \(TENURE_STORE\), or --config FILE/,
    );
  });
});

describe('secrets', () => {
  const members = { a: 'x:1' };
  const member = file('member.secret', 'of the members\n');
  const client = file('client.secret', 'of the clients\r\n');

  it('are read without the end of their last line', () => {
    const found = { settings: { cell: 'c', members, clientSecretFile: client }, origins: { clientSecretFile: '--client-secret-file' } };
    expect(String(asClient(found).clientSecret)).toBe(String(Buffer.from('of the clients')));
  });

  it('of members, when they come from a file that clients share, are not taken for those of clients', () => {
    const settings = { cell: 'c', members, secretFile: member };
    expect(asClient({ settings, origins: { secretFile: 'tenure.yaml:4' } }).clientSecret).toBeUndefined();
    expect(asClient({ settings, origins: { secretFile: 'TENURE_SECRET_FILE' } }).clientSecret).toBeDefined();
  });

  it('that cannot be read are named with who named them', async () => {
    const settings = { cell: 'c', members, clientSecretFile: join(folder, 'none') };
    const told = await messageOf(() => asClient({ settings, origins: { clientSecretFile: 'tenure.yaml:4' } }));
    expect(told).toBe('tenure.yaml:4: cannot read the secret in none: there is no such file');
  });
});

describe('which member this is', () => {
  const members = { 'tenure-0': 'x:1', 'tenure-1': 'y:1' };
  const found = (self?: string) => ({
    settings: { cell: 'c', members, ...(self ? { self } : {}) },
    origins: self ? { self: '--self' } : {},
  });

  it('comes from the host name, as in a StatefulSet', () => {
    expect(asMember(found(), 'tenure-1').self).toBe('tenure-1');
    expect(asMember(found(), 'tenure-0.tenure.default.svc').self).toBe('tenure-0');
    expect(asMember(found('tenure-1'), 'tenure-0').self).toBe('tenure-1');
  });

  it('is asked for otherwise', async () => {
    expect(await messageOf(() => asMember(found(), 'laptop'))).toMatch(
      /^which member is this\? .*one of tenure-0, tenure-1\. The host name, laptop/,
    );
    expect(await messageOf(() => asMember(found('x'), 'laptop'))).toBe(
      '--self: self: x is not among the members tenure-0, tenure-1; a member that is to be added needs --listen',
    );
  });
});

describe('the nearest word', () => {
  it('is found over a missing, added, wrong or swapped letter, and not over more', () => {
    expect(['cel', 'celll', 'cwll', 'clel', 'MAXTERM', 'banana', ''].map((word) => nearestWord(word, SETTING_KEYS))).toEqual([
      'cell',
      'cell',
      'cell',
      'cell',
      'maxTerm',
      null,
      null,
    ]);
  });
});
