/**
 * A history as text: JSON, one record a line, after one line of header. Writing is stable (the same
 * record, the same bytes); reading is strict: a line that does not fit the schema is refused, naming line and
 * field, and fields the schema does not know are ignored.
 */
import { TenureError } from '../kernel/index.ts';
import type { HistoryRecord } from './history.ts';
import { COMMON_FIELDS, HISTORY_SCHEMA, type Field, type FieldAccepts } from './schema.ts';

/** The only version of the schema there is. */
export const HISTORY_VERSION = 1 as const;

/** The first line of a history. */
export interface HistoryHeader {
  readonly 'tenure-history': typeof HISTORY_VERSION;
  /** Whose time `at` is: the simulator's true time, or each writer's wall clock. */
  readonly clock: 'true' | 'wall';
  /** The largest difference between a writer's wall clock and true time, where an operator vouches for it. */
  readonly clockBoundUs?: number;
}

export interface History {
  readonly header: HistoryHeader;
  readonly records: readonly HistoryRecord[];
}

const HEADER_FIELDS: { readonly [K in Exclude<keyof HistoryHeader, 'tenure-history'>]-?: Field } = {
  clock: { accepts: { true: 'true time', wall: 'wall clocks' }, optional: false, means: 'whose time `at` is' },
  clockBoundUs: { accepts: 'count', optional: true, means: 'the largest difference between a wall clock and true time' },
};

type FieldList = readonly (readonly [name: string, field: Field])[];
type Row = Readonly<Record<string, unknown>>;

const COMMON: FieldList = Object.entries<Field>(COMMON_FIELDS);
const HEADER: FieldList = Object.entries<Field>(HEADER_FIELDS);
const BY_KIND: ReadonlyMap<string, FieldList> = new Map(
  Object.entries(HISTORY_SCHEMA).map(([kind, { fields }]) => [kind, Object.entries<Field>(fields)]),
);

export function formatHeader(header: HistoryHeader): string {
  return `{"tenure-history":${HISTORY_VERSION}${formatFields(header, HEADER)}}`;
}

export function formatRecord(record: HistoryRecord): string {
  const common = formatFields(record, COMMON).slice(1);
  return `{${common},"kind":"${record.kind}"${formatFields(record, BY_KIND.get(record.kind) ?? [])}}`;
}

export function formatHistory(history: History): string {
  const lines = [formatHeader(history.header), ...history.records.map(formatRecord)];
  return `${lines.join('\n')}\n`;
}

export function parseHeader(line: string): HistoryHeader {
  const row = parseRow(line, 1);
  if (row['tenure-history'] === undefined) throw refusal(1, 'tenure-history', 'is missing: the first line is the header of the history');
  if (row['tenure-history'] !== HISTORY_VERSION) throw refusal(1, 'tenure-history', `is not ${HISTORY_VERSION}, the version known here`);
  const header: Record<string, unknown> = { 'tenure-history': HISTORY_VERSION };
  copyFields(row, HEADER, header, 1);
  // Every field was held against the table above.
  return header as unknown as HistoryHeader;
}

export function parseRecord(line: string, lineNumber: number): HistoryRecord {
  const row = parseRow(line, lineNumber);
  const record: Record<string, unknown> = {};
  copyFields(row, COMMON, record, lineNumber);
  const kind = row['kind'];
  const fields = typeof kind === 'string' ? BY_KIND.get(kind) : undefined;
  if (fields === undefined) throw refusal(lineNumber, 'kind', `is none of ${[...BY_KIND.keys()].join(', ')}`);
  record['kind'] = kind;
  copyFields(row, fields, record, lineNumber);
  if ((kind === 'invoked' || kind === 'asked') && (record['action'] === 'write') !== (record['value'] !== undefined)) {
    throw refusal(lineNumber, 'value', 'belongs to a write and only to a write');
  }
  if (kind === 'claimed') checkClaimed(record, lineNumber);
  if ((record['from'] as number) > (record['to'] as number)) throw refusal(lineNumber, 'to', 'is before "from"');
  // Every field was held against the table, and the compiler holds the table against HistoryRecord.
  return record as unknown as HistoryRecord;
}

