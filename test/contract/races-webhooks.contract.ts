import { describe, expect } from 'vitest'
import { newId } from '../../appliance/mail/ids.ts'
import {
  isAfter,
  type NewWebhookDelivery,
  type Storage,
  type Webhook,
  type WebhookAttempt,
  type WebhookLeaseArgs,
} from '../../appliance/storage/storage.ts'
import { DAY, makeTeam, MINUTE, putEmail, T0 } from './fixtures.ts'
import { sorted, type Racing } from './racing.ts'

const webhookOf = (teamId: string): Webhook => ({
  id: newId(T0),
  teamId,
  endpoint: 'https://app.example/hook',
  events: ['email.failed'],
  status: 'enabled',
  secret: 'whsec_first',
  oldSecret: null,
  createdAt: T0,
  succeededAt: null,
  failingSince: null,
  disabled: null,
  broadcasts: true,
})

async function stored(storage: Storage): Promise<Webhook> {
  const { team } = await makeTeam(storage)
  const webhook = webhookOf(team.id)
  expect(await storage.createWebhook({ webhook, most: 50 }, T0)).toBe(true)
  return webhook
}

const deliveryTo = ({ id: webhookId, teamId }: Webhook, eventId = newId(T0)): NewWebhookDelivery => ({
  id: `msg_${newId(T0).replaceAll('-', '')}`,
  webhookId,
  teamId,
  eventId,
  emailId: null,
  type: 'email.failed',
  payload: '{}',
  createdAt: T0,
})

const lease: WebhookLeaseArgs = {
  limit: 100,
  each: 10,
  failing: 10,
  failures: 3,
  inFlight: {},
  pauses: [MINUTE],
}

const attemptOf = (delivery: NewWebhookDelivery, error: string | null): WebhookAttempt => ({
  id: newId(T0),
  deliveryId: delivery.id,
  webhookId: delivery.webhookId,
  teamId: delivery.teamId,
  sentAt: T0,
  durationMs: 1,
  status: error === null ? 200 : 500,
  error,
  ip: null,
  requestHeaders: {},
  responseHeaders: {},
  response: '',
})

const disable = { failingBefore: T0, leastFailures: 2, reason: 'dead' }

/** Races about webhooks and their deliveries. */
export function racesOfWebhooks(race: Racing): void {
  describe('endpoints', () => endpointRaces(race))
  describe('deliveries', () => deliveryRaces(race))
}

function endpointRaces(race: Racing): void {
  race('a team has so many at most', async ({ storage, atOnce }) => {
    const { team } = await makeTeam(storage)
    const create = (at: Storage) => at.createWebhook({ webhook: webhookOf(team.id), most: 1 }, T0)
    expect(sorted(await atOnce(create, create))).toEqual(['false', 'true'])
    expect(await storage.listWebhooks({ teamId: team.id }, T0)).toHaveLength(1)
  })

  race('two changes of different fields both stay', async ({ storage, atOnce }) => {
    const { teamId, id } = await stored(storage)
    const update = (change: { endpoint?: string; status?: 'disabled' }) => (at: Storage) =>
      at.updateWebhook({ teamId, id, change, reason: 'by hand' }, T0)
    await atOnce(update({ endpoint: 'https://b.example' }), update({ status: 'disabled' }))
    expect(await storage.getWebhook({ teamId, id }, T0)).toMatchObject({
      endpoint: 'https://b.example',
      status: 'disabled',
      disabled: { at: T0, reason: 'by hand' },
    })
  })

  race('the old secret is the one before, whoever rotates', async ({ storage, atOnce }) => {
    const { teamId, id } = await stored(storage)
    const rotate = (secret: string) => (at: Storage) =>
      at.rotateWebhookSecret({ teamId, id, secret, oldUntil: T0 + DAY }, T0)
    await atOnce(rotate('whsec_one'), rotate('whsec_two'))
    const { secret, oldSecret } = (await storage.getWebhook({ teamId, id }, T0))!
    expect([secret, oldSecret!.secret].sort()).toEqual(['whsec_one', 'whsec_two'])
  })

  race('one that only fails is disabled once', async ({ storage, atOnce }) => {
    const webhook = await stored(storage)
    const deliveries = [deliveryTo(webhook), deliveryTo(webhook)] as const
    await storage.replayWebhookEvents({ deliveries: [...deliveries], onlyUndelivered: false }, T0)
    await storage.leaseWebhookDeliveries(lease, T0)
    const fail = (delivery: NewWebhookDelivery) => (at: Storage) => {
      const outcome = { success: false, dueAt: null } as const
      return at.settleWebhookAttempt(
        { attemptNumber: 1, attempt: attemptOf(delivery, 'no'), outcome, disable },
        T0,
      )
    }
    const answers = await atOnce(fail(deliveries[0]), fail(deliveries[1]))
    expect(sorted(answers.map(({ disabled }) => disabled))).toEqual(['false', 'true'])
  })
}

