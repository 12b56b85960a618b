/** Names of hosts: asked for anew at every attempt, and not followed off this machine without a secret. */
import type * as dns from 'node:dns';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { nodeId } from '../../src/kernel/index.ts';
import { Witness } from '../../src/transport/conformance.ts';
import { TcpCell } from './cell.ts';

/** What the name service answers, one after the other; the last for ever. */
const answers: dns.LookupAddress[][] = [];
const asked: string[] = [];

vi.mock('node:dns', async (original) => ({
  ...(await original<typeof dns>()),
  lookup: (host: string, _options: unknown, callback: (error: Error | null, addresses: dns.LookupAddress[]) => void) => {
    asked.push(host);
    const answer = (answers.length > 1 ? answers.shift() : answers[0]) ?? [];
    setImmediate(callback, answer.length === 0 ? new Error('ENOTFOUND') : null, answer);
  },
}));

afterEach(() => {
  answers.length = 0;
  asked.length = 0;
});

const A = nodeId(0);
const at = (address: string): dns.LookupAddress[] => [{ address, family: 4 }];

async function dialByName() {
  const cell = await TcpCell.of('a');
  const a = new Witness(cell.transport('member', 'a'));
  await a.transport.open(a);
  const members = [{ id: 'a', address: `host-a.example:${cell.port('a')}` }];
  const client = new Witness(cell.transport('client', 'visitor', { members }));
  await client.transport.open(client);
  return { client, close: () => Promise.all([a.transport.close(), client.transport.close()]) };
}

describe('the name of a member', () => {
  it('is looked up at every attempt: it may have moved', async () => {
    answers.push([], at('127.0.0.77'), at('127.0.0.1'));
    const { client, close } = await dialByName();
    await client.connected(A);
    expect(asked).toEqual(['host-a.example', 'host-a.example', 'host-a.example']);
    await close();
  });

  it('that leads off this machine is not followed without a secret', async () => {
    answers.push([...at('127.0.0.1'), ...at('192.0.2.7')]);
    const { client, close } = await dialByName();
    expect((await client.refusal('TENURE_INSECURE')).details).toEqual({ id: 'a', host: 'host-a.example', ip: '192.0.2.7' });
    expect(client.isUp(A)).toBe(false);
    await close();
  });
});
