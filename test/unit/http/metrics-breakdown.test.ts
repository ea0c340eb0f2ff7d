import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { BounceCategory } from '../../../appliance/mail/bounce.ts'
import type { EventData } from '../../../appliance/mail/event.ts'
import { newId } from '../../../appliance/mail/ids.ts'
import type { Tag } from '../../../appliance/storage/storage.ts'
import { change, leaseArgs, putEmail } from '../../contract/fixtures.ts'
import { startApi, type Api } from './harness.ts'

interface Body {
  object: string
  counted_until?: string
  metrics: string[]
  totals: Record<string, number>
  data: { value: string | null; name: string | null; counts: Record<string, number> }[]
}

const HOUR = 3_600_000
let api: Api
let begun: number
const ids: Record<string, string> = {}

beforeAll(async () => {
  api = await startApi()
  // A whole hour, so that every period is known.
  await api.clock.advance(HOUR - (api.clock.now() % HOUR))
  begun = api.clock.now() - (api.clock.now() % HOUR)
  ids.fine = await send(api.domain.id, 'big.test', undefined, [
    { name: 'kind', value: 'receipt' },
    { name: 'test', value: '' },
  ])
  await api.clock.advance(HOUR)
  ids.full = await send(api.domain.id, 'big.test', 'mailbox-full', [{ name: 'kind', value: 'receipt' }])
  ids.gone = await send(api.unverified.id, 'small.test', 'recipient')
  ids.odd = await send(api.unverified.id, 'small.test', null)
})
afterAll(() => api.close())

/**
 * Delivers an email, or lets it bounce with a category; null means no category. The recipient's domain is never looked
 * up, so `?` and its name stand for the provider.
 */
async function send(
  domainId: string,
  at: string,
  bounce?: BounceCategory | null,
  tags: Tag[] = [],
): Promise<string> {
  const { storage, teamId, clock } = api
  const { id } = await putEmail(storage, teamId, [`ada@${at}`], clock.now(), { domainId, tags })
  const [leased] = await storage.lease(leaseArgs({ leaseUntil: clock.now() + HOUR }), clock.now())
  const done =
    bounce === undefined
      ? change(leased!.id, 'delivered', 'email.delivered')
      : change(leased!.id, 'bounced', 'email.bounced')
  const about: NonNullable<EventData['bounce']> = {
    type: 'Permanent',
    subType: 'General',
    message: '',
    diagnosticCode: [],
  }
  const data =
    bounce === undefined ? {} : { bounce: { ...about, ...(bounce !== null && { category: bounce }) } }
  const event = { ...done.event!, id: newId(clock.now()), data }
  await storage.settle({ owner: 'one', attempt: null, changes: [{ ...done, event }] }, clock.now())
  return id
}

const iso = (at: number) => new Date(at).toISOString()
const get = async (query: string) =>
  (await api.call('GET', `/emails/metrics/breakdown?${query}`)).json as Body
const search = async (query: string) => {
  const { json } = await api.call('GET', `/emails/search?${query}`)
  return (json as { data: { id: string }[] }).data.map(({ id }) => id).sort()
}

