/** A terminal as a picture that is drawn again and again: the sequences that take it over, redraw it in place and give it back. */

export const ALTERNATE_SCREEN = '\x1b[?1049h\x1b[?25l';
export const MAIN_SCREEN = '\x1b[?25h\x1b[?1049l';

/** One write, each line erased as it is replaced: nothing flickers, nothing scrolls. */
export function redrawn(lines: readonly string[]): string {
  return `\x1b[?2026h\x1b[H${lines.map((line) => `${line}\x1b[K`).join('\r\n')}\x1b[J\x1b[?2026l`;
}

/** Cuts a coloured line to a width, and ends its colours. */
export function clip(line: string, width: number): string {
  let shown = 0;
  let clipped = '';
  // oxlint-disable-next-line no-control-regex -- colours are control characters
  for (const [part] of line.matchAll(/\x1b\[\d+m|./gu)) {
    if (part.length > 2) clipped += part;
    else if (shown < width) {
      clipped += part;
      shown++;
    }
  }
  return clipped;
}
