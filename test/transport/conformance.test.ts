/** Every transport keeps the contract. */
import { describe, it } from 'vitest';
import { transportConformance } from '../../src/transport/conformance.ts';
import { MemoryHub } from '../../src/transport/index.ts';
import { TcpCell } from './cell.ts';

const IDS = ['a', 'b', 'c'];
const LIMITS = { queueBytesMax: 300_000, frameBytesMax: 200_000 } as const;

describe('the memory transport', () => {
  transportConformance(it, () => {
    const hub = new MemoryHub({ members: IDS, ...LIMITS });
    return Promise.resolve({ members: IDS, ...LIMITS, node: (role, id, incarnation) => hub.transport({ role, id, incarnation }) });
  });
});

const SECRETS = { member: 'the secret of the members', client: 'the secret of all clients' } as const;

describe.each([
  ['without secrets', {}],
  ['with secrets', { secrets: SECRETS }],
])('the TCP transport %s', (_name, options) => {
  transportConformance(it, async () => {
    const cell = await TcpCell.of(...IDS);
    return {
      members: IDS,
      ...LIMITS,
      node: (role, id) => cell.transport(role, id, { ...options, limits: LIMITS }),
    };
  });
});
