/** The text form of histories: stable to write, strict to read. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  COMMON_FIELDS,
  formatHeader,
  formatHistory,
  formatRecord,
  HISTORY_SCHEMA,
  parseHeader,
  parseHistory,
  parseRecord,
  type Field,
  type FieldAccepts,
  type HistoryHeader,
  type HistoryRecord,
} from '../../src/check/index.ts';

const header = '{"tenure-history":1,"clock":"true"}';
const granted = { at: 5, node: 1, incarnation: 2, kind: 'granted', resource: 'r', request: 3, token: 4, remainingUs: 100 };
const refused = (line: number, field: string) =>
  expect.objectContaining({ name: 'TenureError', code: 'TENURE_BAD_HISTORY', details: { line, field } });

function valueOf(accepts: FieldAccepts): fc.Arbitrary<unknown> {
  switch (accepts) {
    case 'count':
      return fc.maxSafeNat();
    case 'integer':
      return fc.maxSafeInteger();
    case 'number':
      return fc.double({ noNaN: true, noDefaultInfinity: true }).filter((value) => !Object.is(value, -0));
    case 'name':
      return fc.string({ unit: 'binary', minLength: 1 });
    case 'text':
      return fc.string({ unit: 'binary' });
    case 'text or null':
      return fc.option(fc.string({ unit: 'binary' }));
    case 'node':
      return fc.oneof(fc.maxSafeNat(), fc.string({ minLength: 1 }));
    default:
      return fc.constantFrom(...Object.keys(accepts));
  }
}

/** An interval has both ends, in order; a block that may be anywhere has a size instead. */
function orderEnds(record: Record<string, unknown>): void {
  const { from = 0, to = 0, size } = record as { from?: number; to?: number; size?: number };
  record['from'] = Math.min(from, to);
  record['to'] = Math.max(from, to);
  if (size === undefined) return;
  delete record['from'];
  delete record['to'];
}

function recordsOf(kind: HistoryRecord['kind']): fc.Arbitrary<HistoryRecord> {
  const fields: [string, Field][] = Object.entries<Field>({ ...COMMON_FIELDS, ...HISTORY_SCHEMA[kind].fields });
  const values = Object.fromEntries(fields.map(([name, { accepts }]) => [name, valueOf(accepts)]));
  const requiredKeys = fields.filter(([, { optional }]) => !optional).map(([name]) => name);
  return fc.record(values, { requiredKeys, noNullPrototype: true }).map((row): HistoryRecord => {
    const record: Record<string, unknown> = { ...row, kind };
    if (kind === 'claimed' || kind === 'allotted') orderEnds(record);
    if (kind === 'invoked' || kind === 'asked') {
      if (record['action'] === 'read') delete record['value'];
      else record['value'] ??= '';
    }
    return record as unknown as HistoryRecord;
  });
}

const kinds = Object.keys(HISTORY_SCHEMA) as HistoryRecord['kind'][];
const anyRecord = fc.oneof(...kinds.map(recordsOf));

describe('writing a record', () => {
  it('gives the same bytes whatever the order of its properties', () => {
    const line = '{"at":5,"node":1,"incarnation":2,"kind":"granted","resource":"r","request":3,"token":4,"remainingUs":100}';
    expect(formatRecord(granted as HistoryRecord)).toBe(line);
    expect(formatRecord(Object.fromEntries(Object.entries(granted).reverse()) as unknown as HistoryRecord)).toBe(line);
  });

  it('leaves out what is absent and writes null', () => {
    const answer = { at: 1, node: 'a', incarnation: 0, kind: 'responded', register: 'x', op: 1 } as const;
    expect(formatRecord(answer)).toBe('{"at":1,"node":"a","incarnation":0,"kind":"responded","register":"x","op":1}');
    expect(formatRecord({ ...answer, value: null })).toBe(
      '{"at":1,"node":"a","incarnation":0,"kind":"responded","register":"x","op":1,"value":null}',
    );
  });

  it('writes no field the schema does not know', () => {
    expect(formatRecord({ ...granted, extra: 1 } as HistoryRecord)).not.toContain('extra');
  });
});

