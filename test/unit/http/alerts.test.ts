import { afterAll, beforeAll, expect, test } from 'vitest'
import { newId } from '../../../appliance/mail/ids.ts'
import type { Role } from '../../../appliance/mail/roles.ts'
import { newAlert } from '../../contract/alerts.contract.ts'
import { ask, startApi, type Api } from './harness.ts'
import { join } from './people.ts'

let api: Api
let theirs: string
let open: string
let closed: string
beforeAll(async () => {
  api = await startApi()
  const now = api.clock.now()
  const store = async (more: Parameters<typeof newAlert>[1]) => {
    const alert = newAlert(api.teamId, { id: newId(now), openedAt: now, ...more })
    await api.storage.openAlert({ alert, email: false }, now)
    return alert.id
  }
  closed = await store({ kind: 'dns', value: 1, limit: null })
  await api.storage.closeAlert({ id: closed }, now)
  open = await store({})
  const user = {
    id: newId(now),
    email: 'eve@other.example',
    passwordHash: 'x',
    provenAt: null,
    createdAt: now,
  }
  const team = { id: newId(now), name: 'Other', createdAt: now }
  await api.storage.createOwner({ team, user }, now)
  theirs = (await api.senders.createKey({ teamId: team.id, name: 'k', permission: 'full_access' })).token
})
afterAll(() => api.close())

const data = async (path: string) => ((await api.call('GET', path)).json as { data: { id: string }[] }).data

test('lists alerts newest first, in pages, filtered by status and kind', async () => {
  expect((await data('/alerts')).map(({ id }) => id)).toEqual([open, closed])
  expect(await data('/alerts?status=open')).toMatchObject([{ id: open, status: 'open', closed_at: null }])
  expect(await data('/alerts?status=closed&kind=dns')).toMatchObject([{ id: closed, status: 'closed' }])
  expect(await data('/alerts?kind=tls')).toEqual([])
  expect(await data(`/alerts?limit=1&after=${open}`)).toMatchObject([{ id: closed }])
  const refused = await api.call('GET', '/alerts?status=ajar')
  expect(refused.status).toBe(422)
  expect(refused.text).toContain('one of open, closed')
})

test('shows an alert with its title, values and fix', async () => {
  expect((await api.call('GET', `/alerts/${open}`)).json).toMatchObject({
    object: 'alert',
    id: open,
    kind: 'bounces',
    scope: 'team',
    title: 'Bounces of shop.example',
    subject: { type: 'domain', name: 'shop.example' },
    value: 0.035,
    limit: 0.04,
    muted: false,
    fix: expect.stringContaining('Stop mailing') as string,
  })
})

test('a team sees only its own alerts and alert settings', async () => {
  const as = (method: string, path: string, body?: unknown) =>
    ask(`${api.url}${path}`, method, body, { authorization: `Bearer ${theirs}` })
  expect((await as('GET', '/alerts')).json).toMatchObject({ data: [] })
  expect((await as('GET', `/alerts/${open}`)).status).toBe(404)
  expect((await as('PUT', '/alert-settings', { email: false, muted: ['dns'] })).status).toBe(200)
  expect((await api.call('GET', '/alert-settings')).json).toMatchObject({ email: true, muted: [] })
  const sending = { authorization: `Bearer ${api.sending}` }
  expect((await ask(`${api.url}/alerts`, 'GET', undefined, sending)).status).toBe(401)
})

test('alert settings are stored without duplicates, changes are audited, and errors name the field', async () => {
  const muted = ['queue', 'dns', 'queue']
  const saved = { object: 'alert_settings', email: false, muted: ['dns', 'queue'] }
  expect((await api.call('PUT', '/alert-settings', { email: false, muted })).json).toEqual(saved)
  expect((await api.call('GET', '/alert-settings')).json).toEqual(saved)
  const refused = await api.call('PUT', '/alert-settings', { email: true, muted: ['everything'] })
  expect(refused.status).toBe(422)
  expect(refused.text).toContain('muted')
  expect((await api.call('PUT', '/alert-settings', { muted: [] })).text).toContain('email')
  const { items } = await api.storage.listAudit({ teamId: api.teamId, limit: 9 }, api.clock.now())
  expect(items.find(({ action }) => action === 'team.alerts')).toMatchObject({
    before: { email: true, muted: [] },
    after: { email: false, muted: ['dns', 'queue'] },
  })
})

test.each<[Role, number]>([
  ['viewer', 403],
  ['developer', 403],
  ['admin', 200],
])('a %s can read alerts, and gets %i when changing the alert settings', async (role, status) => {
  const cookie = await join(api, { role })
  const headers = { cookie, 'x-requested-with': 'dashboard', 'sec-fetch-site': 'same-origin' }
  expect((await ask(`${api.url}/alerts`, 'GET', undefined, headers)).status).toBe(200)
  const body = { email: true, muted: [] }
  expect((await ask(`${api.url}/alert-settings`, 'PUT', body, headers)).status).toBe(status)
})
