/** Files of one layer that import each other in a circle. Imports of types count: a reader has to read all of a circle to understand any file of it. */
import { posix } from 'node:path';
import { isSource, readSource } from './source.ts';

/** In which layers no file may stand in a circle. */
const ACYCLIC_LAYERS: readonly string[] = ['kernel', 'core', 'wire', 'check', 'sim', 'transport', 'store', 'runtime', 'api', 'cli'];

/** One line for each group of files that import each other, its files in the order of their names. */
export function importCycles(files: readonly string[], read: (path: string) => string | undefined): string[] {
  const inside = new Set(files.filter((path) => isSource(path) && ACYCLIC_LAYERS.some((layer) => path.startsWith(`src/${layer}/`))));
  const importsOf = (path: string): string[] =>
    readSource(path, read(path) ?? '')
      .imports.map(({ module }) => (module === null ? '' : posix.join(posix.dirname(path), module)))
      .filter((target) => inside.has(target));
  return circles([...inside], importsOf).map((circle) => `in a circle: ${circle.toSorted().join(', ')}`);
}

/** Tarjan's strongly connected components, those of more than one file or of a file that imports itself. */
function circles(files: readonly string[], importsOf: (path: string) => readonly string[]): string[][] {
  const found: string[][] = [];
  const order = new Map<string, number>();
  const lowest = new Map<string, number>();
  const open: string[] = [];
  const visit = (path: string): number => {
    const at = order.size;
    order.set(path, at);
    lowest.set(path, at);
    open.push(path);
    const targets = importsOf(path);
    for (const target of targets) {
      const seen = order.get(target);
      const low = seen === undefined ? visit(target) : open.includes(target) ? seen : Infinity;
      lowest.set(path, Math.min(lowest.get(path) ?? at, low));
    }
    const low = lowest.get(path) ?? at;
    if (low < at) return low;
    const circle = open.splice(open.indexOf(path));
    if (circle.length > 1 || targets.includes(path)) found.push(circle);
    return at;
  };
  for (const path of files) if (!order.has(path)) visit(path);
  return found;
}
