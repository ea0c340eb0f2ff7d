import { afterAll, beforeAll } from 'vitest'
import { openPostgres } from '../../appliance/storage/postgres/postgres.ts'
import { findPostgresPrograms, startCluster, type Cluster } from '../unit/storage/postgres/cluster.ts'
import { racesContract } from './races.contract.ts'
import { storageContract } from './storage.contract.ts'

const programs = findPostgresPrograms()

let cluster: Cluster
beforeAll(async () => {
  cluster = await startCluster(programs, { safe: true })
})
afterAll(() => cluster?.close())

/** Creates a database whose schema is up to date: copying one takes less time than the migrations. */
const createMigrated = () =>
  cluster.createDatabase(async (url) => {
    await (await openPostgres({ url })).close()
  })

storageContract('PostgreSQL', async () => openPostgres({ url: await createMigrated() }))

racesContract('PostgreSQL', async () => {
  const url = await createMigrated()
  return [await openPostgres({ url }), await openPostgres({ url })]
})
