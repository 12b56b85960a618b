/**
 * A fingerprint of a state: 64 bits over plain JSON data, the same for equal data whatever the order
 * of its keys, on every machine. The explorer knows by it where it has been, a replay that it is still
 * the same run. Not cryptographic: it keeps apart what chance makes, not what an enemy makes.
 */
import { TenureError } from './errors.ts';

/** Plain JSON data, with Infinity and NaN allowed: a deadline may be NEVER. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

// What comes next, so that '1', 1 and [1] differ. Small integers get a tag of their own: most of a state is small integers.
const NULL = 1;
const FALSE = 2;
const TRUE = 3;
const INT32 = 4;
const DOUBLE = 5;
const NAN = 6;
const STRING = 7;
const ARRAY = 8;
const OBJECT = 9;

const double = new DataView(new ArrayBuffer(8));

// The two lanes. Held here and not in an object: the walk is synchronous, and this is the explorer's inner loop.
let left = 0;
let right = 0;

/** 16 hex digits. Refuses what JSON would drop or blur (undefined, Map, Date): two states must not look alike because of it. */
export function stateHash(value: Json): string {
  begin();
  walk(value);
  finishBoth();
  return hex(left) + hex(right);
}

/** Where a hash stands behind some items. */
export interface HashedItems {
  readonly left: number;
  readonly right: number;
}

/** The beginning of a hash: items that are the same in all that is hashed behind them. */
export function hashItems(items: readonly Json[]): HashedItems {
  begin();
  walk(items);
  return { left, right };
}

/** The hash of a value behind items: two words, at `start` and next to it. */
export function hashAfter(items: HashedItems, value: Json, words: Int32Array, start: number): void {
  ({ left, right } = items);
  walk(value);
  finishBoth();
  words[start] = left;
  words[start + 1] = right;
}

function begin(): void {
  left = 0x243f6a88;
  right = 0x85a308d3 | 0;
}

/** Each lane's last step depends on the other one, so that every bit of the result depends on both. */
function finishBoth(): void {
  left = finish(left ^ Math.imul(right, 0x9e3779b1));
  right = finish(right ^ Math.imul(left, 0x85ebca77));
}

function walk(value: Json): void {
  switch (typeof value) {
    case 'number':
      return walkNumber(value);
    case 'string':
      return walkString(value);
    case 'boolean':
      return mix(value ? TRUE : FALSE);
    case 'object':
      if (value === null) return mix(NULL);
      if (Array.isArray(value)) return walkArray(value);
      return walkObject(value as { readonly [key: string]: Json });
    default:
      throw new TenureError('TENURE_INTERNAL', `a state is plain JSON data, and ${typeof value} is not`);
  }
}

function walkNumber(value: number): void {
  const int = value | 0;
  // True for -0 as well, which is 0 here.
  if (int === value) {
    mix(INT32);
    mix(int);
  } else if (value !== value) {
    // Engines differ in the bits of NaN.
    mix(NAN);
  } else {
    double.setFloat64(0, value);
    mix(DOUBLE);
    mix(double.getInt32(0));
    mix(double.getInt32(4));
  }
}

function walkString(value: string): void {
  const length = value.length;
  mix(STRING);
  mix(length);
  let i = 0;
  for (; i + 1 < length; i += 2) mix(value.charCodeAt(i) | (value.charCodeAt(i + 1) << 16));
  if (i < length) mix(value.charCodeAt(i));
}

function walkArray(values: readonly Json[]): void {
  mix(ARRAY);
  mix(values.length);
  for (let i = 0; i < values.length; i++) walk(values[i] as Json);
}

function walkObject(value: { readonly [key: string]: Json }): void {
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) {
    throw new TenureError('TENURE_INTERNAL', 'a state is plain JSON data, and an instance of a class is not');
  }
  const keys = Object.keys(value);
  sortKeys(keys);
  mix(OBJECT);
  mix(keys.length);
  for (const key of keys) {
    walkString(key);
    walk(value[key] as Json);
  }
}

/** By insertion while there are few: most objects of a state have a handful of keys, often in order already. */
function sortKeys(keys: string[]): void {
  if (keys.length > 32) {
    keys.sort();
    return;
  }
  for (let i = 1; i < keys.length; i++) {
    const key = keys[i] as string;
    let to = i;
    for (; to > 0 && (keys[to - 1] as string) > key; to--) keys[to] = keys[to - 1] as string;
    keys[to] = key;
  }
}

/** One word into both lanes; each is a bijection of its lane for a given word, and they differ in every constant. */
function mix(word: number): void {
  let k = Math.imul(word, 0xcc9e2d51);
  k = Math.imul((k << 15) | (k >>> 17), 0x1b873593);
  left ^= k;
  left = (Math.imul((left << 13) | (left >>> 19), 5) + 0xe6546b64) | 0;
  k = Math.imul(word ^ 0x27d4eb2f, 0x239b961b);
  k = Math.imul((k << 17) | (k >>> 15), 0xab0e9789);
  right ^= k;
  right = (Math.imul((right << 19) | (right >>> 13), 9) + 0x561ccd1b) | 0;
}

function finish(lane: number): number {
  let mixed = Math.imul(lane ^ (lane >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return mixed ^ (mixed >>> 16);
}

function hex(lane: number): string {
  return (lane >>> 0).toString(16).padStart(8, '0');
}
