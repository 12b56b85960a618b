/** What pongs tell of a peer: its round trip without the time it held the ping, and its clock from the quickest answer. */
import { describe, expect, test } from 'vitest';
import { RoundTrip } from '../../src/transport/tcp/round-trip.ts';

const WALL_US = 1_800_000_000_000_000;

describe('a round trip', () => {
  test('does not count how long the peer held the ping', () => {
    const trip = new RoundTrip();
    trip.sample({ sentUs: 1000, receivedWallUs: WALL_US, answeredWallUs: WALL_US + 3000, answeredMonoUs: 0 }, 5000, WALL_US);
    expect(trip.rttUs).toBe(1000);
  });

  test('is what it took in all where the peer claims to have held it for longer, or its clock stepped back', () => {
    for (const heldUs of [9000, -50]) {
      const trip = new RoundTrip();
      trip.sample({ sentUs: 1000, receivedWallUs: WALL_US, answeredWallUs: WALL_US + heldUs, answeredMonoUs: 0 }, 5000, WALL_US);
      expect(trip.rttUs).toBe(4000);
    }
  });

  test('from the future is left out', () => {
    const trip = new RoundTrip();
    trip.sample({ sentUs: 9000, receivedWallUs: WALL_US, answeredWallUs: WALL_US, answeredMonoUs: 0 }, 5000, WALL_US);
    expect(trip.rttUs).toBeNull();
  });

  test('is smoothed, and the offset is that of the quickest answer', () => {
    const trip = new RoundTrip();
    trip.sample({ sentUs: 0, receivedWallUs: WALL_US, answeredWallUs: WALL_US, answeredMonoUs: 0 }, 1000, WALL_US + 500);
    trip.sample({ sentUs: 0, receivedWallUs: WALL_US, answeredWallUs: WALL_US, answeredMonoUs: 0 }, 9000, WALL_US + 9000);
    expect(trip.rttUs).toBe(2000);
    expect(trip.offsetUs).toBe(0);
  });

  test('forgets a quick answer of long ago', () => {
    const trip = new RoundTrip();
    trip.sample({ sentUs: 0, receivedWallUs: WALL_US, answeredWallUs: WALL_US, answeredMonoUs: 0 }, 100, WALL_US + 50);
    for (let i = 0; i < 8; i++)
      trip.sample({ sentUs: 0, receivedWallUs: WALL_US, answeredWallUs: WALL_US, answeredMonoUs: 0 }, 1000, WALL_US + 900);
    expect(trip.offsetUs).toBe(-400);
  });
});
