/** The order of tickets against a plain sorted list. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { TicketOrder, type Ticketed } from '../../../src/core/leases/quorum/ticket-order.ts';
import { ballotTime, incarnation } from '../../../src/kernel/index.ts';

const ticket = (at: number): Ticketed => ({ ticket: ballotTime(at >> 4), owner: incarnation(1 + ((at >> 2) & 3)), lease: at & 3 });

describe('an order of tickets', () => {
  it('is that of a sorted list, whatever enters and leaves', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(3000), { minLength: 1, maxLength: 3000, size: 'max' }), (acts) => {
        const order = new TicketOrder<Ticketed>();
        const present = new Map<number, Ticketed>();
        for (const at of acts) {
          const known = present.get(at);
          if (known) order.remove(known);
          else order.add(ticket(at));
          if (known) present.delete(at);
          else present.set(at, ticket(at));
        }
        const sorted = [...present].sort(([a], [b]) => a - b).map(([, item]) => item);
        expect(order.toArray()).toEqual(sorted);
        expect(order.length).toBe(sorted.length);
        expect(order.first).toEqual(sorted[0]);
        for (let place = 0; place < sorted.length; place += 7) {
          expect(order.at(place)).toEqual(sorted[place]);
          expect(order.placeOf(sorted[place] as Ticketed)).toBe(place);
        }
        expect(order.at(sorted.length)).toBeUndefined();
      }),
      { numRuns: 30 },
    );
  });

  it('looks at few of a hundred thousand when one enters, is asked for and leaves', () => {
    let looks = 0;
    const order = new TicketOrder<Ticketed>();
    const counted = (at: number): Ticketed => ({
      ...ticket(at),
      get ticket() {
        looks++;
        return ballotTime(at);
      },
    });
    for (let at = 0; at < 200_000; at += 2) order.add(counted(at));
    for (const at of [1, 99_999, 199_999]) {
      const item = counted(at);
      looks = 0;
      order.add(item);
      expect(order.placeOf(item)).toBe((at + 1) / 2);
      order.remove(item);
      expect(looks).toBeLessThan(500);
    }
  });
});
