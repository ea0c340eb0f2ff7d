/**
 * Sends emails until killed, on a day that has a roll-up and on the next day. Prints a line once the roll-up exists.
 */
import { catchUpTagCounts } from '../../../appliance/events/metrics-tags.ts'
import { newId } from '../../../appliance/mail/ids.ts'
import { openSqlite } from '../../../appliance/storage/sqlite/sqlite.ts'
import { change, DAY, leaseArgs, putEmail, T0 } from '../../contract/fixtures.ts'

const storage = await openSqlite({ dataDir: process.argv[2]! })
const team = await storage.firstTeam({}, T0)
const teamId = team?.id ?? newId(T0)
if (!team)
  await storage.createOwner(
    {
      team: { id: teamId, name: 'Team', createdAt: T0 },
      user: { id: newId(T0), email: 'owner@example.com', passwordHash: '-', provenAt: null, createdAt: T0 },
    },
    T0,
  )
for (let sent = 0; ; sent++) {
  // The first day is rolled up after one email. Then every other email arrives late, on that day.
  const now = T0 + sent + (sent % 2) * DAY
  await putEmail(storage, teamId, ['a@x.test', 'b@y.test'], now)
  const leased = await storage.lease(leaseArgs({ leaseUntil: now + 60_000 }), now)
  const changes = leased.map(({ id }) => {
    const delivered = change(id, 'delivered', 'email.delivered')
    return { ...delivered, event: { ...delivered.event!, id: newId(T0) } }
  })
  await storage.settle({ owner: 'one', attempt: null, changes }, now)
  await storage.sumMetricsUp({ teamId }, T0 + DAY)
  await catchUpTagCounts(storage, now)
  if (sent === 0) process.send!('sending')
}
