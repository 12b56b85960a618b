/**
 * The Lua of a store in Redis: each access is one script, which Redis runs whole and alone. Values are fields of one hash, keys
 * are also in a sorted set, for lists. Every script first looks at the identity: a server that came back empty, or was
 * flushed, is not taken for a store in which nothing is held.
 *
 * KEYS: identity, registers, index. ARGV[1]: the identity as it should be. The answer's first part is 1 if it is.
 */
const HERE = `if redis.call('GET', KEYS[1]) ~= ARGV[1] then return {0} end\n`;

/** A field and its place in the index, set or taken away; ARGV[2] is the key. */
const SET = (value: string): string => `redis.call('HSET', KEYS[2], ARGV[2], ${value}) redis.call('ZADD', KEYS[3], 0, ARGV[2])`;
const REMOVE = `redis.call('HDEL', KEYS[2], ARGV[2]) redis.call('ZREM', KEYS[3], ARGV[2])`;

/** HGET answers false for nothing, which no value is equal to. */
const UNLESS_SEEN = (seen: string): string => `if redis.call('HGET', KEYS[2], ARGV[2]) ~= ${seen} then return {1, 0} end\n`;
const DONE = ` return {1, 1}`;

export type Script = 'read' | 'erase' | 'write' | 'insert' | 'eraseSeen' | 'update' | 'list';

export const SCRIPTS: Readonly<Record<Script, string>> = {
  /** ARGV: identity, key. */
  read: `${HERE}return {1, redis.call('HGET', KEYS[2], ARGV[2])}`,
  erase: HERE + REMOVE + DONE,
  /** ARGV: identity, key, next. */
  write: HERE + SET('ARGV[3]') + DONE,
  insert: HERE + UNLESS_SEEN('false') + SET('ARGV[3]') + DONE,
  /** ARGV: identity, key, seen. */
  eraseSeen: HERE + UNLESS_SEEN('ARGV[3]') + REMOVE + DONE,
  /** ARGV: identity, key, seen, next. */
  update: HERE + UNLESS_SEEN('ARGV[3]') + SET('ARGV[4]') + DONE,
  /** ARGV: identity, lowest, below, limit. */
  list: `${HERE}return {1, redis.call('ZRANGEBYLEX', KEYS[3], ARGV[2], ARGV[3], 'LIMIT', 0, ARGV[4])}`,
};
