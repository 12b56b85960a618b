/** What changed between two lists of lines: a diff a person reads, by the longest common subsequence. */

/** Lines with ` `, `-` or `+` before them. Empty if nothing changed. */
export function differences(before: readonly string[], after: readonly string[]): string[] {
  const common: number[][] = Array.from({ length: before.length + 1 }, () => Array.from({ length: after.length + 1 }, () => 0));
  for (let i = before.length - 1; i >= 0; i--) {
    for (let j = after.length - 1; j >= 0; j--) {
      const [here, below] = [common[i], common[i + 1]] as [number[], number[]];
      here[j] = before[i] === after[j] ? (below[j + 1] as number) + 1 : Math.max(below[j] as number, here[j + 1] as number);
    }
  }
  const lines: string[] = [];
  let changed = false;
  for (let i = 0, j = 0; i < before.length || j < after.length;) {
    if (i < before.length && j < after.length && before[i] === after[j]) {
      lines.push(`  ${before[i++]}`);
      j++;
      continue;
    }
    changed = true;
    const skipBefore = i < before.length ? ((common[i + 1] as number[])[j] as number) : -1;
    const skipAfter = j < after.length ? ((common[i] as number[])[j + 1] as number) : -1;
    lines.push(skipBefore >= skipAfter ? `- ${before[i++]}` : `+ ${after[j++]}`);
  }
  return changed ? lines : [];
}
