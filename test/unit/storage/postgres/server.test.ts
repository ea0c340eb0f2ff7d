import { expect, test } from 'vitest'
import { toPostgresFailure, PostgresError } from '../../../../appliance/storage/postgres/failures.ts'
import { explainServerRefusal, type ServerState } from '../../../../appliance/storage/postgres/server.ts'
import { translateStatement } from '../../../../appliance/storage/postgres/texts.ts'

const safe: ServerState = {
  version: 150004,
  fsync: 'on',
  commit: 'on',
  pages: 'on',
  encoding: 'UTF8',
  collation: 'C',
  standby: false,
  readOnly: 'off',
}

test('accepts a server with safe settings, including weaker guarantees for its standbys', () => {
  for (const commit of ['on', 'local', 'remote_write', 'remote_apply'])
    expect(explainServerRefusal({ ...safe, commit })).toBeUndefined()
  expect(explainServerRefusal({ ...safe, collation: 'C.UTF-8' })).toBeUndefined()
})

test.each<[string, Partial<ServerState>]>([
  ['PostgreSQL 14. Posthaste needs version 15', { version: 140011 }],
  ['is a standby', { standby: true }],
  ['default_transaction_read_only is on', { readOnly: 'on' }],
  ['Set fsync = on.', { fsync: 'off' }],
  ['Set full_page_writes = on.', { pages: 'off' }],
  ['Set synchronous_commit = on.', { commit: 'off' }],
  ['encoding SQL_ASCII', { encoding: 'SQL_ASCII' }],
  ['collation en_US.UTF-8', { collation: 'en_US.UTF-8' }],
])('rejects an unsuitable server: %s', (sentence, state) => {
  expect(explainServerRefusal({ ...safe, ...state })).toContain(sentence)
})

test.each([
  ['53100', false, 'full'],
  ['53300', false, 'transient'],
  ['40001', true, 'transient'],
  ['57P01', false, 'transient'],
  ['57P01', true, 'ambiguous'],
  ['ECONNRESET', true, 'ambiguous'],
  ['25006', true, 'transient'],
  ['XX001', false, 'damaged'],
  ['23505', true, null],
])('classifies SQLSTATE %s during commit (%s) as %s', (code, committing, kind) => {
  expect(toPostgresFailure(new PostgresError({ message: 'said', code }), committing).kind).toBe(kind)
})

test('translates named parameters to numbered ones, and batches only plain single-row inserts', () => {
  expect(translateStatement('select * from a where b = @now and c > @now').text).toBe(
    'select * from a where b = $1 and c > $2',
  )
  const insert = 'insert into a (b, c) values (?, null)'
  expect(translateStatement(insert).insert).toMatchObject({ table: 'a', row: '(?, null)' })
  expect(translateStatement(`${insert} on conflict (b) do nothing`).insert).toMatchObject({
    tail: ' on conflict (b) do nothing',
  })
  expect(translateStatement(`${insert} on conflict (b) do update set c = 1`).insert).toBeUndefined()
  expect(translateStatement(`${insert} returning b`).insert).toBeUndefined()
})
