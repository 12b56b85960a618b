/**
 * The Lua of a store in Redis: each access is one script, which Redis runs whole and alone. Values are fields of one hash, keys
 * are also in a sorted set, for lists. Every script first looks at the identity: a server that came back empty, or was
 * flushed, is not taken for a store in which nothing is held.
 *
 * KEYS: identity, registers, index. ARGV[1]: the identity as it should be; the last one: what the server must say of its history, or nothing. The answer's
 * first part is 1 if all is so, 0 if this is not the store, 2 if the server has another history by now: it followed another server meanwhile, though it never stopped.
 */
const HERE = `local history = ARGV[#ARGV]
if history ~= '' then
  local said = redis.call('INFO', 'replication')
  if not (string.find(said, 'role:master', 1, true) and string.find(said, history, 1, true)) then return {2} end
end
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return {0} end\n`;

/**
 * A field and its place in the index, set or taken away; ARGV[2] is the key. A command within a script may be refused after others were done, by rights
 * or by the kind of a key. So the field, which counts, comes last; and where it is gone, a place in the index that stays does no harm.
 */
const SET = (value: string): string => `redis.call('ZADD', KEYS[3], 0, ARGV[2]) redis.call('HSET', KEYS[2], ARGV[2], ${value})`;
const REMOVE = `redis.call('HDEL', KEYS[2], ARGV[2]) redis.pcall('ZREM', KEYS[3], ARGV[2])`;

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