describe('GET /emails/metrics/breakdown', () => {
  test('counts by domain, with opens by bots separately', async () => {
    const body = await get('')
    expect(body.object).toBe('metrics_breakdown')
    expect(body.metrics).toContain('opened_by_robots')
    expect(body.totals).toMatchObject({ sent: 4, delivered: 1, bounced: 3, opened_by_robots: 0 })
    expect(body.data.map(({ value, name, counts }) => [value, name, counts.sent, counts.bounced])).toEqual(
      expect.arrayContaining([
        [api.domain.id, 'acme.example', 2, 1],
        [api.unverified.id, 'new.example', 2, 2],
      ]),
    )
  })

  test('counts by mailbox provider, with per-recipient metrics only', async () => {
    const { data, metrics } = await get('by=provider')
    expect(metrics).toEqual([
      'delivered',
      'bounced',
      'delivery_delayed',
      'complained',
      'failed',
      'suppressed',
    ])
    expect(data.map(({ value, counts }) => [value, counts.delivered, counts.bounced]).sort()).toEqual([
      ['?big.test', 1, 1],
      ['?small.test', 0, 2],
    ])
  })

  test('counts bounces by category, including undetermined ones', async () => {
    const { data, totals } = await get('by=bounce_category')
    expect(totals).toEqual({ bounced: 3 })
    expect(data.map(({ value, counts }) => [value, counts.bounced]).sort()).toEqual([
      ['mailbox-full', 1],
      ['recipient', 1],
      ['undetermined', 1],
    ])
    expect((await get('by=bounce_category&provider=%3Fbig.test')).data).toEqual([
      { value: 'mailbox-full', name: null, counts: { bounced: 1 } },
    ])
  })

  test('counts by tag, with totals of all mail, and counts an email once for each of its tags', async () => {
    const body = await get('by=tag')
    expect(body).not.toHaveProperty('counted_until')
    expect(body.totals).toMatchObject({ sent: 4, delivered: 1, bounced: 3 })
    expect(body.metrics).toContain('unique_opened')
    const rows = ({ data }: Body) =>
      data.map(({ value, counts }) => [value, counts.delivered, counts.bounced])
    expect(rows(body)).toEqual([
      ['kind:receipt', 1, 1],
      ['test:', 1, 0],
    ])
    expect(body.data.map(({ name }) => name)).toEqual([null, null])
    expect(rows(await get(`by=tag&domain_id=${api.unverified.id}`))).toEqual([])
    const hour = `start_date=${iso(begun + HOUR)}&end_date=${iso(begun + 2 * HOUR)}`
    expect(rows(await get(`by=tag&${hour}&domain_id=${api.domain.id}`))).toEqual([['kind:receipt', 0, 1]])
    const big = await get('by=tag&provider=%3Fbig.test')
    expect(big.metrics).not.toContain('sent')
    expect(big.totals).toMatchObject({ delivered: 1, bounced: 1 })
    expect(rows(big)).toEqual(rows(body))
    expect(rows(await get('by=tag&provider=%3Fsmall.test'))).toEqual([])
  })

  test('counts by period, also for a single domain or provider', async () => {
    const range = `by=period&granularity=hourly&start_date=${iso(begun)}`
    const sums = async (more: string) =>
      (await get(range + more)).data.map(({ value, counts }) => [value, counts.delivered, counts.bounced])
    const [first, second] = [iso(begun), iso(begun + HOUR)]
    // The harness's clock runs between the requests.
    expect((await sums('')).slice(0, 2)).toEqual([
      [first, 1, 0],
      [second, 0, 3],
    ])
    expect((await sums(`&domain_id=${api.domain.id}`)).slice(0, 2)).toEqual([
      [first, 1, 0],
      [second, 0, 1],
    ])
    expect((await sums('&provider=%3Fsmall.test')).slice(0, 2)).toEqual([
      [first, 0, 0],
      [second, 0, 2],
    ])
  })

  test.each([
    ['by=moon', 'Invalid `by`: one of period, domain, provider, tag, broadcast, bounce_category'],
    ['provider=a,,b', 'Invalid `provider`: up to 100 comma-separated provider IDs'],
    ['by=period&granularity=hourly&start_date=2020-01-01', 'Invalid `granularity`: at most 4000 periods'],
    ['timezone=Mars', 'Invalid `timezone`'],
  ])('rejects %s', async (query, says) => {
    const { status, json } = await api.call('GET', `/emails/metrics/breakdown?${query}`)
    expect(status).toBe(422)
    expect((json as { message: string }).message).toContain(says)
  })
})

describe('GET /emails/search by event', () => {
  test('finds emails by event, provider, bounce category and tag', async () => {
    expect(await search('event=delivered')).toEqual([ids.fine])
    expect(await search('event=bounced')).toEqual([ids.full, ids.gone, ids.odd].sort())
    expect(await search('event=bounced&provider=%3Fbig.test')).toEqual([ids.full])
    expect(await search('event=sent&provider=%3Fbig.test')).toEqual([])
    expect(await search('bounce=recipient')).toEqual([ids.gone])
    expect(await search('bounce=undetermined')).toEqual([ids.odd])
    expect(await search('event=bounced&tag=kind:receipt')).toEqual([ids.full])
    expect(await search('event=delivered&tag=test:')).toEqual([ids.fine])
    expect(await search('tag=kind:')).toEqual([])
    expect(await search('event=bounced&domain=acme.example&bounce=recipient')).toEqual([])
  })

  test('finds emails by the time of the event, excluding the end', async () => {
    const during = (from: number, to: number) =>
      search(`event_since=${iso(from)}&event_until=${iso(to)}&event=sent`)
    expect(await during(begun, begun + HOUR)).toEqual([ids.fine])
    expect(await during(begun + HOUR, begun + 2 * HOUR)).toEqual([ids.full, ids.gone, ids.odd].sort())
    expect(await during(begun - HOUR, begun)).toEqual([])
  })

  test('separates opens by bots from opens by people', async () => {
    const visit = async (emailId: string, data: { robot?: true }) => {
      const hit = { id: newId(api.clock.now()), teamId: api.teamId, emailId, deliveryId: null }
      await api.storage.recordHit({ ...hit, type: 'email.opened', data }, api.clock.now())
    }
    await visit(ids.fine!, {})
    await visit(ids.full!, { robot: true })
    expect(await search('event=opened')).toEqual([ids.fine])
    expect(await search('event=opened_by_robots')).toEqual([ids.full])
    expect((await get('')).totals).toMatchObject({ opened: 1, unique_opened: 1, opened_by_robots: 1 })
  })
})
