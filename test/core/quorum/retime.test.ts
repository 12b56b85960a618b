/** Patience that follows measured round trips, and what never follows them. */
import { describe, expect, it } from 'vitest';
import { deriveTiming, retime, shortestTermUs } from '../../../src/core/index.ts';
import { Cell, RTT_US, TERM_US, TIMING } from './cell.ts';

describe('timing after round trips were measured', () => {
  it('is as it would have been set up for them', () => {
    const rttUs = 3 * RTT_US;
    expect(retime(TIMING, rttUs)).toEqual(deriveTiming({ ...TIMING, rttUs }));
  });

  it('is never less patient than the cell was set up to be', () => {
    expect(retime(TIMING, 1)).toEqual(TIMING);
  });

  it.each([1, RTT_US, TERM_US / 20, TERM_US, 1000 * TERM_US])('keeps all that safety rests on, and room for renewals: %i us', (rttUs) => {
    const timing = retime(TIMING, rttUs);
    const { maxTermUs, rateErrorPpm, silenceUs, waiterUs, refreshUs } = TIMING;
    expect(timing).toMatchObject({ maxTermUs, rateErrorPpm, silenceUs, waiterUs, refreshUs });
    expect(shortestTermUs(timing)).toBeLessThanOrEqual(maxTermUs);
  });
});

describe('an acquire', () => {
  it('waits for answers as long as round trips were measured to take', () => {
    const cell = new Cell({ clients: 1 });
    const client = cell.node(3);
    client.command({ kind: 'retime', rttUs: 4 * RTT_US });
    client.acquire();
    cell.pass(3 * 4 * RTT_US - 1);
    cell.settle();
    expect(client.said('granted')).toHaveLength(1);
  });

  it('that too few answered is more patient the next time, and gets what it asked for though answers are slow', () => {
    const cell = new Cell({ clients: 1 });
    const client = cell.node(3);
    client.acquire({ waitUs: 10 * TERM_US });
    const first = cell.flying;
    cell.drop();
    cell.run(TIMING.attemptUs, () => false);
    cell.run(TIMING.attemptUs, () => false);
    expect(first.length).toBeGreaterThan(0);
    // Its second attempt is under way, and its answers take longer than the first would have waited.
    cell.pass(Math.floor(TIMING.attemptUs / 2));
    cell.settle();
    expect(client.said('granted')).toHaveLength(1);
  });
});
