/** The bootstrap of a brand-new cell: all members present, all silent, and nobody from another life. */
import { describe, expect, test } from 'vitest';
import { monoUs } from '../../../src/kernel/index.ts';
import { Cell, not, ofKind, to, type Node } from './cell.ts';

const WAIT_US = 2_000_000;

function silentCell(clients = 0): Cell {
  return new Cell({ restarted: true, clients });
}

function bootstrap(node: Node): void {
  node.command({ kind: 'bootstrap', lease: 7000 + node.id, waitUs: WAIT_US });
}

const silent = (cell: Cell): boolean[] => [0, 1, 2].map((id) => cell.node(id).core.silentForUs(monoUs(cell.node(id).mono)) > 0);

describe('a bootstrap', () => {
  test('ends the silence of every member at once', () => {
    const cell = silentCell();
    bootstrap(cell.node(1));
    cell.settle();
    expect(cell.node(1).last('bootstrapped')).toMatchObject({ barred: [], absent: [], begun: true });
    expect(silent(cell)).toEqual([false, false, false]);
    const lease = cell.node(0).acquire();
    cell.settle();
    expect(cell.node(0).holds(lease)).toBe(true);
  });

  test('can be asked for by a client, and by two at once', () => {
    const cell = silentCell(2);
    bootstrap(cell.node(3));
    bootstrap(cell.node(4));
    cell.settle();
    expect(cell.node(3).last('bootstrapped')).toMatchObject({ barred: [], absent: [] });
    expect(silent(cell)).toEqual([false, false, false]);
  });

  test('is refused while a member is absent, and names it', () => {
    const cell = silentCell();
    cell.node(2).down = true;
    bootstrap(cell.node(0));
    cell.run(WAIT_US / 4);
    expect(silent(cell)).toEqual([true, true, true]);
    expect(cell.node(0).said('bootstrapped')).toEqual([]);
    cell.node(0).cancel(7000);
    cell.node(0).command({ kind: 'bootstrap', lease: 1, waitUs: 50_000 });
    cell.run(60_000);
    expect(cell.node(0).last('bootstrapped')).toMatchObject({ lease: 1, absent: [2], begun: false });
    expect(silent(cell)).toEqual([true, true, true]);
  });

  test('is refused when a member votes already, and names it', () => {
    const cell = silentCell();
    bootstrap(cell.node(0));
    cell.settle();
    cell.node(2).restart();
    bootstrap(cell.node(1));
    cell.settle();
    expect(cell.node(1).last('bootstrapped')).toMatchObject({ barred: [{ member: 0, bar: 'votes' }], begun: false });
    expect(silent(cell)).toEqual([false, false, true]);
  });

  test('means the lives that were asked: a copy of its last word leaves a later life silent', () => {
    const cell = silentCell();
    bootstrap(cell.node(0));
    cell.settle();
    const go = cell.sent.find((packet) => packet.kind === 'GO' && packet.to === 2);
    cell.node(2).restart();
    if (go) cell.hand(go);
    expect(go).toBeDefined();
    expect(silent(cell)).toEqual([false, false, true]);
  });

  test('binds: with other lives of the rest, a member takes part in no second one', () => {
    const cell = silentCell();
    bootstrap(cell.node(0));
    cell.settle(not((packet) => packet.kind === 'GO' && packet.to === 2));
    cell.drop(ofKind('GO'));
    expect(silent(cell)).toEqual([false, false, true]);
    // The two that vote may have voted, and forget it. The third is silent still, and so all are: but it is bound.
    cell.node(0).restart();
    cell.node(1).restart();
    cell.flying = [];
    expect(silent(cell)).toEqual([true, true, true]);
    cell.node(2).command({ kind: 'bootstrap', lease: 1, waitUs: WAIT_US });
    cell.settle();
    expect(cell.node(2).last('bootstrapped')).toMatchObject({ barred: [{ member: 2, bar: 'bound' }], begun: false });
    expect(silent(cell)).toEqual([true, true, true]);
  });

  test('that loses messages asks again', () => {
    const cell = silentCell();
    bootstrap(cell.node(0));
    cell.drop(to(2));
    cell.settle();
    expect(silent(cell)).toEqual([true, true, true]);
    cell.run(WAIT_US / 2);
    expect(cell.node(0).last('bootstrapped')).toMatchObject({ barred: [], absent: [], begun: true });
  });
});

test('members say how they stand', () => {
  const cell = silentCell(1);
  cell.node(2).down = true;
  cell.node(3).command({ kind: 'status', lease: 1, waitUs: 50_000 });
  cell.run(60_000);
  const { members } = cell.node(3).last('status-told');
  expect(members.map(({ member, incarnation, bar }) => ({ member, incarnation, bar }))).toEqual([
    { member: 0, incarnation: cell.node(0).incarnation, bar: null },
    { member: 1, incarnation: cell.node(1).incarnation, bar: null },
  ]);
  expect(members.every(({ silentForUs }) => silentForUs > 0 && silentForUs <= cell.timing.silenceUs)).toBe(true);
});
