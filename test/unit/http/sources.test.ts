import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Finding } from '../../../appliance/mail/finding.ts'
import { newId } from '../../../appliance/mail/ids.ts'
import type { SourceChange } from '../../../appliance/storage/storage.ts'
import { ask, errorText, owner, sessionCookie, startApi, type Api } from './harness.ts'

const found: Finding[] = [
  { id: 'disk', title: 'Disk', status: 'warning', found: 'It is nearly full.', advice: 'Make room.' },
  { id: 'clock', title: 'Clock', status: 'ok', found: 'It is right.', advice: null },
]
const looked: (string | undefined)[] = []
let api: Api
beforeAll(async () => {
  api = await startApi({
    examine: (domain) => {
      looked.push(domain?.name)
      return Promise.resolve(found)
    },
  })
})
afterAll(() => api.close())

const shown = (ip: string, more: object = {}) => ({
  object: 'source',
  ip,
  pool: 'default',
  hostname: null,
  state: 'active',
  state_reason: null,
  suspended_by: null,
  warm_up_since: null,
  origin: 'operator',
  ipv6: null,
  checks: [],
  checked_at: null,
  ...more,
})
const text = async (method: string, path: string, body?: unknown) => (await api.call(method, path, body)).text
const invalid = (field: string, expected: string) =>
  errorText(422, 'validation_error', `Invalid \`${field}\` field: ${expected}.`)

describe('the reputation of a sending IP', () => {
  const DAY = 86_400_000
  const dateAt = (daysAgo: number) => new Date(api.clock.now() - daysAgo * DAY).toISOString().slice(0, 10)

  test('the reputation of a sending IP contains results of all teams, blocklists and changes', async () => {
    const ip = '2001:db8::77'
    await api.call('POST', '/sources', { ip })
    const row = (provider: string, ago: number, counts: object) => ({
      day: dateAt(ago),
      source: ip,
      provider,
      sent: 0,
      delivered: 0,
      deferred: 0,
      bounced: 0,
      ...counts,
    })
    const days = [
      row('default', 1, { sent: 9, delivered: 9 }),
      row('google', 1, { sent: 4, delivered: 3, bounced: 1 }),
      row('google', 0, { sent: 2, deferred: 2 }),
      row('google', 2, { sent: 7, delivered: 7 }),
      { ...row('google', 0, { delivered: 5 }), source: '192.0.2.1' },
    ]
    await api.storage.addLaneDays({ days }, api.clock.now())
    const list: Finding = {
      id: `blocklist:zen.spamhaus.org:${ip}`,
      title: 'Spamhaus ZEN',
      status: 'failed',
      found: 'It lists the IP.',
      advice: 'Ask to be removed.',
    }
    const health = { findings: [...found, list], ipv6: true }
    await api.storage.saveSource({ ip, change: { health, checkedAt: api.clock.now() } }, api.clock.now())
    await api.call('PATCH', `/sources/${ip}`, { state: 'suspended' })

    const { status, json } = await api.call('GET', `/sources/${ip}/reputation?days=2`)
    expect(status).toBe(200)
    expect(json).toEqual({
      object: 'source_reputation',
      ip,
      warm_up_since: null,
      days: [
        { date: dateAt(1), delivered: 12, bounced: 1, deferred: 0 },
        { date: dateAt(0), delivered: 0, bounced: 0, deferred: 2 },
      ],
      totals: { delivered: 12, bounced: 1, deferred: 2 },
      providers: [
        { provider: 'google', name: 'Google', delivered: 3, bounced: 1, deferred: 2 },
        { provider: null, name: null, delivered: 9, bounced: 0, deferred: 0 },
      ],
      blocklists: [list],
      changes: [
        { at: expect.any(String) as string, kind: 'setting', note: `Suspended the sending IP ${ip}` },
        { at: expect.any(String) as string, kind: 'setting', note: `Added the sending IP ${ip}` },
      ],
    })
    expect((await api.call('DELETE', `/sources/${ip}`)).status).toBe(200)
  })

  test('the reputation covers 30 days by default and at most 90, and only existing IPs', async () => {
    const { json } = await api.call('GET', '/sources/192.0.2.1/reputation')
    expect((json as { days: object[] }).days).toHaveLength(30)
    expect((await api.call('GET', '/sources/192.0.2.1/reputation?days=91')).status).toBe(422)
    expect((await api.call('GET', '/sources/192.0.2.99/reputation')).status).toBe(404)
  })
})

