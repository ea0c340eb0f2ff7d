import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ask, startApi, type Answer, type Api } from './harness.ts'
import { join } from './people.ts'

let api: Api
let owner: string
let admin: string
beforeAll(async () => {
  api = await startApi({ publicUrl: 'https://mail.acme.example' })
  owner = await join(api, { role: 'owner' })
  admin = await join(api, { role: 'admin', email: 'admin@people.example' })
})
afterAll(() => api.close())

const as = (cookie: string, method: string, path: string, body?: unknown): Promise<Answer> =>
  ask(`${api.url}${path}`, method, body, {
    cookie,
    'x-requested-with': 'dashboard',
    'sec-fetch-site': 'same-origin',
  })
const password = 'plum orbit granite 77'
const said = ({ status, json }: Answer) => [status, (json as { message?: string }).message]
const invited = async (email: string, role = 'developer') => {
  const { status, json } = await as(owner, 'POST', '/invitations', { email, role })
  expect(status).toBe(201)
  const { link } = json as { link: string }
  expect(link).toMatch(/^https:\/\/mail\.acme\.example\/dashboard\/invitation#[\w-]{43}$/)
  return link.split('#')[1]!
}
const accept = (token: string) => ask(`${api.url}/invitations/accept`, 'POST', { token, password })
const cookieOf = ({ headers }: Answer) =>
  headers
    .getSetCookie()
    .find((one) => one.startsWith('posthaste_session='))!
    .split(';', 1)[0]!

describe('an invitation', () => {
  test('an invitation is sent by email, can be viewed, and creates one account', async () => {
    const before = await api.count()
    const token = await invited('New@people.example')
    expect(await api.count()).toBe(before + 1)
    const look = await ask(`${api.url}/invitations/look`, 'POST', { token })
    expect(look.json).toMatchObject({ email: 'new@people.example', role: 'developer', has_account: false })
    const answer = await accept(token)
    expect(answer.json).toMatchObject({
      user: { email: 'new@people.example' },
      role: 'developer',
      operator: true,
    })
    expect((await as(cookieOf(answer), 'GET', '/team')).status).toBe(200)
    const over =
      'This invitation has expired, was withdrawn, or has already been used. Ask the team for a new one.'
    expect(said(await accept(token))).toEqual([403, over])
  })

  test('an invitation for an existing account can be accepted by that account only', async () => {
    const now = api.clock.now()
    const other = { id: '0197c3e2-5a71-7000-8000-0000000000ff', name: 'Other', createdAt: now }
    const { userId } = (await api.storage.listMembers({ teamId: api.teamId }, now))[0]!
    await api.storage.createTeam({ team: other, ownerId: userId }, now)
    const known = await join(api, { role: 'viewer', team: other.id, email: 'known@people.example' })
    const token = await invited('known@people.example', 'viewer')
    expect((await accept(token)).status).toBe(409)
    expect((await as(admin, 'POST', '/account/invitations', { token })).status).toBe(403)
    const joined = await as(known, 'POST', '/account/invitations', { token })
    expect(joined.json).toMatchObject({
      team: { id: api.teamId },
      role: 'viewer',
      teams: [{ name: 'Other' }, { name: 'Acme' }],
    })
    const back = await as(known, 'POST', '/session/team', { team_id: other.id })
    expect(back.json).toMatchObject({ team: { id: other.id }, operator: false })
  })

  test('invitations are limited to three emails per address in 15 minutes', async () => {
    const email = 'often@people.example'
    for (let n = 0; n < 3; n++) await invited(email)
    const answer = await as(admin, 'POST', '/invitations', { email: ' Often@people.example', role: 'viewer' })
    expect(answer.status).toBe(429)
    // The first one was mailed moments ago, and this test's clock is running.
    const wait = Number(answer.headers.get('retry-after'))
    expect(wait).toBeGreaterThan(840)
    expect(wait).toBeLessThanOrEqual(900)
    await api.clock.advance(15 * 60_000)
    await invited(email)
  })

  test('a withdrawn invitation cannot be viewed, and its token is in no audit entry', async () => {
    const token = await invited('gone@people.example')
    const { json } = await as(owner, 'GET', '/invitations')
    const { id } = (json as { data: { id: string; email: string }[] }).data.find(
      ({ email }) => email === 'gone@people.example',
    )!
    expect((await as(admin, 'DELETE', `/invitations/${id}`)).status).toBe(200)
    expect((await ask(`${api.url}/invitations/look`, 'POST', { token })).status).toBe(403)
    const { text } = await as(owner, 'GET', '/audit')
    expect(text).toContain('invitation.create')
    expect(text).not.toContain(token)
  })
})

describe('an admin', () => {
  test('an admin cannot add, change or remove owners', async () => {
    const only = 'Only owners can add, change or remove owners. Ask an owner of the team.'
    const members = await api.storage.listMembers({ teamId: api.teamId }, 0)
    const [boss, mate] = [members[0]!, members.find(({ role }) => role === 'developer')!]
    for (const [method, path, body] of [
      ['POST', '/invitations', { email: 'x@people.example', role: 'owner' }],
      ['PATCH', `/members/${mate.userId}`, { role: 'owner' }],
      ['PATCH', `/members/${boss.userId}`, { role: 'viewer' }],
      ['DELETE', `/members/${boss.userId}`, undefined],
    ] as const)
      expect(said(await as(admin, method, path, body))).toEqual([403, only])
    expect((await as(admin, 'PATCH', `/members/${mate.userId}`, { role: 'viewer' })).status).toBe(200)
  })

  test('an admin cannot require a second factor without having one', async () => {
    const answer = await as(admin, 'PATCH', '/team/security', { mfa_required: true })
    expect(answer.status).toBe(409)
  })
})

test('demoting an owner to admin revokes the owner invitations they sent', async () => {
  const cookie = await join(api, { role: 'owner', email: 'boss-2@people.example' })
  const { userId } = (await api.storage.listMembers({ teamId: api.teamId }, 0)).find(
    ({ email }) => email === 'boss-2@people.example',
  )!
  await as(cookie, 'POST', '/invitations', { email: 'alias-1@people.example', role: 'owner' })
  await as(cookie, 'POST', '/invitations', { email: 'alias-2@people.example', role: 'admin' })
  expect((await as(owner, 'PATCH', `/members/${userId}`, { role: 'admin' })).status).toBe(200)
  const { json } = await as(owner, 'GET', '/invitations')
  const open = (json as { data: { email: string }[] }).data.map(({ email }) => email)
  expect(open.filter((email) => email.startsWith('alias'))).toEqual(['alias-2@people.example'])
})

test('a removed member is rejected from the next request on', async () => {
  const cookie = await join(api, { role: 'developer', email: 'brief@people.example' })
  const { userId } = (await api.storage.listMembers({ teamId: api.teamId }, 0)).find(
    ({ email }) => email === 'brief@people.example',
  )!
  expect((await as(cookie, 'GET', '/emails')).status).toBe(200)
  expect((await as(owner, 'DELETE', `/members/${userId}`)).status).toBe(200)
  expect((await as(cookie, 'GET', '/emails')).status).toBe(401)
})

describe('a person who is no longer in any team', () => {
  const email = 'back@people.example'
  const leave = async () => {
    const members = await api.storage.listMembers({ teamId: api.teamId }, 0)
    const { userId } = members.find((one) => one.email === email)!
    expect((await as(owner, 'DELETE', `/members/${userId}`)).status).toBe(200)
    return userId
  }

  test('a person in no team can rejoin with an invitation and the account’s password', async () => {
    await accept(await invited(email))
    const userId = await leave()
    const token = await invited(email, 'viewer')
    const look = await ask(`${api.url}/invitations/look`, 'POST', { token })
    expect(look.json).toMatchObject({ has_account: true, has_team: false })
    const other = { token, password: 'another granite plum 78' }
    expect(said(await ask(`${api.url}/invitations/accept`, 'POST', other))).toEqual([
      403,
      'Invalid `password` field: wrong password.',
    ])
    const answer = await accept(token)
    expect(answer.json).toMatchObject({ user: { id: userId, email }, role: 'viewer' })
    expect((await as(cookieOf(answer), 'GET', '/team')).status).toBe(200)
    const seen = await ask(`${api.url}/invitations/look`, 'POST', {
      token: await invited('x@people.example'),
    })
    expect(seen.json).toMatchObject({ has_account: false, has_team: false })
  })

  test('a person in no team must complete the second factor to rejoin', async () => {
    const userId = await leave()
    const now = api.clock.now()
    await api.storage.startTotp({ userId, secret: new Uint8Array(20) }, now)
    await api.storage.confirmTotp({ userId, startedAt: now, step: 1 }, now)
    const answer = await accept(await invited(email))
    expect([answer.status, answer.json]).toMatchObject([202, { next: 'second_factor', methods: ['totp'] }])
  })

  test('rejoining is limited to ten wrong passwords', async () => {
    await api.clock.advance(16 * 60_000)
    await leave()
    const token = await invited(email)
    const wrong = { token, password: 'another granite plum 78' }
    const answers: number[] = []
    for (let n = 0; n < 11; n++)
      answers.push((await ask(`${api.url}/invitations/accept`, 'POST', wrong)).status)
    expect(answers).toEqual([...Array<number>(10).fill(403), 429])
  })
})

test('a lowered role takes effect with the next request', async () => {
  const cookie = await join(api, { role: 'admin', email: 'lowered@people.example' })
  const { userId } = (await api.storage.listMembers({ teamId: api.teamId }, 0)).find(
    ({ email }) => email === 'lowered@people.example',
  )!
  expect((await as(cookie, 'GET', '/invitations')).status).toBe(200)
  await as(owner, 'PATCH', `/members/${userId}`, { role: 'viewer' })
  expect((await as(cookie, 'GET', '/invitations')).status).toBe(403)
})

test('API keys cannot access members, teams and invitations', async () => {
  for (const path of ['/members', '/team', '/teams', '/invitations'])
    expect((await api.call('GET', path)).status).toBe(401)
})
