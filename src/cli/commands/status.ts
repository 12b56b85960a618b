/** `tenure status`: how a cell looks from here: which members are reached, how far they are, how wrong their clocks are. */
import { Command } from 'commander';
import type { Cell } from '../../api/index.ts';
import { quorumOf } from '../../kernel/index.ts';
import { addCellOptions, clientConfig, type CellFlags } from '../config.ts';
import { inWords, openCell } from '../connection.ts';
import { EXIT } from '../exit-codes.ts';
import { glance, paletteFor, printJson, table } from '../terminal.ts';
import { viewLine } from './members-ls.ts';

interface StatusFlags extends CellFlags {
  readonly json?: boolean;
}

/** Round trips are measured with the first pings; so long they are waited for. */
const MEASURE_MS = 1500;
const LOOK_MS = 25;

export function statusCommand(setExit: (code: number) => void): Command {
  return addCellOptions(
    new Command('status')
      .summary('show the members of a cell')
      .description(
        'Connects to every member and prints which members are reached, which vote and which are still silent after their\nstart, the round trip to each and how far its wall clock is from ours.',
      )
      .option('--json', 'print one JSON object'),
  )
    .addHelpText(
      'after',
      `
Examples:
  tenure status
  tenure status --json | jq -r '.members[] | select(.connected | not) | .id'

Exit codes: 0 leases can be granted, 69 they cannot: no majority of the members is reached and votes; 77 not allowed, 78 bad configuration.`,
    )
    .action(async (flags: StatusFlags) => {
      const { cell: name, members: addresses } = await clientConfig(flags);
      const cell = await openCell(flags, { needs: 'member' });
      await measured(cell);
      const standings = await cell.status();
      const { view } = cell;
      const members = cell.members().map(({ id, number, address, joins, leaves, stats, pace }, member) => ({
        id,
        address: addresses[id] ?? address,
        connected: stats?.connected ?? false,
        silentForMs: finite(standings[member]?.silentForMs),
        votes: mayVote(standings[member]),
        isNoting: standings[member]?.isNoting ?? false,
        rttMs: milliseconds(stats?.rttUs),
        offsetMs: milliseconds(stats?.offsetUs),
        pace,
        claims: standings[member]?.claims ?? null,
        broadcast: standings[member]?.broadcast ?? null,
        number,
        joins,
        leaves,
        storedView: standings[member]?.storedView ?? null,
        error: stats?.connected ? null : inWords(stats?.lastError ?? 'no answer yet'),
      }));
      const { engine } = cell;
      await cell.close();
      const reached = members.filter(({ connected }) => connected).length;
      const majority = quorumOf(members.length);
      if (flags.json) printJson({ cell: name, engine, majority, reached, view, members });
      else print(name, engine, members, reached, majority, standings);
      if (!flags.json && view && view.epoch > 0) process.stdout.write(`${viewLine(view)}\n`);
      setExit(canGrant(members, majority) ? EXIT.ok : EXIT.noQuorum);
    });
}

/** Members of some engines do not say whether they vote: those count as if they did. */
function mayVote(standing: Standing | undefined): boolean {
  return standing?.reached === true && (standing.silentForMs === 0 || standing.silentForMs === null);
}

function canGrant(members: readonly MemberStatus[], majority: number): boolean {
  return members.filter(({ connected, votes }) => connected && votes).length >= majority;
}

type CellStatus = Awaited<ReturnType<Cell['status']>>[number];
type Standing = Pick<CellStatus, 'id' | 'reached' | 'silentForMs'>;

interface MemberStatus {
  readonly id: string;
  readonly address: string;
  readonly connected: boolean;
  /** 0 for a member that votes; null if it did not answer, is silent for ever because its disk failed, or its engine does not tell. */
  readonly silentForMs: number | null;
  readonly votes: boolean;
  /** It waits for other members to note this start of it; its silence begins then. */
  readonly isNoting: boolean;
  readonly rttMs: number | null;
  readonly offsetMs: number | null;
  readonly pace: 'unknown' | 'alike' | 'faster' | 'slower';
  /** How far the disk is that it answers claims from. */
  readonly claims: CellStatus['claims'];
  /** How far it is in broadcast; null where broadcast was never used. */
  readonly broadcast: CellStatus['broadcast'];
  readonly error: string | null;
}

