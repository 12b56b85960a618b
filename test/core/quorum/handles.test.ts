/** Several leases of one process: on one name, and on different ones. */
import { describe, expect, it } from 'vitest';
import { Cell, name, R, TERM_US } from './cell.ts';

describe('handles of one process', () => {
  it('exclude each other', () => {
    const cell = new Cell({ clients: 1 });
    const client = cell.node(3);
    const first = client.acquire();
    cell.settle();
    const second = client.acquire();
    cell.settle();
    expect(client.last('refused')).toMatchObject({ lease: second, reason: 'held', holder: { owner: client.incarnation } });
    expect(
      cell.holders([
        [client, first],
        [client, second],
      ]),
    ).toEqual([`3/${first}`]);
  });

  it('follow each other: the second gets it when the first lets go', () => {
    const cell = new Cell({ clients: 1 });
    const client = cell.node(3);
    const first = client.acquire({ keep: true });
    cell.settle();
    const second = client.acquire({ waitUs: 10 * TERM_US, keep: true });
    cell.run(TERM_US);
    client.release(first);
    cell.settle();
    expect(
      cell.holders([
        [client, first],
        [client, second],
      ]),
    ).toEqual([`3/${second}`]);
  });

  it('hold different names side by side', () => {
    const cell = new Cell({ clients: 1 });
    const client = cell.node(3);
    const first = client.acquire({ name: name('a') });
    const second = client.acquire({ name: name('b') });
    cell.settle();
    expect(client.holds(first, name('a')) && client.holds(second, name('b'))).toBe(true);
    expect(client.holds(first, name('b'))).toBe(false);
    expect(client.holds(first, R)).toBe(false);
  });
});
