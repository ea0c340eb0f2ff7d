import Database from 'better-sqlite3'
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { catchUpTagCounts } from '../../../appliance/events/metrics-tags.ts'
import { firstIdAt, newId } from '../../../appliance/mail/ids.ts'
import { openSqlite, type SqliteStorage } from '../../../appliance/storage/sqlite/sqlite.ts'
import {
  forecastDaysUntilFull,
  removeUnwantedBodies,
  runRetention,
} from '../../../appliance/housekeeping/housekeeping.ts'
import type { NewEmail, PurgeArgs, PurgeResult } from '../../../appliance/storage/storage.ts'
import {
  change,
  DAY,
  leaseArgs,
  makeTeam,
  MINUTE,
  newAttempt,
  newDomain,
  putEmail,
  T0,
} from '../../contract/fixtures.ts'
import { makePlace, runChild, kill } from './places.ts'

const cause = { phase: 'queue' as const, host: null, ip: null, reply: null, note: 'Interrupted.' }

const LARGE = Buffer.alloc(300 * 1024, 1)
const periods = { bodiesDays: 30, attemptsDays: 90, eventsDays: 90, emailsDays: 365, diskBudget: null }
const at = (now: number) => ({ now: () => now, after: () => () => undefined })

async function open(): Promise<{ storage: SqliteStorage; dataDir: string; teamId: string }> {
  const dataDir = join(await makePlace(), 'data')
  const storage = await openSqlite({ dataDir })
  const { team } = await makeTeam(storage)
  return { storage, dataDir, teamId: team.id }
}

/** Delivers everything that is due, with one attempt per email. */
async function deliver(storage: SqliteStorage, emails: NewEmail[], now = T0): Promise<void> {
  await storage.lease(leaseArgs({ leaseUntil: now + MINUTE }), now)
  for (const email of emails) {
    const ids = email.deliveries.map(({ id }) => id)
    const changes = ids.map((id) => change(id, 'delivered', 'email.delivered'))
    await storage.settle({ owner: 'one', attempt: newAttempt(email, ids), changes }, now)
  }
}

function allRead(dataDir: string): void {
  const db = new Database(join(dataDir, 'posthaste.db'))
  db.exec('update cursors set seq = (select max(seq) from events)')
  db.close()
}

const fileOf = (dataDir: string, id: string): string => join(dataDir, 'messages', id.slice(-2), id)