describe('a sending IP', () => {
  test('a sending IP can be added, shown, changed and removed', async () => {
    const made = await api.call('POST', '/sources', { ip: '2001:DB8:0::5', hostname: 'MX2.acme.example' })
    const source = shown('2001:db8::5', { hostname: 'mx2.acme.example' })
    expect([made.status, made.json]).toEqual([201, source])
    expect((await api.call('GET', '/sources/2001:db8::5')).json).toEqual(source)
    const { json } = await api.call('GET', '/sources')
    expect(json).toEqual({
      object: 'list',
      has_more: false,
      data: [shown('192.0.2.1', { origin: 'configuration' }), source],
    })

    const change = { pool: 'news', hostname: null, state: 'suspended', warm_up: true }
    const changed = (await api.call('PATCH', '/sources/2001:db8::5', change)).json
    expect(changed).toEqual(
      shown('2001:db8::5', {
        pool: 'news',
        state: 'suspended',
        suspended_by: 'operator',
        state_reason: 'An operator suspended it.',
        warm_up_since: expect.stringMatching(/\+00$/) as string,
      }),
    )
    // A running warm-up isn't restarted.
    expect((await api.call('PATCH', '/sources/2001:db8::5', { warm_up: true })).json).toEqual(changed)
    const back = { state: 'active', warm_up: false, pool: 'default' }
    expect((await api.call('PATCH', '/sources/2001:db8::5', back)).json).toEqual(shown('2001:db8::5'))

    const gone = await api.call('DELETE', '/sources/2001:DB8::5')
    expect(gone.json).toEqual({ object: 'source', ip: '2001:db8::5', deleted: true })
    expect(await text('GET', '/sources/2001:db8::5')).toBe(
      errorText(404, 'not_found', 'Source 2001:db8::5 not found'),
    )
  })

  test.each([
    [{}, errorText(422, 'missing_required_field', 'Missing `ip` field.')],
    [{ ip: 'mail' }, invalid('ip', 'an IP address of this machine, such as 192.0.2.1')],
    [{ ip: 'auto' }, invalid('ip', 'an IP address of this machine, such as 192.0.2.1')],
    [{ ip: 'fe80::1%eth0' }, invalid('ip', 'an IP address of this machine, such as 192.0.2.1')],
    [
      { ip: '192.0.2.7', pool: 'Big Pool' },
      invalid('pool', 'a name of lowercase letters, digits, - and _, at most 50 characters'),
    ],
    [
      { ip: '192.0.2.7', hostname: 'mx' },
      invalid('hostname', 'a fully qualified hostname such as mail2.example.com'),
    ],
    [
      { ip: '192.0.2.7', hostname: 'mx.a\r\nQUIT' },
      invalid('hostname', 'a fully qualified hostname such as mail2.example.com'),
    ],
  ])('rejects the sending IP %j', async (body, message) => {
    expect(await text('POST', '/sources', body)).toBe(message)
  })

  test('a sending IP cannot be added twice, or deleted if it comes from the configuration', async () => {
    await api.call('POST', '/sources', { ip: '192.0.2.8' })
    expect(await text('POST', '/sources', { ip: '192.0.2.8' })).toBe(
      errorText(409, 'validation_error', 'The sending IP 192.0.2.8 already exists.'),
    )
    expect(await text('DELETE', '/sources/192.0.2.1')).toBe(
      errorText(
        409,
        'validation_error',
        'The sending IP 192.0.2.1 comes from the configuration file. Remove it from `delivery.source_ips`, or suspend it.',
      ),
    )
    expect(await text('PATCH', '/sources/192.0.2.8', { state: 'gone' })).toContain('Invalid `state` field')
    await api.call('DELETE', '/sources/192.0.2.8')
  })
})