/** An interval has both ends, a block a size. */
function checkClaimed({ from, to, size }: Record<string, unknown>, lineNumber: number): void {
  if ((from === undefined) !== (to === undefined)) throw refusal(lineNumber, 'to', 'belongs to "from"');
  if ((size === undefined) === (from === undefined)) throw refusal(lineNumber, 'size', 'is there, or else an interval is');
}

/** The same text without its last line, if its writer stopped in the middle of it. */
export function withoutTornLine(text: string): string {
  const end = text.lastIndexOf('\n') + 1;
  if (end === 0 || end === text.length) return text;
  try {
    parseRow(text.slice(end), 0);
    return text;
  } catch {
    return text.slice(0, end);
  }
}

/** Reads a whole history; its records must be in the order of `at`. */
export function parseHistory(text: string): History {
  const lines = text.split('\n');
  if (lines.at(-1) === '') lines.pop();
  const [first, ...rest] = lines;
  if (first === undefined) throw refusal(1, 'tenure-history', 'is missing: the history is empty');
  const header = parseHeader(first);
  let latest = 0;
  const records = rest.map((line, index) => {
    const record = parseRecord(line, index + 2);
    if (record.at < latest)
      throw refusal(index + 2, 'at', `is ${record.at}, earlier than ${latest} on the line before: records come in the order of time`);
    latest = record.at;
    return record;
  });
  return { header, records };
}

function formatFields(row: object, fields: FieldList): string {
  let text = '';
  for (const [name] of fields) {
    const value = (row as Row)[name];
    if (value !== undefined) text += `,"${name}":${JSON.stringify(value)}`;
  }
  return text;
}

function parseRow(line: string, lineNumber: number): Row {
  let row: unknown;
  try {
    row = JSON.parse(line);
  } catch {
    throw refusal(lineNumber, '', 'is not JSON');
  }
  if (typeof row !== 'object' || row === null || Array.isArray(row)) throw refusal(lineNumber, '', 'is not a JSON object');
  return row as Row;
}

function copyFields(from: Row, fields: FieldList, to: Record<string, unknown>, lineNumber: number): void {
  for (const [name, { accepts, optional }] of fields) {
    const value = from[name];
    if (value === undefined) {
      if (!optional) throw refusal(lineNumber, name, 'is missing');
      continue;
    }
    if (!fits(value, accepts)) throw refusal(lineNumber, name, `is not ${wording(accepts)}`);
    to[name] = value;
  }
}

function fits(value: unknown, accepts: FieldAccepts): boolean {
  switch (accepts) {
    case 'count':
      return Number.isSafeInteger(value) && (value as number) >= 0;
    case 'integer':
      return Number.isSafeInteger(value);
    case 'number':
      return Number.isFinite(value);
    case 'name':
      return typeof value === 'string' && value !== '';
    case 'text':
      return typeof value === 'string';
    case 'text or null':
      return value === null || typeof value === 'string';
    case 'node':
      return fits(value, 'count') || fits(value, 'name');
    default:
      return typeof value === 'string' && Object.hasOwn(accepts, value);
  }
}

function wording(accepts: FieldAccepts): string {
  switch (accepts) {
    case 'count':
      return 'an integer from 0';
    case 'integer':
      return 'an integer';
    case 'number':
      return 'a finite number';
    case 'name':
      return 'a text of at least one character';
    case 'text':
      return 'a text';
    case 'text or null':
      return 'a text or null';
    case 'node':
      return 'an integer from 0 or a name';
    default:
      return `one of ${Object.keys(accepts).join(', ')}`;
  }
}

/** `field` is empty when the line as a whole does not fit. */
function refusal(line: number, field: string, what: string): TenureError {
  const subject = field === '' ? `line ${line}` : `line ${line}: field "${field}"`;
  return new TenureError('TENURE_BAD_HISTORY', `${subject} ${what}`, { line, field });
}
