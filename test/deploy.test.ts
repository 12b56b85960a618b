/** The files in `deploy/` as far as they can be tried without a cluster: they are well-formed, and their settings make members. */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { asMember, findSettings } from '../src/cli/config.ts';
import { readRepositoryFile, ROOT } from './support/tree.ts';

const folder = mkdtempSync(join(tmpdir(), 'tenure-deploy-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface Manifest {
  readonly kind: string;
  readonly metadata: { name: string };
  readonly spec: {
    readonly replicas?: number;
    readonly serviceName?: string;
    readonly maxUnavailable?: number;
    readonly template?: { spec: { containers: { args: string[]; env: { name: string; value: string }[] }[] } };
  };
}

describe('the manifests for Kubernetes', () => {
  const documents = parseAllDocuments(readRepositoryFile('deploy/kubernetes/tenure.yaml') ?? '');
  const manifests = documents.map((document) => document.toJS() as Manifest);
  const set = manifests.find(({ kind }) => kind === 'StatefulSet');
  const container = set?.spec.template?.spec.containers[0];

  it('are a service, a budget and a set', () => {
    expect(documents.flatMap(({ errors }) => errors)).toEqual([]);
    expect(manifests.map(({ kind }) => kind)).toEqual(['Service', 'PodDisruptionBudget', 'StatefulSet']);
    expect(set?.spec.serviceName).toBe(manifests[0]?.metadata.name);
  });

  it('tell every pod by its host name which member it is, and where the others are', async () => {
    const env = Object.fromEntries((container?.env ?? []).map(({ name, value }) => [name, value]));
    for (const name of ['TENURE_SECRET_FILE', 'TENURE_CLIENT_SECRET_FILE']) {
      env[name] = join(folder, name);
      writeFileSync(join(folder, name), `the content of ${name}\n`);
    }
    const found = await findSettings({}, env);
    const pods = Array.from({ length: set?.spec.replicas ?? 0 }, (_, i) => `${set?.metadata.name}-${i}`);
    expect(pods.map((pod) => asMember(found, pod).self)).toEqual(pods);
    expect(Object.entries(found.settings.members ?? {})).toEqual(pods.map((pod) => [pod, `${pod}.${set?.spec.serviceName}:4600`]));
  });

  it('never let a majority be taken away on purpose', () => {
    const budget = manifests.find(({ kind }) => kind === 'PodDisruptionBudget');
    expect(budget?.spec.maxUnavailable).toBeLessThanOrEqual(Math.floor(((set?.spec.replicas ?? 0) - 1) / 2));
  });
});

describe('the unit for systemd', () => {
  const hasSystemd = spawnSync('systemd-analyze', ['--version']).status === 0;

  it.skipIf(!hasSystemd)('has nothing that systemd does not understand', () => {
    cpSync(join(ROOT, 'deploy', 'systemd', 'tenure@.service'), join(folder, 'tenure@.service'));
    const { status, stderr } = spawnSync('systemd-analyze', ['verify', join(folder, 'tenure@a.service')], { encoding: 'utf8' });
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  });
});
