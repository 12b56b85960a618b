/** What changed between two lists of lines: a diff a person reads, by the longest common subsequence. */

/** Larger tables than this are not worth their time and memory: all of one is then told after all of the other. */
const CELLS_MAX = 1_000_000;

/** Lines with ` `, `-` or `+` before them. Empty if nothing changed. */
export function differences(before: readonly string[], after: readonly string[]): string[] {
  const [shorter, longer] = before.length < after.length ? [before, after] : [after, before];
  let head = 0;
  while (head < shorter.length && before[head] === after[head]) head++;
  if (head === longer.length) return [];
  let tail = 0;
  while (tail < shorter.length - head && before.at(-1 - tail) === after.at(-1 - tail)) tail++;
  const same = (line: string): string => `  ${line}`;
  const middle = [before.slice(head, before.length - tail), after.slice(head, after.length - tail)] as const;
  return [...before.slice(0, head).map(same), ...changesOf(...middle), ...before.slice(before.length - tail).map(same)];
}

function changesOf(before: readonly string[], after: readonly string[]): string[] {
  if (before.length * after.length > CELLS_MAX) return [...before.map((line) => `- ${line}`), ...after.map((line) => `+ ${line}`)];
  const common: number[][] = Array.from({ length: before.length + 1 }, () => Array.from({ length: after.length + 1 }, () => 0));
  for (let i = before.length - 1; i >= 0; i--) {
    for (let j = after.length - 1; j >= 0; j--) {
      const [here, below] = [common[i], common[i + 1]] as [number[], number[]];
      here[j] = before[i] === after[j] ? (below[j + 1] as number) + 1 : Math.max(below[j] as number, here[j + 1] as number);
    }
  }
  const lines: string[] = [];
  for (let i = 0, j = 0; i < before.length || j < after.length;) {
    if (i < before.length && j < after.length && before[i] === after[j]) {
      lines.push(`  ${before[i++]}`);
      j++;
      continue;
    }
    const skipBefore = i < before.length ? ((common[i + 1] as number[])[j] as number) : -1;
    const skipAfter = j < after.length ? ((common[i] as number[])[j + 1] as number) : -1;
    lines.push(skipBefore >= skipAfter ? `- ${before[i++]}` : `+ ${after[j++]}`);
  }
  return lines;
}
