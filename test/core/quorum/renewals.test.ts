/** How often a lease is renewed that nobody contends for: often enough, and no oftener. */
import { describe, expect, it } from 'vitest';
import { deriveTiming } from '../../../src/core/index.ts';
import { Cell, name, R, RTT_US, TERM_US } from './cell.ts';

const TERMS = 30;
/** A third of the term is waited for; the calendar may be early. */
const RENEWALS_A_TERM_MAX = 4;

describe.each([1, 10, 100, 10_000])('a lease whose term is a part of the longest, one in %i', (parts) => {
  const timing = deriveTiming({ maxTermUs: parts * TERM_US, rateErrorPpm: 10_000, rttUs: RTT_US });

  it('is renewed a few times a term, and kept', () => {
    const cell = new Cell({ clients: 1, timing });
    const holder = cell.node(3);
    const lease = holder.acquire({ keep: true });
    cell.run(TERMS * TERM_US);
    expect(holder.said('lost')).toEqual([]);
    expect(holder.holds(lease)).toBe(true);
    expect(holder.said('renewed').length).toBeGreaterThanOrEqual(TERMS);
    expect(holder.said('renewed').length).toBeLessThanOrEqual(RENEWALS_A_TERM_MAX * TERMS);
  });

  it('ends in time if it is not renewed', () => {
    const cell = new Cell({ clients: 1, timing });
    const holder = cell.node(3);
    const lease = holder.acquire();
    cell.run(3 * TERM_US);
    expect(holder.said('lost').map((event) => event.lease)).toEqual([lease]);
  });

  it('ends in time if it is to lapse, though it was renewed and a renewal is under way', () => {
    const cell = new Cell({ clients: 1, timing });
    const holder = cell.node(3);
    const lease = holder.acquire({ keep: true });
    cell.run(2 * TERM_US);
    // Until a renewal has left and nothing has come back.
    cell.run(TERM_US / 2, () => false);
    const leftUs = holder.remaining(lease);
    holder.command({ kind: 'lapse', lease, name: R });
    cell.settle();
    expect(holder.remaining(lease)).toBe(leftUs);
    cell.run(2 * TERM_US);
    expect(holder.said('lost').map((event) => event.lease)).toEqual([lease]);
  });

  it('is not renewed early because one before it was given back', () => {
    const cell = new Cell({ clients: 1, timing });
    const holder = cell.node(3);
    const names = Array.from({ length: 20 }, (_, i) => name(`given-back-${i}`));
    for (const of of names) {
      for (let again = 0; again < 10; again++) {
        holder.release(holder.acquire({ name: of, keep: true }), of);
        cell.settle();
      }
      holder.acquire({ name: of, keep: true });
      cell.settle();
    }
    cell.run(TERMS * TERM_US);
    expect(holder.said('renewed').length).toBeLessThanOrEqual(RENEWALS_A_TERM_MAX * TERMS * names.length);
  });
});
