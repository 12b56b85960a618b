/** A member whose disk was lost believes only answers to its own questions, of disks that know its generation. */
import { describe, expect, it } from 'vitest';
import { nodeId } from '../../../src/kernel/index.ts';
import type { IntervalMessage } from '../../../src/core/index.ts';
import { IntervalCell, type Flight } from './cell.ts';

const RTT_US = 1000;
const LOST = 2;

/** Members 0 and 1 hold three pieces each; the disk of member 2 was lost, and what member 0 says of these kinds does not arrive. */
function joining(withheld: readonly IntervalMessage['kind'][]): IntervalCell {
  const cell = new IntervalCell({ members: 3, rttUs: RTT_US, piecesPerPage: 1 }, 4);
  cell.bootstrap();
  for (const claim of [1, 2, 3]) {
    cell.command(3, { kind: 'claim', claim, space: 's', from: 20 * claim, to: 20 * claim });
    cell.deliver();
  }
  cell.start(LOST, false);
  cell.pass(20 * RTT_US, ({ from, to, message }) => from === 0 && to === LOST && withheld.includes(message.kind));
  expect(cell.last(LOST, 'disk')).toMatchObject({ phase: withheld.length > 0 ? 'joining' : 'ready', generation: 2 });
  cell.flights.length = 0;
  return cell;
}

function says(cell: IntervalCell, message: IntervalMessage): Flight[] {
  const sent: Flight[] = [];
  cell.flights.push({ from: nodeId(0), life: cell.lives[0] ?? 0, to: nodeId(LOST), message });
  cell.deliver((flight) => {
    if (flight.from === LOST) sent.push(flight);
    return flight.from === LOST;
  });
  return sent;
}

describe('a member that joins', () => {
  const last = { kind: 'page', generation: 2, space: '', from: 0, pieces: [], next: null, generations: [1, 1, 2] } as const;

  it.each([
    ['that was sent to an earlier disk', { ...last, generation: 1 }],
    ['that answers no question of it', { ...last, space: 's', from: 40 }],
    ['of a disk that took the place of the one that knows its generation', { ...last, generations: [2, 1, 2] }],
  ])('takes no page %s for the last', (_of, page) => {
    const cell = joining(['page']);
    says(cell, page);
    expect(cell.cores[LOST]?.diskPhase).toBe('joining');
    cell.pass(50 * RTT_US);
    expect(cell.cores[LOST]?.diskPhase).toBe('ready');
    expect(cell.cores[LOST]?.entries).toBe(3);
  });

  it('copies from no member that has noted another generation', () => {
    const cell = joining(['noted']);
    expect(says(cell, { kind: 'noted', generation: 1, generations: [1, 1, 1] })).toEqual([]);
    expect(says(cell, { kind: 'noted', generation: 2, generations: [1, 1, 2] }).map(({ message }) => message.kind)).toEqual(['copy']);
  });
});

describe('a member whose disk is in use', () => {
  it('forgets no generation for a late word of an older disk, and copies to no disk that it has not noted', () => {
    const cell = joining([]);
    cell.pass(50 * RTT_US);
    const toFirst = { from: nodeId(LOST), life: cell.lives[LOST] ?? 0, to: nodeId(0) };
    const answers: IntervalMessage[] = [];
    for (const message of [
      { kind: 'note', generation: 1 },
      { kind: 'copy', generation: 1, space: '', from: 0 },
      { kind: 'copy', generation: 3, space: '', from: 0 },
    ] as const) {
      cell.flights.push({ ...toFirst, message });
      cell.deliver(({ from, message: answer }) => {
        if (from === 0) answers.push(answer);
        return from === 0;
      });
    }
    cell.command(3, { kind: 'claim', claim: 9, space: 's', from: 900, to: 900 });
    cell.deliver(({ from, message }) => {
      if (from === 0) answers.push(message);
      return false;
    });
    expect(answers).toMatchObject([
      { kind: 'known', generations: [1, 1, 2] },
      { kind: 'ack', generations: [1, 1, 2] },
    ]);
  });

  it('says that it has noted a generation once that is stored, however often it is told', () => {
    const cell = new IntervalCell({ members: 3, rttUs: RTT_US }, 4);
    cell.bootstrap();
    cell.isHeld = (node, key) => node === 0 && key === 'head';
    cell.start(LOST, false);
    const said: string[] = [];
    cell.pass(20 * RTT_US, ({ from, message }) => {
      if (from === 0) said.push(message.kind);
      return false;
    });
    expect(cell.last(LOST, 'disk')).toMatchObject({ phase: 'joining', noted: 1 });
    expect(said).not.toContain('noted');
  });

  it('begins above every generation that any disk knows of, though that disk is not in use', () => {
    const cell = joining(['page']);
    for (const member of [0, 1]) cell.start(member, false);
    cell.command(0, { kind: 'bootstrap', waitUs: 100 * RTT_US });
    cell.deliver();
    expect(cell.cores.slice(0, 3).map(({ diskPhase, generation }) => [diskPhase, generation])).toEqual([
      ['ready', 3],
      ['ready', 3],
      ['ready', 3],
    ]);
  });
});
