/** Finds the word that a mistyped word stands for: the nearest of the known words, if any is near enough. */

/** The nearest word, or null: letters may be missing, added, wrong or swapped, up to a third of the word. */
export function nearestWord(typed: string, known: Iterable<string>): string | null {
  let nearest: string | null = null;
  let least = Infinity;
  for (const word of known) {
    const steps = editSteps(typed.toLowerCase(), word.toLowerCase());
    if (steps >= least || steps > Math.max(1, Math.floor(Math.max(typed.length, word.length) / 3))) continue;
    nearest = word;
    least = steps;
  }
  return nearest;
}

/** ` (did you mean X?)`, or nothing. */
export function didYouMean(typed: string, known: Iterable<string>): string {
  const word = nearestWord(typed, known);
  return word === null ? '' : ` (did you mean ${word}?)`;
}

/** How many letters must be changed, added, left out or swapped with their neighbour. */
function editSteps(from: string, to: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (let row = 1; row <= from.length; row++) {
    const current = [row];
    for (let column = 1; column <= to.length; column++) {
      const isSame = from[row - 1] === to[column - 1];
      let steps = Math.min((last[column] ?? 0) + 1, (current[column - 1] ?? 0) + 1, (last[column - 1] ?? 0) + (isSame ? 0 : 1));
      if (row > 1 && column > 1 && from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1]) {
        steps = Math.min(steps, (beforeLast[column - 2] ?? 0) + 1);
      }
      current.push(steps);
    }
    beforeLast = last;
    last = current;
  }
  return last[to.length] ?? 0;
}
