/** What commands print: colours where a person looks (a terminal, and NO_COLOR not set), tables, durations at a glance. */
import { formatDuration, spanUs } from '../kernel/index.ts';

export interface Palette {
  readonly bold: (text: string) => string;
  readonly dim: (text: string) => string;
  readonly red: (text: string) => string;
  readonly green: (text: string) => string;
  readonly yellow: (text: string) => string;
}

/** Colours for a stream; the same functions without colours where they would not be seen. */
export function paletteFor(stream: NodeJS.WriteStream, env: NodeJS.ProcessEnv = process.env): Palette {
  const isColoured = stream.isTTY && !env['NO_COLOR'] && env['TERM'] !== 'dumb';
  const paint =
    (code: number) =>
    (text: string): string =>
      isColoured && text !== '' ? `\x1b[${code}m${text}\x1b[0m` : text;
  return { bold: paint(1), dim: paint(2), red: paint(31), green: paint(32), yellow: paint(33) };
}

/** Rows under each other, columns as wide as their widest cell; the last is not padded. Colours take no room. */
export function table(rows: readonly (readonly string[])[]): string {
  const widths: number[] = [];
  for (const row of rows) for (const [column, cell] of row.entries()) widths[column] = Math.max(widths[column] ?? 0, shownLength(cell));
  const lines = rows.map((row) =>
    row
      .map((cell, column) => cell + ' '.repeat((widths[column] ?? 0) - shownLength(cell)))
      .join('  ')
      .trimEnd(),
  );
  return `${lines.join('\n')}\n`;
}

/** `14.2s`, `350ms`: as exact as a glance wants it. */
export function glance(ms: number): string {
  if (ms >= 60_000) return formatDuration(spanUs(Math.round(ms / 1000) * 1_000_000));
  if (ms >= 1000) return `${(ms / 1000).toFixed(1)}s`;
  return ms >= 10 ? `${Math.round(ms)}ms` : `${ms.toFixed(1)}ms`;
}

/** The metadata of a holder: as text if the bytes are text, otherwise in hexadecimal. */
export function metaText(meta: Uint8Array | null): string | null {
  if (meta === null || meta.length === 0) return null;
  const text = Buffer.from(meta).toString('utf8');
  // oxlint-disable-next-line no-control-regex -- what a stranger wrote must not move the cursor
  return /[\x00-\x1f\x7f-\x9f\ufffd]/.test(text) ? `0x${Buffer.from(meta).toString('hex')}` : text;
}

/** The holder of a lease, for people: its metadata. An incarnation alone must not be taken for the id of a process. */
export function holderText(meta: Uint8Array | null, { incarnation }: { readonly incarnation: number }): string {
  return metaText(meta) ?? `a process that says nothing of itself (incarnation ${incarnation})`;
}

export function printJson(value: unknown): void {
  process.stdout.write(`${JSON.stringify(value)}\n`);
}

function shownLength(text: string): number {
  // oxlint-disable-next-line no-control-regex -- colours are control characters
  return text.replace(/\x1b\[\d+m/g, '').length;
}
