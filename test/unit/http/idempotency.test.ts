import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { ask, errorText, hello, startApi, type Answer, type Api } from './harness.ts'

const HOUR = 3_600_000
let api: Api
const children: ChildProcess[] = []
let serial = 0
const newKey = () => `key-${++serial}`

beforeAll(async () => {
  api = await startApi({ plans: new Map([['unlimited', { daily: 1000, monthly: null }]]) })
})
afterEach(() => children.splice(0).forEach((child) => child.kill('SIGKILL')))
afterAll(() => api.close())

const send = (key: string, body: unknown = hello, path = '/emails', more: Record<string, string> = {}) =>
  api.call('POST', path, body, { 'idempotency-key': key, ...more })
const idOf = ({ json }: Answer) => (json as { id: string }).id
const stored = () => api.count()

const concurrent = errorText(
  409,
  'concurrent_idempotent_requests',
  'Same idempotency key used while original request is still in progress.',
)

describe('a repeated request with an idempotency key', () => {
  test('a repeated request gets the same response, and stores one email', async () => {
    const key = newKey()
    const before = await stored()
    const first = await send(key)
    const second = await send(key)
    expect([first.status, second.status]).toEqual([200, 200])
    expect(second.text).toBe(first.text)
    expect(first.headers.get('idempotent-replayed')).toBeNull()
    expect(second.headers.get('idempotent-replayed')).toBe('true')
    expect(await stored()).toBe(before + 1)
  })

  test('a repeated request uses no quota, and still reports the usage', async () => {
    const key = newKey()
    const first = await send(key)
    const second = await send(key)
    expect(second.headers.get('x-resend-daily-quota')).toBe(first.headers.get('x-resend-daily-quota'))
    expect(second.headers.get('x-resend-monthly-quota')).toBe(first.headers.get('x-resend-monthly-quota'))
    const third = await send(newKey())
    expect(Number(third.headers.get('x-resend-daily-quota'))).toBe(
      Number(first.headers.get('x-resend-daily-quota')) + 1,
    )
  })

  test('a repeated request is recognized under every alias of the path, and with any JSON formatting', async () => {
    const key = newKey()
    const id = idOf(await send(key))
    const reordered = Object.fromEntries(Object.entries(hello).reverse())
    for (const path of ['/email', '/emails/sending', '/email/sending', '//emails/'])
      expect(idOf(await send(key, JSON.stringify(reordered, null, 4), path))).toBe(id)
  })

  test('rejects a repeated idempotency key with another body', async () => {
    const key = newKey()
    await send(key)
    const answer = await send(key, { ...hello, subject: 'Other' })
    expect(answer.status).toBe(409)
    expect(answer.text).toBe(
      errorText(
        409,
        'invalid_idempotent_request',
        "This idempotency key has been used with this HTTP method and endpoint within the last 24 hours, but the request body was modified and doesn't match the original request.",
      ),
    )
  })

  test.each([
    ["that doesn't match the schema", { ...hello, to: 7 }],
    ['without a field', { from: hello.from }],
    ['with an invalid address', { ...hello, to: 'nobody' }],
    ['with an unknown template', { ...hello, template: { id: 'x' } }],
    ['that is not an object', []],
  ])('rejects a repeated idempotency key with another body, even one %s', async (_, body) => {
    const key = newKey()
    expect((await send(key, body)).status).toBe(422)
    await send(key)
    const answer = await send(key, body)
    expect([answer.status, (answer.json as { name: string }).name]).toEqual([
      409,
      'invalid_idempotent_request',
    ])
  })

  test('a repeated request gets the first response, even if the domain can no longer send', async () => {
    const key = newKey()
    const first = await send(key)
    const { teamId, domain } = api
    const setStatus = (status: 'verified' | 'failed') =>
      api.storage.saveDomainCheck({ teamId, id: domain.id, status, checks: [] }, api.clock.now())
    await setStatus('failed')
    await api.clock.advance(2000)
    expect((await send(newKey())).status).toBe(403)
    expect((await send(key)).text).toBe(first.text)
    await setStatus('verified')
    await api.clock.advance(2000)
  })

  test('accepts a corrected body with the same key if the first request was rejected', async () => {
    const key = newKey()
    expect((await send(key, { ...hello, from: 'a@new.example' })).status).toBe(403)
    expect((await send(key, { ...hello, to: 'nobody' })).status).toBe(422)
    expect((await send(key)).status).toBe(200)
  })
})

