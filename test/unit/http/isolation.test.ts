import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newId } from '../../../appliance/mail/ids.ts'
import { GONE_ANYWAY, routesById, type ApiDocument } from '../../world/routes-by-id.ts'
import { ask, hello, startApi, type Api } from './harness.ts'
import { join } from './people.ts'

let api: Api
/** The session cookie of the other team's owner. */
let theirs: string
const ids = new Set<string>()
/** An event; it is only found under its webhook. */
let event: string
let email: string

type Listed = { data: { id: string }[] }

const first = async (path: string) => ((await api.call('GET', path)).json as Listed).data[0]!.id

async function addInner(): Promise<void> {
  email = await first('/emails')
  const webhook = await first('/webhooks')
  await api.call('POST', `/webhooks/${webhook}/ping`)
  event = await first(`/webhooks/${webhook}/events`)
  ids.add(await first('/logs'))
}

const their = (method: string, path: string, body?: unknown) =>
  ask(`${api.url}${path}`, method, body, {
    cookie: theirs,
    'x-requested-with': 'dashboard',
    'sec-fetch-site': 'same-origin',
  })

beforeAll(async () => {
  api = await startApi()
  const made = async (method: string, path: string, body: unknown) => {
    const { json, text } = await api.call(method, path, body)
    expect(text).toContain('"id":')
    ids.add((json as { id: string }).id)
  }
  await made('POST', '/emails', hello)
  await made('POST', '/api-keys', { name: 'Shop' })
  await made('POST', '/webhooks', { endpoint: 'https://hooks.example/x', events: ['email.sent'] })
  await made('POST', '/suppressions', { email: 'no@people.example' })
  await made('POST', '/contacts', { email: 'ada@people.example' })
  await made('POST', '/segments', { name: 'VIP' })
  await made('POST', '/topics', { name: 'News', default_subscription: 'opt_in' })
  await made('POST', '/templates', { name: 'Order', html: '<p>Hi</p>' })
  await made('POST', '/contact-properties', { key: 'plan', type: 'string' })
  await made('POST', '/erasures', { address: 'gone@people.example' })
  ids.add(api.domain.id)
  await addInner()
  const now = api.clock.now()
  const [member] = await api.storage.listMembers({ teamId: api.teamId }, now)
  ids.add(member!.userId)
  ids.add(api.teamId)
  const [queued] = (await api.storage.listQueue({ teamId: api.teamId, limit: 1 }, now)).items
  if (queued) ids.add(queued.id)
  const by = { userId: member!.userId, role: 'owner' } as const
  const invited = { teamId: api.teamId, email: 'new@people.example', role: 'admin', by } as const
  ids.add((await api.accounts.members.invite(invited)).invitation.id)
  for (const { id } of (await api.storage.listAudit({ teamId: api.teamId, limit: 3 }, now)).items) ids.add(id)

  const other = { id: newId(now), name: 'Other', createdAt: now }
  const owner = {
    id: newId(now),
    email: 'owner@other.example',
    passwordHash: null,
    provenAt: null,
    createdAt: now,
  }
  await api.storage.createOwner({ team: other, user: owner }, now)
  theirs = await join(api, { role: 'owner', team: other.id })
})
afterAll(() => api.close())

test('no list of another team contains an ID of this team', async () => {
  const paths = [
    '/emails',
    '/domains',
    '/api-keys',
    '/webhooks',
    '/suppressions',
    '/contacts',
    '/segments',
    '/audiences',
    '/topics',
    '/contact-properties',
    '/templates',
    '/erasures',
    '/invitations',
  ]
  for (const path of [...paths, '/queue', '/logs', '/audit', '/members', '/teams']) {
    const { status, text } = await ask(`${api.url}${path}`, 'GET', undefined, { cookie: theirs })
    expect([path, status, [...ids].filter((id) => text.includes(id))]).toEqual([path, 200, []])
  }
})

test('the owner of another team gets a 403 or 404 on every route with an ID of this team', async () => {
  const document = (await ask(`${api.url}/openapi.json`, 'GET')).json as ApiDocument
  const asked = routesById(document, ids)
  const got: string[] = []
  for (const { name, method, path, body } of asked) {
    const { status } = await their(method, path, body)
    const right = GONE_ANYWAY.includes(name) ? status === 200 : status === 403 || status === 404
    if (!right) got.push(`${name}: ${status}`)
  }
  expect([...new Set(got)]).toEqual([])
  expect((await api.call('GET', '/segments')).json).toMatchObject({ data: [{ name: 'VIP' }] })
  expect((await api.call('GET', '/contacts/ada@people.example')).status).toBe(200)
  expect(asked.length).toBeGreaterThan(300)
})

describe('access by another team', () => {
  const ownWebhook = async () => {
    const body = { endpoint: 'https://hooks.example/y', events: ['email.sent'] }
    const { id } = (await their('POST', '/webhooks', body)).json as { id: string }
    await their('POST', `/webhooks/${id}/ping`)
    const events = (await their('GET', `/webhooks/${id}/events`)).json as Listed
    return { id, event: events.data[0]!.id }
  }

  test.each(['', '/attempts'])(
    'another team cannot read this team’s events: GET /webhooks/:id/events/:event_id%s',
    async (rest) => {
      const own = await ownWebhook()
      const status = async (id: string) =>
        (await their('GET', `/webhooks/${own.id}/events/${id}${rest}`)).status
      expect([await status(own.event), await status(event)]).toEqual([200, 404])
    },
  )

  test('another team cannot replay this team’s events, alone or in a selection', async () => {
    const { id } = await ownWebhook()
    const alone = await their('POST', `/webhooks/${id}/events/${event}/replay`, {})
    const selected = await their('POST', `/webhooks/${id}/replay`, { event_ids: [event] })
    expect([alone.status, selected.status]).toEqual([404, 422])
    expect(selected.text).toContain('is not an event of this webhook')
  })

  test('another team cannot restrict a key to this team’s domain', async () => {
    const wanted = { name: 'Mine', permission: 'sending_access', domain_id: api.domain.id }
    expect((await their('POST', '/api-keys', wanted)).status).toBe(404)
  })

  test.each(['/emails/search?id=', '/logs?email_id=', '/logs/search?email_id=', '/queue?email_id='])(
    'another team cannot find anything by the ID of this team’s email: GET %s',
    async (path) => {
      const { status, json } = await their('GET', path + email)
      expect([status, (json as Listed).data]).toEqual([200, []])
      expect(((await api.call('GET', path + email)).json as Listed).data).toHaveLength(1)
    },
  )
})