function deliveryRaces(race: Racing): void {
  race('a stretch of events is fanned out once', async ({ storage, atOnce }) => {
    const webhook = await stored(storage)
    const email = await putEmail(storage, webhook.teamId, ['a@x.example'])
    await storage.dropQueue({ emailId: email.id }, T0)
    const { from, to } = await storage.readOutbox({ limit: 1000 }, T0)
    expect(isAfter(to, from)).toBe(true)
    const fanOut = (at: Storage) => at.fanOutWebhooks({ from, to, deliveries: [deliveryTo(webhook)] }, T0)
    expect(sorted(await atOnce(fanOut, fanOut))).toEqual(['false', 'true'])
    const asked = { teamId: webhook.teamId, webhookId: webhook.id, limit: 9 }
    expect((await storage.listWebhookDeliveries(asked, T0)).items).toHaveLength(1)
  })

  race('a delivery is leased once', async ({ storage, atOnce }) => {
    const webhook = await stored(storage)
    const deliveries = Array.from({ length: 6 }, () => deliveryTo(webhook))
    await storage.replayWebhookEvents({ deliveries, onlyUndelivered: false }, T0)
    const take = (at: Storage) => at.leaseWebhookDeliveries(lease, T0)
    const leased = (await atOnce(take, take)).flat().filter(({ webhookId }) => webhookId === webhook.id)
    expect(leased.map(({ id, attempt }) => `${id} ${attempt}`).sort()).toEqual(
      deliveries.map(({ id }) => `${id} 1`).sort(),
    )
  })

  race('one that is replayed is sent again, whatever becomes of its attempt', async ({ storage, atOnce }) => {
    const webhook = await stored(storage)
    const { teamId, id: webhookId } = webhook
    const delivery = deliveryTo(webhook)
    await storage.replayWebhookEvents({ deliveries: [delivery], onlyUndelivered: false }, T0)
    await storage.leaseWebhookDeliveries(lease, T0)
    const outcome = { success: true } as const
    const attempt = attemptOf(delivery, null)
    const [missing] = await atOnce(
      (at) => at.replayWebhookDeliveries({ teamId, webhookId, ids: [delivery.id] }, T0),
      (at) => at.settleWebhookAttempt({ attemptNumber: 1, attempt, outcome, disable }, T0),
    )
    expect(missing).toEqual([])
    const found = await storage.getWebhookDelivery({ teamId, webhookId, id: delivery.id }, T0)
    expect(found).toMatchObject({ status: 'pending', attempts: 0, dueAt: T0 })
    await storage.deleteWebhook({ teamId, id: webhookId }, T0)
  })

  race('an event that two replay is due once', async ({ storage, atOnce }) => {
    const webhook = await stored(storage)
    const eventId = newId(T0)
    const replay = (at: Storage) =>
      at.replayWebhookEvents({ deliveries: [deliveryTo(webhook, eventId)], onlyUndelivered: false }, T0)
    expect(sorted(await atOnce(replay, replay))).toEqual(['0', '1'])
    const asked = { teamId: webhook.teamId, webhookId: webhook.id, limit: 9 }
    expect((await storage.listWebhookDeliveries(asked, T0)).items).toHaveLength(1)
  })
}
