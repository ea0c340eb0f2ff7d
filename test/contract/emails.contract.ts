import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { newId } from '../../appliance/mail/ids.ts'
import type { NewEmail, Storage } from '../../appliance/storage/storage.ts'
import { DAY, makeTeam, newEmail, putEmail, T0, putArgs, summaryOf } from './fixtures.ts'

/** Larger than what any engine stores inline in a row. */
const LARGE = 300 * 1024

async function putMany(storage: Storage, teamId: string, count: number): Promise<string[]> {
  const ids: string[] = []
  for (let i = 0; i < count; i++) ids.push((await putEmail(storage, teamId, ['a@example.net'])).id)
  return ids
}

export function emailsContract(storage: () => Storage): void {
  test('returns an email exactly as it was stored, with the status queued', async () => {
    const { team } = await makeTeam(storage())
    const email = await putEmail(storage(), team.id, ['a@example.net', 'b@example.org'], T0, {
      cc: ['c@example.net'],
      replyTo: ['r@example.com'],
      content: { place: 'unfinished', html: '<p>hello</p>', text: null },
      attachments: [
        {
          id: newId(T0),
          filename: 'é.pdf',
          contentType: 'application/pdf',
          contentId: null,
          disposition: 'attachment',
          size: 3,
        },
      ],
    })
    const { message, deliveries: _deliveries, reportTo: _reportTo, dsn: _dsn, ...more } = email
    const { requireTls: _requireTls, stream: _stream, pool: _pool, ...rest } = more
    expect(await storage().getEmail({ teamId: team.id, id: email.id }, T0)).toEqual({
      ...rest,
      size: message.byteLength,
      lastEvent: 'queued',
      createdAt: T0,
      broadcastId: null,
    })
  })

  test('stores a NUL in text as U+FFFD, also within JSON', async () => {
    const { team } = await makeTeam(storage())
    const { id } = await putEmail(storage(), team.id, ['a@example.net'], T0, {
      subject: 'A\0B',
      tags: [{ name: 'n', value: '\0' }],
      content: { place: 'unfinished', html: '\0<p>', text: null },
    })
    expect(await storage().getEmail({ teamId: team.id, id }, T0)).toMatchObject({
      subject: 'A\uFFFDB',
      tags: [{ name: 'n', value: '\uFFFD' }],
      content: { html: '\uFFFD<p>' },
    })
  })

  test('hides an email and its history from other teams', async () => {
    const { team } = await makeTeam(storage())
    const other = await makeTeam(storage())
    const { id } = await putEmail(storage(), team.id, ['a@example.net'])
    expect(await storage().getEmail({ teamId: other.team.id, id }, T0)).toBeUndefined()
    const history = await storage().getHistory({ teamId: other.team.id, id }, T0)
    expect(history).toEqual({ deliveries: [], attempts: [], events: [] })
  })

  test('a new email has one queued delivery for each recipient and no history', async () => {
    const { team } = await makeTeam(storage())
    const email = await putEmail(storage(), team.id, ['a@Example.NET', 'b@example.org'])
    const history = await storage().getHistory({ teamId: team.id, id: email.id }, T0)
    expect(history.deliveries).toEqual(
      email.deliveries.map(({ id, recipient, dueAt, expiresAt }) => ({
        id,
        emailId: email.id,
        teamId: team.id,
        recipient,
        field: 'to',
        pool: 'default',
        provider: `?${recipient.slice(2).toLowerCase()}`,
        state: 'waiting',
        attempts: 0,
        createdAt: T0,
        updatedAt: T0,
        dueAt,
        expiresAt,
        scheduledAt: null,
        cause: null,
      })),
    )
    expect(history.attempts).toEqual([])
    expect(history.events).toEqual([])
  })

  test('a scheduled email has its status, time and event', async () => {
    const { team } = await makeTeam(storage())
    const { id } = await putEmail(storage(), team.id, ['a@example.net'], T0, { scheduledAt: T0 + DAY })
    const email = await storage().getEmail({ teamId: team.id, id }, T0)
    expect(email).toMatchObject({ lastEvent: 'scheduled', scheduledAt: T0 + DAY })
    const { events } = await storage().getHistory({ teamId: team.id, id }, T0)
    expect(events).toMatchObject([
      { type: 'email.scheduled', emailId: id, deliveryId: null, createdAt: T0, data: {} },
    ])
  })

  test.each([
    ['empty', 0],
    ['small', 100],
    ['large', LARGE],
  ])('returns a message byte for byte: %s', async (_name, size) => {
    const { team } = await makeTeam(storage())
    const message = randomBytes(size)
    const copy = Buffer.from(message)
    const { id } = await putEmail(storage(), team.id, ['a@example.net'], T0, { message })
    expect(message.equals(copy), "the caller's bytes are left alone").toBe(true)
    const found = await storage().getMessage({ emailId: id }, T0)
    expect(Buffer.from(found!).equals(copy)).toBe(true)
    expect((await storage().getEmail({ teamId: team.id, id }, T0))?.size).toBe(size)
  })

  test('stores only the bytes of the message if it is a view of a larger buffer', async () => {
    const { team } = await makeTeam(storage())
    const whole = Buffer.from('secret message secret')
    const { id } = await putEmail(storage(), team.id, ['a@example.net'], T0, {
      message: whole.subarray(7, 14),
    })
    const found = await storage().getMessage({ emailId: id }, T0)
    expect(Buffer.from(found!).toString()).toBe('message')
    expect(whole.toString()).toBe('secret message secret')
  })

  test('returns the team of an email, and nothing for an unknown email', async () => {
    const { team } = await makeTeam(storage())
    const { id } = await putEmail(storage(), team.id, ['a@example.net'], T0)
    expect(await storage().teamOfEmail({ emailId: id }, T0)).toBe(team.id)
    expect(await storage().teamOfEmail({ emailId: newId(T0) }, T0)).toBeUndefined()
  })

  test('returns no message for an unknown email', async () => {
    expect(await storage().getMessage({ emailId: newId(T0) }, T0)).toBeUndefined()
  })

  test.each([
    ['small', 10],
    ['large', LARGE],
  ])('rejects an ID that is already used and keeps the first email: %s', async (_name, size) => {
    const { team } = await makeTeam(storage())
    const first = await putEmail(storage(), team.id, ['a@example.net'], T0, { message: randomBytes(LARGE) })
    const second = newEmail(team.id, ['b@example.net'], T0, { id: first.id, message: randomBytes(size) })
    await expect(storage().put(putArgs(second), T0)).rejects.toThrow()
    const found = await storage().getMessage({ emailId: first.id }, T0)
    expect(Buffer.from(found!).equals(first.message)).toBe(true)
    const { deliveries } = await storage().getHistory({ teamId: team.id, id: first.id }, T0)
    expect(deliveries.map((delivery) => delivery.recipient)).toEqual(['a@example.net'])
  })

  test('a failed put stores nothing', async () => {
    const { team } = await makeTeam(storage())
    const email = newEmail(team.id, ['a@example.net', 'b@example.net'])
    email.deliveries[1]!.id = email.deliveries[0]!.id
    await expect(storage().put(putArgs(email), T0)).rejects.toThrow()
    expect(await storage().getEmail({ teamId: team.id, id: email.id }, T0)).toBeUndefined()
    expect(await storage().getMessage({ emailId: email.id }, T0)).toBeUndefined()
    expect(await storage().nextDue({ closed: [] }, T0)).toBeUndefined()
  })

  test('lists pages newest first, forward with the cursor after and backward with before', async () => {
    const { team } = await makeTeam(storage())
    const other = await makeTeam(storage())
    const ids = (await putMany(storage(), team.id, 7)).reverse()
    await putMany(storage(), other.team.id, 2)
    const page = async (cursor: { after?: string; before?: string }) => {
      const { items, hasMore } = await storage().listEmails({ teamId: team.id, limit: 3, ...cursor }, T0)
      return [items.map((item) => ids.indexOf(item.id)), hasMore]
    }
    expect(await page({})).toEqual([[0, 1, 2], true])
    expect(await page({ after: ids[2]! })).toEqual([[3, 4, 5], true])
    expect(await page({ after: ids[5]! })).toEqual([[6], false])
    expect(await page({ after: ids[3]! })).toEqual([[4, 5, 6], false])
    expect(await page({ before: ids[6]! })).toEqual([[3, 4, 5], true])
    expect(await page({ before: ids[3]! })).toEqual([[0, 1, 2], false])
    expect(await page({ before: ids[1]! })).toEqual([[0], false])
    expect(await page({ before: ids[0]! })).toEqual([[], false])
    expect(await page({ after: ids[1]!, before: ids[4]! })).toEqual([[2, 3], false])
    expect(await page({ after: ids[0]!, before: ids[5]! })).toEqual([[1, 2, 3], true])
  })

  test('listing emails returns only summaries', async () => {
    const { team } = await makeTeam(storage())
    const email = await putEmail(storage(), team.id, ['a@example.net'])
    const { items } = await storage().listEmails({ teamId: team.id, limit: 10 }, T0)
    expect(items).toEqual([
      {
        id: email.id,
        teamId: team.id,
        from: email.from,
        to: email.to,
        cc: [],
        bcc: [],
        replyTo: [],
        subject: email.subject,
        messageId: email.messageId,
        lastEvent: 'queued',
        scheduledAt: null,
        createdAt: T0,
        broadcastId: null,
      },
    ])
  })

  test('stores all emails of 500 concurrent puts', async () => {
    const { team } = await makeTeam(storage())
    const emails = Array.from({ length: 500 }, () => newEmail(team.id, ['a@example.net']))
    await Promise.all(emails.map((email) => storage().put(putArgs(email), T0)))
    const { items, hasMore } = await storage().listEmails({ teamId: team.id, limit: 1000 }, T0)
    expect(hasMore).toBe(false)
    expect(items.map((item) => item.id)).toEqual(emails.map((email) => email.id).reverse())
    expect((await summaryOf(storage(), {}, T0)).waiting).toBe(500)
  })

  test('a failed call does not affect concurrent calls', async () => {
    const { team } = await makeTeam(storage())
    const emails = Array.from({ length: 20 }, () => newEmail(team.id, ['a@example.net']))
    const bad = new Set<NewEmail>([emails[3]!, emails[4]!, emails[19]!])
    for (const email of bad) email.teamId = newId(T0)
    const results = await Promise.allSettled(emails.map((email) => storage().put(putArgs(email), T0)))
    expect(results.map((result) => result.status)).toEqual(
      emails.map((email) => (bad.has(email) ? 'rejected' : 'fulfilled')),
    )
    const { items } = await storage().listEmails({ teamId: team.id, limit: 100 }, T0)
    expect(items).toHaveLength(17)
  })

  test('a read after a write returns the written email', async () => {
    const { team } = await makeTeam(storage())
    for (let i = 0; i < 50; i++) {
      const { id } = await putEmail(storage(), team.id, ['a@example.net'])
      expect((await storage().getEmail({ teamId: team.id, id }, T0))?.id).toBe(id)
    }
  })
}
