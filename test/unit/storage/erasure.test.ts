import Database from 'better-sqlite3'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { createErasureCounts } from '../../../appliance/mail/erasure.ts'
import { newId } from '../../../appliance/mail/ids.ts'
import { createErasures } from '../../../appliance/senders/senders.ts'
import { openSqlite, type SqliteStorage } from '../../../appliance/storage/sqlite/sqlite.ts'
import type { NewEmail, ErasureCounts } from '../../../appliance/storage/storage.ts'
import { removeUnwantedBodies } from '../../../appliance/housekeeping/housekeeping.ts'
import { cause, change, DAY, leaseArgs, makeTeam, newAttempt, putEmail, T0 } from '../../contract/fixtures.ts'
import { kill, makePlace, runChild } from './places.ts'

const ADA = 'ada.lovelace@x.example'
const LARGE = Buffer.alloc(300 * 1024, 'ada.lovelace@x.example ')
const clock = { now: () => T0 + DAY, after: () => () => undefined }
const actor = { kind: 'command' as const, name: 'root', ip: null }

async function open(): Promise<{ storage: SqliteStorage; dataDir: string; teamId: string }> {
  const dataDir = join(await makePlace(), 'data')
  const storage = await openSqlite({ dataDir })
  const { team } = await makeTeam(storage)
  return { storage, dataDir, teamId: team.id }
}

/** Returns every text of every table, and every blob as text: everything that a reader of the database can find. */
function everything(dataDir: string): string {
  const db = new Database(join(dataDir, 'posthaste.db'), { readonly: true })
  const tables = db.prepare("select name from sqlite_master where type = 'table'").pluck().all() as string[]
  const rows = tables.flatMap((name) => db.prepare(`select * from "${name}"`).raw().all() as unknown[][])
  db.close()
  return rows
    .flat()
    .map((value) => (Buffer.isBuffer(value) ? value.toString('latin1') : String(value)))
    .join('\n')
    .toLowerCase()
}

async function bounce(storage: SqliteStorage, email: NewEmail): Promise<void> {
  const { id } = email.deliveries[0]!
  const words = 'Ada.Lovelace: no such user\n<ada.lovelace@x.example> is unknown'
  const said = {
    ...cause('They refused ada.lovelace@x.example.'),
    reply: { code: 550, enhanced: '5.1.1', text: words },
  }
  const attempt = newAttempt(email, [id])
  attempt.transcript.steps[0] = {
    ...attempt.transcript.steps[0]!,
    sent: `RCPT TO:<${ADA}> ORCPT=rfc822;${ADA}`,
    reply: said.reply,
  }
  const data = { recipient: ADA, cause: said }
  const bounced = {
    ...change(id, 'bounced', 'email.bounced'),
    cause: said,
    event: { id: newId(T0), type: 'email.bounced' as const, data },
  }
  await storage.settle({ owner: 'one', attempt, changes: [bounced] }, T0)
}

const requestOf = (teamId: string, email: NewEmail) => ({
  id: newId(T0),
  teamId,
  apiKeyId: newId(T0),
  method: 'POST',
  status: 200,
  durationMs: 1,
  ip: '192.0.2.1',
  userAgent: null,
  createdAt: T0,
  emailIds: [email.id],
  query: `to=${ADA}`,
  enhanced: null,
  message: `${ADA} is suppressed`,
  endpoint: '/suppressions/Ada.Lovelace%40x.example',
  requestBody: JSON.stringify({ to: `Ada <${ADA}>`, html: 'dear ada' }),
  responseBody: JSON.stringify({ message: `line\n${ADA} is suppressed` }),
})

const suppression = (teamId: string, email: string) => ({
  id: newId(T0),
  teamId,
  email,
  origin: 'bounce' as const,
  sourceId: null,
  createdAt: T0,
  reason: `${email} bounced`,
  reply: `550 ${email}`,
})

const received = (text: string, mailFrom = '') => ({
  id: newId(T0),
  receivedAt: T0,
  mailFrom,
  rcptTo: 'postmaster@mail.example.com',
  ip: '192.0.2.1',
  helo: 'mx.x.example',
  tls: null,
  size: text.length,
  bytes: new Uint8Array(Buffer.from(text)),
})
const LIMITS = { emailMessages: 10, emailBytes: 1e6, teamBytes: 1e6, allBytes: 1e6 }

