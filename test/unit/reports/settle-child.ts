/** Stores an email submitted over SMTP, settles it as bounced, prints so, and waits to be killed. */
import { openSqlite } from '../../../appliance/storage/sqlite/sqlite.ts'
import { change, leaseArgs, makeTeam, newDomain, newEmail, putArgs } from '../../contract/fixtures.ts'

const storage = await openSqlite({ dataDir: process.argv[2]! })
const now = Date.now()
const { team } = await makeTeam(storage, now)
const made = newDomain(team.id, 'killed.example')
await storage.createDomain(made, now)
const email = newEmail(team.id, ['a@example.net'], now, {
  via: 'smtp',
  domainId: made.domain.id,
  reportTo: 'app@killed.example',
})
await storage.put(putArgs(email), now)
await storage.lease(leaseArgs({ leaseUntil: now + 60_000 }), now)
const bounced = { ...change(email.deliveries[0]!.id, 'bounced'), report: 'failed' as const }
await storage.settle({ owner: 'one', attempt: null, changes: [bounced] }, now)
process.stdout.write('settled\n')
setInterval(() => undefined, 1000)
