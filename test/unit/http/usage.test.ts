import { afterEach, describe, expect, test } from 'vitest'
import {
  ask,
  errorText,
  hello,
  owner,
  sessionCookie,
  startApi,
  type Answer,
  type Api,
  type ApiOptions,
} from './harness.ts'

let api: Api
const start = async (options: ApiOptions) => (api = await startApi(options))
afterEach(() => api.close())

const rateHeaders = ({ headers }: Answer) =>
  Object.fromEntries([...headers].filter(([name]) => name.startsWith('ratelimit')))

describe('the rate limit', () => {
  const slow = { perSecond: 5 }
  /** Advances time until all rate-limit buckets are full again. */
  const rest = () => api.clock.advance(1000)

  test('the rate limit is reported in the old and the new RateLimit header fields', async () => {
    await start({ perSecond: 50 })
    const answer = await api.call('GET', '/domains')
    expect(rateHeaders(answer)).toEqual({
      'ratelimit-limit': '50',
      'ratelimit-remaining': '49',
      'ratelimit-reset': '1',
      'ratelimit-policy': '50;w=1',
      ratelimit: '"team";r=49;t=1',
    })
    expect(answer.headers.get('retry-after')).toBeNull()
  })

  test('rejects requests over the limit with the message of the hosted service', async () => {
    await start(slow)
    const answers = await Promise.all(Array.from({ length: 60 }, () => api.call('POST', '/emails', hello)))
    const taken = answers.filter(({ status }) => status === 200)
    const refused = answers.filter(({ status }) => status === 429)
    expect(taken.length + refused.length).toBe(60)
    expect(taken.length).toBeGreaterThanOrEqual(5)
    expect(refused.length).toBeGreaterThan(0)
    for (const { text, headers } of refused) {
      expect(text).toBe(
        errorText(
          429,
          'rate_limit_exceeded',
          'Too many requests. You can only make 5 requests per second. See rate limit response headers for more information. Or contact support to increase rate limit.',
        ),
      )
      expect(headers.get('retry-after')).toBe('1')
      expect(headers.get('ratelimit-remaining')).toBe('0')
    }
    expect(await api.count()).toBe(taken.length)
    await rest()
    expect((await api.call('POST', '/emails', hello)).status).toBe(200)
  })

  test('the rate limit is shared by all keys of the team', async () => {
    await start(slow)
    const tokens = [api.full, api.sending]
    const answers = await Promise.all(
      Array.from({ length: 60 }, (_, n) =>
        ask(`${api.url}/emails`, 'POST', hello, { authorization: `Bearer ${tokens[n % 2]}` }),
      ),
    )
    for (const own of [0, 1])
      expect(answers.filter(({ status }, n) => n % 2 === own && status === 429).length).toBeGreaterThan(0)
  })

  test.each([
    ['a rejected body', 422, 'POST', '/emails', { ...hello, to: 'nobody' }],
    ['a body that is not JSON', 400, 'POST', '/emails', '{'],
    ['an unknown email', 404, 'GET', '/emails/0197c3e2-5a71-7000-8000-1c2d3e4f5061', undefined],
    ['an unknown path', 404, 'GET', '/nowhere', undefined],
    ['a wrong method', 405, 'DELETE', '/emails', undefined],
  ])('the rate limit is also reported with errors: %s', async (_name, status, method, path, body) => {
    await start({ perSecond: 50 })
    const answer = await api.call(method, path, body)
    expect(answer.status).toBe(status)
    expect(rateHeaders(answer)).toMatchObject({ 'ratelimit-limit': '50', 'ratelimit-remaining': '49' })
  })

  test('the rate limit is reported to a key without permission', async () => {
    await start({ perSecond: 50 })
    const answer = await ask(`${api.url}/domains`, 'GET', undefined, {
      authorization: `Bearer ${api.sending}`,
    })
    expect([answer.status, rateHeaders(answer)['ratelimit-remaining']]).toEqual([401, '49'])
  })

  test.each([
    ['no key', 401, {}],
    ['another authorization scheme', 401, { authorization: 'Basic x' }],
    ['an unknown key', 403, { authorization: 'Bearer re_nobody' }],
  ])(
    "is reported for %s, and uses none of the team's limit",
    async (_name, status, headers: Record<string, string>) => {
      await start(slow)
      const answers = await Promise.all(
        Array.from({ length: 20 }, () => ask(`${api.url}/emails`, 'GET', undefined, headers)),
      )
      for (const answer of answers) {
        expect(answer.status).toBe(status)
        expect(rateHeaders(answer)).toEqual({
          'ratelimit-limit': '5',
          'ratelimit-remaining': '5',
          'ratelimit-reset': '0',
          'ratelimit-policy': '5;w=1',
          ratelimit: '"team";r=5;t=0',
        })
      }
      expect((await api.call('GET', '/emails')).headers.get('ratelimit-remaining')).toBe('4')
    },
  )

  test('the rate limit does not apply to people in the dashboard', async () => {
    await start(slow)
    const signedIn = await ask(`${api.url}/session`, 'POST', { email: owner.email, password: owner.password })
    const cookie = sessionCookie(signedIn)
    const answers = await Promise.all(
      Array.from({ length: 60 }, () => ask(`${api.url}/emails`, 'GET', undefined, { cookie })),
    )
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
    expect(rateHeaders(answers[0]!)).toEqual({})
  })
})

