/** Every row of what remains in docs/run.md, and of what ends a command whose guards are lost, is shown by tests. */
import { expect, it } from 'vitest';
import { namesIn, readPage, sectionOf } from './pages.ts';
import { unshown, type Shown } from './shown.ts';

const GUARDS = 'test/cli/run-guards.test.ts';
const LOST = 'test/cli/run-lost.test.ts';
const PROGRAMS = 'test/cli/run-programs.test.ts';
const PLACES = 'test/cli/last-resort-places.test.ts';

const page = readPage('docs/run.md');

const REMAINS: Shown = {
  'a process left the group (setsid, a daemon), and there is no cgroup': [[GUARDS, 'in a process that left the group, without a cgroup']],
  "a process was started by somebody else on the command's behalf (docker run, at, systemd-run)": [
    [GUARDS, 'in a process that somebody else has started on its behalf'],
  ],
  'tenure run, the switch and the last resort are all *stopped*, or all *killed*, or the last two of them stopped after tenure run was killed':
    [
      [GUARDS, 'after tenure run and all its guards were stopped'],
      [GUARDS, 'after tenure run and all its guards were killed'],
      [GUARDS, 'after tenure run was killed, and then those of its guards that were left were stopped'],
    ],
  'tenure run and the switch are both killed or stopped, and there is no last resort: not on Linux, or no /bin/sh': [
    [PROGRAMS, 'is nowhere where a group has no birthday'],
    [GUARDS, 'after tenure run and all its guards were killed'],
  ],
  'one of the two is stopped, and Linux has no timeout': [[PLACES, 'knows the end of its input only where there is no timeout(1)']],
  'a process of another user (sudo), without a cgroup': [[PLACES, 'cannot kill a process of another user']],
  "a process in the kernel's hands (state D, a dead NFS server)": [
    [PLACES, 'cannot end what is in the hands of the kernel, which does nothing of its own any more'],
  ],
  'the machine slept or was paused for longer than the lease': [
    [PROGRAMS, 'kills when %s has come, whatever the other clock says'],
    [LOST, 'is killed when all awake after the end of the lease, and the code says that it was lost'],
  ],
  'the machine is so busy that no guard runs for three quarters of the margin': [
    [GUARDS, 'after tenure run and all its guards were stopped'],
  ],
};

const ENDS: Shown = {
  'tenure run is killed, by kill -9 or for want of memory': [
    [LOST, 'is told to stop by the switch if tenure run is killed'],
    [LOST, 'when tenure run is killed'],
  ],
  'tenure run is stopped or hangs': [
    [LOST, 'when tenure run is stopped'],
    [LOST, 'that the switch told to stop while tenure run was stopped has lost its lease'],
  ],
  'tenure run and the switch are killed (killall -9 node)': [
    [LOST, 'when tenure run and its switch are killed at the same moment'],
    [PROGRAMS, 'kills when its input ends, at start %d'],
  ],
  'one of tenure run and the switch is killed and the other is stopped, or both are stopped': [
    [GUARDS, 'nothing of a command is left when another begins'],
    [PROGRAMS, 'kills at its time though its input is open'],
  ],
  'tenure run and the last resort are killed or stopped, in any combination': [
    [GUARDS, 'nothing of a command is left when another begins'],
  ],
  'the switch and the last resort are stopped, then tenure run is killed': [[GUARDS, 'the kernel lets the last resort go on']],
  'a guard is killed': [[GUARDS, 'is replaced: %s']],
  'a guard is stopped or hangs': [[GUARDS, 'is replaced: %s']],
  'no switch can be started': [['test/cli/run-start.test.ts', 'a command whose switch cannot be started is ended, and the code says so']],
};

it('what remains is shown by tests', () => {
  expect(unshown(namesIn(sectionOf(page, 'What remains')), REMAINS)).toEqual([]);
});

it('what ends the command is shown by tests', () => {
  expect(unshown(namesIn(sectionOf(page, 'If tenure run itself dies')), ENDS)).toEqual([]);
});
