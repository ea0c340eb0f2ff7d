import { expect, test } from 'vitest'
import { newId } from '../../appliance/mail/ids.ts'
import type { EventCursor, Storage, WebhookAttempt } from '../../appliance/storage/storage.ts'
import { DAY, leaseArgs, makeTeam, putEmail, T0 } from './fixtures.ts'
import { attemptOf, delivery, disable, due, lease, newWebhook, stored } from './webhooks-stage.ts'

const later = (cursor: EventCursor, by: number): EventCursor => ({ ...cursor, seq: cursor.seq + by })

export function webhooksContract(storage: () => Storage): void {
  test('only the team of a webhook can read, change and remove it', async () => {
    const webhook = await stored(storage())
    const { id, teamId } = webhook
    expect(await storage().getWebhook({ teamId, id }, T0)).toEqual(webhook)
    expect(await storage().getWebhook({ teamId: newId(T0), id }, T0)).toBeUndefined()
    expect(await storage().listWebhooks({ teamId }, T0)).toEqual([webhook])
    const paths = { endpoint: 'https://b.example', events: ['email.bounced'], broadcasts: false }
    const change = { ...paths, status: 'disabled' as const }
    const changed = await storage().updateWebhook({ teamId, id, change, reason: 'by hand' }, T0 + 1)
    expect(changed).toEqual({ ...webhook, ...change, disabled: { at: T0 + 1, reason: 'by hand' } })
    const rotated = await storage().rotateWebhookSecret(
      { teamId, id, secret: 'whsec_BBBB', oldUntil: T0 + DAY },
      T0,
    )
    expect(rotated).toMatchObject({
      secret: 'whsec_BBBB',
      oldSecret: { secret: 'whsec_AAAA', until: T0 + DAY },
    })
    const other = { teamId: newId(T0), id }
    expect(await storage().updateWebhook({ ...other, change, reason: '' }, T0)).toBeUndefined()
    expect(await storage().deleteWebhook(other, T0)).toBe(false)
    expect(await storage().deleteWebhook({ teamId, id }, T0)).toBe(true)
    expect(await storage().listWebhooks({ teamId }, T0)).toEqual([])
  })

  test('limits the number of webhooks of a team', async () => {
    const { teamId } = await stored(storage())
    expect(await storage().createWebhook({ webhook: newWebhook(teamId), most: 2 }, T0)).toBe(true)
    expect(await storage().createWebhook({ webhook: newWebhook(teamId), most: 2 }, T0)).toBe(false)
  })

  test('reads events after the cursor, with their emails and the webhooks subscribed to them', async () => {
    const webhook = await stored(storage())
    await due(storage(), [])
    const email = await putEmail(storage(), webhook.teamId, ['a@example.net'])
    await storage().lease(leaseArgs(), T0)
    const outbox = await storage().readOutbox({ limit: 10 }, T0)
    expect(outbox.events).toMatchObject([
      {
        type: 'email.sent',
        teamId: webhook.teamId,
        emailId: email.id,
        createdAt: T0,
        email: {
          via: 'rest',
          from: 'Shop <shop@example.com>',
          to: ['a@example.net'],
          subject: 'Grüße ✓',
          messageId: email.messageId,
          tags: [{ name: 'kind', value: 'receipt' }],
          headers: [{ name: 'X-Order', value: '7' }],
          createdAt: T0,
        },
      },
    ])
    const { secret: _secret, oldSecret: _oldSecret, ...listener } = webhook
    expect(outbox.webhooks).toContainEqual(listener)
    expect(outbox.to).toEqual(outbox.events[0]!.cursor)
    await due(storage(), [])
    expect(await storage().readOutbox({ limit: 10 }, T0)).toMatchObject({
      from: outbox.to,
      to: outbox.to,
      events: [],
    })
  })

  test('a fan-out based on an outdated cursor stores nothing', async () => {
    const webhook = await stored(storage())
    const one = delivery(webhook)
    const { from } = await storage().readOutbox({ limit: 1 }, T0)
    expect(
      await storage().fanOutWebhooks(
        { from: later(from, 1000), to: later(from, 1001), deliveries: [one] },
        T0,
      ),
    ).toBe(false)
    const which = { teamId: webhook.teamId, webhookId: webhook.id, id: one.id }
    expect(await storage().getWebhookDelivery(which, T0)).toBeUndefined()
  })

  test('a lease sets the time of the next attempt in case it is never settled', async () => {
    const webhook = await stored(storage())
    const one = delivery(webhook)
    await due(storage(), [one])
    const leased = await storage().leaseWebhookDeliveries(lease(), T0)
    expect(leased).toEqual([
      {
        id: one.id,
        webhookId: webhook.id,
        teamId: webhook.teamId,
        emailId: null,
        type: 'email.sent',
        payload: '{"ü":1}',
        attempt: 1,
        endpoint: webhook.endpoint,
        secret: 'whsec_AAAA',
        oldSecret: null,
      },
    ])
    expect(await storage().leaseWebhookDeliveries(lease(), T0 + 29_999)).toEqual([])
    // Never settled, as after a kill.
    expect(await storage().leaseWebhookDeliveries(lease(), T0 + 30_000)).toMatchObject([
      { id: one.id, attempt: 2 },
    ])
    const args = { attempt: attemptOf(one, null), disable, outcome: { success: true as const } }
    await storage().settleWebhookAttempt({ ...args, attemptNumber: 2 }, T0 + 31_000)
    expect(await storage().leaseWebhookDeliveries(lease(), T0 + DAY)).toEqual([])
  })

  test('limits leases per endpoint, with a lower limit for a failing one and none for a disabled one', async () => {
    const [a, b, c] = [await stored(storage()), await stored(storage()), await stored(storage())]
    const all = [a, b, c].flatMap((one) => [delivery(one), delivery(one), delivery(one)])
    await due(storage(), all)
    const change = { status: 'disabled' as const }
    await storage().updateWebhook({ teamId: c.teamId, id: c.id, change, reason: 'x' }, T0)
    const first = await storage().leaseWebhookDeliveries(lease({ each: 2, inFlight: { [a.id]: 1 } }), T0)
    expect(first.map(({ id }) => id).toSorted()).toEqual([all[0]!.id, all[3]!.id, all[4]!.id])
    for (const [n, one] of [all[0]!, all[3]!, all[4]!].entries()) {
      const outcome = { success: false as const, dueAt: T0 + DAY }
      const attempt = attemptOf(one, 'no')
      await storage().settleWebhookAttempt({ attempt, attemptNumber: 1, outcome, disable }, T0 + n)
    }
    const then = await storage().leaseWebhookDeliveries(lease({ failures: 2, failing: 0 }), T0 + 10)
    expect(then.map(({ webhookId }) => webhookId)).toEqual([a.id, a.id])
    await storage().leaseWebhookDeliveries(lease(), T0 + 2 * DAY)
    for (const one of [a, b, c]) await storage().deleteWebhook(one, T0)
  })

  test('disables an endpoint after a long series of failures, and a success resets the series', async () => {
    const webhook = await stored(storage())
    const { id, teamId } = webhook
    const failing = { failingBefore: T0, leastFailures: 2, reason: 'dead' }
    const settle = async (error: string | null, now: number) => {
      const one = delivery(webhook)
      await due(storage(), [one], now)
      await storage().leaseWebhookDeliveries(lease(), now)
      const outcome = error === null ? { success: true as const } : { success: false as const, dueAt: null }
      const args = { attempt: attemptOf(one, error), attemptNumber: 1, outcome, disable: failing }
      return storage().settleWebhookAttempt(args, now)
    }
    expect(await settle('no', T0)).toEqual({ disabled: false })
    expect(await settle(null, T0)).toEqual({ disabled: false })
    expect(await storage().getWebhook({ teamId, id }, T0)).toMatchObject({
      succeededAt: T0,
      failingSince: null,
    })
    expect(await settle('no', T0)).toEqual({ disabled: false })
    expect(await settle('no', T0 + 5)).toEqual({ disabled: true })
    expect(await storage().getWebhook({ teamId, id }, T0)).toMatchObject({
      status: 'disabled',
      failingSince: T0,
      disabled: { at: T0 + 5, reason: 'dead' },
    })
    const change = { status: 'enabled' as const }
    expect(await storage().updateWebhook({ teamId, id, change, reason: '' }, T0)).toMatchObject({
      status: 'enabled',
      failingSince: null,
      disabled: null,
    })
    await storage().deleteWebhook({ teamId, id }, T0)
  })

  test('lists deliveries and attempts newest first, and retries a delivery on request', async () => {
    const webhook = await stored(storage())
    const { id: webhookId, teamId } = webhook
    const [one, two] = [delivery(webhook), delivery(webhook, { type: 'email.bounced' })]
    await due(storage(), [one, two])
    await storage().leaseWebhookDeliveries(lease(), T0)
    const attempt = attemptOf(one, 'no')
    await storage().settleWebhookAttempt(
      { attempt, attemptNumber: 1, outcome: { success: false, dueAt: null }, disable },
      T0 + 9,
    )
    const page = { teamId, webhookId, limit: 10 }
    const list = await storage().listWebhookDeliveries(page, T0)
    expect(list.items).toEqual([
      { ...two, status: 'attempting', attempts: 1, dueAt: T0 + 30_000, emailKept: false, last: null },
      {
        ...one,
        status: 'failed',
        attempts: 1,
        dueAt: null,
        emailKept: false,
        last: { sentAt: T0, durationMs: 7, status: 500, error: attempt.error },
      },
    ])
    expect((await storage().listWebhookDeliveries({ ...page, status: 'failed' }, T0)).items).toHaveLength(1)
    expect(
      (await storage().listWebhookDeliveries({ ...page, type: 'email.bounced' }, T0)).items,
    ).toHaveLength(1)
    expect(await storage().listWebhookDeliveries({ ...page, after: two.id, limit: 1 }, T0)).toMatchObject({
      items: [{ id: one.id }],
      hasMore: false,
    })
    expect((await storage().listWebhookAttempts(page, T0)).items).toEqual([attempt])
    expect((await storage().listWebhookAttempts({ ...page, deliveryId: two.id }, T0)).items).toEqual([])
    const replay = (ids: string[], team = teamId) =>
      storage().replayWebhookDeliveries({ teamId: team, webhookId, ids }, T0 + 10)
    expect(await replay([one.id], newId(T0))).toEqual([one.id])
    expect(await replay([one.id, 'msg_x'])).toEqual(['msg_x'])
    const unchanged = await storage().getWebhookDelivery({ teamId, webhookId, id: one.id }, T0)
    expect(unchanged).toEqual(list.items[1])
    expect(await replay([one.id])).toEqual([])
    expect(await storage().leaseWebhookDeliveries(lease(), T0 + 10)).toMatchObject([
      { id: one.id, attempt: 1 },
    ])
    // The attempt from before the replay no longer affects the state.
    const late = { attempt: attemptOf(one, null), outcome: { success: true as const }, disable }
    await storage().settleWebhookAttempt({ ...late, attemptNumber: 7 }, T0 + 11)
    expect(await storage().getWebhookDelivery({ teamId, webhookId, id: one.id }, T0)).toMatchObject({
      status: 'attempting',
    })
    await storage().deleteWebhook({ teamId, id: webhookId }, T0)
  })

  test('a delivery shows its latest request, and whether its email still exists', async () => {
    const webhook = await stored(storage())
    const { id: webhookId, teamId } = webhook
    const email = await putEmail(storage(), teamId, ['a@example.net'])
    const [kept, gone] = [delivery(webhook, { emailId: email.id }), delivery(webhook, { emailId: newId(T0) })]
    await due(storage(), [kept, gone])
    for (const [attempt, error] of [
      [1, 'no'],
      [2, null],
    ] as const) {
      const now = T0 + attempt * DAY
      await storage().leaseWebhookDeliveries(lease(), now)
      const made = { ...attemptOf(kept, error), id: newId(now), sentAt: now }
      const outcome = error === null ? { success: true as const } : { success: false as const, dueAt: now }
      await storage().settleWebhookAttempt({ attempt: made, attemptNumber: attempt, outcome, disable }, now)
    }
    const last = { sentAt: T0 + 2 * DAY, durationMs: 7, status: 200, error: null }
    const told = [
      { id: gone.id, emailKept: false, last: null },
      { id: kept.id, emailKept: true, last },
    ]
    const page = { teamId, webhookId, limit: 10 }
    expect((await storage().listWebhookDeliveries(page, T0)).items).toMatchObject(told)
    const which = { teamId, webhookId, id: kept.id }
    expect(await storage().getWebhookDelivery(which, T0)).toMatchObject(told[1]!)
    const ofEmail = { teamId, emailId: email.id, limit: 10 }
    expect(await storage().webhooksOfEmail(ofEmail, T0)).toMatchObject([told[1]])
    await storage().deleteWebhook({ teamId, id: webhookId }, T0)
  })

  test('replays failed and undelivered events of a range, and delivered ones only on request', async () => {
    const webhook = await stored(storage())
    const { id: webhookId, teamId } = webhook
    const [taken, failed, fresh] = [delivery(webhook), delivery(webhook), delivery(webhook)]
    await due(storage(), [taken, failed])
    await storage().leaseWebhookDeliveries(lease(), T0)
    for (const [one, error] of [
      [taken, null],
      [failed, 'no'],
    ] as const) {
      const outcome = error === null ? { success: true as const } : { success: false as const, dueAt: null }
      await storage().settleWebhookAttempt(
        { attempt: attemptOf(one, error), attemptNumber: 1, outcome, disable },
        T0,
      )
    }
    // A replay creates new IDs; existing deliveries keep theirs.
    const again = [taken, failed, fresh].map((one) => ({ ...one, id: delivery(webhook).id }))
    expect(await storage().replayWebhookEvents({ deliveries: again, onlyUndelivered: true }, T0 + 1)).toBe(2)
    const leased = await storage().leaseWebhookDeliveries(lease(), T0 + 1)
    expect(leased.map(({ id }) => id).toSorted()).toEqual([failed.id, again[2]!.id].toSorted())
    expect(await storage().replayWebhookEvents({ deliveries: again, onlyUndelivered: false }, T0 + 2)).toBe(1)
    await storage().deleteWebhook({ teamId, id: webhookId }, T0)
  })

  test('lists the events of a team by time, in pages', async () => {
    const { team } = await makeTeam(storage())
    for (const at of [T0, T0, T0 + 5]) {
      await putEmail(storage(), team.id, ['a@example.net'], at)
      await storage().lease(leaseArgs(), at)
    }
    const range = { teamId: team.id, since: T0, until: T0 + 6, limit: 2 }
    const first = await storage().listTeamEvents({ ...range, after: null }, T0)
    expect(first.map(({ createdAt }) => createdAt)).toEqual([T0, T0])
    const next = await storage().listTeamEvents({ ...range, after: first[1]! }, T0)
    expect(next.map(({ createdAt }) => createdAt)).toEqual([T0 + 5])
    expect(await storage().listTeamEvents({ ...range, until: T0, after: null }, T0)).toEqual([])
  })

  test('removes old deliveries with their attempts, but none that are pending for an existing endpoint', async () => {
    const [live, gone] = [await stored(storage()), await stored(storage())]
    const [old, waiting, orphan] = [delivery(live), delivery(live), delivery(gone)]
    await due(storage(), [old])
    await storage().leaseWebhookDeliveries(lease(), T0)
    const done = {
      attempt: attemptOf(old, null),
      attemptNumber: 1,
      outcome: { success: true as const },
      disable,
    }
    await storage().settleWebhookAttempt(done, T0)
    await due(storage(), [waiting, orphan])
    await storage().deleteWebhook(gone, T0)
    expect(await storage().purgeWebhookDeliveries({ before: T0, most: 10 }, T0)).toBe(0)
    expect(
      await storage().purgeWebhookDeliveries({ before: T0 + 1, most: 10_000 }, T0),
    ).toBeGreaterThanOrEqual(2)
    const { teamId, id: webhookId } = live
    const left = await storage().listWebhookDeliveries({ teamId, webhookId, limit: 10 }, T0)
    expect(left.items.map(({ id }) => id)).toEqual([waiting.id])
    expect((await storage().listWebhookAttempts({ teamId, webhookId, limit: 10 }, T0)).items).toEqual([])
    await storage().deleteWebhook(live, T0)
  })

  test('counts the latest requests since a given time, with the response times of the answered ones', async () => {
    const webhook = await stored(storage())
    const { teamId, id: webhookId } = webhook
    const count = (since: number, most = 100) =>
      storage().countWebhookRequests({ teamId, webhookId, since, most }, T0)
    expect(await count(0)).toEqual({ count: 0, taken: 0, medianMs: null, p95Ms: null })

    const keep = async (sentAt: number, error: string | null, more: Partial<WebhookAttempt> = {}) => {
      const ping = delivery(webhook, { eventId: null, type: 'webhook.ping' })
      const attempt = { ...attemptOf(ping, error), id: newId(sentAt), sentAt, ...more }
      await storage().keepWebhookPing({ delivery: ping, attempt }, T0)
    }
    // IDs of one process never go backwards. Far enough in the future, each ID gets the time it is given.
    const from = T0 + 1000 * DAY
    for (let at = 1; at <= 20; at++) await keep(from + at, at === 1 ? 'no' : null, { durationMs: 10 * at })
    expect(await count(from)).toEqual({ count: 20, taken: 19, medianMs: 100, p95Ms: 190 })
    expect(await count(from + 20)).toEqual({ count: 1, taken: 1, medianMs: 200, p95Ms: 200 })
    expect(await count(from + 21)).toEqual({ count: 0, taken: 0, medianMs: null, p95Ms: null })
    expect(await count(from, 3)).toEqual({ count: 3, taken: 3, medianMs: 190, p95Ms: 200 })

    // There was no response. The time until the timeout doesn't say how fast the endpoint responds.
    await keep(from + 30, 'timed out', { status: null, durationMs: 15_000 })
    expect(await count(from + 30)).toEqual({ count: 1, taken: 0, medianMs: null, p95Ms: null })
    expect(await count(from + 20)).toEqual({ count: 2, taken: 1, medianMs: 200, p95Ms: 200 })
    const elsewhere = { teamId: newId(T0), webhookId, since: 0, most: 10 }
    expect((await storage().countWebhookRequests(elsewhere, T0)).count).toBe(0)
    await storage().deleteWebhook(webhook, T0)
  })

  test('stores a ping with its result', async () => {
    const webhook = await stored(storage())
    const ping = delivery(webhook, { eventId: null, type: 'webhook.ping' })
    await storage().keepWebhookPing({ delivery: ping, attempt: attemptOf(ping, 'no') }, T0)
    const which = { teamId: webhook.teamId, webhookId: webhook.id, id: ping.id }
    expect(await storage().getWebhookDelivery(which, T0)).toEqual({
      ...ping,
      status: 'failed',
      attempts: 1,
      dueAt: null,
      emailKept: false,
      last: { sentAt: T0, durationMs: 7, status: 500, error: 'no' },
    })
  })
}
