/** Sends email after email until it is killed; says so once the first is delivered. */
import { newId } from '../../../appliance/mail/ids.ts'
import { openSqlite } from '../../../appliance/storage/sqlite/sqlite.ts'
import { change, leaseArgs, putEmail, T0 } from '../../contract/fixtures.ts'

const storage = await openSqlite({ dataDir: process.argv[2]! })
const team = await storage.firstTeam({}, T0)
const teamId = team?.id ?? newId(T0)
if (!team)
  await storage.createOwner(
    {
      team: { id: teamId, name: 'Team', createdAt: T0 },
      user: { id: newId(T0), email: 'owner@example.com', passwordHash: '-', createdAt: T0 },
    },
    T0,
  )
for (let sent = 0; ; sent++) {
  const now = T0 + sent
  await putEmail(storage, teamId, ['a@x.test', 'b@y.test'], now)
  const leased = await storage.lease(leaseArgs({ leaseUntil: now + 60_000 }), now)
  const changes = leased.map(({ id }) => {
    const delivered = change(id, 'delivered', 'email.delivered')
    return { ...delivered, event: { ...delivered.event!, id: newId(T0) } }
  })
  await storage.settle({ owner: 'one', attempt: null, changes }, now)
  if (sent === 0) process.send!('sending')
}
