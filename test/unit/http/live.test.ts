import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { formatCursor } from '../../../appliance/storage/storage.ts'
import { leaseArgs, makeTeam, putEmail } from '../../contract/fixtures.ts'
import { ask, startApi, type Api } from './harness.ts'
import { join } from './people.ts'

let api: Api
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.close())

/** Stores an email and attempts it: one `email.sent`. */
async function send(teamId = api.teamId): Promise<string> {
  const now = api.clock.now()
  const { id } = await putEmail(api.storage, teamId, ['ada@x.test'], now)
  await api.storage.lease(leaseArgs({ leaseUntil: now + 60_000 }), now)
  return id
}

interface Stream {
  /** Reads until the text arrives. */
  until(part: string): Promise<string>
  close(): void
}

async function listen(more: Record<string, string | undefined> = {}): Promise<Stream> {
  const abort = new AbortController()
  const given = Object.entries({ authorization: `Bearer ${api.full}`, ...more })
  const headers = given.filter((one): one is [string, string] => one[1] !== undefined)
  const response = await fetch(`${api.url}/live`, {
    headers,
    signal: abort.signal,
  })
  expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  return {
    async until(part) {
      while (!text.includes(part)) {
        const { value, done } = await reader.read()
        if (done) throw new Error(`ended after: ${text}`)
        text += value
      }
      return text
    },
    close: () => abort.abort(),
  }
}

describe('GET /live', () => {
  test("streams events of the team's emails only", async () => {
    const stream = await listen()
    await stream.until('event: hello')
    const other = await send((await makeTeam(api.storage)).team.id)
    const mine = await send()
    const text = await stream.until(mine)
    expect(text).toContain('"type":"email.sent"')
    expect(text).not.toContain(other)
    stream.close()
  })

  test('the stream resumes after the Last-Event-ID', async () => {
    const before = await api.storage.lastEvent({}, 0)
    const [one, two] = [await send(), await send()]
    const stream = await listen({ 'last-event-id': formatCursor(before) })
    const text = await stream.until(two)
    expect(text.match(/event: email/g)).toHaveLength(2)
    expect(text.indexOf(one)).toBeLessThan(text.indexOf(two))
    stream.close()
  })

  test('the stream ends before the next event once the member, session or API key was removed', async () => {
    const email = 'brief@people.example'
    const cookie = await join(api, { role: 'developer', email })
    const members = await api.storage.listMembers({ teamId: api.teamId }, api.clock.now())
    const { userId } = members.find((one) => one.email === email)!
    const leaving = await listen({ cookie, authorization: undefined })
    const out = await join(api, { role: 'viewer' })
    const signedOut = await listen({ cookie: out, authorization: undefined })
    const token = await api.makeKey('full_access')
    const { apiKey } = (await api.senders.authenticate(token))!
    const lost = await listen({ authorization: `Bearer ${token}` })
    const staying = await listen()
    for (const stream of [leaving, signedOut, lost, staying]) await stream.until('event: hello')

    await api.accounts.members.leave({ teamId: api.teamId, userId })
    await api.accounts.signOut(out.split('=')[1]!)
    await api.senders.revokeKey({ teamId: api.teamId, id: apiKey!.id })
    const id = await send()
    for (const stream of [leaving, signedOut, lost])
      await expect(stream.until(id)).rejects.toThrow('ended after')
    await staying.until(id)
    staying.close()
  })

  test('rejects sending keys, and requests without a key', async () => {
    expect((await ask(`${api.url}/live`, 'GET')).status).toBe(401)
    const authorization = `Bearer ${api.sending}`
    expect((await ask(`${api.url}/live`, 'GET', undefined, { authorization })).status).toBe(401)
  })
})
