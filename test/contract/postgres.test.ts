import { afterAll, beforeAll } from 'vitest'
import { openPostgres } from '../../appliance/storage/postgres/postgres.ts'
import { postgresPrograms, startCluster, type Cluster } from '../unit/storage/postgres/cluster.ts'
import { racesContract } from './races.contract.ts'
import { storageContract } from './storage.contract.ts'

const programs = postgresPrograms()

let cluster: Cluster
beforeAll(async () => {
  cluster = await startCluster(programs, { safe: true })
})
afterAll(() => cluster?.close())

storageContract('PostgreSQL', async () => openPostgres({ url: await cluster.createDatabase() }))

racesContract('PostgreSQL', async () => {
  const url = await cluster.createDatabase()
  return [await openPostgres({ url }), await openPostgres({ url })]
})
