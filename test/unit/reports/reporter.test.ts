import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { systemClock } from '../../../appliance/clock/clock.ts'
import { newId } from '../../../appliance/mail/ids.ts'
import { createReporter } from '../../../appliance/reports/reports.ts'
import { openSqlite } from '../../../appliance/storage/sqlite/sqlite.ts'
import type { NewEmail, Storage } from '../../../appliance/storage/storage.ts'
import { createSilentLogger } from '../../../appliance/watch/log.ts'
import { change, leaseArgs, makeTeam, newDomain, newEmail, putArgs } from '../../contract/fixtures.ts'
import { PATIENCE } from '../../world/patience.ts'

/** Tests with a real database: each due report becomes exactly one email, whatever is killed and when. */

let place: string
let storage: Storage
let teamId: string
let domainId: string

beforeAll(async () => {
  place = await mkdtemp(join(tmpdir(), 'posthaste-reports-'))
  storage = await openSqlite({ dataDir: place })
  teamId = (await makeTeam(storage, Date.now())).team.id
  const made = newDomain(teamId, 'example.com')
  domainId = made.domain.id
  await storage.createDomain(made, 0)
})

afterEach(async () => {
  await runToEnd()
  await storage.dropQueue({}, Date.now() + 1e9)
})

afterAll(async () => {
  await storage.close()
  await rm(place, { recursive: true, force: true })
})

function submitted(recipients: string[], more: Partial<NewEmail> = {}): NewEmail {
  const now = Date.now()
  return newEmail(teamId, recipients, now, { domainId, via: 'smtp', reportTo: 'app@example.com', ...more })
}

/** Settles the email as bounced, so that a report is due. */
async function bounced(email: NewEmail): Promise<void> {
  const now = Date.now()
  await storage.put(putArgs(email), now)
  await storage.lease(leaseArgs({ leaseUntil: now + 60_000 }), now)
  const changes = email.deliveries.map(({ id }) => ({ ...change(id, 'bounced'), report: 'failed' as const }))
  await storage.settle({ owner: 'one', attempt: null, changes }, now)
}

function reporter(onStored = () => undefined) {
  const deps = { storage, clock: systemClock, log: createSilentLogger(), hostname: 'mail.example.org' }
  return createReporter({ ...deps, onStored, pollMs: 10 })
}

const dueNow = () => storage.dueReports({ limit: 100 }, Date.now())
const queued = async () => (await storage.listQueue({ limit: 100 }, Date.now())).items

async function untilNoneIsDue(): Promise<void> {
  for (const end = Date.now() + PATIENCE; (await dueNow()).length > 0;) {
    if (Date.now() > end) throw new Error('a report is still due')
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

async function runToEnd(): Promise<void> {
  const one = reporter()
  one.start()
  await untilNoneIsDue()
  await one.stop()
}

test('a report about an email whose message file is lost comes without the message, and others are not delayed', async () => {
  const lost = submitted(['lost@example.net'], { message: Buffer.alloc(300_000, 'x') })
  const other = submitted(['other@example.net'])
  for (const email of [lost, other]) await bounced(email)
  await rm(join(place, 'messages'), { recursive: true })
  await runToEnd()
  expect((await queued()).map(({ recipient }) => recipient)).toEqual(['app@example.com', 'app@example.com'])
})

test('a due report becomes one queued email', async () => {
  const email = submitted(['a@example.net', 'b@example.net'])
  await bounced(email)
  expect(await dueNow()).toMatchObject([
    { kind: 'failed', emailId: email.id, domain: 'example.com', reportTo: 'app@example.com' },
  ])
  await runToEnd()
  expect(await queued()).toMatchObject([{ recipient: 'app@example.com', state: 'waiting' }])
})

test('a report due when the process was killed is created by the next process', async () => {
  const folder = join(place, 'killed')
  const script = join(import.meta.dirname, 'settle-child.ts')
  const child = spawn(process.execPath, [script, folder], { stdio: ['ignore', 'pipe', 'inherit'] })
  await once(child.stdout, 'data')
  child.kill('SIGKILL')
  await once(child, 'exit')
  const killed = await openSqlite({ dataDir: folder })
  const ours = storage
  storage = killed
  try {
    await runToEnd()
    expect(await queued()).toMatchObject([{ recipient: 'app@killed.example', state: 'waiting' }])
  } finally {
    storage = ours
    await killed.close()
  }
})

test('two concurrent reporters create each report once', async () => {
  for (let n = 0; n < 30; n++) await bounced(submitted([`a${n}@example.net`]))
  let stored = 0
  const both = [reporter(() => void stored++), reporter(() => void stored++)]
  for (const one of both) one.start()
  await untilNoneIsDue()
  for (const one of both) await one.stop()
  expect(stored).toBe(30)
  expect(await queued()).toHaveLength(30)
})

test('a large message is returned in full', async () => {
  const message = Buffer.concat([Buffer.from('Subject: x\r\n\r\n'), Buffer.alloc(600_000, 'y\r\n')])
  await bounced(submitted(['a@example.net'], { message, dsn: { ret: 'FULL', envid: null } }))
  await runToEnd()
  const [delivery] = await queued()
  const report = await storage.getMessage({ emailId: delivery!.emailId }, 0)
  expect(report!.byteLength).toBeGreaterThan(600_000)
})

test('no report is sent to a suppressed return address', async () => {
  await bounced(submitted(['a@example.net']))
  const entry = { id: newId(0), teamId, email: 'app@example.com', origin: 'bounce' as const, sourceId: null }
  await storage.addSuppressions({ teamId, suppressions: [{ ...entry, createdAt: 0 }] }, 0)
  await runToEnd()
  expect(await queued()).toEqual([])
})

test('no report is sent when the signing domain is gone', async () => {
  await bounced(submitted(['a@example.net'], { domainId: newId(1) }))
  await runToEnd()
  expect(await queued()).toEqual([])
})

test('no delay report is sent once the delivery is no longer delayed', async () => {
  const email = submitted(['a@example.net'])
  const now = Date.now()
  await storage.put(putArgs(email), now)
  await storage.lease(leaseArgs({ leaseUntil: now + 60_000 }), now)
  const late = { ...change(email.deliveries[0]!.id, 'waiting', null, now), report: 'delayed' as const }
  await storage.settle({ owner: 'one', attempt: null, changes: [late] }, now)
  await storage.lease(leaseArgs({ leaseUntil: now + 60_000 }), now)
  const done = change(email.deliveries[0]!.id, 'delivered')
  await storage.settle({ owner: 'one', attempt: null, changes: [done] }, now)
  expect(await dueNow()).toHaveLength(1)
  await runToEnd()
  expect(await queued()).toEqual([])
})
