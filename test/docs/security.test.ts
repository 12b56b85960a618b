/** Every "cannot" of docs/security.md names tests and attacks that are there. Which tests of these files show it is told here. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ROOT } from '../support/tree.ts';
import { readPage, rowsOf } from './pages.ts';
import { unshown, type Shown } from './shown.ts';

const ADVERSARIES = 'test/transport/adversaries.test.ts';
const BELIEF = 'test/core/quorum/belief.test.ts';
const ADMISSION = 'test/core/quorum/admission.test.ts';
/** Rows name the attack instead. */
const ATTACKS = 'test/attacks.test.ts';
const GUARDS = 'test/cli/run-guards.test.ts';

const SHOWN: Shown = {
  "get in, or learn the cell's name, members or settings": [
    [ADVERSARIES, 'keeps %s out'],
    [ADVERSARIES, 'comes first: a stranger that has guessed all but %s is told that, and nothing of the cell'],
  ],
  'stop or slow down a member with bytes that are no protocol': [
    [ADVERSARIES, 'are refused: %s'],
    [ADVERSARIES, 'end a handshake wherever they come'],
    ['test/api/bad-input.test.ts', 'bytes that are no peer are refused'],
  ],
  'keep others from connecting by greeting for ever': [
    [ADVERSARIES, 'is dropped after a while when it speaks a byte at a time'],
    [ADVERSARIES, 'gives way to newer ones when there are too many'],
  ],
  'reach a cell without secrets from another machine': [
    [ADVERSARIES, 'no other machine is served'],
    [ADVERSARIES, 'no other machine is dialled'],
  ],
  'start a second member on a directory that is in use': [
    ['test/runtime/data-dir.test.ts', 'serves one process at a time, also one that stands still'],
  ],
  "make a command of tenure run work on under another's lease by killing or stopping any two of tenure run, its switch and its last resort":
    [[GUARDS, 'nothing of a command is left when another begins']],
  'keep a process of a command alive by taking it out of the process group, where the command has a cgroup': [
    [GUARDS, 'in a cgroup, nobody who left the process group is left when another begins'],
    ['test/cli/run-cgroup.test.ts', 'is there while anybody who left the group is'],
  ],
  'release, renew or answer for a lease of another process': [
    [ADMISSION, 'hears no request in the name of another incarnation, whoever sends it'],
    ['test/core/rounds/admission.test.ts', 'hears requests in the name of the incarnation that sends them, and of no other'],
    [ATTACKS, 'anothers-name'],
  ],
  'take over the incarnation of another process, of a member or of a client': [
    [ADVERSARIES, 'cannot take over the incarnation of another process, be it a member or a client'],
    [ADVERSARIES, 'cannot take over an incarnation whose public key it has seen'],
  ],
  "vote, refuse or teach in a member's place": [
    [ADMISSION, 'hears answers from members only'],
    ['test/sim/liars.test.ts', 'harm no honest node of the quorum engine'],
    [ATTACKS, 'forged-answers'],
  ],
  'speak to a service that clients do not have, or that it has not stated': [
    ['test/api/services.test.ts', 'among the clients that sends messages of %s is closed, and the member goes on'],
  ],
  'change the members or the terms of a cell, or keep others from it': [
    [ADMISSION, 'hears of the lease of views what asks, and the rest from members and from whoever knows their secret'],
    ['test/core/quorum/views.test.ts', 'is a member or proves the members’ secret'],
    ['test/core/quorum/views.test.ts', 'takes views from nobody but whoever has its vote to make them'],
  ],
  'end a lease of another by driving the ballots of its name to that edge at members that do not have it': [
    [BELIEF, 'is renewed at a voter that knows nothing of it and was driven to the edge of belief'],
  ],
  'end a silence early, or begin a life of a member': [
    [ADMISSION, 'hears of lives and views from members alone'],
    [ADMISSION, 'ends a silence early for members and for whoever knows their secret'],
  ],
  "begin the disks of claims, copy what members hold, or answer claims in a member's place": [
    ['test/core/intervals/clients.test.ts', 'may look, and with the secret of the members begin; it never speaks as a member'],
    ['test/core/intervals/clients.test.ts', 'claims and withdraws for itself alone'],
    ['test/api/claims-real.test.ts', 'are begun by a client that knows the secret of the members, and by no other'],
  ],
  'stop a cell, a member or a client with a ballot or a clock from the far future': [
    [BELIEF, 'in a %s leaves nothing behind at a member'],
    [BELIEF, 'in an answer moves no asker’s ballots'],
    [BELIEF, 'stops nobody: the next asker has its lease after one round trip'],
    ['test/sim/liars.test.ts', 'harm no honest node of the quorum engine'],
    [ATTACKS, 'far-ballots-to-one'],
  ],
  'starve other names by driving ballots to the edge of that': [[BELIEF, 'is not brought about by a client that goes to the edge of it']],
  'make others believe that a lease lasts longer than the longest term': [[BELIEF, 'lasts no longer than the longest term']],
  'keep others from waiting by waiting often': [
    ['test/core/quorum/limits.test.ts', 'finds a place though another client has all that one client may have'],
    ['test/api/limits.test.ts', 'of places in line is refused at once, and the next process waits and is served'],
  ],
  'slow a member down with waiters or watches': [
    ['test/core/quorum/ticket-order.test.ts', 'looks at few of a hundred thousand when one enters, is asked for and leaves'],
    ['test/kernel/prefix-tree.test.ts', 'reads a name once, however many prefixes there are that do not fit it'],
  ],
  "make a member's memory grow without limit": [['test/docs/limits.test.ts', 'says truly that there is a limit: %s']],
  'keep others waiting by a flood of frames': [[ADVERSARIES, 'is worked on in turns']],
  'slow tables down with names or numbers that it chose': [
    ['test/core/tables/name-table.test.ts', 'are like any others to a table with a key'],
  ],
  'make a member fall silent by what it says of its clock': [
    ['test/api/clock-rates.test.ts', 'clients whose clocks are off make no member fall silent, however many they are'],
    ['test/api/fast-clock.test.ts', 'that is slow costs a client its leases'],
  ],
  'stop the cell with a clock that is far ahead or behind': [
    [BELIEF, 'if it is one member’s and %s, leaves that member out and nobody else'],
  ],
  "connect by itself, or with what it saw of another's handshake": [
    [ADVERSARIES, 'is not proved by saying again what another said'],
    [ADVERSARIES, 'cannot take over an incarnation whose public key it has seen'],
  ],
  'make a member vote by damaged records': [
    ['test/core/quorum/durable.test.ts', 'is not believed: %s'],
    ['test/core/quorum/durable.test.ts', 'makes the member silent, not the process (%s)'],
    ['test/api/disk-failure.test.ts', 'a disk that fails is logged, published, told and thrown at whoever waits'],
  ],
  'stop a member for good with tokens from the far future, which earlier versions let in': [
    [BELIEF, 'whose floor is beyond belief is not gone by, and its member says so'],
    ['test/api/poisoned-dir.test.ts', 'a poisoned directory opens with TENURE_CLOCK_AHEAD; moved away, its member begins anew'],
  ],
};

const page = readPage('docs/security.md');
const tables = page.split(/^(?=\| It cannot )/m).slice(1);
const rows = tables.flatMap((table) => rowsOf(table.split('\n\n')[0] ?? ''));

it('shows every "cannot" by tests that are there', () => {
  const names = rows.map(([what = '']) => what);
  expect(unshown(names, SHOWN)).toEqual([]);
});

it('names the files of these tests in the same row, and only files and attacks that are there', () => {
  const unnamed = rows.flatMap(([what = '', , evidence = '']) =>
    (SHOWN[what] ?? []).filter(([file]) => file !== ATTACKS && !evidence.includes(file)).map(([file]) => `${what}: ${file}`),
  );
  expect(unnamed).toEqual([]);
  const named = [...page.matchAll(/`(test\/[\w./-]+)`/g)].map(([, path = '']) => path);
  expect(named.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
  const attacks = [...page.matchAll(/`npm run attack -- ([\w-]+)`/g)].map(([, name = '']) => `bench/attacks/${name}.mjs`);
  expect(attacks.length).toBeGreaterThan(5);
  expect(attacks.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
});