describe('quotas', () => {
  const plans = new Map([
    ['unlimited', { daily: null, monthly: null }],
    ['free', { daily: 3, monthly: 5 }],
    ['monthly', { daily: null, monthly: 2 }],
  ])
  const startOn = async (plan: string) => {
    await start({ plans })
    await api.storage.setPlan({ teamId: api.teamId, plan }, api.clock.now())
    // The middle of a month: no test runs past the end of a day.
    await api.clock.set(Date.UTC(2030, 5, 15, 12))
  }
  const send = (recipients = 1) =>
    api.call('POST', '/emails', {
      ...hello,
      to: Array.from({ length: recipients }, (_, n) => `u${n}@x.example`),
    })
  const quotaHeaders = ({ headers }: Answer) => [
    headers.get('x-resend-daily-quota'),
    headers.get('x-resend-monthly-quota'),
  ]

  test('quotas count every recipient, reject emails over the limit, and are reported with the usage', async () => {
    await startOn('free')
    expect(quotaHeaders(await send(2))).toEqual(['2', '2'])
    expect(quotaHeaders(await send(1))).toEqual(['3', '3'])
    const refused = await send(1)
    expect(refused.text).toBe(
      errorText(429, 'daily_quota_exceeded', 'You have reached your daily email sending quota.'),
    )
    expect(quotaHeaders(refused)).toEqual(['3', '3'])
    // Twelve hours until midnight.
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(43_100)
    expect(Number(refused.headers.get('retry-after'))).toBeLessThanOrEqual(43_200)
    expect(await api.count()).toBe(2)
    await api.clock.set(Date.UTC(2030, 5, 16))
    expect(quotaHeaders(await send(2))).toEqual(['2', '5'])
    const over = await send(1)
    expect(over.text).toBe(
      errorText(429, 'monthly_quota_exceeded', 'You have reached your monthly email sending quota.'),
    )
    expect(quotaHeaders(over)).toEqual(['2', '5'])
    await api.clock.set(Date.UTC(2030, 6, 1))
    expect(quotaHeaders(await send(1))).toEqual(['1', '1'])
  })

  test('quotas are checked after permissions: an unknown domain gets a 403 even if the quota is used up', async () => {
    await startOn('free')
    await send(3)
    expect((await send(1)).status).toBe(429)
    const elsewhere = await api.call('POST', '/emails', {
      ...hello,
      from: 'hi@elsewhere.example',
      to: 'a@x.example',
    })
    expect(elsewhere.status).toBe(403)
  })

  test('a plan without a daily limit reports no daily usage', async () => {
    await startOn('monthly')
    expect(quotaHeaders(await send(2))).toEqual([null, '2'])
    expect((await send(1)).status).toBe(429)
  })

  test('a plan without limits rejects nothing, but still counts', async () => {
    await startOn('unlimited')
    await send(50)
    expect(quotaHeaders(await send(1))).toEqual([null, '51'])
  })

  test('quotas are checked last: a domain that may not send gets a 403 in /emails and /emails/batch', async () => {
    await startOn('free')
    await send(3)
    const from = (domain: string) => ({ ...hello, from: `a@${domain}` })
    const bound = { authorization: `Bearer ${await api.makeKey('sending_access', api.unverified.id)}` }
    for (const [path, wrap] of [
      ['/emails', (one: object) => one],
      ['/emails/batch', (one: object) => [one]],
    ] as const) {
      const status = async (domain: string, headers = {}) =>
        (await api.call('POST', path, wrap(from(domain)), headers)).status
      expect(await status('new.example')).toBe(403)
      expect(await status('elsewhere.example')).toBe(403)
      expect(await status('acme.example', bound)).toBe(403)
      expect(await status('acme.example')).toBe(429)
    }
  })

  test('quotas do not count rejected emails', async () => {
    await startOn('free')
    await api.call('POST', '/emails', { ...hello, from: 'a@new.example' })
    await api.call('POST', '/emails', { ...hello, to: 'nobody' })
    expect((await send(4)).status).toBe(429)
    expect(quotaHeaders(await send(3))).toEqual(['3', '3'])
  })

  test('a change of plan applies within about a second', async () => {
    await startOn('unlimited')
    await send(3)
    await api.storage.setPlan({ teamId: api.teamId, plan: 'free' }, api.clock.now())
    await api.clock.advance(1001)
    expect((await send(1)).status).toBe(429)
  })

  test('GET /usage reports quotas and usage to every key', async () => {
    await startOn('free')
    await send(2)
    const answer = await ask(`${api.url}/usage`, 'GET', undefined, { authorization: `Bearer ${api.sending}` })
    expect(answer.status).toBe(200)
    expect(answer.json).toEqual({
      object: 'usage',
      generated_at: expect.stringMatching(/^2030-06-15 12:0\d:\d\d(\.\d+)?\+00$/) as string,
      emails: {
        daily: { used: 2, sent: 2, received: 0, limit: 3, resets_at: '2030-06-16 00:00:00+00' },
        monthly: { used: 2, sent: 2, received: 0, limit: 5, resets_at: '2030-07-01 00:00:00+00' },
      },
      contacts: { used: 0, limit: Number.MAX_SAFE_INTEGER },
      segments: { used: 0, limit: null },
      broadcasts: { used: 0, limit: null },
      ai_credits: { used: 0, limit: null, next_increase_at: null },
      automation_runs: { used: 0, limit: Number.MAX_SAFE_INTEGER, resets_at: '2030-07-01 00:00:00+00' },
      domains: { used: 2, limit: null },
      rate_limit: { limit: 1_000_000, duration: '1s' },
    })
  })

  test('missing limits are reported as null for the day and the largest integer for the month', async () => {
    await startOn('unlimited')
    const { emails } = (await api.call('GET', '/usage')).json as {
      emails: Record<string, { limit: unknown }>
    }
    expect([emails.daily!.limit, emails.monthly!.limit]).toEqual([null, Number.MAX_SAFE_INTEGER])
  })

  test('the usage history covers 30 days and 12 months, and sending keys cannot read it', async () => {
    await startOn('unlimited')
    await send(2)
    await api.clock.advance(20 * 86_400_000)
    await send(3)
    const { json } = await api.call('GET', '/usage/history')
    const { days, months } = json as Record<'days' | 'months', { period: string; used: number }[]>
    const used = (periods: typeof days) => periods.filter((one) => one.used > 0)
    expect([days.length, days[0]!.period, days[29]!.period]).toEqual([30, '2030-06-06', '2030-07-05'])
    expect(used(days)).toEqual([
      { period: '2030-06-15', used: 2 },
      { period: '2030-07-05', used: 3 },
    ])
    expect([months.length, months[0]!.period]).toEqual([12, '2029-08'])
    expect(used(months)).toEqual([
      { period: '2030-06', used: 2 },
      { period: '2030-07', used: 3 },
    ])
    const sending = { authorization: `Bearer ${api.sending}` }
    expect((await ask(`${api.url}/usage/history`, 'GET', undefined, sending)).status).toBe(401)
  })
})
