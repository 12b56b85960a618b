/**
 * A fence in a database: a row of two numbers for each name, and three statements. Each changes one row if the token is admitted and none if it comes
 * too late; a writer runs it in one transaction with its protected writes. PostgreSQL, and most others with other parameter signs.
 */
import { TenureError } from '../../kernel/index.ts';

export interface FenceStatements {
  /** Once. */
  readonly create: string;
  /** `[name, token]`: the number of rows is 1 if the token may write, 0 if it comes too late. */
  readonly write: string;
  /** `[name, token]`: the same for reading. */
  readonly read: string;
}

/** `table` is a plain identifier. */
export function fenceStatements(table = 'tenure_fences'): FenceStatements {
  if (!/^[A-Za-z_]\w{0,62}$/.test(table)) throw new TenureError('TENURE_BAD_ARGUMENT', `'${table}' is no plain name of a table`);
  const mark = (values: string, admitted: string): string =>
    `INSERT INTO ${table} AS f (name, wrote, seen) VALUES ($1, ${values}, $2) ` +
    `ON CONFLICT (name) DO UPDATE SET wrote = GREATEST(f.wrote, EXCLUDED.wrote), seen = GREATEST(f.seen, EXCLUDED.seen) WHERE ${admitted} <= $2`;
  return {
    create: `CREATE TABLE IF NOT EXISTS ${table} (name TEXT PRIMARY KEY, wrote BIGINT NOT NULL, seen BIGINT NOT NULL)`,
    write: mark('$2', 'f.seen'),
    read: mark('0', 'f.wrote'),
  };
}
