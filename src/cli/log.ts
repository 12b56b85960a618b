/**
 * The log of a daemon: JSON lines (pino) for machines, one readable line each for a person at a terminal. It goes to standard
 * output, because some platforms take every line on standard error for an error.
 */
import { pino, type Logger } from 'pino';
import { paletteFor } from './terminal.ts';

export type LogFormat = 'json' | 'text';

/** The levels there are, the quietest first. */
export const LOG_LEVELS = ['silent', 'fatal', 'error', 'warn', 'info', 'debug', 'trace'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** The bytes that may wait for a reader that does not read, at most. */
const QUEUE_BYTES_MAX = 1024 * 1024;

/** Fields that are the same in every line of one process. */
const OWN_FIELDS = new Set(['level', 'time', 'msg', 'cell', 'node']);

export function openLog(format: LogFormat, level: LogLevel, beforeLine: () => void): Logger {
  const options = {
    level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
  };
  const write = format === 'json' ? (line: string) => line : readable;
  let leftOut = 0;
  const log = pino(options, {
    write: (line: string) => {
      if (process.stdout.writableLength > QUEUE_BYTES_MAX) {
        leftOut++;
        return;
      }
      beforeLine();
      process.stdout.write(write(line));
      if (leftOut === 0) return;
      const lines = leftOut;
      leftOut = 0;
      log.warn({ lines }, 'lines are missing here: nobody read the log fast enough');
    },
  });
  return log;
}

/** `12:34:56.789 info  ready  members=3` */
function readable(line: string): string {
  const { bold, dim, red, yellow } = paletteFor(process.stdout);
  const record = JSON.parse(line) as Record<string, unknown>;
  const level = String(record['level']);
  const paint = level === 'info' ? bold : level === 'warn' ? yellow : level === 'error' || level === 'fatal' ? red : dim;
  const time = dim(String(record['time']).slice(11, 23));
  const fields = Object.entries(record).flatMap(([name, value]) =>
    OWN_FIELDS.has(name) ? [] : [`${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`],
  );
  return `${time} ${paint(level.padEnd(5))} ${String(record['msg'])}${fields.length > 0 ? `  ${dim(fields.join(' '))}` : ''}\n`;
}
