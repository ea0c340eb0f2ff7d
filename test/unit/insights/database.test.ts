import { expect, test } from 'vitest'
import { checkDatabase } from '../../../appliance/insights/database.ts'
import type { DatabaseServer } from '../../../appliance/storage/storage.ts'

const server: DatabaseServer = {
  version: '15.14 (Debian 15.14-0+deb12u1)',
  database: 'posthaste',
  size: 120_400_000,
  connections: { own: 5, used: 12, most: 97 },
  asyncStandbys: 0,
  respondedIn: 3,
}

const examine = (change: Partial<DatabaseServer>) =>
  checkDatabase({ databaseServer: async () => ({ ...server, ...change }) })

test('describes a database server that responds, and returns no finding for SQLite', async () => {
  const found =
    'PostgreSQL 15.14, database posthaste, 120 MB. 12 of 97 connections in use, 5 by Posthaste. Responded in 3 ms.'
  expect(await examine({})).toEqual([
    { id: 'database', title: 'Database server', status: 'ok', found, advice: null },
  ])
  expect(await checkDatabase({ databaseServer: async () => null })).toEqual([])
})

test.each<[string, Partial<DatabaseServer>]>([
  ['max_connections', { connections: { own: 5, used: 90, most: 97 } }],
  ['closer', { respondedIn: 101 }],
  ['A standby replicates asynchronously', { asyncStandbys: 1 }],
  ['2 standbys replicate asynchronously', { asyncStandbys: 2 }],
])('warns of a risk of the database server: %s', async (advice, change) => {
  expect(await examine(change)).toMatchObject([
    { status: 'warning', advice: expect.stringContaining(advice) as string },
  ])
})

test('a database server that does not respond is a failure with the reason', async () => {
  const databaseServer = () => Promise.reject(new Error('The database server cannot be reached.'))
  expect(await checkDatabase({ databaseServer })).toMatchObject([
    { status: 'failed', found: 'The database server cannot be reached.' },
  ])
})
