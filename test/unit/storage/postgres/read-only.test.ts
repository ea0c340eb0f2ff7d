import { afterAll, beforeAll, expect, test } from 'vitest'
import { openPostgres, openPostgresReader } from '../../../../appliance/storage/postgres/postgres.ts'
import { makeTeam, T0 } from '../../../contract/fixtures.ts'
import { findPostgresPrograms, startCluster, type Cluster } from './cluster.ts'

/** A storage that only reads: what `posthaste simulate` opens beside a running server. */

let cluster: Cluster
beforeAll(async () => {
  cluster = await startCluster(findPostgresPrograms(), { safe: true })
})
afterAll(() => cluster?.close())

test('returns data stored by others, and has no methods that write', async () => {
  const url = await cluster.createDatabase()
  const storage = await openPostgres({ url })
  const { team } = await makeTeam(storage)
  const reads = await openPostgresReader({ url })
  try {
    expect((await reads.listTeams({}, T0)).map(({ id }) => id)).toEqual([team.id])
    expect(reads).not.toHaveProperty('saveLanes')
    const other = await makeTeam(storage)
    expect((await reads.listTeams({}, T0)).map(({ id }) => id)).toContain(other.team.id)
  } finally {
    await reads.close()
    await storage.close()
  }
})

test('a read-only connection does not create tables', async () => {
  const url = await cluster.createDatabase()
  const reads = await openPostgresReader({ url })
  await expect(reads.listTeams({}, T0)).rejects.toThrow()
  await reads.close()
})
