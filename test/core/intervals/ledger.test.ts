/** What an acceptor says waits for what it writes, and no place is used again that a restart may need. */
import { describe, expect, it } from 'vitest';
import { IntervalCell, type Flight } from './cell.ts';

const RTT_US = 1000;

function begun(): IntervalCell {
  const cell = new IntervalCell({ members: 3, rttUs: RTT_US, placesMin: 1 }, 6);
  cell.bootstrap();
  return cell;
}

function claim(cell: IntervalCell, node: number, number: number, from: number, to: number): void {
  cell.command(node, { kind: 'claim', claim: number, space: 's', from, to });
}

/** What member 0 alone says to a claim of client 5. */
function answersOf(cell: IntervalCell, from: number, to: number): string[] {
  const heard: string[] = [];
  claim(cell, 5, 100, from, to);
  cell.deliver((flight) => {
    if (flight.from === 0) heard.push(flight.message.kind);
    return flight.to === 1 || flight.to === 2;
  });
  return heard;
}

describe('an ACK', () => {
  it.each(['place/1', 'head'])('waits for %s, however often it is asked for', (what) => {
    const cell = begun();
    const acks: Flight[] = [];
    const isAck = (flight: Flight): boolean => {
      if (flight.message.kind === 'ack' && flight.from === 0) acks.push(flight);
      return flight.message.kind === 'ack';
    };
    cell.isHeld = (node, key) => node === 0 && key === what;
    claim(cell, 3, 1, 0, 9);
    cell.deliver(isAck);
    cell.pass(100 * RTT_US, isAck);
    expect(acks).toEqual([]);
    expect(cell.cores[1]?.open).toBe(1);
  });
});

describe('a place is not used again', () => {
  it('while the larger interval that has it is not written', () => {
    const cell = begun();
    claim(cell, 3, 1, 0, 9);
    cell.deliver();
    claim(cell, 3, 2, 10, 19);
    cell.deliver();
    cell.isHeld = (node, key) => node === 0 && key === 'place/1';
    claim(cell, 3, 3, 50, 59);
    cell.deliver();
    claim(cell, 3, 4, 70, 79);
    cell.deliver();
    cell.isHeld = () => false;
    cell.start(0);
    expect(answersOf(cell, 15, 15)).toEqual(['nack']);
  });

  it('while a restart does not look where the larger interval is', () => {
    const cell = begun();
    claim(cell, 3, 1, 10, 19);
    cell.deliver();
    cell.isHeld = (node, key) => node === 0 && key === 'head';
    claim(cell, 4, 1, 0, 9);
    cell.deliver();
    claim(cell, 4, 2, 50, 59);
    cell.deliver();
    claim(cell, 3, 2, 70, 79);
    cell.deliver();
    claim(cell, 3, 3, 90, 99);
    cell.deliver();
    cell.isHeld = () => false;
    cell.start(0);
    expect(answersOf(cell, 15, 15)).toEqual(['nack']);
  });
});

describe('places', () => {
  it('that are free are found again by a restart', () => {
    const cell = begun();
    for (let life = 0; life < 20; life++) {
      claim(cell, 3, life + 1, 0, 9);
      cell.deliver(({ message }) => message.kind === 'ack');
      cell.command(3, { kind: 'call-off', claim: life + 1 });
      cell.deliver();
      cell.start(0);
      cell.deliver();
    }
    expect(cell.disks[0]?.size).toBeLessThanOrEqual(5);
  });
});

describe('a record of which one bit is another', () => {
  it.each(['head', 'place/1'])('makes its member silent: %s', (key) => {
    const cell = begun();
    claim(cell, 3, 1, 1000, 1009);
    cell.deliver();
    const bytes = cell.disks[0]?.get(key) as Uint8Array;
    for (let bit = 0; bit < 8 * bytes.length; bit += 3) {
      const damaged = bytes.slice();
      damaged[bit >> 3] = (damaged[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      cell.disks[0]?.set(key, damaged);
      cell.start(0);
      expect(cell.cores[0]?.diskPhase, `bit ${bit}`).toBe('failed');
    }
  });
});
