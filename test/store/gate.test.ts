/** The gate before a store. */
import { expect, test } from 'vitest';
import { Gate } from '../../src/store/gate.ts';

test('who tries again at once while accesses fail at once does not keep the process from its other work', async () => {
  const gate = new Gate('memory:');
  let isMended = false;
  setImmediate(() => (isMended = true));
  const access = async (): Promise<string> =>
    await gate.ask({}, async () => {
      if (!isMended) throw new Error('the connection is gone, and nobody has heard yet');
      return 'answer';
    });
  let answer: string | null = null;
  for (let tries = 0; tries < 1000 && answer === null; tries++) answer = await access().catch(() => null);
  expect(answer).toBe('answer');
});
