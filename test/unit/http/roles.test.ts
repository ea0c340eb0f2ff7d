import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newId } from '../../../appliance/mail/ids.ts'
import { hasRight, ROLES, type Right, type Role } from '../../../appliance/mail/roles.ts'
import { join } from './people.ts'
import { ask, startApi, type Api } from './harness.ts'

/**
 * Exceptions to the rule of `view` for GET and `configure` for everything else. A new route with another right needs a
 * row here.
 */
const RIGHTS: Record<string, Right | 'none'> = {
  'POST /emails': 'send',
  'POST /emails/batch': 'send',
  'PATCH /emails/{id}': 'send',
  'POST /emails/{id}/cancel': 'send',
  'POST /emails/{id}/resend': 'send',
  'POST /emails/{id}/share': 'send',
  'POST /broadcasts': 'send',
  'PATCH /broadcasts/{id}': 'send',
  'DELETE /broadcasts/{id}': 'send',
  'POST /broadcasts/{id}/send': 'send',
  'POST /broadcasts/{id}/cancel': 'send',
  'POST /broadcasts/{id}/pause': 'send',
  'POST /broadcasts/{id}/resume': 'send',
  'POST /broadcasts/{id}/duplicate': 'send',
  'POST /broadcasts/{id}/test': 'send',
  'POST /automations': 'send',
  'PATCH /automations/{automation_id}': 'send',
  'DELETE /automations/{automation_id}': 'send',
  'POST /automations/{automation_id}/duplicate': 'send',
  'POST /automations/{automation_id}/stop': 'send',
  'POST /automations/{automation_id}/test': 'send',
  'POST /automations/{automation_id}/runs/{run_id}/retry': 'send',
  'POST /api-keys': 'keys',
  'PATCH /api-keys/{id}': 'keys',
  'DELETE /api-keys/{id}': 'keys',
  'POST /queue/hold': 'operate',
  'POST /queue/release': 'operate',
  'POST /queue/retry': 'operate',
  'POST /queue/reroute': 'operate',
  'POST /queue/expire': 'operate',
  'POST /queue/drop': 'operate',
  'POST /queue/undo': 'operate',
  'PATCH /providers/{id}': 'operate',
  'POST /lanes/{id}/pause': 'operate',
  'POST /lanes/{id}/resume': 'operate',
  'DELETE /nodes/{id}': 'operate',
  'POST /sources': 'operate',
  'PATCH /sources/{ip}': 'operate',
  'DELETE /sources/{ip}': 'operate',
  'PATCH /sources/pools/{pool}': 'operate',
  'POST /sources/assignments': 'operate',
  'DELETE /sources/assignments/{id}': 'operate',
  'POST /teams': 'operate',
  'POST /erasures': 'erase',
  'PUT /domains/{id}/bodies': 'erase',
  'PATCH /members/{id}': 'members',
  'DELETE /members/{id}': 'members',
  'GET /invitations': 'members',
  'POST /invitations': 'members',
  'DELETE /invitations/{id}': 'members',
  'GET /audit': 'security',
  'GET /audit/{id}': 'security',
  'GET /audit/export': 'security',
  'POST /queue/preview': 'view',
  'POST /contacts/batch/check': 'view',
  'POST /contacts/batch/count': 'view',
  'GET /contacts/export.csv': 'export',
  'GET /broadcasts/{id}/recipients/export.csv': 'export',
  'GET /contacts/{id}/export.json': 'export',
  'GET /contacts/imports/{id}/rejects.csv': 'export',
  'PUT /provider-rules': 'security',
  'PUT /alert-settings': 'security',
  'PATCH /team/security': 'security',
  'PATCH /team': 'team',
  'GET /session': 'none',
  'DELETE /session': 'none',
  'POST /session/team': 'none',
  'GET /teams': 'none',
}

let api: Api
let routes: { method: string; path: string; open: boolean }[]
const cookies = {} as Record<Role, string>

beforeAll(async () => {
  api = await startApi()
  for (const role of ROLES) cookies[role] = await join(api, { role })
  const document = (await ask(`${api.url}/openapi.json`, 'GET')).json as {
    paths: Record<string, Record<string, { security?: unknown[] }>>
  }
  routes = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { security }]) => ({
      method: method.toUpperCase(),
      path,
      open: security?.length === 0,
    })),
  )
})
afterAll(() => api.close())

const expected = (method: string, path: string): Right | 'none' => {
  if (path.startsWith('/account')) return 'none'
  return RIGHTS[`${method} ${path}`] ?? (method === 'GET' ? 'view' : 'configure')
}

const visit = (role: Role, method: string, path: string) =>
  ask(`${api.url}${path.replaceAll(/\{\w+\}/g, newId(0))}`, method, method === 'GET' ? undefined : {}, {
    cookie: cookies[role],
    'x-requested-with': 'dashboard',
    'sec-fetch-site': 'same-origin',
  })

describe('every route permits exactly the roles with its permission', () => {
  test.each(ROLES)('the role %s is permitted exactly the routes of its permissions', async (role) => {
    const wrong: string[] = []
    for (const { method, path, open } of routes) {
      // These end the session or never finish.
      if (open || path === '/live' || (path === '/session' && method === 'DELETE')) continue
      if (path === '/account/sessions' && method === 'DELETE') continue
      const { status, text } = await visit(role, method, path)
      const refused = status === 403 && text.includes('This action requires the')
      const right = expected(method, path)
      if (refused !== (right !== 'none' && !hasRight(role, right)))
        wrong.push(`${method} ${path} (${status})`)
    }
    expect(wrong).toEqual([])
  })
})

test('the error names the required role and the user’s own role', async () => {
  const { json } = await visit('viewer', 'POST', '/invitations')
  expect(json).toEqual({
    name: 'validation_error',
    statusCode: 403,
    message:
      'This action requires the admin role or higher; your role in this team is viewer. Ask an owner or admin of the team.',
  })
})

test('a developer can create sending keys, and only admins can create full access keys', async () => {
  const make = (role: Role, body: object) =>
    ask(`${api.url}/api-keys`, 'POST', body, {
      cookie: cookies[role],
      'x-requested-with': 'dashboard',
      'sec-fetch-site': 'same-origin',
    })
  const sending = { name: 'App', permission: 'sending_access' }
  expect((await make('developer', sending)).status).toBe(201)
  expect((await make('developer', { name: 'App' })).text).toContain('This action requires the admin role')
  expect((await make('developer', { name: 'App', permission: 'full_access' })).status).toBe(403)
  expect((await make('admin', { name: 'App', permission: 'full_access' })).status).toBe(201)
})

test('a viewer can read a webhook, but not its signing secret', async () => {
  const made = await api.call('POST', '/webhooks', {
    endpoint: 'https://hooks.example/x',
    events: ['email.sent'],
  })
  const { id } = made.json as { id: string }
  const secretFor = async (role: Role) =>
    ((await visitAt(role, `/webhooks/${id}`)).json as { signing_secret: string }).signing_secret
  expect(await secretFor('viewer')).toBe('')
  expect(await secretFor('developer')).toMatch(/^whsec_/)
})

const visitAt = (role: Role, path: string) =>
  ask(`${api.url}${path}`, 'GET', undefined, { cookie: cookies[role] })
