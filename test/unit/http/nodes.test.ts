import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newId } from '../../../appliance/mail/ids.ts'
import { ask, startApi, type Api } from './harness.ts'
import { join } from './people.ts'

let api: Api
/** The owner of a team that doesn't operate the server. */
let tenant: string
beforeAll(async () => {
  api = await startApi({
    plans: new Map([
      ['unlimited', { daily: null, monthly: null }],
      ['free', { daily: 100, monthly: 3000 }],
    ]),
    messageBytes: 1_000_000,
    perSecond: 7000,
  })
  const now = api.clock.now()
  const other = { id: newId(now), name: 'Other', createdAt: now }
  const owner = {
    id: newId(now),
    email: 'owner@other.example',
    passwordHash: null,
    provenAt: null,
    createdAt: now,
  }
  await api.storage.createOwner({ team: other, user: owner }, now)
  await api.storage.setPlan({ teamId: other.id, plan: 'free' }, now)
  tenant = await join(api, { role: 'owner', team: other.id })
})
afterAll(() => api.close())

describe('GET /nodes', () => {
  test('returns the name, state, listeners, storage and readiness of each node', async () => {
    const { status, json } = await api.call('GET', '/nodes')
    expect(status).toBe(200)
    expect(json).toMatchObject({
      object: 'list',
      has_more: false,
      data: [
        {
          object: 'node',
          id: '5f2b1c9a7d3e4f60',
          name: 'mail1',
          state: 'active',
          current: true,
          heartbeat_at: null,
          sources: ['auto'],
          hostname: 'mail.acme.example',
          version: '0.0.0',
          sandbox: false,
          listeners: ['http://127.0.0.1:8025', 'smtp://127.0.0.1:2525'],
          storage: { engine: 'sqlite', data_dir: api.dataDir, database: null },
          ready: true,
          reasons: [],
        },
      ],
    })
  })

  test("rejects teams that don't operate the server", async () => {
    const { status, json } = await ask(`${api.url}/nodes`, 'GET', undefined, { cookie: tenant })
    expect([status, json]).toMatchObject([
      403,
      { message: 'Only the team that operates this server can view and change its sending IPs.' },
    ])
  })
})

describe('DELETE /nodes/:id', () => {
  test.each([
    ['a live node', '5f2b1c9a7d3e4f60', 409, /^The node mail1 is alive\. Stop it first/],
    ['an unknown node', 'nobody', 404, /^Node nobody not found/],
  ])('rejects %s', async (_what, id, status, message) => {
    const answer = await api.call('DELETE', `/nodes/${id}`)
    expect([answer.status, answer.json]).toMatchObject([
      status,
      { message: expect.stringMatching(message) as string },
    ])
  })

  test("rejects teams that don't operate the server", async () => {
    const { status } = await ask(`${api.url}/nodes/5f2b1c9a7d3e4f60`, 'DELETE', undefined, { cookie: tenant })
    expect(status).toBe(403)
  })
})

describe('GET /limits', () => {
  test("returns the team's own plan and all plans to operators", async () => {
    const { json } = await api.call('GET', '/limits')
    const unlimited = { name: 'unlimited', daily: null, monthly: null }
    expect(json).toEqual({
      object: 'limits',
      plan: unlimited,
      plans: [unlimited, { name: 'free', daily: 100, monthly: 3000 }],
      rate_per_second: 7000,
      message_bytes: 1_000_000,
    })
  })

  test("returns only the team's own plan to other teams", async () => {
    const { json } = await ask(`${api.url}/limits`, 'GET', undefined, { cookie: tenant })
    expect(json).toMatchObject({ plan: { name: 'free', daily: 100, monthly: 3000 }, plans: null })
  })
})