/** Until every member is reached and measured, or it has taken long enough. */
async function measured(cell: Cell): Promise<void> {
  const endMs = performance.now() + MEASURE_MS;
  const isWhole = (): boolean => cell.members().every(({ stats }) => stats?.connected && stats.rttUs !== null);
  while (!isWhole() && performance.now() < endMs) await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
}

function print(
  name: string,
  engine: string,
  members: readonly MemberStatus[],
  reached: number,
  majority: number,
  standings: readonly Standing[],
): void {
  const { bold, dim, green, red, yellow } = paletteFor(process.stdout);
  const answered = new Set(standings.filter(({ reached: isReached }) => isReached).map(({ id }) => id));
  // Members of some engines do not say how they stand.
  const isTold = standings.every((one) => !one.reached || one.silentForMs !== null);
  const verdict =
    reached === members.length ? green('all members reached') : reached >= majority ? yellow('a majority is reached') : red('no majority');
  const voting = members.filter(({ connected, votes }) => connected && votes).length;
  const grants =
    reached >= majority && voting < majority
      ? `, ${red('nothing can be granted yet')}: ${voting} of them ${voting === 1 ? 'votes' : 'vote'}`
      : '';
  process.stdout.write(
    `cell ${bold(name)}: ${verdict}, ${reached} of ${members.length} (majority ${majority})${isTold ? '' : `, engine ${engine}`}${grants}\n`,
  );
  const hasClaims = members.some(({ claims }) => claims !== null);
  const hasBroadcast = members.some(({ broadcast }) => broadcast !== null);
  const services = [...(hasClaims ? ['CLAIMS'] : []), ...(hasBroadcast ? ['BROADCAST'] : [])];
  const head = ['MEMBER', 'ADDRESS', 'STATE', ...services, 'ROUND TRIP', 'CLOCK'].map(dim);
  const rows = members.map(({ id, address, connected, silentForMs, isNoting, rttMs, offsetMs, pace, claims, broadcast, error }) => [
    bold(id),
    address,
    !connected
      ? red('down')
      : silentForMs === 0
        ? green('votes')
        : isNoting
          ? yellow('waits to be noted by others')
          : silentForMs !== null
            ? yellow(`silent for ${glance(silentForMs)}`)
            : isTold && answered.has(id)
              ? yellow('silent')
              : green('reached'),
    ...(hasClaims ? [claimsText(claims)] : []),
    ...(hasBroadcast ? [broadcastText(broadcast)] : []),
    rttMs === null ? '-' : glance(rttMs),
    connected ? clockText(offsetMs, pace) : dim(error ?? ''),
  ]);
  process.stdout.write(table([head, ...rows]));
}

/** What a member that joins has of the others. */
function claimsText(claims: MemberStatus['claims']): string {
  const { green, yellow, red } = paletteFor(process.stdout);
  if (claims === null) return '-';
  const { phase, noted, copied, needed } = claims;
  if (phase === 'ready') return green(phase);
  if (phase === 'failed') return red(phase);
  return yellow(phase === 'joining' ? `joining, noted ${noted} and copied ${copied} of ${needed}` : phase);
}

/** Up to which position it has the log. */
function broadcastText(broadcast: MemberStatus['broadcast']): string {
  const { green, yellow, red } = paletteFor(process.stdout);
  if (broadcast === null) return '-';
  const { standing, last } = broadcast;
  const text = `${standing}, at ${last}`;
  if (standing === 'ready') return green(text);
  return standing === 'failed' ? red(standing) : yellow(text);
}

function clockText(offsetMs: number | null, pace: MemberStatus['pace']): string {
  const offset = offsetMs === null ? '-' : `${offsetMs < 0 ? '-' : '+'}${glance(Math.abs(offsetMs))}`;
  return pace === 'faster' || pace === 'slower' ? `${offset}, runs ${pace} than ours` : offset;
}

function finite(ms: number | null | undefined): number | null {
  return ms !== null && ms !== undefined && Number.isFinite(ms) ? Math.round(ms) : null;
}

function milliseconds(us: number | null | undefined): number | null {
  return us === null || us === undefined ? null : us / 1000;
}
