import { afterAll, beforeAll, expect, test } from 'vitest'
import { newId } from '../../../appliance/mail/ids.ts'
import type { AuditEntry } from '../../../appliance/storage/storage.ts'
import { openBrowser, type Browser } from './browser-of.ts'
import { owner, startApi, type Api } from './harness.ts'
import { join } from './people.ts'

/** Tests audit entries about people and teams: the previous values, whose log they are in, and password guesses. */

let api: Api
let boss: Browser
beforeAll(async () => {
  api = await startApi({ publicUrl: 'https://mail.acme.example' })
  boss = openBrowser(api.url)
  expect((await boss.call('POST', '/session', owner)).status).toBe(200)
})
afterAll(() => api.close())

const newest = async (action: string, teamId = api.teamId): Promise<AuditEntry | undefined> => {
  const asked = { teamId, limit: 50, appliance: teamId === api.teamId }
  const { items } = await api.storage.listAudit(asked, api.clock.now())
  return items.find((entry) => entry.action === action)
}
const signedIn = (cookie: string): Browser => {
  const browser = openBrowser(api.url)
  browser.cookies.set('posthaste_session', cookie.split('=')[1]!)
  return browser
}

test('the audit log records the name and security settings of a team before a change', async () => {
  expect((await boss.call('PATCH', '/team', { name: 'Acme Two' })).status).toBe(200)
  expect(await newest('team.rename')).toMatchObject({
    before: { name: 'Acme', mfa_required: false },
    after: { name: 'Acme Two', mfa_required: false },
  })
  await api.storage.setMfaRequired({ id: api.teamId, required: false }, api.clock.now())
  expect((await boss.call('PATCH', '/team/security', { mfa_required: false })).status).toBe(200)
  expect(await newest('team.security')).toMatchObject({ before: { mfa_required: false } })
})

test('the audit log records the address and role of a revoked invitation', async () => {
  const body = { email: 'guest@people.example', role: 'admin' }
  const { id } = (await boss.call('POST', '/invitations', body)).json as { id: string }
  expect((await boss.call('DELETE', `/invitations/${id}`)).status).toBe(200)
  expect(await newest('invitation.revoke')).toMatchObject({ target: `invitation ${id}`, before: body })
})

test('the audit log records the provider and address of an unlinked account', async () => {
  const now = api.clock.now()
  const { user } = (await api.accounts.findOwner({ email: owner.email }))!
  const identity = {
    id: newId(now),
    userId: user.id,
    provider: 'corp',
    issuer: 'i',
    subject: 's',
    email: 'o@corp.example',
    createdAt: now,
    lastUsedAt: null,
  }
  await api.storage.linkIdentity({ identity }, now)
  expect((await boss.call('DELETE', `/account/identities/${identity.id}`)).status).toBe(200)
  expect(await newest('identity.unlink')).toMatchObject({
    target: `identity ${identity.id}`,
    before: { provider: 'corp', email: 'o@corp.example' },
  })
})

test('the audit log records the team of a deleted pool assignment', async () => {
  const source = { ip: '192.0.2.9', pool: 'bulk' }
  expect((await boss.call('POST', '/sources', source)).status).toBe(201)
  const made = await boss.call('POST', '/sources/assignments', { team_id: api.teamId, pool: 'bulk' })
  expect(made.status, made.text).toBe(201)
  const { id } = made.json as { id: string }
  expect((await boss.call('DELETE', `/sources/assignments/${id}`)).status).toBe(200)
  expect(await newest('pool_assignment.delete')).toMatchObject({
    before: { team_id: api.teamId, pool: 'bulk' },
  })
})

test('leaving a team is recorded in that team’s audit log, even if the session uses another team', async () => {
  const now = api.clock.now()
  const { user } = (await api.accounts.findOwner({ email: owner.email }))!
  const other = { id: newId(now), name: 'Other', createdAt: now }
  await api.storage.createTeam({ team: other, ownerId: user.id }, now)
  const email = 'leaver@people.example'
  const leaver = signedIn(await join(api, { role: 'viewer', email }))
  const by = { userId: user.id, role: 'owner' } as const
  const { token } = await api.accounts.members.invite({ teamId: other.id, email, role: 'developer', by })
  expect((await leaver.call('POST', '/account/invitations', { token })).status).toBe(200)
  // The session now uses the other team, and leaves the first.
  expect((await leaver.call('DELETE', `/account/teams/${api.teamId}`)).status).toBe(200)
  expect(await newest('team.leave', other.id)).toBeUndefined()
  expect(await newest('team.leave')).toMatchObject({ actor: email, before: { role: 'viewer' } })
  // Attempts on a team that isn't one's own are not logged there.
  expect((await leaver.call('DELETE', `/account/teams/${api.teamId}`)).status).toBe(404)
  expect(await newest('team.leave')).toMatchObject({ after: { deleted: true } })
})

test('wrong passwords in an open session are audited, and limited to 50', async () => {
  const prove = (password: string) => boss.call('POST', '/account/proof', { password })
  expect((await prove('a guess of ten characters')).status).toBe(403)
  expect(await newest('account.proof')).toMatchObject({
    actor: owner.email,
    ip: '127.0.0.1',
    after: { refused: 'validation_error' },
  })
  await api.clock.advance(3_600_000)
  const change = () =>
    boss.call('POST', '/account/password', {
      current: 'a guess of ten characters',
      new: 'lanterns over the pier',
    })
  const answers: number[] = []
  for (let n = 0; n < 30; n++) {
    answers.push((await prove('a guess of ten characters')).status, (await change()).status)
    await api.clock.advance(61_000)
  }
  expect(answers.filter((status) => status === 403)).toHaveLength(50)
  expect(answers.slice(50)).toEqual(Array<number>(10).fill(429))
})

test('the audit log records a wrong password for an invitation', async () => {
  const email = 'back@people.example'
  await join(api, { role: 'viewer', email })
  const members = await api.storage.listMembers({ teamId: api.teamId }, api.clock.now())
  const { userId } = members.find((one) => one.email === email)!
  expect((await boss.call('DELETE', `/members/${userId}`)).status).toBe(200)
  const { link } = (await boss.call('POST', '/invitations', { email, role: 'viewer' })).json as {
    link: string
  }
  const body = { token: link.split('#')[1]!, password: 'a guess of ten characters' }
  expect((await openBrowser(api.url).call('POST', '/invitations/accept', body)).status).toBe(403)
  expect(await newest('invitation.accept')).toMatchObject({
    actor: email,
    ip: '127.0.0.1',
    after: { refused: 'wrong_password' },
  })
})