describe('the PTR status of a domain', () => {
  interface Lit {
    lights: { name: string }[]
  }
  const lights = async (path: string) => {
    const { json } = await api.call('GET', path)
    const all = (json as { data?: Lit[] }).data ?? [json as Lit]
    return all.map((domain) => domain.lights.find(({ name }) => name === 'PTR'))
  }

  test('the PTR status of a domain is the latest finding for the IPs that send its mail', async () => {
    const unseen = { name: 'PTR', status: 'not_started', note: '192.0.2.1 has not been checked yet.' }
    expect(await lights('/domains')).toEqual([unseen, unseen])

    const advice = 'Have the PTR record of 192.0.2.1 set to mail.acme.example.'
    const finding = {
      id: 'ptr:192.0.2.1',
      title: 'Reverse DNS of 192.0.2.1',
      status: 'failed' as const,
      found: '192.0.2.1 has no PTR record.',
      advice,
    }
    const save = (change: SourceChange) =>
      api.storage.saveSource({ ip: '192.0.2.1', change }, api.clock.now())
    await save({ health: { findings: [finding], ipv6: null }, checkedAt: api.clock.now() })
    const wrong = { name: 'PTR', status: 'failed', note: `192.0.2.1 has no PTR record. ${advice}` }
    expect(await lights('/domains')).toEqual([wrong, wrong])
    expect(await lights(`/domains/${api.domain.id}`)).toEqual([wrong])

    const right = { ...finding, status: 'ok' as const, advice: null }
    await save({ health: { findings: [right], ipv6: null } })
    expect(await lights(`/domains/${api.domain.id}`)).toEqual([
      { name: 'PTR', status: 'verified', note: null },
    ])
    await save({ health: null, checkedAt: null })
  })
})

describe('a pool assignment', () => {
  test('a pool assignment can be created, changed to another pool, listed and removed', async () => {
    await api.call('POST', '/sources', { ip: '192.0.2.9', pool: 'news' })
    const about = { domain_id: api.domain.id, stream: 'broadcast' }
    const made = await api.call('POST', '/sources/assignments', { ...about, pool: 'news' })
    const { id } = made.json as { id: string }
    const assignment = { object: 'pool_assignment', id, team_id: null, ...about, pool: 'news' }
    expect([made.status, made.json]).toEqual([201, assignment])
    const again = { ...assignment, pool: 'default' }
    expect((await api.call('POST', '/sources/assignments', { ...about, pool: 'default' })).json).toEqual(
      again,
    )
    expect((await api.call('GET', '/sources/assignments')).json).toEqual({
      object: 'list',
      has_more: false,
      data: [again],
    })
    expect((await api.call('DELETE', `/sources/assignments/${id}`)).json).toEqual({
      object: 'pool_assignment',
      id,
      deleted: true,
    })
    expect(await text('DELETE', `/sources/assignments/${id}`)).toBe(
      errorText(404, 'not_found', 'Assignment not found'),
    )
    await api.call('DELETE', '/sources/192.0.2.9')
  })

  test.each([
    [{ pool: 'nowhere' }, invalid('pool', 'a pool that has a sending IP: default')],
    [{ pool: 'default', team_id: 'x' }, invalid('team_id', 'it must be a UUID')],
    [{ pool: 'default', team_id: newId(0) }, errorText(404, 'not_found', 'Team not found')],
    [{ pool: 'default', domain_id: newId(0) }, errorText(404, 'not_found', 'Domain not found')],
  ])('rejects the pool assignment %j', async (body, message) => {
    expect(await text('POST', '/sources/assignments', body)).toBe(message)
  })
})

