/** What PostgreSQL says when something goes wrong: whether a change may have been committed all the same. */
import { expect, test } from 'vitest';
import { TenureError } from '../../src/kernel/index.ts';
import { Unanswered } from '../../src/store/gate.ts';
import { postgresConnectFailure, postgresFailure } from '../../src/store/postgres/failures.ts';

const said = (code: string, severity = 'ERROR'): Error => Object.assign(new Error('said so'), { code, severity });

test.each([
  ['it could not write its log, and stops', '53100', 'PANIC'],
  ['it could not sync its log, and stops', '58030', 'PANIC'],
  ['it ends the connection', '57P01', 'FATAL'],
  ['it ends the connection because a transaction took too long', '25P04', 'FATAL'],
  ['it does not know itself', '40003', 'ERROR'],
  ['it broke a rule of its own', 'XX000', 'ERROR'],
  ['a disk failed', '58030', 'ERROR'],
  ['the connection failed', '08006', 'ERROR'],
  ['in another language', '57P01', 'FATAL:'],
])('a change may have been committed: %s', (_, code, severity) => {
  expect(postgresFailure('postgres:', said(code, severity))).toBeInstanceOf(Unanswered);
});

test.each([
  ['a statement that took too long', '57014', 'TENURE_STORE_UNREACHABLE'],
  ['a lock that was not had in time', '55P03', 'TENURE_STORE_UNREACHABLE'],
  ['a deadlock', '40P01', 'TENURE_STORE_UNREACHABLE'],
  ['a transaction that may not write', '25006', 'TENURE_STORE_UNREACHABLE'],
  ['a right that is missing', '42501', 'TENURE_STORE_DENIED'],
  ['a table that is gone', '42P01', 'TENURE_STORE_REPLACED'],
  ['a disk that is full', '53100', 'TENURE_STORE_FULL'],
])('a change was refused, and has not happened: %s', (_, code, expected) => {
  const failure = postgresFailure('postgres:', said(code));
  expect(failure).toBeInstanceOf(TenureError);
  expect(failure).toMatchObject({ code: expected });
});

test('who could not connect has changed nothing, whatever was said', () => {
  for (const error of [said('53300', 'FATAL'), said('57P03', 'FATAL'), new Error('ECONNREFUSED')]) {
    expect(postgresConnectFailure('postgres:', error)).toMatchObject({ code: 'TENURE_STORE_UNREACHABLE' });
  }
});