describe('erasing an address', () => {
  test('an erasure removes returned and postmaster messages that contain the address', async () => {
    const { storage, dataDir, teamId } = await open()
    const keep = async (emailId: string, text: string) => {
      const message = received(text)
      expect(await storage.keepReturned({ emailId, message, limits: LIMITS }, T0)).toBe('kept')
      return message.id
    }
    const hers = await putEmail(storage, teamId, [ADA])
    const other = await putEmail(storage, teamId, ['bob@x.example'])
    await keep(hers.id, 'in some encoding, her name')
    await keep(other.id, `X-Forwarded-To: ${ADA}`)
    const left = await keep(other.id, 'No such user: bob')
    for (const message of [received(`${ADA} complains`), received('hello', ADA), received('bob complains')])
      await storage.keepPostmaster({ message, forward: 'off', limits: { messages: 9, bytes: 1e6 } }, T0)

    const erasures = createErasures({ storage, clock })
    expect(await erasures.survey({ teamId, address: ADA })).toMatchObject({ received_messages: 4 })
    const { id } = await erasures.begin({ teamId, address: ADA, actor })
    expect((await erasures.run({ teamId, id })).counts).toMatchObject({ emails: 1, received_messages: 4 })
    expect(everything(dataDir)).not.toContain('lovelace')
    expect(await storage.listReturned({ teamId, emailId: hers.id }, T0)).toEqual([])
    expect(await storage.listReturned({ teamId, emailId: other.id }, T0)).toMatchObject([{ id: left }])
    expect((await storage.listPostmaster({ limit: 10 }, T0)).items).toHaveLength(1)

    // Mail that arrives later contains her name, too, so its content isn't kept.
    await keep(hers.id, 'in some encoding, her name')
    const [late] = await storage.listReturned({ teamId, emailId: hers.id }, T0)
    expect(late).toMatchObject({ hasContent: false })
  })

  test('an erasure removes the address from the whole database, and keeps the outcomes without it', async () => {
    const { storage, dataDir, teamId } = await open()
    const to = { to: [`Ada King <Ada.Lovelace@x.example>`], headers: [{ name: 'X-For', value: ADA }] }
    const sent = await putEmail(storage, teamId, [ADA], T0, { ...to, message: LARGE })
    await storage.lease(leaseArgs(), T0)
    await bounce(storage, sent)
    const waits = await putEmail(storage, teamId, ['ADA.Lovelace@x.example'], T0 + 1, to)
    const other = await putEmail(storage, teamId, ['notada.lovelace@x.example'], T0 + 2)
    await storage.saveLogs({ logs: [requestOf(teamId, sent)] }, T0)
    await storage.addSuppressions({ teamId, suppressions: [suppression(teamId, ADA)] }, T0)
    const erasures = createErasures({ storage, clock })
    const counts = {
      ...createErasureCounts(),
      deliveries: 1,
      emails: 2,
      recipients: 2,
      bodies: 2,
      requests: 1,
      suppressions: 1,
      attempts: 1,
    }

    const before = everything(dataDir)
    const survey = await erasures.survey({ teamId, address: 'Ada.Lovelace@X.example' })
    expect(survey).toMatchObject({ deliveries: 1, emails: 2, recipients: 2, requests: 1, suppressions: 1 })
    expect(everything(dataDir)).toBe(before)

    const { id } = await erasures.begin({ teamId, address: 'Ada.Lovelace@X.example', actor })
    const done = await erasures.run({ teamId, id })
    expect(done).toMatchObject({ id, actor: 'root', createdAt: T0 + DAY, finishedAt: T0 + DAY })
    expect(done.counts).toMatchObject({ ...counts, events: 2 })
    expect(done.hash).toMatch(/^[0-9a-f]{64}$/)

    const left = everything(dataDir).replaceAll('notada.lovelace@x.example', '')
    expect(left).not.toContain('lovelace')
    expect(left).not.toContain('ada king')
    expect(left).not.toContain('dear ada')
    expect(existsSync(join(dataDir, 'messages', sent.id.slice(-2), sent.id))).toBe(false)

    const name = `erased-${done.hash.slice(0, 16)}@erased.invalid`
    expect(await storage.getHistory({ teamId, id: waits.id }, T0)).toMatchObject({
      deliveries: [{ recipient: name, state: 'failed' }],
      events: [{ type: 'email.failed', data: { recipient: name } }],
    })
    expect(await storage.getHistory({ teamId, id: sent.id }, T0)).toMatchObject({
      attempts: [{ transcript: { steps: [{ sent: `RCPT TO:<${name}> ORCPT=rfc822;${name}` }] } }],
    })
    expect(await storage.getMessage({ emailId: other.id }, T0)).toBeDefined()
    expect((await storage.listQueue({ limit: 10 }, T0)).items).toMatchObject([{ emailId: other.id }])
    expect((await storage.listAudit({ limit: 10 }, T0)).items).toMatchObject([
      {
        id,
        action: 'erasure.begin',
        actor: 'root',
        details: { address_hash: done.hash },
        after: done.counts,
      },
    ])
    await storage.close()
  })

  test('an erasure removes the contact, and keeps opt-outs and consents under a hash', async () => {
    const { storage, dataDir, teamId } = await open()
    const act = {
      origin: 'person' as const,
      via: 'one_click',
      source: null,
      wording: null,
      lifts: true,
      ip: '192.0.2.77',
      userAgent: 'Mail of Ada King',
    }
    const given = { firstName: 'Ada', lastName: 'King', properties: { p1: 'countess' } }
    const contact = { id: newId(T0), teamId, email: ADA, ...given, segmentIds: [], topics: [] }
    await storage.saveContact({ contact, act: { ...act, origin: 'api' } }, T0)
    await storage.updateContact({ teamId, ref: { id: contact.id }, change: { unsubscribed: true }, act }, T0)
    const log = (body: object, endpoint: string) => ({
      id: newId(T0),
      teamId,
      apiKeyId: newId(T0),
      method: 'PATCH',
      status: 200,
      durationMs: 1,
      ip: '192.0.2.1',
      userAgent: null,
      createdAt: T0,
      emailIds: [],
      query: null,
      enhanced: null,
      message: null,
      endpoint,
      requestBody: JSON.stringify(body),
      responseBody: '{}',
    })
    const logs = [
      log({ last_name: 'King' }, `/contacts/${contact.id}`),
      log({ first_name: 'Eve' }, '/contacts/x'),
    ]
    await storage.saveLogs({ logs }, T0)
    const erasures = createErasures({ storage, clock })
    expect(await erasures.survey({ teamId, address: ADA })).toMatchObject({
      contacts: 1,
      consents: 1,
      requests: 1,
    })
    const { id } = await erasures.begin({ teamId, address: ADA, actor })
    const { counts } = await erasures.run({ teamId, id })
    expect(counts).toMatchObject({ contacts: 1, consents: 1, requests: 1, events: 2 })

    const left = everything(dataDir)
    for (const word of ['lovelace', 'king', 'countess', '192.0.2.77']) expect(left).not.toContain(word)
    expect(left).toContain('eve')
    expect(await storage.countContacts({ teamId }, T0)).toEqual({ contacts: 0, unsubscribed: 0 })
    const again = { ...contact, id: newId(T0), unsubscribed: false }
    expect(await storage.saveContact({ contact: again, act: { ...act, lifts: false } }, T0)).toMatchObject({
      kind: 'created',
      contact: { optOut: { origin: 'person', at: T0 } },
    })
    const asked = { teamId, contactId: again.id, email: ADA }
    expect(await storage.listConsents(asked, T0)).toMatchObject([
      { contactId: contact.id, subscription: 'opt_out', origin: 'person', ip: null, userAgent: null },
    ])
    await storage.close()
  })

  test('an erased address stays suppressed, and the entry can be looked up and removed by address', async () => {
    const { storage, teamId } = await open()
    await storage.addSuppressions({ teamId, suppressions: [suppression(teamId, ADA)] }, T0)
    const erasures = createErasures({ storage, clock })
    const { id } = await erasures.begin({ teamId, address: ADA, actor })
    await erasures.run({ teamId, id })
    const again = await putEmail(storage, teamId, ['Ada.Lovelace@x.example'])
    expect(await storage.getHistory({ teamId, id: again.id }, T0)).toMatchObject({
      deliveries: [{ state: 'suppressed' }],
    })
    expect(await storage.findSuppressed({ teamId, addresses: [ADA] }, T0)).toMatchObject([
      { address: ADA, origin: 'bounce', reply: null, reason: null },
    ])
    expect(await storage.removeSuppressions({ teamId, refs: [{ email: ADA }] }, T0)).toHaveLength(1)
    expect(await storage.findSuppressed({ teamId, addresses: [ADA] }, T0)).toEqual([])
    await storage.close()
  })

  test('an email is still sent to other recipients after an erasure, and its body is removed afterwards', async () => {
    const { storage, teamId } = await open()
    const email = await putEmail(storage, teamId, ['bob@y.example', ADA], T0, {
      message: LARGE,
      content: { place: 'message', html: null, text: null },
    })
    const erasures = createErasures({ storage, clock })
    const { id } = await erasures.begin({ teamId, address: ADA, actor })
    expect((await erasures.run({ teamId, id })).counts).toMatchObject({
      deliveries: 1,
      bodies: 0,
      bodies_later: 1,
    })
    // The message is kept for the recipient that is still queued, but no longer shown.
    expect(await storage.getEmail({ teamId, id: email.id }, T0)).toMatchObject({
      content: { place: 'row', html: null, text: null },
    })
    expect(await removeUnwantedBodies(storage, clock)).toBe(0)
    expect(Buffer.from((await storage.getMessage({ emailId: email.id }, T0))!)).toEqual(LARGE)
    const leased = await storage.lease(leaseArgs(), T0)
    expect(leased.map(({ id: leasedId }) => leasedId)).toEqual([email.deliveries[0]!.id])
    const delivered = change(email.deliveries[0]!.id, 'delivered', 'email.delivered')
    await storage.settle({ owner: 'one', attempt: null, changes: [delivered] }, T0)
    expect(await removeUnwantedBodies(storage, clock)).toBe(1)
    expect(await storage.getMessage({ emailId: email.id }, T0)).toBe(undefined)
    expect(await storage.getEmail({ teamId, id: email.id }, T0)).toMatchObject({
      subject: '',
      content: { place: 'row', html: null, text: null },
    })
    await storage.close()
  })

  test('an erasure does not affect other teams', async () => {
    const { storage, teamId } = await open()
    const { team } = await makeTeam(storage)
    const email = await putEmail(storage, team.id, [ADA])
    const erasures = createErasures({ storage, clock })
    const { id } = await erasures.begin({ teamId, address: ADA, actor })
    expect((await erasures.run({ teamId, id })).counts).toEqual(createErasureCounts())
    expect(await storage.getErasure({ teamId: team.id, id }, T0)).toBe(undefined)
    expect(await storage.getHistory({ teamId: team.id, id: email.id }, T0)).toMatchObject({
      deliveries: [{ recipient: ADA, state: 'waiting' }],
    })
    await storage.close()
  })

  test('an erasure processes at most 2 MB of messages per step, so that other writes are not blocked', async () => {
    const { storage, teamId } = await open()
    for (let count = 0; count < 400; count++)
      await putEmail(storage, teamId, [ADA], T0 + count, { message: Buffer.alloc(50_000, 1) })
    const steps: ErasureCounts[] = [createErasureCounts()]
    const counted = {
      ...storage,
      eraseStep: async (args: { id: string }, now: number) => {
        const step = await storage.eraseStep(args, now)
        steps.push(step!.counts)
        return step
      },
    }
    const erasures = createErasures({ storage: counted, clock })
    const { id } = await erasures.begin({ teamId, address: ADA, actor })
    expect((await erasures.run({ teamId, id })).counts).toMatchObject({ deliveries: 400, bodies: 400 })
    expect(steps.length).toBeGreaterThan(8)
    for (const [i, { bodies }] of steps.slice(1).entries())
      expect((bodies - steps[i]!.bodies) * 50_000).toBeLessThanOrEqual(2_000_000 + 50_000)
    await storage.close()
  })

  test('a killed erasure resumes, and leaves no file behind', async () => {
    const { storage, dataDir, teamId } = await open()
    const emails: NewEmail[] = []
    for (let count = 0; count < 30; count++)
      emails.push(await putEmail(storage, teamId, [ADA], T0 + count, { message: LARGE }))
    const erasures = createErasures({ storage, clock })
    const { id } = await erasures.begin({ teamId, address: ADA, actor })
    await storage.close()
    const { child, lines } = runChild('erasure-child.ts', dataDir)
    for await (const line of lines) if (line === 'begun') break
    await kill(child)
    const again = await openSqlite({ dataDir })
    expect(await again.unfinishedErasures({}, T0)).toEqual([id])
    const done = await createErasures({ storage: again, clock }).run({ teamId, id })
    expect(done.counts).toMatchObject({ deliveries: 30, emails: 30, bodies: 30 })
    expect(await again.unfinishedErasures({}, T0)).toEqual([])
    for (const email of emails)
      expect(existsSync(join(dataDir, 'messages', email.id.slice(-2), email.id))).toBe(false)
    expect(everything(dataDir)).not.toContain('lovelace')
    await again.close()
  })
})