describe('pools', () => {
  const pool = (name: string, region: string | null, ...sources: string[]) => ({
    object: 'pool',
    name,
    region,
    sources,
  })

  test('a pool can be put in a region, and new mail of its domains leaves from it', async () => {
    await api.call('POST', '/sources', { ip: '192.0.2.9', pool: 'eu' })
    const [auto] = (await api.storage.listSources({}, 0)).filter(({ pool: one }) => one === 'default')
    expect((await api.call('GET', '/sources/pools')).json).toMatchObject({
      data: [pool('default', null, auto!.ip), pool('eu', null, '192.0.2.9')],
    })
    const changed = await api.call('PATCH', '/sources/pools/eu', { region: api.domain.region })
    expect(changed.json).toEqual(pool('eu', api.domain.region, '192.0.2.9'))
    const send = async () => {
      const body = { from: `a@${api.domain.name}`, to: 'b@reader.example', subject: 'Hello', text: 'Hello' }
      const { id } = (await api.call('POST', '/emails', body)).json as { id: string }
      const { items } = await api.storage.listQueue({ emailId: id, limit: 1 }, 0)
      return items[0]!.pool
    }
    expect(await send()).toBe('eu')
    await api.call('PATCH', '/sources/pools/eu', { region: null })
    expect(await send()).toBe('default')
    await api.call('DELETE', '/sources/192.0.2.9')
  })

  test.each([
    ['nowhere', { region: 'eu-west-1' }, errorText(404, 'not_found', 'Pool nowhere not found')],
    ['default', {}, errorText(422, 'missing_required_field', 'Missing `region` field.')],
    [
      'default',
      { region: '../etc' },
      invalid(
        'region',
        'a name such as eu-west-1: lowercase letters, digits and hyphens, at most 50; null for none',
      ),
    ],
  ])('rejects a change of the pool %s with %j', async (name, body, message) => {
    expect(await text('PATCH', `/sources/pools/${name}`, body)).toBe(message)
  })
})

describe('the doctor', () => {
  test('the doctor reports its findings with the worst status', async () => {
    const { status, json } = await api.call('GET', '/doctor')
    expect([status, json]).toEqual([
      200,
      {
        object: 'doctor',
        status: 'warning',
        complete: true,
        checked_at: expect.stringMatching(/\+00$/) as string,
        checks: found,
      },
    ])
  })

  test('the doctor checks one domain on request, once for concurrent requests', async () => {
    looked.length = 0
    const ask = () => api.call('GET', '/doctor?domain=ACME.example')
    const answers = await Promise.all([ask(), ask(), ask()])
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200])
    expect(looked).toEqual(['acme.example'])
    await api.clock.advance(10_000)
    await ask()
    expect(looked).toEqual(['acme.example', 'acme.example'])
    expect(await text('GET', '/doctor?domain=other.example')).toBe(
      errorText(404, 'not_found', 'Domain not found'),
    )
    expect(await text('GET', '/doctor?domain=a&domain=b')).toBe(
      errorText(422, 'validation_error', 'Invalid `domain`: one name.'),
    )
  })
})

test.each(['/doctor', '/sources', '/sources/192.0.2.1', '/sources/assignments', '/sources/pools'])(
  '%s accepts sessions, but not sending keys or requests without a key',
  async (path) => {
    expect((await ask(api.url + path, 'GET')).status).toBe(401)
    const sending = await ask(api.url + path, 'GET', undefined, { authorization: `Bearer ${api.sending}` })
    expect([sending.status, sending.json]).toMatchObject([401, { name: 'restricted_api_key' }])
    const signedIn = await ask(`${api.url}/session`, 'POST', owner)
    const cookie = sessionCookie(signedIn)
    expect((await ask(api.url + path, 'GET', undefined, { cookie })).status).toBe(200)
  },
)
