/**
 * Values under strings of bytes, found by whatever begins with them: the prefixes of a name, without a look at any other. A radix
 * tree: looking up costs the length of the name, however many prefixes there are, also where strangers chose them.
 */

class Branch<Value> {
  /** The bytes that lead here from its parent, one in each unit: a string is a fifth of what an array of so few bytes costs. */
  label: string;
  value: Value | undefined = undefined;
  /** By the first byte of their labels; none while there is no child. */
  children: Map<number, Branch<Value>> | null = null;

  constructor(label: string) {
    this.label = label;
  }
}

export class PrefixTree<Value> {
  #root = new Branch<Value>('');
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** Branches there are, the root included: a measure of its memory. */
  get branches(): number {
    return branchesOf(this.#root);
  }

  /** The value of this very key. */
  get(key: Uint8Array, start: number, end: number): Value | undefined {
    let branch: Branch<Value> | undefined = this.#root;
    for (let at = start; at < end; at += branch.label.length) {
      branch = branch.children?.get(key[at] as number);
      if (branch === undefined || commonLength(branch.label, key, at, end) < branch.label.length) return undefined;
    }
    return branch.value;
  }

  set(key: Uint8Array, start: number, end: number, value: Value): void {
    const branch = this.#make(key, start, end);
    if (branch.value === undefined) this.#size++;
    branch.value = value;
  }

  delete(key: Uint8Array, start: number, end: number): boolean {
    let above: Branch<Value> | null = null;
    let parent: Branch<Value> | null = null;
    let branch = this.#root;
    for (let at = start; at < end; at += branch.label.length) {
      const child = branch.children?.get(key[at] as number);
      if (child === undefined || commonLength(child.label, key, at, end) < child.label.length) return false;
      above = parent;
      parent = branch;
      branch = child;
    }
    if (branch.value === undefined) return false;
    branch.value = undefined;
    this.#size--;
    if (parent === null) return true;
    if (branch.children !== null) merge(branch, parent);
    else {
      remove(branch, parent);
      // It may have kept two branches apart that are one now.
      if (above !== null) merge(parent, above);
    }
    return true;
  }

  /** Whether any key is a prefix of the name. Allocates nothing. */
  hasPrefixOf(name: Uint8Array, start: number, end: number): boolean {
    if (this.#size === 0) return false;
    let branch: Branch<Value> = this.#root;
    for (let at = start; ; at += branch.label.length) {
      if (branch.value !== undefined) return true;
      const child: Branch<Value> | undefined = at < end ? branch.children?.get(name[at] as number) : undefined;
      if (child === undefined || commonLength(child.label, name, at, end) < child.label.length) return false;
      branch = child;
    }
  }

  /** Adds to `found` the values of all keys that are prefixes of the name, the shortest first. */
  findPrefixesOf(name: Uint8Array, start: number, end: number, found: Value[]): void {
    let branch: Branch<Value> = this.#root;
    for (let at = start; ; at += branch.label.length) {
      if (branch.value !== undefined) found.push(branch.value);
      const child: Branch<Value> | undefined = at < end ? branch.children?.get(name[at] as number) : undefined;
      if (child === undefined || commonLength(child.label, name, at, end) < child.label.length) return;
      branch = child;
    }
  }

  clear(): void {
    this.#root = new Branch('');
    this.#size = 0;
  }

  /** The branch of the key, which is made if there is none. */
  #make(key: Uint8Array, start: number, end: number): Branch<Value> {
    let branch = this.#root;
    for (let at = start; at < end; at += branch.label.length) {
      const child = branch.children?.get(key[at] as number);
      if (child === undefined) return attach(new Branch(labelOf(key, at, end)), branch);
      const common = commonLength(child.label, key, at, end);
      branch = common < child.label.length ? split(child, branch, common) : child;
    }
    return branch;
  }
}

function attach<Value>(child: Branch<Value>, parent: Branch<Value>): Branch<Value> {
  parent.children ??= new Map();
  parent.children.set(child.label.charCodeAt(0), child);
  return child;
}

function remove<Value>(child: Branch<Value>, parent: Branch<Value>): void {
  parent.children?.delete(child.label.charCodeAt(0));
  if (parent.children?.size === 0) parent.children = null;
}

/** A branch between the two, so many bytes before the child. */
function split<Value>(child: Branch<Value>, parent: Branch<Value>, length: number): Branch<Value> {
  const between = attach(new Branch<Value>(child.label.slice(0, length)), parent);
  child.label = child.label.slice(length);
  attach(child, between);
  return between;
}

/** A branch that has no value and one child is that child. */
function merge<Value>(branch: Branch<Value>, parent: Branch<Value>): void {
  if (branch.value !== undefined || branch.children?.size !== 1) return;
  for (const child of branch.children.values()) {
    child.label = branch.label + child.label;
    attach(child, parent);
  }
}

function branchesOf<Value>({ children }: Branch<Value>): number {
  let count = 1;
  for (const child of children?.values() ?? []) count += branchesOf(child);
  return count;
}

function labelOf(key: Uint8Array, start: number, end: number): string {
  return String.fromCharCode(...key.subarray(start, end));
}

/** How many bytes of the label the key has from `start` on. */
function commonLength(label: string, key: Uint8Array, start: number, end: number): number {
  const length = Math.min(label.length, end - start);
  let at = 0;
  while (at < length && label.charCodeAt(at) === key[start + at]) at++;
  return at;
}
