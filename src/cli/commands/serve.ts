/** `tenure serve`: one member of a cell as a daemon, from its start through its silence to a graceful stop. */
import { Command, Option } from 'commander';
import type { Logger } from 'pino';
import { nodeOf } from '../../api/cell/cell.ts';
import { joinCell, observe, type Cell, type JoinOptions } from '../../api/index.ts';
import { formatDuration, spanUs, TenureError } from '../../kernel/index.ts';
import { addMemberOptions, asMember, findSettings, type CellFlags } from '../config.ts';
import { engineOf } from '../engine-of.ts';
import { EXIT, exitCodeOf } from '../exit-codes.ts';
import { LOG_LEVELS, openLog, type LogFormat, type LogLevel } from '../log.ts';
import { looseMode } from '../loose-modes.ts';
import { packageVersion } from '../package-version.ts';
import { ReadyFile } from '../ready-file.ts';
import { StatusLine } from '../status-line.ts';
import { stopSignals, type StoppedBySignal } from '../stop-signals.ts';

interface ServeFlags extends CellFlags {
  readonly logFormat?: LogFormat;
  readonly json?: boolean;
  readonly logLevel: LogLevel;
  readonly readyFile?: string;
  readonly history?: string;
}

/** A log that says nothing for long looks like a hang; so often the silence is told of. */
const SILENCE_LOG_MS = 5000;
const SILENCE_LINE_MS = 200;
/** Held leases are given back; an absent majority is not waited for longer. */
const CLOSE_MS = 5000;

export function serveCommand(setExit: (code: number) => void): Command {
  return addMemberOptions(
    new Command('serve')
      .summary('be a member of a cell')
      .description(
        'Runs one member of a cell until SIGTERM or SIGINT; SIGHUP reads the view in the config file anew, and stops one without such a file. A member that starts keeps silent for about the longest term (--max-term): it\n' +
          'cannot know what it voted before. Restart one member at a time, and wait until it says that it is ready.',
      ),
  )
    .addOption(new Option('--log-format <format>', 'text or json (default: text on a terminal, json elsewhere)').choices(['text', 'json']))
    .addOption(new Option('--json', 'the same as --log-format json; errors before there is a log are JSON too').conflicts('logFormat'))
    .addOption(new Option('--log-level <level>', 'how much to log').choices(LOG_LEVELS).default('info'))
    .option('--ready-file <file>', 'a file that is there while this member votes, and takes its part in broadcast, for probes')
    .option('--history <file>', 'write what happens to this member into a file that tenure check can judge')
    .addHelpText(
      'after',
      `
Examples:
  tenure init                                       writes tenure.yaml and two secrets
  tenure serve --config tenure.yaml --self a        and so for b and c, on their machines
  tenure serve --cell orders --self a --members a=10.0.0.1:4600,b=10.0.0.2:4600,c=10.0.0.3:4600 \\
      --listen 0.0.0.0:4600 --secret-file member.secret --client-secret-file client.secret

Files for systemd, Kubernetes and Docker are in deploy/.

Exit codes: 0 stopped by a signal, 70 it broke one of its own rules, 71 the disk is full or a name does not resolve yet, 77 not allowed,
78 bad configuration, the port is taken, or it is no member any more.`,
    )
    .action(async (flags: ServeFlags) => {
      setExit(await serve(flags));
    });
}

async function serve(flags: ServeFlags): Promise<number> {
  const found = await findSettings(flags);
  const options = asMember(found);
  // A log without a reader, or that no longer fits on a disk, is no reason to stop voting.
  process.stdout.removeAllListeners('error').on('error', () => {});
  const line = new StatusLine();
  const format = flags.logFormat ?? (flags.json !== true && process.stdout.isTTY ? 'text' : 'json');
  const log = openLog(format, flags.logLevel, () => line.clear());
  const own = log.child({ cell: options.cell, node: options.self });
  const ready = new ReadyFile(flags.readyFile);
  // A configuration file is read anew.
  const stop = stopSignals(found.file === undefined ? ['SIGINT', 'SIGTERM', 'SIGHUP'] : ['SIGINT', 'SIGTERM']);
  try {
    const silenceMs = tellOptions(options, own);
    const cell = await joinCell({ ...options, logger: log, ...(flags.history === undefined ? {} : { history: flags.history }) });
    const failed = new AbortController();
    follow(cell, ready, failed, own);
    const reread = rereadOn(flags, cell, own);
    const { secretFile, clientSecretFile } = found.settings;
    for (const path of [secretFile, clientSecretFile, options.dataDir]) {
      const loose = path === undefined ? null : looseMode(path);
      if (loose !== null) own.warn({ path }, loose);
    }
    own.info({ address: options.listen ?? options.members[options.self] }, 'listening');
    const silence = new SilenceNews(cell, silenceMs, own, line);
    await aborted(AbortSignal.any([stop.signal, failed.signal]));
    silence.end();
    ready.remove();
    reread.end();
    if (failed.signal.aborted) return exitOf(failed.signal.reason);
    own.info({ signal: (stop.signal.reason as StoppedBySignal).signal }, 'stopping: giving back what is held');
    await Promise.race([cell.close(), new Promise((resolve) => setTimeout(resolve, CLOSE_MS).unref())]);
    own.info('stopped');
    return EXIT.ok;
  } catch (error) {
    if (!(error instanceof TenureError)) throw error;
    own.fatal({ code: error.code }, error.message);
    return exitCodeOf(error);
  } finally {
    line.clear();
    ready.remove();
    stop.disarm();
  }
}

