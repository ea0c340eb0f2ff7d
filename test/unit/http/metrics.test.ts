import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newId } from '../../../appliance/mail/ids.ts'
import { leaseArgs, change, putEmail } from '../../contract/fixtures.ts'
import { ask, startApi, type Api } from './harness.ts'

interface Body {
  totals: Record<string, number>
  data?: Record<string, string | number>[]
  message?: string
  start_date: string
  end_date: string
  metrics: string[]
}

const HOUR = 3_600_000
let api: Api
let emailId: string
let begun: number
beforeAll(async () => {
  api = await startApi()
  begun = api.clock.now()
  const { storage, teamId, domain } = api
  const send = async (recipients: string[], domainId: string) => {
    const { id } = await putEmail(storage, teamId, recipients, api.clock.now(), { domainId })
    const leased = await storage.lease(leaseArgs({ leaseUntil: api.clock.now() + HOUR }), api.clock.now())
    const changes = leased.map((one, n) => {
      const done =
        n === 0 ? change(one.id, 'delivered', 'email.delivered') : change(one.id, 'bounced', 'email.bounced')
      return { ...done, event: { ...done.event!, id: newId(begun) } }
    })
    await storage.settle({ owner: 'one', attempt: null, changes }, api.clock.now())
    return id
  }
  emailId = await send(['a@x.test', 'b@x.test'], domain.id)
  await api.clock.advance(25 * HOUR)
  await send(['c@x.test'], api.unverified.id)
  await send(['d@x.test'], newId(begun))
  await api.clock.advance(HOUR)
})
afterAll(() => api.close())

const get = async (query: string): Promise<Body> =>
  (await api.call('GET', `/emails/metrics${query}`)).json as Body

describe('GET /emails/metrics', () => {
  test('without parameters, sums all metrics of the last six days', async () => {
    const body = await get('')
    expect(body).toMatchObject({ object: 'metrics', dimensions: [], granularity: 'daily' })
    expect(body.metrics).toHaveLength(22)
    expect(body.data).toBeUndefined()
    const end = Date.parse(body.end_date)
    expect(Math.abs(api.clock.now() - end)).toBeLessThan(60_000)
    expect(Date.parse(body.start_date)).toBe(end - 6 * 24 * HOUR)
    expect(body.totals).toMatchObject({
      sent: 4,
      delivered: 3,
      bounced: 1,
      bounced_undetermined: 1,
      bounced_permanent: 0,
      received: 0,
      opened: 0,
      unsubscribed: 0,
      delivery_rate: 0.75,
      bounce_rate: 0.25,
      open_rate: 0,
    })
  })

  test('returns a row for every period, including empty ones', async () => {
    const { data } = await get('?dimensions=period&metrics=sent&granularity=hourly&start_date=' + iso(begun))
    expect(data!.map(({ sent }) => sent)).toEqual([
      2,
      ...Array<number>(24).fill(0),
      2,
      ...(data!.length > 26 ? [0] : []),
    ])
  })

  test('accepts lists with commas, repeated parameters, and both', async () => {
    const { metrics } = await get('?metrics=sent,delivered&metrics=bounced')
    expect(metrics).toEqual(['sent', 'delivered', 'bounced'])
  })

  test('returns a row for every domain with its name, or “(removed)”', async () => {
    const { data } = await get('?dimensions=domain&metrics=sent')
    expect(data!.map(({ domain_name: name, sent }) => [name, sent]).sort()).toEqual([
      ['(removed)', 1],
      ['acme.example', 2],
      ['new.example', 1],
    ])
  })

  test('filters by domain and email', async () => {
    expect((await get(`?domain_id=${api.domain.id}`)).totals).toMatchObject({ sent: 2, delivered: 1 })
    expect((await get(`?email_id=${emailId}`)).totals).toMatchObject({ sent: 2, bounced: 1 })
    const { data } = await get(`?dimensions=email&metrics=sent&email_id=${emailId}`)
    expect(data).toEqual([{ email_id: emailId, sent: 2 }])
  })

  test('returns no rows for an unknown broadcast', async () => {
    const body = await get(`?broadcast_id=${emailId}&metrics=sent&dimensions=broadcast`)
    expect([body.totals, body.data]).toEqual([{ sent: 0 }, []])
  })

  test.each([
    ['start_date=yesterday', 'start_date'],
    ['start_date=2026-02-30', 'start_date'],
    ['start_date=2099-01-01', 'start_date'],
    ['end_date=1', 'end_date'],
    ['timezone=Mars/Phobos', 'timezone'],
    ['granularity=yearly', 'granularity'],
    ['metrics=sent,love', 'metrics'],
    ['dimensions=tag', 'dimensions'],
    ['dimensions=email,broadcast', 'dimensions'],
    [`email_id=${newId(1)}&broadcast_id=${newId(1)}`, 'broadcast_id'],
    ['granularity=hourly&dimensions=period&start_date=2001-01-01', 'granularity'],
  ])('rejects %s, and the error names %s', async (query, parameter) => {
    const { status, json } = await api.call('GET', `/emails/metrics?${query}`)
    expect(status).toBe(422)
    expect((json as Body).message).toContain(`Invalid \`${parameter}\``)
  })

  test('rejects an invalid ID, and more than 100 IDs', async () => {
    expect((await get('?domain_id=7')).message).toBe('The `domain_id` must be a valid UUID.')
    const many = Array.from({ length: 101 }, () => newId(1)).join(',')
    expect((await get(`?domain_id=${many}`)).message).toBe('Invalid `domain_id`: at most 100 ids.')
  })

  test('rejects sending keys', async () => {
    const { status } = await ask(`${api.url}/emails/metrics`, 'GET', undefined, {
      authorization: `Bearer ${api.sending}`,
    })
    expect(status).toBe(401)
  })
})

const iso = (at: number): string => new Date(at).toISOString()
