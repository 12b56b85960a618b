/** What is broken is noticed and stops a member: disks that fail or are of another shape, numbers with which counting would never end. */
import { describe, expect, it } from 'vitest';
import { incarnation, nodeId, NEVER } from '../../../src/kernel/index.ts';
import { ConsensusCore, type ConsensusMessage } from '../../../src/core/index.ts';
import { checkConsensusConfig } from '../../../src/core/consensus/config.ts';
import { ConsensusLedger } from '../../../src/core/consensus/ledger.ts';
import { instanceBytes, memberBytes, memberRecord } from '../../../src/core/consensus/records.ts';
import { CONFIG } from './group.ts';
import { BOOT, DONE, LAMBDA, Recorder } from './recorder.ts';

const vote = { round: 0, ts: 0, isDecided: false, value: new Uint8Array(1) };

describe('a disk of leases that fails', () => {
  it('takes the whole member down: as a leader it would wait for ever for its lease, and all others for it', () => {
    const { core, step, ops, events, sent } = new Recorder();
    expect(core.standing).toBe('voting');
    expect([...ops.keys()]).toEqual(['consensus/member', 'leases/head']);
    core.completed({ ...DONE, op: ops.get('leases/head') as number, ok: false }, step);
    expect(core.standing).toBe('failed');
    expect(core.wakeAt).toBe(NEVER);
    expect(events.at(-1)).toEqual({ kind: 'standing', standing: 'failed', bound: 0 });
    sent.length = 0;
    core.command({ kind: 'propose', instance: 1, value: new Uint8Array(1) }, step);
    core.receive(nodeId(1), { lane: 2, message: { kind: 'begin', instance: 1, round: -1 } }, step);
    core.completed({ ...DONE, op: ops.get('consensus/member') as number }, step);
    core.wake(step);
    expect(sent).toEqual([]);
  });
});

describe('a disk of leases that was lost', () => {
  it('gives no lease again that the member may have given: up to the bound of its votes and two of the largest leases', () => {
    const recorder = new Recorder({ restarted: true });
    const { core, step, sent } = recorder;
    const bound = 20 + CONFIG.window;
    for (const from of [1, 2]) core.receive(nodeId(from), { lane: 2, message: { kind: 'told', life: BOOT.incarnation, bound: 20 } }, step);
    recorder.settle();
    expect(core.standing).toBe('abstaining');
    const answerTo = (counter: number, from: number): string | undefined => {
      sent.length = 0;
      const lease = { kind: 'lease', space: 'instances', incarnation: incarnation(9), counter, from, to: from, closed: 0 } as const;
      core.receive(nodeId(1), { lane: 1, message: lease }, step);
      recorder.settle();
      return sent.at(-1)?.kind;
    };
    expect(answerTo(1, bound + 2 * LAMBDA)).toBe('nack');
    expect(answerTo(2, bound + 2 * LAMBDA + 1)).toBe('ack');
  });
});

describe('a disk of votes', () => {
  /** What a ledger of so many places makes of a disk. */
  function read(places: number, disk: ReadonlyMap<string, Uint8Array>): { hasFailed: boolean; bound: number | null | undefined } {
    const reads: { key: string; op: number }[] = [];
    const step = { read: (_unit: number, key: string, op: number) => void reads.push({ key, op }), write: (): void => undefined };
    const ledger = new ConsensusLedger<typeof step>(places, () => undefined);
    ledger.read(step);
    let bound: number | null | undefined;
    for (const { key, op } of reads) bound = ledger.completed({ ...DONE, op, value: disk.get(key) ?? null }, step)?.bound;
    return { hasFailed: ledger.hasFailed, bound };
  }

  const voted = new Map(Array.from({ length: 4 }, (_, i) => [`consensus/${i + 1}`, instanceBytes({ instance: i + 1, ...vote })]));

  it('is read with as many places as it was written with, or not at all: votes in the others would be forgotten', () => {
    const disk = new Map([...voted, ['consensus/member', memberBytes({ places: 12, bound: 3 })]]);
    expect(read(12, disk)).toEqual({ hasFailed: false, bound: 3 });
    expect(read(8, disk).hasFailed).toBe(true);
    expect(read(16, disk).hasFailed).toBe(true);
  });

  it('has forgotten if the record of the member is not there, whatever else is', () => {
    expect(read(12, voted)).toEqual({ hasFailed: false, bound: null });
  });

  it('does not take the record of an instance for that of the member, nor one that is damaged', () => {
    expect(memberRecord(instanceBytes({ instance: 12, ...vote }))).toBeNull();
    const damaged = memberBytes({ places: 12, bound: 3 });
    damaged[damaged.length - 1] = 1;
    expect(memberRecord(damaged)).toBeNull();
    expect(read(12, new Map([...voted, ['consensus/member', damaged]])).hasFailed).toBe(true);
  });

  it('is damaged if a vote is, or is in a place that is not its own', () => {
    const member = memberBytes({ places: 12, bound: 0 });
    const bytes = instanceBytes({ instance: 5, ...vote });
    expect(
      read(
        12,
        new Map([
          ['consensus/member', member],
          ['consensus/5', bytes],
        ]),
      ).hasFailed,
    ).toBe(false);
    expect(
      read(
        12,
        new Map([
          ['consensus/member', member],
          ['consensus/6', bytes],
        ]),
      ).hasFailed,
    ).toBe(true);
    expect(
      read(
        12,
        new Map([
          ['consensus/member', member],
          ['consensus/5', bytes.slice(0, -1)],
        ]),
      ).hasFailed,
    ).toBe(true);
  });

  it('needs repetition: without it decisions from far ahead would take the places of votes', () => {
    expect(() => checkConsensusConfig({ ...CONFIG, retryUs: null })).toThrow('only members that never come back');
    expect(() => checkConsensusConfig({ ...CONFIG, keeps: 'crash-stop', retryUs: null })).not.toThrow();
  });
});

it('numbers near the end of all integers are not heard', () => {
  const core = new ConsensusCore(CONFIG, BOOT);
  const most = Number.MAX_SAFE_INTEGER;
  const heard = (message: ConsensusMessage): boolean =>
    core.admits({ node: nodeId(1), incarnation: incarnation(2), isAdmin: true }, message);
  const beat = { kind: 'heartbeat', life: incarnation(2), decided: 1, votesFrom: most, counts: [0, 1] } as const;
  const value = new Uint8Array(0);
  expect(heard(beat)).toBe(true);
  expect(heard({ ...beat, counts: [0, most] })).toBe(false);
  expect(heard({ ...beat, decided: most })).toBe(false);
  for (const kind of ['ack', 'nack', 'abort', 'round', 'begin'] as const) {
    expect(heard({ kind, instance: 1, round: 7 })).toBe(true);
    expect(heard({ kind, instance: 1, round: most })).toBe(false);
    expect(heard({ kind, instance: most, round: 1 })).toBe(false);
  }
  for (const kind of ['decide', 'newestimate'] as const) expect(heard({ kind, instance: 1, round: most, value })).toBe(false);
  expect(heard({ kind: 'estimate', instance: 1, round: most, ts: 0, value })).toBe(false);
  expect(heard({ kind: 'gone', instance: 9 })).toBe(true);
  expect(heard({ kind: 'gone', instance: most })).toBe(false);
  expect(heard({ kind: 'ask', life: incarnation(2) })).toBe(true);
  expect(heard({ kind: 'told', life: incarnation(1), bound: 5 })).toBe(true);
  expect(heard({ kind: 'told', life: incarnation(1), bound: most })).toBe(false);
});
