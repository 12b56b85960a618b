/** What a member says and hears of its own life, before it has one. */
import { expect, test } from 'vitest';
import { NOTED, QuorumMessage } from '../../../src/core/index.ts';
import { incarnation, nodeId } from '../../../src/kernel/index.ts';
import { Cell, ofKind, TERM_US } from './cell.ts';

test('a member that still reads its disk has no life that another could have outbid, whatever it is told', () => {
  const cell = new Cell({ keeps: 'votes', succession: 'majority' });
  cell.settle();
  const member = cell.node(0);
  member.acquire();
  cell.settle();
  member.diskHangs = true;
  member.restart();
  const word = new QuorumMessage();
  Object.assign(word, { kind: NOTED, owner: incarnation(member.incarnation), lease: 0, flags: 0, print: 0, life: 0 });
  word.noName();
  for (const from of [1, 2]) member.core.receive(nodeId(from), word, cell.step(member));
  member.wake();
  cell.settle(ofKind('NOTE', 'NOTED'));
  expect(member.events).toEqual([]);
  member.diskHangs = false;
  member.answerDisk();
  cell.run(TERM_US / 10, ofKind('NOTE', 'NOTED'));
  expect(member.last('ready').restored).toBe(1);
});