describe('reading a history', () => {
  it('gives back what was written, for every record of every kind', () => {
    const reached = new Set<string>();
    const property = fc.property(
      fc.array(anyRecord, { maxLength: 8 }),
      fc.option(fc.maxSafeNat(), { nil: undefined }),
      (records, clockBoundUs) => {
        for (const { kind } of records) reached.add(kind);
        const written: HistoryHeader = { 'tenure-history': 1, clock: 'wall', ...(clockBoundUs === undefined ? {} : { clockBoundUs }) };
        const history = { header: written, records: records.toSorted((one, other) => one.at - other.at) };
        const text = formatHistory(history);
        expect(parseHistory(text)).toEqual(history);
        expect(formatHistory(parseHistory(text))).toBe(text);
      },
    );
    fc.assert(property, { numRuns: 300 });
    expect(reached.size).toBe(kinds.length);
  });

  it('accepts a last line without its end, and lines that end in CRLF', () => {
    const line = formatRecord(granted as HistoryRecord);
    expect(parseHistory(`${header}\r\n${line}\r\n`).records).toEqual([granted]);
    expect(parseHistory(`${header}\n${line}`).records).toEqual([granted]);
    expect(parseHistory(header).records).toEqual([]);
  });

  it('ignores fields it does not know, in header and records', () => {
    const text = `{"tenure-history":1,"clock":"true","seed":7}\n${JSON.stringify({ ...granted, colour: 'red' })}\n`;
    expect(parseHistory(text)).toEqual({ header: { 'tenure-history': 1, clock: 'true' }, records: [granted] });
  });

  it.each([
    ['an empty text', '', 'tenure-history'],
    ['a record in place of the header', formatRecord(granted as HistoryRecord), 'tenure-history'],
    ['a later version', '{"tenure-history":2,"clock":"true"}', 'tenure-history'],
    ['a version in quotes', '{"tenure-history":"1","clock":"true"}', 'tenure-history'],
    ['a missing clock', '{"tenure-history":1}', 'clock'],
    ['an unknown clock', '{"tenure-history":1,"clock":"sundial"}', 'clock'],
    ['a clock inherited from every object', '{"tenure-history":1,"clock":"toString"}', 'clock'],
    ['a negative bound', '{"tenure-history":1,"clock":"wall","clockBoundUs":-1}', 'clockBoundUs'],
  ])('refuses %s as header', (_, text, field) => {
    expect(() => parseHistory(text)).toThrow(refused(1, field));
  });

  it('refuses records out of the order of time, naming the line; equal times are in order', () => {
    const line = (at: number) => formatRecord({ ...granted, at } as HistoryRecord);
    expect(parseHistory([header, line(5), line(5)].join('\n')).records).toHaveLength(2);
    expect(() => parseHistory([header, line(5), line(6), line(5)].join('\n'))).toThrow(refused(4, 'at'));
  });

  it.each([
    ['no JSON', 'hello'],
    ['an empty line', ''],
    ['an array', '[]'],
    ['null', 'null'],
    ['a number', '3'],
  ])('refuses %s as a line', (_, line) => {
    expect(() => parseRecord(line, 7)).toThrow(refused(7, ''));
    expect(() => parseHistory(`${header}\n${line}\n${formatRecord(granted as HistoryRecord)}\n`)).toThrow(refused(2, ''));
  });

  it.each([
    ['at', 1.5],
    ['at', -1],
    ['at', '5'],
    ['at', 2 ** 53],
    ['node', ''],
    ['node', null],
    ['node', -1],
    ['incarnation', 'first'],
    ['kind', 'taken'],
    ['kind', 'toString'],
    ['kind', 3],
    ['resource', ''],
    ['resource', 3],
    ['request', -1],
    ['token', '4'],
    ['token', null],
    ['remainingUs', 0.5],
    ['remainingUs', null],
  ])('refuses a record whose %s is %j, naming line and field', (field, value) => {
    expect(() => parseRecord(JSON.stringify({ ...granted, [field]: value }), 9)).toThrow(refused(9, field));
  });

  it('accepts what only a referee may judge: a token of no good kind, a deadline long past', () => {
    expect(parseRecord(JSON.stringify({ ...granted, token: -0.5, remainingUs: -7 }), 1)).toEqual({
      ...granted,
      token: -0.5,
      remainingUs: -7,
    });
  });

  it.each(kinds)('refuses a %s record without any one of its required fields', (kind) => {
    const fields = Object.entries<Field>({ ...COMMON_FIELDS, ...HISTORY_SCHEMA[kind].fields });
    const [record] = fc.sample(recordsOf(kind), 1);
    for (const [name] of fields.filter(([, { optional }]) => !optional)) {
      const { [name]: _, ...rest } = record as unknown as Record<string, unknown>;
      expect(() => parseRecord(JSON.stringify(rest), 3)).toThrow(refused(3, name));
    }
    const { kind: _, ...rest } = record as unknown as Record<string, unknown>;
    expect(() => parseRecord(JSON.stringify(rest), 3)).toThrow(refused(3, 'kind'));
  });

  it('refuses a claim of neither an interval nor a size, or of both, and an interval that ends before it begins', () => {
    const claimed = { at: 0, node: 0, incarnation: 1, kind: 'claimed', space: 's', claim: 1 };
    expect(() => parseRecord(JSON.stringify(claimed), 1)).toThrow(refused(1, 'size'));
    expect(() => parseRecord(JSON.stringify({ ...claimed, from: 1 }), 1)).toThrow(refused(1, 'to'));
    expect(() => parseRecord(JSON.stringify({ ...claimed, from: 1, to: 2, size: 2 }), 1)).toThrow(refused(1, 'size'));
    expect(() => parseRecord(JSON.stringify({ ...claimed, from: 2, to: 1 }), 1)).toThrow(refused(1, 'to'));
    expect(parseRecord(JSON.stringify({ ...claimed, from: 1, to: 2 }), 1)).toMatchObject({ from: 1, to: 2 });
  });

  it('refuses an unknown reason or action, a write without a value and a read with one', () => {
    const common = { at: 1, node: 1, incarnation: 1 };
    const ended = { ...common, kind: 'ended', resource: 'r', token: 1, reason: 'bored' };
    expect(() => parseRecord(JSON.stringify(ended), 1)).toThrow(refused(1, 'reason'));
    const invoked = { ...common, kind: 'invoked', register: 'x', op: 1 };
    expect(() => parseRecord(JSON.stringify({ ...invoked, action: 'swap' }), 1)).toThrow(refused(1, 'action'));
    expect(() => parseRecord(JSON.stringify({ ...invoked, action: 'write' }), 1)).toThrow(refused(1, 'value'));
    expect(() => parseRecord(JSON.stringify({ ...invoked, action: 'read', value: 'v' }), 1)).toThrow(refused(1, 'value'));
  });

  it('says in words what is wrong', () => {
    expect(() => parseRecord(JSON.stringify({ ...granted, node: [] }), 9)).toThrow(
      'line 9: field "node" is not an integer from 0 or a name',
    );
  });

  it('reads back the header it writes', () => {
    const written: HistoryHeader = { clockBoundUs: 50, clock: 'wall', 'tenure-history': 1 };
    expect(formatHeader(written)).toBe('{"tenure-history":1,"clock":"wall","clockBoundUs":50}');
    expect(parseHeader(formatHeader(written))).toEqual(written);
  });
});
