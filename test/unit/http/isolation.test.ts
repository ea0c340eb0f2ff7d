import { afterAll, beforeAll, expect, test } from 'vitest'
import { newId } from '../../../appliance/mail/ids.ts'
import { ask, hello, startApi, type Api } from './harness.ts'
import { join } from './people.ts'

/** Bodies that would be taken, were the thing one's own. */
const BODIES: Record<string, unknown> = {
  'PATCH /emails/{id}': { scheduled_at: 'in 1 hour' },
  'POST /emails/{id}/share': {},
  'PATCH /api-keys/{id}': { name: 'Mine' },
  'PATCH /domains/{id}': { open_tracking: true },
  'PUT /domains/{id}/bodies': { keep: false },
  'PATCH /webhooks/{id}': { status: 'disabled' },
  'POST /webhooks/{id}/replay': { since: '2026-01-01T00:00:00Z' },
  'PATCH /account/passkeys/{id}': { name: 'Mine' },
  'PATCH /members/{id}': { role: 'viewer' },
  'PATCH /providers/{id}': { connections: 1 },
  'POST /lanes/{id}/pause': {},
  'PATCH /sources/{id}': {},
  'PATCH /sources/{ip}': {},
}

let api: Api
let theirs: string
const ids = new Set<string>()

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
  await made('POST', '/erasures', { address: 'gone@people.example' })
  ids.add(api.domain.id)
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

test('lists of another team hold nothing of this one', async () => {
  const paths = [
    '/emails',
    '/domains',
    '/api-keys',
    '/webhooks',
    '/suppressions',
    '/erasures',
    '/invitations',
  ]
  for (const path of [...paths, '/queue', '/logs', '/audit', '/members', '/teams']) {
    const { status, text } = await ask(`${api.url}${path}`, 'GET', undefined, { cookie: theirs })
    expect([path, status, [...ids].filter((id) => text.includes(id))]).toEqual([path, 200, []])
  }
})

test('the owner of another team is refused everything by id, on every route that takes one', async () => {
  const document = (await ask(`${api.url}/openapi.json`, 'GET')).json as {
    paths: Record<string, Record<string, { security?: unknown[] }>>
  }
  const got: string[] = []
  let asked = 0
  for (const [path, methods] of Object.entries(document.paths)) {
    if (!path.includes('{')) continue
    for (const [lower, { security }] of Object.entries(methods)) {
      if (security?.length === 0) continue
      const method = lower.toUpperCase()
      for (const id of ids) {
        const body = method === 'GET' || method === 'DELETE' ? undefined : (BODIES[`${method} ${path}`] ?? {})
        const { status } = await ask(`${api.url}${path.replaceAll(/\{\w+\}/g, id)}`, method, body, {
          ...{ cookie: theirs, 'x-requested-with': 'dashboard', 'sec-fetch-site': 'same-origin' },
        })
        asked += 1
        if (status !== 403 && status !== 404) got.push(`${method} ${path}: ${status}`)
      }
    }
  }
  expect([...new Set(got)]).toEqual([])
  expect(asked).toBeGreaterThan(300)
})
