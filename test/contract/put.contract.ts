import { describe, expect, test } from 'vitest'
import { createSuppressionCause } from '../../appliance/mail/suppression.ts'
import type { Cause } from '../../appliance/mail/verdict.ts'
import type {
  NewEmail,
  NewReceipt,
  QuotaLimit,
  Storage,
  NewSuppression,
} from '../../appliance/storage/storage.ts'
import { DAY, leaseArgs, makeTeam, MINUTE, newEmail, putArgs, T0, unique } from './fixtures.ts'

/** Tests of what is committed together: several emails, their request's receipt, and counters. */
export function putContract(storage: () => Storage): void {
  const receiptFor = (teamId: string, emails: NewEmail[], more: Partial<NewReceipt> = {}): NewReceipt => ({
    teamId,
    scope: 'POST /emails',
    key: unique('key'),
    fingerprint: 'f1',
    body: '{"id":"1"}',
    emailIds: emails.map(({ id }) => id),
    expiresAt: T0 + DAY,
    ...more,
  })
  const exists = async (teamId: string, { id }: NewEmail) =>
    (await storage().getEmail({ teamId, id }, T0)) !== undefined
  const withTeam = async () => (await makeTeam(storage())).team.id

  describe('several emails', () => {
    test('stores several emails together', async () => {
      const teamId = await withTeam()
      const emails = ['a@x.example', 'b@y.example', 'c@z.example'].map((to) => newEmail(teamId, [to]))
      expect(await storage().put({ emails, receipt: null, quota: null }, T0)).toEqual({
        kind: 'stored',
        usage: null,
      })
      const page = await storage().listEmails({ teamId, limit: 10 }, T0)
      expect(page.items.map(({ id }) => id)).toEqual(emails.map(({ id }) => id).reverse())
    })

    test('stores none of several emails if one of them fails', async () => {
      const teamId = await withTeam()
      const [first, second] = [newEmail(teamId, ['a@x.example']), newEmail(teamId, ['b@x.example'])]
      second.deliveries[0]!.id = first.deliveries[0]!.id
      const receipt = receiptFor(teamId, [first, second])
      const quota: QuotaLimit = { teamId, daily: 10, monthly: 10 }
      await expect(storage().put({ emails: [first, second], receipt, quota }, T0)).rejects.toThrow()
      expect(await exists(teamId, first)).toBe(false)
      expect(await storage().findReceipt(receipt, T0)).toBeUndefined()
      expect(await storage().usage({ teamId }, T0)).toEqual({ daily: 0, monthly: 0 })
    })

    test('accepts an empty list of emails', async () => {
      const teamId = await withTeam()
      const receipt = receiptFor(teamId, [], { body: '{"data":[]}' })
      const quota: QuotaLimit = { teamId, daily: 0, monthly: 0 }
      expect(await storage().put({ emails: [], receipt, quota }, T0)).toEqual({
        kind: 'stored',
        usage: { daily: 0, monthly: 0 },
      })
      expect(await storage().findReceipt(receipt, T0)).toMatchObject({ body: '{"data":[]}', emailIds: [] })
    })
  })

  describe('receipts of idempotent requests', () => {
    test('a receipt replays the response to a repeated request, and stores nothing', async () => {
      const teamId = await withTeam()
      const first = newEmail(teamId, ['a@x.example'])
      const receipt = receiptFor(teamId, [first])
      await storage().put(putArgs(first, { receipt }), T0)
      const second = newEmail(teamId, ['a@x.example'])
      const again = { ...receiptFor(teamId, [second]), key: receipt.key, fingerprint: 'f2' }
      const quota: QuotaLimit = { teamId, daily: 0, monthly: 0 }
      expect(await storage().put(putArgs(second, { receipt: again, quota }), T0 + 1)).toEqual({
        kind: 'replay',
        receipt: { fingerprint: 'f1', body: '{"id":"1"}', emailIds: [first.id] },
      })
      expect(await exists(teamId, second)).toBe(false)
      expect(await storage().usage({ teamId }, T0)).toEqual({ daily: 0, monthly: 0 })
    })

    test('a replayed request leaves no file of its large message', async () => {
      const teamId = await withTeam()
      const first = newEmail(teamId, ['a@x.example'])
      const receipt = receiptFor(teamId, [first])
      await storage().put(putArgs(first, { receipt }), T0)
      const large = newEmail(teamId, ['a@x.example'], T0, { message: Buffer.alloc(400_000, 7) })
      expect(await storage().put(putArgs(large, { receipt }), T0)).toMatchObject({ kind: 'replay' })
      // Its ID is unused, so the same email can still be stored.
      expect(await storage().put(putArgs(large), T0)).toMatchObject({ kind: 'stored' })
      expect((await storage().getMessage({ emailId: large.id }, T0))?.byteLength).toBe(400_000)
    })

    test('stores only one of a hundred concurrent requests with the same key', async () => {
      const teamId = await withTeam()
      const key = unique('key')
      const results = await Promise.all(
        Array.from({ length: 100 }, () => {
          const email = newEmail(teamId, ['a@x.example'])
          return storage().put(putArgs(email, { receipt: { ...receiptFor(teamId, [email]), key } }), T0)
        }),
      )
      expect(results.filter(({ kind }) => kind === 'stored')).toHaveLength(1)
      expect(results.filter(({ kind }) => kind === 'replay')).toHaveLength(99)
      expect((await storage().listEmails({ teamId, limit: 100 }, T0)).items).toHaveLength(1)
    })

    test('a receipt belongs to one team, scope and key', async () => {
      const [teamId, otherTeam] = [await withTeam(), await withTeam()]
      const email = newEmail(teamId, ['a@x.example'])
      const receipt = receiptFor(teamId, [email])
      await storage().put(putArgs(email, { receipt }), T0)
      expect(await storage().findReceipt(receipt, T0)).toBeDefined()
      for (const other of [{ teamId: otherTeam }, { scope: 'POST /emails/batch' }, { key: 'other' }]) {
        const name = { ...receipt, ...other }
        expect(await storage().findReceipt(name, T0)).toBeUndefined()
        const more = newEmail(name.teamId, ['a@x.example'])
        expect(await storage().put(putArgs(more, { receipt: name }), T0)).toMatchObject({ kind: 'stored' })
      }
    })

    test('a receipt expires, after which the key can be used again', async () => {
      const teamId = await withTeam()
      const first = newEmail(teamId, ['a@x.example'])
      const receipt = receiptFor(teamId, [first])
      await storage().put(putArgs(first, { receipt }), T0)
      expect(await storage().findReceipt(receipt, T0 + DAY - 1)).toBeDefined()
      expect(await storage().findReceipt(receipt, T0 + DAY)).toBeUndefined()
      const second = newEmail(teamId, ['a@x.example'], T0 + DAY)
      const anew = { ...receipt, emailIds: [second.id], expiresAt: T0 + 2 * DAY }
      expect(await storage().put(putArgs(second, { receipt: anew }), T0 + DAY)).toMatchObject({
        kind: 'stored',
      })
      expect(await storage().findReceipt(receipt, T0 + DAY)).toMatchObject({ emailIds: [second.id] })
    })

    test('purges expired receipts, up to a limit at a time', async () => {
      const teamId = await withTeam()
      const put = async (expiresAt: number) => {
        const receipt = receiptFor(teamId, [], { expiresAt })
        await storage().put({ emails: [], receipt, quota: null }, T0)
        return receipt
      }
      // Must come before anything else in this storage expires.
      const old = [await put(T0 + 1), await put(T0 + 2), await put(T0 + 3)]
      const young = await put(T0 + MINUTE)
      expect(await storage().purgeReceipts({ limit: 2 }, T0 + 10)).toBe(2)
      expect(await storage().findReceipt(old[0]!, T0)).toBeUndefined()
      expect(await storage().findReceipt(old[2]!, T0)).toBeDefined()
      expect(await storage().purgeReceipts({ limit: 2 }, T0 + 10)).toBe(1)
      expect(await storage().purgeReceipts({ limit: 2 }, T0 + 10)).toBe(0)
      expect(await storage().findReceipt(young, T0)).toBeDefined()
    })
  })

  describe('quotas', () => {
    const limit = (teamId: string, daily: number | null, monthly: number | null): QuotaLimit => ({
      teamId,
      daily,
      monthly,
    })
    const put = (teamId: string, recipients: number, quota: QuotaLimit, now = T0) => {
      const to = Array.from({ length: recipients }, (_, n) => `user${n}@x.example`)
      return storage().put(putArgs(newEmail(teamId, to, now), { quota }), now)
    }

    test('quotas count every recipient', async () => {
      const teamId = await withTeam()
      expect(await put(teamId, 3, limit(teamId, 10, null))).toEqual({
        kind: 'stored',
        usage: { daily: 3, monthly: 3 },
      })
      expect(await put(teamId, 4, limit(teamId, null, null))).toMatchObject({
        usage: { daily: 7, monthly: 7 },
      })
      expect(await storage().usage({ teamId }, T0)).toEqual({ daily: 7, monthly: 7 })
    })

    test('a quota rejects an email over the limit and counts none of its recipients', async () => {
      const teamId = await withTeam()
      await put(teamId, 3, limit(teamId, 5, 100))
      expect(await put(teamId, 3, limit(teamId, 5, 100))).toEqual({ kind: 'over_quota', period: 'daily' })
      expect(await put(teamId, 2, limit(teamId, 5, 100))).toMatchObject({ kind: 'stored' })
      expect(await put(teamId, 1, limit(teamId, 5, 5))).toEqual({ kind: 'over_quota', period: 'monthly' })
      expect(await storage().usage({ teamId }, T0)).toEqual({ daily: 5, monthly: 5 })
      expect((await storage().listEmails({ teamId, limit: 10 }, T0)).items).toHaveLength(2)
    })

    test('quotas reset at the start of each UTC day and month', async () => {
      const teamId = await withTeam()
      const lastDay = Date.UTC(2026, 0, 31, 23, 59, 59, 999)
      const quota = limit(teamId, 2, 3)
      expect(await put(teamId, 2, quota, lastDay - DAY)).toMatchObject({ kind: 'stored' })
      expect(await put(teamId, 1, quota, lastDay - DAY)).toMatchObject({ period: 'daily' })
      expect(await put(teamId, 1, quota, lastDay)).toMatchObject({ usage: { daily: 1, monthly: 3 } })
      expect(await put(teamId, 1, quota, lastDay)).toMatchObject({ period: 'monthly' })
      expect(await put(teamId, 1, quota, lastDay + 1)).toMatchObject({ usage: { daily: 1, monthly: 1 } })
    })

    test('a quota applies to one team only', async () => {
      const [teamId, other] = [await withTeam(), await withTeam()]
      await put(teamId, 1, limit(teamId, 1, 1))
      expect(await put(other, 1, limit(other, 1, 1))).toMatchObject({ kind: 'stored' })
    })

    test('a quota is not exceeded by a hundred concurrent emails', async () => {
      const teamId = await withTeam()
      const results = await Promise.all(
        Array.from({ length: 100 }, () => put(teamId, 2, limit(teamId, 31, null))),
      )
      expect(results.filter(({ kind }) => kind === 'stored')).toHaveLength(15)
      expect(await storage().usage({ teamId }, T0)).toEqual({ daily: 30, monthly: 30 })
    })

    test('limits test emails per hour, even if concurrent, and counts nothing else', async () => {
      const [teamId, other] = [await withTeam(), await withTeam()]
      const count = (emails: number, now = T0, team = teamId) =>
        storage().countTests({ teamId: team, emails, most: 6 }, now)
      const counted = await Promise.all([count(5), count(5), count(5)])
      expect(counted.filter((done) => done)).toHaveLength(1)
      expect([await count(2), await count(1), await count(1)]).toEqual([false, true, false])
      expect([await count(6, T0, other), await count(6, T0 + 3_600_000)]).toEqual([true, true])
      expect(await storage().usage({ teamId }, T0)).toEqual({ daily: 0, monthly: 0 })
    })

    test('stores and returns the plan of a team, which sets its quotas', async () => {
      const teamId = await withTeam()
      expect(await storage().planOf({ teamId }, T0)).toBe('unlimited')
      expect(await storage().setPlan({ teamId, plan: 'free' }, T0)).toBe(true)
      expect(await storage().planOf({ teamId }, T0)).toBe('free')
      expect(await storage().setPlan({ teamId: unique('nobody'), plan: 'free' }, T0)).toBe(false)
      expect(await storage().planOf({ teamId: unique('nobody') }, T0)).toBeUndefined()
    })
  })

  describe('suppressed recipients', () => {
    const cause: Cause = { phase: 'queue', host: null, ip: null, reply: null, note: 'It bounced before.' }

    test('suppressed recipients are final from the start, while the others are queued', async () => {
      const teamId = await withTeam()
      const email = newEmail(teamId, ['bad@x.example', 'good@x.example'])
      email.deliveries[0]!.suppressed = cause
      await storage().put(putArgs(email), T0)
      const { deliveries, events } = await storage().getHistory({ teamId, id: email.id }, T0)
      expect(deliveries).toMatchObject([
        { recipient: 'bad@x.example', state: 'suppressed', cause, dueAt: null, expiresAt: null, attempts: 0 },
        { recipient: 'good@x.example', state: 'waiting', cause: null, dueAt: T0 },
      ])
      expect(events).toMatchObject([
        {
          type: 'email.suppressed',
          deliveryId: email.deliveries[0]!.id,
          createdAt: T0,
          data: { recipient: 'bad@x.example', cause },
        },
      ])
      expect((await storage().getEmail({ teamId, id: email.id }, T0))?.lastEvent).toBe('queued')
      const leased = await storage().lease(leaseArgs(), T0)
      expect(leased.map(({ recipient }) => recipient)).toEqual(['good@x.example'])
    })

    test('finds suppressed recipients in the team’s suppression list, in any case, when the email is stored', async () => {
      const [teamId, stranger] = [await withTeam(), await withTeam()]
      const suppressed = (team: string, email: string): NewSuppression => ({
        id: unique('suppression'),
        teamId: team,
        email,
        origin: 'complaint',
        sourceId: null,
        createdAt: T0,
      })
      const bad = suppressed(teamId, 'Bad@x.example')
      await storage().addSuppressions({ teamId, suppressions: [bad] }, T0)
      const others = [suppressed(stranger, 'good@x.example')]
      await storage().addSuppressions({ teamId: stranger, suppressions: others }, T0)
      const email = newEmail(teamId, ['bAD@x.example', 'good@x.example'])
      await storage().put(putArgs(email), T0)
      const { deliveries } = await storage().getHistory({ teamId, id: email.id }, T0)
      const cause = createSuppressionCause({ origin: 'complaint' })
      expect(deliveries).toMatchObject([
        { recipient: 'bAD@x.example', state: 'suppressed', cause, dueAt: null },
        { recipient: 'good@x.example', state: 'waiting', cause: null, dueAt: T0 },
      ])
    })

    test('an email is suppressed, with nothing to send, if all its recipients are', async () => {
      const teamId = await withTeam()
      const email = newEmail(teamId, ['bad@x.example'], T0, { scheduledAt: T0 + DAY })
      email.deliveries[0]!.suppressed = cause
      await storage().put(putArgs(email), T0)
      const stored = await storage().getEmail({ teamId, id: email.id }, T0)
      expect(stored).toMatchObject({ lastEvent: 'suppressed' })
      const { events } = await storage().getHistory({ teamId, id: email.id }, T0)
      expect(events.map(({ type }) => type)).toEqual(['email.suppressed'])
      expect(await storage().nextDue({ closed: [] }, T0)).toBeUndefined()
    })

    test('an email with a suppressed recipient stays scheduled for the others', async () => {
      const teamId = await withTeam()
      const email = newEmail(teamId, ['bad@x.example', 'good@x.example'], T0, { scheduledAt: T0 + DAY })
      email.deliveries[0]!.suppressed = cause
      await storage().put(putArgs(email), T0)
      expect((await storage().getEmail({ teamId, id: email.id }, T0))?.lastEvent).toBe('scheduled')
    })
  })
}
