import { once } from 'node:events'
import {
  createServer,
  request,
  type ClientRequest,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { createLiveStreams, type LiveStreams } from '../../../appliance/http/live.ts'
import { formatCursor, parseCursor } from '../../../appliance/storage/storage.ts'
import { openSqlite, type SqliteStorage } from '../../../appliance/storage/sqlite/sqlite.ts'
import { createSilentLogger } from '../../../appliance/watch/log.ts'
import { createTestClock } from '../../world/clock.ts'
import { leaseArgs, makeTeam, putEmail } from '../../contract/fixtures.ts'
import { makePlace } from '../storage/places.ts'
import { PATIENCE } from '../../world/patience.ts'

/** Tests the live stream without its route: slow, silent and late clients. */

const clock = createTestClock()
let storage: SqliteStorage
let teamId: string
let live: LiveStreams
let server: Server
let responses: ServerResponse[]
const clients: ClientRequest[] = []

beforeEach(async () => {
  storage = await openSqlite({ dataDir: join(await makePlace(), 'data') })
  teamId = (await makeTeam(storage)).team.id
  live = createLiveStreams({ storage, clock, log: createSilentLogger() })
  responses = []
  server = createServer((asked, response) => {
    responses.push(response)
    const given = asked.headers['last-event-id']
    void live.join(
      { teamId, operator: asked.url === '/operator', still: () => Promise.resolve(true) },
      response,
      {},
      typeof given === 'string' ? parseCursor(given) : null,
    )
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
})
afterEach(async () => {
  vi.useRealTimers()
  for (const client of clients.splice(0)) client.destroy()
  live.close()
  server.closeAllConnections()
  server.close()
  await storage.close()
})

async function connect(headers: Record<string, string> = {}, path = '/'): Promise<IncomingMessage> {
  const { port } = server.address() as AddressInfo
  const client = request({ host: '127.0.0.1', port, path, headers, agent: false })
  client.on('error', () => undefined)
  clients.push(client)
  client.end()
  const [response] = (await once(client, 'response')) as [IncomingMessage]
  return response
}

/** Collects the stream. `until` resolves once it contains the text. */
function reading(response: IncomingMessage) {
  let text = ''
  response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
  response.on('error', () => undefined)
  return {
    text: () => text,
    until: (part: string) => vi.waitFor(() => expect(text).toContain(part), { timeout: PATIENCE }),
  }
}

/** Stores this many emails and attempts them: one `email.sent` each. */
async function events(count: number): Promise<void> {
  const now = clock.now()
  const emails = Array.from({ length: count }, () => putEmail(storage, teamId, ['ada@x.test'], now))
  await Promise.all(emails)
  let leased = 0
  while (leased < count) {
    const got = await storage.lease(leaseArgs({ leaseUntil: now + 60_000, limit: 500 }), now)
    leased += got.length
  }
}

describe('the live stream', () => {
  test('the stream sends a comment every 15 seconds as a keep-alive', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    const stream = reading(await connect())
    await stream.until('event: hello')
    vi.advanceTimersByTime(14_999)
    expect(stream.text()).not.toContain(': still here')
    vi.advanceTimersByTime(1)
    await stream.until(': still here\n\n')
  })

  test('the stream ends after 15 minutes', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] })
    const response = await connect()
    const ended = once(response, 'end')
    response.resume()
    vi.advanceTimersByTime(15 * 60_000)
    await ended
  })

  test('writes nothing to a stream that has ended, even with a slow client', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] })
    await connect()
    const [slow] = responses
    slow!.cork()
    const closed = once(slow!, 'close')
    const failed: unknown[] = []
    slow!.on('error', (error) => failed.push(error))
    vi.advanceTimersByTime(16 * 60_000)
    await closed
    expect(failed).toEqual([])
  })

  test('sends a reset to a client that missed too many events', async () => {
    const before = await storage.lastEvent({}, clock.now())
    await events(1000)
    const last = await storage.lastEvent({}, clock.now())
    const stream = reading(await connect({ 'last-event-id': formatCursor(before) }))
    await stream.until(`id: ${formatCursor(last)}\nevent: reset\ndata: {}\n\n`)
    expect(stream.text()).not.toContain('event: email')
  })

  test('treats a Last-Event-ID in the future as the current position', async () => {
    await events(1)
    const last = await storage.lastEvent({}, clock.now())
    const stream = reading(await connect({ 'last-event-id': '0-999999999' }))
    await stream.until(`id: ${formatCursor(last)}\nevent: hello`)
    await events(1)
    await stream.until(`id: ${formatCursor({ ...last, seq: last.seq + 1 })}\nevent: email\n`)
  })

  test("disconnects a client that doesn't read, and keeps serving the others", async () => {
    await connect()
    const [slow] = responses
    // As when its TCP window is closed: written data waits here.
    slow!.cork()
    const dropped = once(slow!, 'close')
    const stream = reading(await connect())
    await stream.until('event: hello')
    await events(2000)
    await dropped
    expect(slow!.writableEnded).toBe(false)
    const last = await storage.lastEvent({}, clock.now())
    await stream.until(`id: ${formatCursor(last)}\n`)
  })

  test('sends lane changes to operators only', async () => {
    const operator = reading(await connect({}, '/operator'))
    const other = reading(await connect())
    await other.until('event: hello')
    // The first check sends the state, later ones only changes.
    await operator.until('event: lanes\ndata: {}\n\n')
    const reasons = { pausedUntil: null, reason: null, reasonAt: null }
    const lane = { source: 'auto', provider: 'yahoo', state: '{}', ...reasons, updatedAt: clock.now() }
    await storage.saveLanes({ lanes: [lane] }, clock.now())
    await operator.until('event: lanes\ndata: {}\n\nevent: lanes\ndata: {}\n\n')
    await events(1)
    await other.until('event: email')
    expect(other.text()).not.toContain('lanes')
  })
})