describe('the idempotency key', () => {
  test.each([['x'.repeat(257)], ['']])(
    'rejects an idempotency key of invalid length: case %#',
    async (key) => {
      const answer = await send(key)
      expect(answer.status).toBe(400)
      expect(answer.text).toBe(
        errorText(400, 'invalid_idempotency_key', 'The key must be between 1-256 chars.'),
      )
    },
  )

  test('an idempotency key applies to all API keys of the team', async () => {
    const key = newKey()
    const id = idOf(await send(key))
    expect(idOf(await send(key, hello, '/emails', { authorization: `Bearer ${api.sending}` }))).toBe(id)
  })
})

describe('a hundred concurrent identical requests', () => {
  const isSameOrConcurrent = (answers: Answer[]) => {
    const taken = answers.filter(({ status }) => status === 200)
    expect(taken.length).toBeGreaterThan(0)
    expect(new Set(taken.map(({ text }) => text)).size).toBe(1)
    for (const { status, text } of answers) if (status !== 200) expect(text).toBe(concurrent)
  }

  test('a hundred concurrent identical requests create exactly one email', async () => {
    const [key, before] = [newKey(), await stored()]
    isSameOrConcurrent(await Promise.all(Array.from({ length: 100 }, () => send(key))))
    expect(await stored()).toBe(before + 1)
  })

  test('a hundred concurrent identical requests to two processes on one database create exactly one email', async () => {
    const other = await startSecond()
    const [key, before] = [newKey(), await stored()]
    const headers = { authorization: `Bearer ${api.full}`, 'idempotency-key': key }
    const answers = await Promise.all(
      Array.from({ length: 100 }, (_, n) =>
        ask(`${n % 2 === 0 ? api.url : other.url}/emails`, 'POST', hello, headers),
      ),
    )
    isSameOrConcurrent(answers)
    expect(await stored()).toBe(before + 1)
  })
})

test('after a crash between commit and response, a repeated request gets the stored response', async () => {
  const [key, before] = [newKey(), await stored()]
  const dying = await startSecond('die')
  const headers = { authorization: `Bearer ${api.full}`, 'idempotency-key': key }
  await expect(ask(`${dying.url}/emails`, 'POST', hello, headers)).rejects.toThrow('fetch failed')
  await dying.ended
  expect(await stored()).toBe(before + 1)
  const after = await send(key)
  expect(after.status).toBe(200)
  expect(after.headers.get('idempotent-replayed')).toBe('true')
  const args = { teamId: api.teamId, id: idOf(after) }
  expect(await api.storage.getEmail(args, api.clock.now())).toMatchObject({ subject: hello.subject })
  expect(await stored()).toBe(before + 1)
})

// Must be last: it moves the clock away from the other processes' clocks.
test('an idempotency key can be reused after 24 hours', async () => {
  const key = newKey()
  const id = idOf(await send(key))
  await api.clock.advance(24 * HOUR - 60_000)
  expect(idOf(await send(key))).toBe(id)
  await api.clock.advance(60_000)
  expect(idOf(await send(key, { ...hello, subject: 'Other' }))).not.toBe(id)
})

/** Starts a second process on the same data. `die` kills it once its first email is durable. */
async function startSecond(mode = 'live'): Promise<{ url: string; ended: Promise<unknown> }> {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'second-process.ts'), api.dataDir, mode], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  children.push(child)
  const ended = once(child, 'exit')
  const failed = ended.then(() => Promise.reject(new Error('The second process ended too early.')))
  // Its end is awaited later. Only an end before the first line is a failure.
  failed.catch(() => undefined)
  const [line] = (await Promise.race([once(child.stdout, 'data'), failed])) as [Buffer]
  return { url: line.toString().trim(), ended }
}
