/**
 * The SQL of a store in a table. One statement for each access, committed by itself. The row with the empty key, which no
 * name is, tells which store the table is; every statement looks at it, so a table that was emptied is not taken for a
 * store in which nothing is held.
 */

/** Parts of a table's name as a URL may give it: `registers` or `leases.registers`. */
const TABLE = /^[a-z_][a-z0-9_]{0,62}(?:\.[a-z_][a-z0-9_]{0,62})?$/;

export function isTableName(text: string): boolean {
  return TABLE.test(text);
}

/** By its name the server keeps the plan of a statement: reading and planning takes longer than the access. */
export interface SqlStatement {
  readonly name: string;
  readonly text: string;
}

export interface Statements {
  readonly create: string;
  /** $1 identity. */
  readonly claim: string;
  readonly identity: string;
  /** $1 identity. A row, or none if the table is not the store. */
  readonly here: SqlStatement;
  /** $1 identity, $2 key. `here` and `value`. */
  readonly read: SqlStatement;
  /** $1 identity, $2 key. Changes tell how many rows they have changed; none, too, if the table is not the store. */
  readonly erase: SqlStatement;
  /** $1 identity, $2 key, $3 next. */
  readonly write: SqlStatement;
  readonly insert: SqlStatement;
  /** $1 identity, $2 key, $3 seen. */
  readonly eraseSeen: SqlStatement;
  /** $1 identity, $2 key, $3 seen, $4 next. */
  readonly update: SqlStatement;
  /** $1 identity, $2 from, $3 after, $4 before, $5 limit. `here` and `keys`. */
  readonly list: SqlStatement;
}

/** $1 the name of the table. `p` is a table that survives a crash. */
export const FIND_TABLE = `SELECT relpersistence::text AS persistence FROM pg_class WHERE oid = to_regclass($1)`;

/**
 * Asked once of every connection, and set for it: acknowledged means written down, and a condition is checked again after
 * waiting for another's change. `remote_apply` is even stronger than `on`.
 */
export const MEET = `SELECT
  pg_is_in_recovery() AS standby,
  current_setting('fsync') AS fsync,
  (SELECT system_identifier::text FROM pg_control_system()) AS system,
  CASE WHEN pg_is_in_recovery() THEN '' ELSE substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) END AS timeline,
  set_config('synchronous_commit', CASE WHEN current_setting('synchronous_commit') = 'remote_apply' THEN 'remote_apply' ELSE 'on' END, false),
  set_config('default_transaction_isolation', 'read committed', false),
  set_config('default_transaction_read_only', 'off', false)`;

export function statementsFor(table: string): Statements {
  const name = table
    .split('.')
    .map((part) => `"${part}"`)
    .join('.');
  const here = `SELECT 1 FROM ${name} WHERE key = ''::bytea AND value = $1`;
  const isHere = `EXISTS (${here})`;
  const listed = `SELECT key FROM ${name} WHERE key >= $2 AND key > $3 AND key < $4 ORDER BY key LIMIT $5`;
  const prepared = (as: string, text: string): SqlStatement => ({ name: `tenure_${as}`, text });
  return {
    create: `CREATE TABLE IF NOT EXISTS ${name} (key bytea PRIMARY KEY, value bytea NOT NULL)`,
    claim: `INSERT INTO ${name} (key, value) VALUES (''::bytea, $1) ON CONFLICT (key) DO NOTHING`,
    identity: `SELECT value FROM ${name} WHERE key = ''::bytea`,
    here: prepared('here', here),
    read: prepared('read', `SELECT ${isHere} AS here, (SELECT value FROM ${name} WHERE key = $2) AS value`),
    erase: prepared('erase', `DELETE FROM ${name} WHERE key = $2 AND ${isHere}`),
    write: prepared(
      'write',
      `INSERT INTO ${name} (key, value) SELECT $2, $3 WHERE ${isHere} ON CONFLICT (key) DO UPDATE SET value = excluded.value`,
    ),
    insert: prepared('insert', `INSERT INTO ${name} (key, value) SELECT $2, $3 WHERE ${isHere} ON CONFLICT (key) DO NOTHING`),
    eraseSeen: prepared('erase_seen', `DELETE FROM ${name} WHERE key = $2 AND value = $3 AND ${isHere}`),
    update: prepared('update', `UPDATE ${name} SET value = $4 WHERE key = $2 AND value = $3 AND ${isHere}`),
    list: prepared('list', `SELECT ${isHere} AS here, ARRAY(${listed}) AS keys`),
  };
}
