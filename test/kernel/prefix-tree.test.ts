/** The tree of prefixes against a plain list of them. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PrefixTree } from '../../src/kernel/index.ts';

const bytes = (text: string): Uint8Array => Buffer.from(text, 'latin1');
/** Few letters: so that keys begin with each other. */
const key = fc.string({ unit: fc.constantFrom('a', 'b', '\u{ff}'), maxLength: 6 });

describe('a tree of prefixes', () => {
  it('finds what a list finds, whatever was put in and taken out before', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(key, fc.boolean()), { maxLength: 60 }), fc.array(key, { maxLength: 20 }), (changes, names) => {
        const tree = new PrefixTree<string>();
        const list = new Set<string>();
        for (const [text, isPut] of changes) {
          const at = bytes(text);
          if (isPut) tree.set(at, 0, at.length, text);
          if (isPut) list.add(text);
          expect(isPut || tree.delete(at, 0, at.length)).toBe(isPut || list.delete(text));
          expect(tree.size).toBe(list.size);
        }
        for (const name of names) {
          const at = bytes(`x${name}y`);
          const prefixes = [...list].filter((text) => name.startsWith(text)).sort((a, b) => a.length - b.length);
          const found: string[] = [];
          tree.findPrefixesOf(at, 1, at.length - 1, found);
          expect(found).toEqual(prefixes);
          expect(tree.hasPrefixOf(at, 1, at.length - 1)).toBe(prefixes.length > 0);
          expect(tree.get(at, 1, at.length - 1)).toBe(list.has(name) ? name : undefined);
        }
      }),
    );
  });

  it('reads a name once, however many prefixes there are that do not fit it', () => {
    const tree = new PrefixTree<number>();
    for (let i = 0; i < 30_000; i++) {
      const text = `watched/${i}/`;
      tree.set(bytes(text), 0, text.length, i);
    }
    let reads = 0;
    const name = bytes('watched/17/one');
    const counted = new Proxy(name, { get: (target, index) => (reads++, target[Number(index)]) });
    const found: number[] = [];
    tree.findPrefixesOf(counted, 0, name.length, found);
    expect(found).toEqual([17]);
    expect(tree.hasPrefixOf(counted, 0, name.length)).toBe(true);
    // A byte is read to find a branch, and again as the first of its label.
    expect(reads).toBeLessThanOrEqual(2 * 2 * name.length);
  });

  it('keeps no branch that leads to nothing', () => {
    const tree = new PrefixTree<number>();
    const texts = Array.from({ length: 1000 }, (_, i) => `watched/${i * 7}/`);
    texts.forEach((text, i) => tree.set(bytes(text), 0, text.length, i));
    // Each has one of its own, and one stands where two part.
    expect(tree.branches).toBeLessThanOrEqual(2 * texts.length);
    for (const text of texts.slice(1)) tree.delete(bytes(text), 0, text.length);
    expect(tree.branches).toBe(2);
    tree.delete(bytes('watched/0/'), 0, 10);
    expect(tree.branches).toBe(1);
  });
});