describe('retention', () => {
  test('retention removes returned messages with the bodies, and frees their share of the team’s quota', async () => {
    const { storage, dataDir, teamId } = await open()
    const email = await putEmail(storage, teamId, ['a@x.example'])
    const other = await putEmail(storage, teamId, ['b@x.example'])
    await deliver(storage, [email, other])
    allRead(dataDir)
    const limits = { emailMessages: 10, emailBytes: 1e6, teamBytes: 1e6, allBytes: 1e6 }
    let serial = 100
    const keep = async (emailId: string, now: number): Promise<void> => {
      const bytes = new Uint8Array(1000)
      // Doesn't use newId: its IDs never go backwards, and other tests create theirs at T0.
      const id = `${firstIdAt(now).slice(0, -3)}${++serial}`
      const about = { id, receivedAt: now, mailFrom: '', rcptTo: 'bounce', ip: '192.0.2.1' }
      const message = { ...about, helo: 'mx', tls: null, size: 1000, bytes }
      expect(await storage.keepReturned({ emailId, message, limits }, now)).toBe('kept')
    }
    const used = (): unknown => {
      const db = new Database(join(dataDir, 'posthaste.db'), { readonly: true })
      const bytes = db.prepare('select bytes from returned_use').pluck().get()
      db.close()
      return bytes
    }
    await keep(email.id, T0)
    await keep(email.id, T0 + 20 * DAY)
    await keep(other.id, T0 + 20 * DAY)
    expect(used()).toBe(3 * 2024)
    expect(await runRetention(storage, at(T0 + 31 * DAY), periods)).toMatchObject({ received: 1 })
    expect(await storage.listReturned({ teamId, emailId: email.id }, T0)).toHaveLength(1)
    expect(used()).toBe(2 * 2024)
    // Returned mail is removed along with its email, whatever its age.
    const soon = { ...periods, bodiesDays: 400, emailsDays: 31 }
    expect(await runRetention(storage, at(T0 + 32 * DAY), soon)).toMatchObject({ emails: 2, received: 0 })
    expect(used()).toBe(0)
    await storage.close()
  })

  test('retention removes each kind of data after its period, and nothing that is queued', async () => {
    const { storage, dataDir, teamId } = await open()
    const small = await putEmail(storage, teamId, ['a@x.example'])
    const large = await putEmail(storage, teamId, ['b@x.example'], T0, { message: LARGE })
    await deliver(storage, [small, large])
    const waits = await putEmail(storage, teamId, ['c@x.example'], T0, { message: LARGE })
    const history = (id: string) => storage.getHistory({ teamId, id }, T0)

    expect(await runRetention(storage, at(T0 + 29 * DAY), periods)).toMatchObject({ bodies: 0, emails: 0 })
    expect(await runRetention(storage, at(T0 + 31 * DAY), periods)).toMatchObject({
      bodies: 2,
      attempts: 0,
      emails: 0,
    })
    expect(await storage.getMessage({ emailId: small.id }, T0)).toBe(undefined)
    expect(await storage.getMessage({ emailId: large.id }, T0)).toBe(undefined)
    expect(existsSync(fileOf(dataDir, large.id))).toBe(false)
    expect(await storage.getEmail({ teamId, id: small.id }, T0)).toMatchObject({
      subject: small.subject,
      content: { place: 'row', html: null, text: null },
    })
    expect(Buffer.from((await storage.getMessage({ emailId: waits.id }, T0))!)).toEqual(LARGE)

    expect(await runRetention(storage, at(T0 + 91 * DAY), periods)).toMatchObject({ attempts: 2, events: 0 })
    // The event readers haven't read them yet, so they stay until then.
    allRead(dataDir)
    const later = await runRetention(storage, at(T0 + 91 * DAY), periods)
    expect(later).toMatchObject({ bodies: 0, attempts: 0, events: 4, emails: 0 })
    expect(await history(small.id)).toMatchObject({
      attempts: [],
      events: [],
      deliveries: [{ state: 'delivered' }],
    })

    expect(await runRetention(storage, at(T0 + 366 * DAY), periods)).toMatchObject({ emails: 2 })
    expect(await storage.getEmail({ teamId, id: small.id }, T0)).toBe(undefined)
    expect(await storage.getEmail({ teamId, id: waits.id }, T0)).toMatchObject({ id: waits.id })
    expect(Buffer.from((await storage.getMessage({ emailId: waits.id }, T0))!)).toEqual(LARGE)
    await storage.close()
  })

  test('over the disk budget, the oldest bodies of final emails are removed first; reports if that is not enough', async () => {
    const { storage, teamId } = await open()
    const emails: NewEmail[] = []
    for (let count = 0; count < 8; count++)
      emails.push(
        await putEmail(storage, teamId, ['a@x.example'], T0 + count, { message: Buffer.alloc(1_000_000) }),
      )
    await deliver(storage, emails, T0 + 10)
    const { database, files } = await storage.diskUse({}, T0)
    expect(files).toBe(8_000_000)
    const budget = { ...periods, diskBudget: database + files - 1_500_000 }
    await runRetention(storage, at(T0 + DAY), { ...budget, diskBudget: database + files })
    expect((await storage.diskUse({}, T0)).files).toBe(8_000_000)
    const done = await runRetention(storage, at(T0 + DAY), budget)
    expect(done.overBudget).toBe(false)
    const kept = await Promise.all(
      emails.map(async ({ id }) => (await storage.getMessage({ emailId: id }, T0)) !== undefined),
    )
    expect(kept).toEqual([false, false, ...Array<boolean>(6).fill(true)])
    expect(await runRetention(storage, at(T0 + DAY), { ...budget, diskBudget: 1000 })).toMatchObject({
      overBudget: true,
    })
    await storage.close()
  })

  test('retention keeps a body while a delivery report still needs it', async () => {
    const { storage, teamId } = await open()
    const more = { reportTo: 'app@example.com' }
    const email = await putEmail(storage, teamId, ['a@x.example'], T0, more)
    await storage.lease(leaseArgs(), T0)
    const bounced = {
      ...change(email.deliveries[0]!.id, 'bounced', 'email.bounced'),
      report: 'failed' as const,
    }
    await storage.settle({ owner: 'one', attempt: null, changes: [bounced] }, T0)
    expect(await runRetention(storage, at(T0 + 31 * DAY), periods)).toMatchObject({ bodies: 0 })
    await storage.dropReports(
      { kind: 'failed', emailId: email.id, deliveryIds: [email.deliveries[0]!.id] },
      T0,
    )
    expect(await runRetention(storage, at(T0 + 31 * DAY), periods)).toMatchObject({ bodies: 1 })
    await storage.close()
  })

  test('retention returns free pages to the disk', async () => {
    const { storage, dataDir, teamId } = await open()
    const emails: NewEmail[] = []
    for (let count = 0; count < 30; count++)
      emails.push(
        await putEmail(storage, teamId, ['a@x.example'], T0, { message: Buffer.alloc(200_000, count) }),
      )
    await deliver(storage, emails)
    const before = await storage.diskUse({}, T0)
    await runRetention(storage, at(T0 + 31 * DAY), periods)
    const after = await storage.diskUse({}, T0)
    expect(after.database).toBeLessThan(before.database - 5_000_000)
    expect(after.free).toBeLessThan(2_000_000)
    await storage.close()
    const db = new Database(join(dataDir, 'posthaste.db'), { readonly: true })
    expect(db.pragma('integrity_check', { simple: true })).toBe('ok')
    db.close()
  })

  test('retention works in bounded steps of rows or 2 MB, so that other writes are not blocked', async () => {
    const { storage, teamId } = await open()
    const emails: NewEmail[] = []
    for (let count = 0; count < 300; count++)
      emails.push(
        await putEmail(storage, teamId, ['a@x.example', 'b@x.example'], T0, {
          message: Buffer.alloc(50_000, 1),
        }),
      )
    for (let round = 0; round < 6; round++) await storage.lease(leaseArgs({ leaseUntil: T0 + MINUTE }), T0)
    await deliver(storage, emails)
    while ((await catchUpTagCounts(storage, T0)) !== null);
    const steps: { rows: number; most: number; bytes: number }[] = []
    const counted =
      (method: (args: PurgeArgs, now: number) => Promise<PurgeResult>) =>
      async (args: PurgeArgs, now: number): Promise<PurgeResult> => {
        const done = await method(args, now)
        steps.push({ rows: done.count, most: args.most, bytes: done.bytes })
        return done
      }
    const watched = {
      ...storage,
      purgeBodies: counted((args, now) => storage.purgeBodies(args, now)),
      purgeAttempts: counted((args, now) => storage.purgeAttempts(args, now)),
      purgeEvents: counted((args, now) => storage.purgeEvents(args, now)),
      purgeEmails: counted((args, now) => storage.purgeEmails(args, now)),
    }
    await runRetention(watched, at(T0 + 100 * DAY), periods)
    await runRetention(watched, at(T0 + 400 * DAY), periods)
    expect(steps.filter(({ rows }) => rows > 0).length).toBeGreaterThan(10)
    for (const { rows, most, bytes } of steps) {
      expect(most).toBeLessThanOrEqual(500)
      expect(rows).toBeLessThanOrEqual(most)
      expect(bytes).toBeLessThanOrEqual(2_000_000 + 50_000)
    }
    expect((await storage.listEmails({ teamId, limit: 10 }, T0)).items).toEqual([])
    await storage.close()
  })

  test('a killed retention run loses no queued mail, and the next run completes it', async () => {
    const { storage, dataDir, teamId } = await open()
    const emails: NewEmail[] = []
    for (let count = 0; count < 40; count++)
      emails.push(await putEmail(storage, teamId, ['a@x.example'], T0 + count, { message: LARGE }))
    await deliver(storage, emails, T0 + 100)
    const waits = await putEmail(storage, teamId, ['w@x.example'], T0, { message: LARGE })
    await storage.close()
    const { child, lines } = runChild('retention-child.ts', dataDir)
    for await (const line of lines) if (line === 'begun') break
    await kill(child)
    const again = await openSqlite({ dataDir })
    await runRetention(again, at(T0 + 31 * DAY), periods)
    for (const { id } of emails) expect(await again.getMessage({ emailId: id }, T0)).toBe(undefined)
    expect(await readFile(fileOf(dataDir, waits.id))).toEqual(LARGE)
    expect(Buffer.from((await again.getMessage({ emailId: waits.id }, T0))!)).toEqual(LARGE)
    await again.close()
  })
})

