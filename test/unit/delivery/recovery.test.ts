import { join } from 'node:path'
import { expect, test } from 'vitest'
import { recoverLeases } from '../../../appliance/delivery/recovery.ts'
import { openSqlite } from '../../../appliance/storage/sqlite/sqlite.ts'
import { createSilentLogger } from '../../../appliance/watch/log.ts'
import { leaseArgs, makeTeam, putEmail, T0 } from '../../contract/fixtures.ts'
import { makePlace } from '../storage/places.ts'
import { formatOwner } from '../../../appliance/mail/ids.ts'

test('on start, a node recovers leases of its earlier run and leaves those of other nodes', async () => {
  const dataDir = join(await makePlace(), 'data')
  // Two nodes on one storage.
  const [here, there] = [await openSqlite({ dataDir }), await openSqlite({ dataDir })]
  const { team } = await makeTeam(here)
  for (const to of ['a@x.test', 'b@y.test', 'c@z.test']) await putEmail(here, team.id, [to])
  await here.lease(leaseArgs({ owner: formatOwner('here', 'run-1'), limit: 1 }), T0)
  await there.lease(leaseArgs({ owner: formatOwner('there', 'run-1'), limit: 1 }), T0)
  await here.lease(leaseArgs({ owner: formatOwner('here', 'run-2'), limit: 1 }), T0)

  const start = { storage: here, owner: formatOwner('here', 'run-2'), log: createSilentLogger() }
  await recoverLeases(start, T0)
  expect((await there.leaseOwners({}, T0)).toSorted()).toEqual(['here/run-2', 'there/run-1'])
  await recoverLeases({ ...start, storage: there, owner: formatOwner('there', 'run-2') }, T0)
  expect(await here.leaseOwners({}, T0)).toEqual(['here/run-2'])
  await Promise.all([here.close(), there.close()])
})
