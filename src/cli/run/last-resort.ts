/**
 * The last resort as a kind of guard: a shell that kills the command at its time if it is told of no later one, whatever has
 * become of `tenure run` and the switch, and at once when both are gone. It is no Node, so that nothing which befalls Node
 * befalls all guards, and it gives no grace.
 */
import { spawn } from 'node:child_process';
import { existsSync, lstatSync, readFileSync } from 'node:fs';
import type { GuardKind } from './guard.ts';
import { ACTS, FIRED, machineMonoMs, type Order } from './orders.ts';

const SHELL = '/bin/sh';
const SETPRIV = '/usr/bin/setpriv';
const CS_PER_S = 100;
const MS_PER_CS = 10;
/** The kernel shows this clock in hundredths of a second; it also counts while the machine sleeps. */
const CLOCK = '/proc/uptime';

/**
 * Shells can wait for a line or for a time, not for both: timeout(1) does, and without it only the end of the input counts. A line
 * that timeout cut in two does not begin with `until`, and is dropped. A guard that was stopped first reads the lines that came
 * meanwhile. A group is killed only if it is the group that was meant, and again while a process is left.
 */
const SCRIPT = `trap "" HUP INT QUIT PIPE TERM USR1 USR2 TSTP TTIN TTOU
group=$1 born=$2 cgroup=$3 number=$4 until=$5
clock() { read -r now rest < ${CLOCK}; now=\${now%.*}\${now#*.}; }
kill_all() {
  none=1
  if [ -n "$cgroup" ]; then
    echo 1 > "$cgroup/cgroup.kill"
    read -r word populated < "$cgroup/cgroup.events" && [ "$populated" = 1 ] && none=0
  fi
  if read -r line < "/proc/$group/stat"; then
    set -- \${line##*) }
    [ "\${20}" = "$born" ] || return "$none"
  fi
  kill -9 -"$group" && none=0
  return "$none"
}
fire() {
  echo ${ACTS}
  tries=0
  while [ "$tries" -lt 50 ] && kill_all; do
    tries=$((tries + 1))
    sleep 0.02
  done
  [ -z "$cgroup" ] || rmdir "$cgroup"
  exit ${FIRED}
}
echo "$number"
while :; do
  clock
  left=$((until - now))
  [ "$left" -ge 3 ] || left=3
  part=$((left % 100))
  [ "$part" -ge 10 ] || part=0$part
  line=$(timeout -s KILL "$((left / 100)).$part" ${SHELL} -c 'read -r line && echo "$line"')
  case $? in
    0) ;;
    1) fire ;;
    127) read -r line || fire ;;
    *) line='' ; clock; [ "$now" -lt "$until" ] || fire ;;
  esac
  case $line in
    'until '*) line=\${line#* } number=\${line% *} until=\${line#* }; echo "$number" ;;
    done) exit 0 ;;
  esac
done`;

/** Where the kernel does not show processes, or there is no shell, there is none: null. */
export function lastResort({ born }: Pick<Order, 'born'>): GuardKind | null {
  if (born === null || !existsSync(SHELL)) return null;
  return {
    name: 'last resort',
    farewell: 'done\n',
    line: (order) => `until ${order.number} ${untilCs(order)}`,
    start(order, start) {
      const words = [order.group, born, order.cgroup ?? '', order.number, untilCs(order)].map(String);
      const shell = [SHELL, '-c', SCRIPT, 'sh', ...words];
      // If it is stopped when `tenure run` is killed, the kernel lets it go on. Should setpriv not know how, a second start does without.
      const [file = '', ...args] = start === 1 && hasSetpriv() ? [SETPRIV, '--pdeathsig', 'CONT', ...shell] : shell;
      // Its programs are found where systems have them: a user's own `timeout`, or a PATH without one, would take its clock away.
      const PATH = ['/usr/bin', '/bin', process.env['PATH'] ?? ''].join(':');
      return spawn(file, args, { detached: true, cwd: '/', env: { PATH }, stdio: ['pipe', 'pipe', 'ignore'] });
    },
  };
}

/** When it is to kill, on the clock that a shell can read: a hundredth early, because that clock stands still for as long. */
function untilCs({ killAtMonoMs }: Order): number {
  const nowCs = Math.floor(Number.parseFloat(readFileSync(CLOCK, 'latin1')) * CS_PER_S);
  return nowCs - 1 + Math.floor((killAtMonoMs - machineMonoMs()) / MS_PER_CS);
}

/** Busybox has a setpriv that knows nothing of parents; there it is a link. */
function hasSetpriv(): boolean {
  return lstatSync(SETPRIV, { throwIfNoEntry: false })?.isFile() === true;
}