describe('an email of a domain that does not keep bodies', () => {
  test('an email of a domain without bodies loses body, subject and logged request once it is final', async () => {
    const { storage, teamId, dataDir } = await open()
    const { domain, keys } = newDomain(teamId, 'secret.example')
    await storage.createDomain({ domain, keys }, T0)
    const about = { domainId: domain.id, message: LARGE }
    expect(await storage.setKeepBodies({ teamId, domainId: domain.id, keep: false }, T0)).toBe(true)
    expect(await storage.domainsWithoutBodies({ teamId }, T0)).toEqual(['secret.example'])
    const email = await putEmail(storage, teamId, ['a@x.example', 'b@y.example'], T0, about)
    const other = await putEmail(storage, teamId, ['a@x.example'])
    const log = {
      id: newId(T0),
      teamId,
      apiKeyId: newId(T0),
      method: 'POST',
      endpoint: '/emails',
      status: 200,
      durationMs: 1,
      ip: '192.0.2.1',
      userAgent: null,
      createdAt: T0,
      query: null,
      enhanced: null,
      message: null,
      requestBody: '{"html":"secret"}',
      responseBody: '{}',
      emailIds: [email.id],
    }
    await storage.saveLogs({ logs: [log] }, T0)
    await storage.lease(leaseArgs(), T0)
    const [first, second] = email.deliveries
    const settled = (id: string) =>
      storage.settle(
        { owner: 'one', attempt: null, changes: [change(id, 'delivered', 'email.delivered')] },
        T0,
      )
    await settled(first!.id)
    await settled(other.deliveries[0]!.id)
    expect(await removeUnwantedBodies(storage, at(T0 + DAY))).toBe(0)
    expect(await storage.getMessage({ emailId: email.id }, T0)).toBeDefined()
    await storage.voidLeases({ owners: ['one'], cause, firstDueAt: T0 }, T0)
    await storage.dropQueue({ deliveryIds: [second!.id] }, T0)
    // Recent emails wait until their request is logged.
    expect(await removeUnwantedBodies(storage, at(T0 + 1000))).toBe(0)
    expect(await removeUnwantedBodies(storage, at(T0 + 2 * MINUTE))).toBe(1)
    expect(await storage.getMessage({ emailId: email.id }, T0)).toBe(undefined)
    expect(existsSync(fileOf(dataDir, email.id))).toBe(false)
    expect(await storage.getEmail({ teamId, id: email.id }, T0)).toMatchObject({
      subject: '',
      content: { place: 'row', html: null, text: null },
      headers: [],
      attachments: [],
    })
    expect(await storage.getLog({ teamId, id: log.id }, T0)).toMatchObject({ requestBody: null })
    expect(await storage.getMessage({ emailId: other.id }, T0)).toBeDefined()
    await storage.close()
  })

  test('an email of a domain without bodies loses its body if all recipients are suppressed', async () => {
    const { storage, teamId } = await open()
    const { domain, keys } = newDomain(teamId, 'secret.example')
    await storage.createDomain({ domain, keys }, T0)
    await storage.setKeepBodies({ teamId, domainId: domain.id, keep: false }, T0)
    const one = {
      id: newId(T0),
      teamId,
      email: 'a@x.example',
      origin: 'manual' as const,
      sourceId: null,
      createdAt: T0,
    }
    await storage.addSuppressions({ teamId, suppressions: [one] }, T0)
    const email = await putEmail(storage, teamId, ['a@x.example'], T0, { domainId: domain.id })
    expect(await removeUnwantedBodies(storage, at(T0 + 2 * MINUTE))).toBe(1)
    expect(await storage.getMessage({ emailId: email.id }, T0)).toBe(undefined)
    await storage.close()
  })
})

test.each([
  [[], 1000, null],
  [[['2026-01-01', 100]], 1000, null],
  [
    [
      ['2026-01-01', 100],
      ['2026-01-03', 300],
    ],
    1000,
    10,
  ],
  [
    [
      ['2026-01-01', 500],
      ['2026-01-03', 300],
    ],
    1000,
    null,
  ],
  // Only the last week counts.
  [
    [
      ['2025-11-01', 0],
      ['2026-01-01', 1000],
      ['2026-01-08', 1700],
    ],
    1000,
    10,
  ],
] as [[string, number][], number, number | null][])(
  'the days until the disk is full, for %j with %d bytes free: %s',
  (days, room, expected) => {
    expect(
      forecastDaysUntilFull(
        days.map(([day, bytes]) => ({ day, bytes })),
        room,
      ),
    ).toBe(expected)
  },
)
