import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { ask, owner, startApi, type Answer, type Api } from './harness.ts'

/** What somebody can do who copies, plants or guesses what a browser keeps. */

let api: Api
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.close())
// The counters of sign-ins start anew.
afterEach(() => api.clock.advance(61_000))

const own = { 'x-requested-with': 'dashboard', 'sec-fetch-site': 'same-origin' }
const signIn = (headers: Record<string, string> = {}) => ask(`${api.url}/session`, 'POST', owner, headers)
const cookieOf = (answer: Answer, name: string): string =>
  answer.headers.getSetCookie().find((one) => one.startsWith(`${name}=`)) ?? ''
const valueOf = (cookie: string): string => /=([^;]+)/.exec(cookie)![1]!
const as = (token: string, method = 'GET', path = '/session') =>
  ask(`${api.url}${path}`, method, undefined, { ...own, cookie: `posthaste_session=${token}` })

test('whoever copies the database has no session, no link and no password', async () => {
  const token = valueOf(cookieOf(await signIn(), 'posthaste_session'))
  const link = (await api.accounts.beginReset({ email: owner.email, byMail: true }))!.token
  expect((await as(token)).status).toBe(200)
  let seen = 0
  for (const file of await readdir(api.dataDir, { recursive: true, withFileTypes: true })) {
    if (!file.isFile()) continue
    const bytes = await readFile(join(file.parentPath, file.name))
    seen += bytes.length
    for (const secret of [token, link, owner.password]) expect(bytes.includes(secret)).toBe(false)
    for (const secret of [token, link]) expect(bytes.includes(Buffer.from(secret, 'base64url'))).toBe(false)
  }
  expect(seen).toBeGreaterThan(10_000)
})

test('a cookie that was planted before the sign-in is worth nothing after it', async () => {
  const planted = 'A'.repeat(43)
  const answer = await signIn({ cookie: `posthaste_session=${planted}` })
  expect(valueOf(cookieOf(answer, 'posthaste_session'))).not.toBe(planted)
  expect((await as(planted)).status).toBe(401)
})

test('a session that somebody else planted is replaced by the own one, and still not the own one', async () => {
  const theirs = valueOf(cookieOf(await signIn(), 'posthaste_session'))
  const mine = valueOf(cookieOf(await signIn({ cookie: `posthaste_session=${theirs}` }), 'posthaste_session'))
  expect(mine).not.toBe(theirs)
  await as(mine, 'DELETE')
  expect((await as(mine)).status).toBe(401)
  expect((await as(theirs)).status).toBe(200)
})

test('a copied cookie ends with the sign-out of its owner', async () => {
  const token = valueOf(cookieOf(await signIn(), 'posthaste_session'))
  await as(token, 'DELETE')
  expect((await as(token)).status).toBe(401)
})

test('a copied cookie ends fourteen days after the sign-in, used or not', async () => {
  const token = valueOf(cookieOf(await signIn(), 'posthaste_session'))
  await api.clock.advance(14 * 24 * 3_600_000 - 1000)
  expect((await as(token)).status).toBe(200)
  await api.clock.advance(2000)
  expect((await as(token)).status).toBe(401)
})

test('every cookie is for no script and no other site, and what tells known browsers opens nothing', async () => {
  const answer = await signIn()
  const cookies = answer.headers.getSetCookie()
  expect(cookies.length).toBeGreaterThan(1)
  for (const cookie of cookies) {
    expect(cookie).toContain('HttpOnly')
    expect(cookie).toContain('SameSite=Strict')
    expect(cookie).not.toMatch(/domain=/i)
  }
  const device = valueOf(cookieOf(answer, 'posthaste_device'))
  expect(cookieOf(answer, 'posthaste_device')).toContain('Path=/session;')
  expect((await as(device)).status).toBe(401)
  const cookie = `posthaste_device=${device}`
  expect((await ask(`${api.url}/session`, 'GET', undefined, { ...own, cookie })).status).toBe(401)
})

test('a form of another page cannot sign anybody in', async () => {
  const text = JSON.stringify(owner)
  for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x'])
    expect((await ask(`${api.url}/session`, 'POST', text, { 'content-type': type })).status).toBe(415)
})