/** A member that was removed says so with the code for that; whatever else ends it is its own doing. */
function exitOf(reason: unknown): number {
  return reason instanceof TenureError && reason.code === 'TENURE_REMOVED' ? exitCodeOf(reason) : EXIT.internal;
}

/** SIGHUP: the view in the configuration file is what the next start begins with, so the cell need not wait for this member any more. */
function rereadOn(flags: ServeFlags, cell: Cell, log: Logger): { end: () => void } {
  const reread = async (): Promise<void> => {
    try {
      const { settings } = await findSettings(flags);
      if (settings.view === undefined) return log.info('the configuration was read anew: it has no view');
      cell.takeView(settings.view);
      log.info({ view: settings.view }, 'the configuration was read anew, with the view in it');
    } catch (error) {
      log.error({}, error instanceof Error ? error.message : String(error));
    }
  };
  const onSignal = (): void => void reread();
  process.on('SIGHUP', onSignal);
  return { end: () => void process.off('SIGHUP', onSignal) };
}

/** All timing follows from a few settings; it is logged once, so that the operator need not guess it later. Answers with the silence in milliseconds. */
function tellOptions(options: JoinOptions, log: Logger): number {
  const { text: engine, timing } = engineOf(options);
  log.info(
    {
      members: options.members,
      engine,
      maxTerm: formatDuration(spanUs(timing.maxTermUs)),
      silence: formatDuration(timing.silenceUs),
      secrets: [options.secret ? 'members' : null, options.clientSecret ? 'clients' : null].filter((who) => who !== null),
      pid: process.pid,
      version: packageVersion(),
      runtime: `node ${process.version}`,
    },
    'starting',
  );
  return timing.silenceUs / 1000;
}

/** The cell logs what happens to it; here is what the process around it does about that. */
function follow(cell: Cell, ready: ReadyFile, failed: AbortController, log: Logger): void {
  const look = (): void => {
    const isReady = cell.state === 'ready' || cell.state === 'degraded';
    try {
      if (isReady && nodeOf(cell).services.isReady) ready.write();
      else ready.remove();
    } catch (error) {
      // Probes will say that this member does not vote; it does.
      log.error({}, error instanceof Error ? error.message : String(error));
    }
  };
  cell.on('state', look);
  // Where the next member is stopped before this one takes its part again, a log without disks may lose its memory.
  observe('tenure:broadcast:standing', look);
  observe('tenure:broadcast:stopped', look);
  // A service beside leases that has failed is logged; leases go on.
  cell.on('failure', (error) => {
    if (error.details['service'] === undefined) failed.abort(error);
  });
  cell.on('warning', ({ code, message }) => {
    if (code === 'TENURE_CLOCK_SKEW' || code === 'TENURE_CLOCK_AHEAD') log.warn({ code }, message);
  });
}

/** Tells of the silence while it lasts: a line that moves on a terminal, now and then a line in a log. */
class SilenceNews {
  readonly #timer: NodeJS.Timeout;

  constructor(cell: Cell, silenceMs: number, log: Logger, line: StatusLine) {
    this.#timer = setInterval(
      () => {
        const leftMs = cell.silentForMs;
        // Without a majority the state says so; the silence goes on all the same.
        if (leftMs === 0 || leftMs === Infinity) this.end();
        else if (line.isShown) line.bar(1 - leftMs / silenceMs, `silent for ${(leftMs / 1000).toFixed(1)} s more`);
        else log.info({ leftMs: Math.round(leftMs) }, `silent for ${Math.ceil(leftMs / 1000)} s more`);
        if (leftMs === 0 || leftMs === Infinity) line.clear();
      },
      line.isShown ? SILENCE_LINE_MS : SILENCE_LOG_MS,
    );
  }

  end(): void {
    clearInterval(this.#timer);
  }
}

/** Also keeps the process: a cell does not. */
function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const kept = setInterval(() => {}, 3_600_000);
    const end = (): void => {
      clearInterval(kept);
      resolve();
    };
    if (signal.aborted) end();
    else signal.addEventListener('abort', end, { once: true });
  });
}
