import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createRequestLogBuffer } from '../../../appliance/http/request-log-buffer.ts'
import type { RequestLog, Storage } from '../../../appliance/storage/storage.ts'
import { createSilentLogger } from '../../../appliance/watch/log.ts'
import { createTestClock } from '../../world/clock.ts'
import { ask, hello, owner, sessionCookie, startApi, type Api } from './harness.ts'

interface Log {
  id: string
  endpoint: string
  method: string
  response_status: number
  user_agent: string | null
  api_key_id: string
  request_body: unknown
  response_body: unknown
  email_ids: string[]
  ip: string
  duration_ms: number
}

describe('the request log', () => {
  let api: Api
  beforeAll(async () => {
    api = await startApi()
  })
  afterAll(() => api.close())

  const list = async (query = '') =>
    ((await api.call('GET', `/logs${query}`)).json as { data: Log[]; has_more: boolean }).data
  const get = async (id: string) => (await api.call('GET', `/logs/${id}`)).json as Log
  /** Returns a request's log entry, found by the ID in its response. */
  const logOf = (headers: Headers) => get(headers.get('x-request-id')!)

  test('finds a request by the ID in its response', async () => {
    const sent = await api.call('POST', '/emails', hello, { 'user-agent': 'test/1' })
    const log = await logOf(sent.headers)
    const key = (await api.storage.listApiKeys({ teamId: api.teamId }, 0)).find(
      ({ name }) => name === 'full_access',
    )!
    expect(log).toEqual({
      object: 'log',
      id: sent.headers.get('x-request-id'),
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\d .*\+00$/) as string,
      endpoint: '/emails',
      method: 'POST',
      response_status: 200,
      user_agent: 'test/1',
      api_key_id: key.id,
      duration_ms: expect.any(Number) as number,
      ip: '127.0.0.1',
      query: null,
      enhanced_code: null,
      message: null,
      envelope: null,
      request_body: hello,
      response_body: sent.json,
      email_ids: [(sent.json as { id: string }).id],
    })
  })

  test('finds a request by the ID of an email it created, including a batch', async () => {
    const sent = await api.call('POST', '/emails/batch', [hello, hello])
    const [, second] = (sent.json as { data: { id: string }[] }).data
    expect((await list(`?email_id=${second!.id}`)).map(({ id }) => id)).toEqual([
      sent.headers.get('x-request-id'),
    ])
    expect((await logOf(sent.headers)).request_body).toEqual({ data: [hello, hello] })
    expect((await api.call('GET', '/logs?email_id=x')).status).toBe(422)
  })

  test('searches by method, status, key, path, email, IP, user agent and time', async () => {
    const agent = { 'user-agent': 'Heron/2' }
    const sent = await api.call('POST', '/emails', hello, agent)
    const refused = await api.call('POST', '/emails', { ...hello, to: 'nobody' }, agent)
    const read = await api.call('GET', '/domains', undefined, agent)
    const ids = [read, refused, sent].map(({ headers }) => headers.get('x-request-id')!)
    interface Search {
      data: Log[]
      next: string | null
      has_more: boolean
      looked_back_to: string | null
    }
    const search = async (query: string) =>
      (await api.call('GET', `/logs/search?user_agent=heron&${query}`)).json as Search
    const found = async (query: string) => (await search(query)).data.map(({ id }) => id)

    expect(await search('')).toEqual({
      object: 'list',
      has_more: false,
      data: [read, refused, sent].map(
        ({ headers }) => expect.objectContaining({ id: headers.get('x-request-id') }) as Log,
      ),
      next: null,
      looked_back_to: null,
    })
    expect(await found('method=post')).toEqual(ids.slice(1))
    expect(await found('method=GET,SMTP')).toEqual([ids[0]])
    expect(await found('status=4xx')).toEqual([ids[1]])
    expect(await found('status=422,500')).toEqual([ids[1]])
    expect(await found('status=200')).toEqual([ids[0], ids[2]])
    expect(await found('key=full_access')).toEqual(ids)
    expect(await found('key=sending_access')).toEqual([])
    expect(await found('endpoint=EMAIL')).toEqual(ids.slice(1))
    expect(await found('ip=127.0.0.1')).toEqual(ids)
    expect(await found('ip=192.0.2.1')).toEqual([])
    expect(await found(`email_id=${(sent.json as { id: string }).id}`)).toEqual([ids[2]])
    expect(await found('since=2100-01-01')).toEqual([])
    expect(await found('until=2100-01-01&since=2000-01-01')).toEqual(ids)

    const page = await search('limit=2')
    expect(page).toMatchObject({ has_more: true, next: ids[1] })
    expect(page.data).toHaveLength(2)
    expect(await found(`limit=2&after=${page.next}`)).toEqual([ids[2]])
  })

  test('rejects invalid search parameters with errors that name them', async () => {
    const refusals: [query: string, says: string][] = [
      ['method=FETCH', 'Invalid `method`: a comma-separated list of GET, POST,'],
      ['status=6xx', 'Invalid `status`: comma-separated statuses such as `422`, `5xx` or `5.7.1`'],
      ['status=', 'Invalid `status`: a single string of 1 to 998 characters'],
      ['stauts=200', 'Invalid `stauts`: one of method, status,'],
      ['email_id=7', 'The `email_id` must be a valid UUID.'],
      ['since=yesterday', 'Invalid `since`: a time in ISO 8601'],
      ['before=01890000-0000-7000-8000-000000000000', 'Invalid `before`: a search pages only forward'],
    ]
    for (const [query, says] of refusals) {
      const { status, json } = await api.call('GET', `/logs/search?${query}`)
      expect([query, status]).toEqual([query, 422])
      expect((json as { message: string }).message).toContain(says)
    }
  })

  test('records rejected requests with their body or query', async () => {
    const refused = await api.call('POST', '/emails', { ...hello, to: 'nobody' })
    expect(await logOf(refused.headers)).toMatchObject({
      response_status: 422,
      request_body: { to: 'nobody' },
      response_body: refused.json as object,
      email_ids: [],
    })
    const unknown = await api.call('GET', '/nowhere?a=b')
    expect(await logOf(unknown.headers)).toMatchObject({
      endpoint: '/nowhere',
      query: 'a=b',
      response_status: 404,
    })
    const broken = await api.call('POST', '/emails', '{')
    expect(await logOf(broken.headers)).toMatchObject({ response_status: 400, request_body: null })
    const restricted = await api.call('GET', '/domains', undefined, {
      authorization: `Bearer ${api.sending}`,
    })
    expect(restricted.status).toBe(401)
    expect(await logOf(restricted.headers)).toMatchObject({ endpoint: '/domains', response_status: 401 })
  })

  test('shows the query and error message of a rejected request, including in the list', async () => {
    const refused = await api.call('GET', '/emails?limit=0&after=x%20y&token=hush')
    expect(refused.status).toBe(422)
    const { message } = refused.json as { message: string }
    const about = { endpoint: '/emails', query: 'limit=0&after=x%20y&token=[removed]', message }
    expect(await logOf(refused.headers)).toMatchObject(about)
    const listed = (await list()).find(({ id }) => id === refused.headers.get('x-request-id'))
    expect(listed).toMatchObject(about)
    const { data } = (await api.call('GET', '/logs/search?endpoint=limit%3D0')).json as { data: Log[] }
    expect(data.map(({ id }) => id)).toEqual([refused.headers.get('x-request-id')])
  })

  test('does not record requests without a valid key, or from the dashboard', async () => {
    const before = (await list())[0]!.id
    await ask(`${api.url}/emails`, 'GET', undefined, { authorization: 'Bearer re_wrong' })
    await ask(`${api.url}/emails`, 'GET')
    await ask(`${api.url}/openapi.json`, 'GET')
    const signedIn = await ask(`${api.url}/session`, 'POST', owner)
    const cookie = sessionCookie(signedIn)
    expect((await ask(`${api.url}/emails`, 'GET', undefined, { cookie })).status).toBe(200)
    expect((await list(`?before=${before}`)).every(({ endpoint }) => endpoint === '/logs')).toBe(true)
  })

  test('does not record secrets or files', async () => {
    const made = await api.call('POST', '/api-keys', { name: 'x' })
    expect((made.json as { token: string }).token).toMatch(/^re_/)
    const attachments = [{ filename: 'a', content: Buffer.alloc(30_000).toString('base64') }]
    const sent = await api.call('POST', '/emails', {
      ...hello,
      attachments,
      headers: { 'X-Api-Key': 'hush' },
    })
    const logs = [await logOf(made.headers), await logOf(sent.headers)]
    expect(logs[0]).toMatchObject({ response_body: { token: '[removed]' } })
    expect(logs[1]).toMatchObject({
      request_body: {
        attachments: [{ filename: 'a', content: '[removed: 30000 bytes]' }],
        headers: { 'X-Api-Key': '[removed]' },
      },
    })
    expect(JSON.stringify(logs)).not.toContain(api.full)
  })

  test('does not record the source of a message as response body', async () => {
    const { id } = (await api.call('POST', '/emails', hello)).json as { id: string }
    const source = await api.call('GET', `/emails/${id}/source`)
    expect(await logOf(source.headers)).toMatchObject({ response_status: 200, response_body: null })
  })

  test('does not show entries to another team', async () => {
    const [{ id } = { id: '' }] = await list()
    expect(await api.storage.getLog({ teamId: api.domain.id, id }, 0)).toBeUndefined()
  })

  test('writes the request log before the server stops', async () => {
    const own = await startApi()
    const saved: string[] = []
    const saveLogs = own.storage.saveLogs.bind(own.storage)
    own.storage.saveLogs = (args, now) => {
      saved.push(...args.logs.map(({ endpoint }) => endpoint))
      return saveLogs(args, now)
    }
    await own.call('GET', '/domains')
    await own.close()
    expect(saved).toEqual(['/domains'])
  })
})

describe('the buffer of the request log', () => {
  const entry = (id: string, body = '{}'): RequestLog => ({
    id,
    teamId: 't',
    apiKeyId: 'k',
    method: 'GET',
    endpoint: '/',
    status: 200,
    durationMs: 1,
    ip: '::1',
    query: null,
    enhanced: null,
    message: null,
    userAgent: null,
    requestBody: body,
    responseBody: null,
    emailIds: [],
    createdAt: 0,
  })

  /** Creates a storage that records its batches and completes them when told to. */
  function slowStorage() {
    const batches: string[][] = []
    const finish: ((error?: Error) => void)[] = []
    const storage: Pick<Storage, 'saveLogs'> = {
      saveLogs: ({ logs }) =>
        new Promise((resolve, reject) => {
          batches.push(logs.map(({ id }) => id))
          finish.push((error) => (error ? reject(error) : resolve()))
        }),
    }
    return { storage, batches, finish }
  }
  const settled = () => new Promise((resolve) => setImmediate(resolve))

  test('the buffer waits 200 ms for more entries', async () => {
    const { storage, batches } = slowStorage()
    const clock = createTestClock()
    const buffer = createRequestLogBuffer({ storage, clock, log: createSilentLogger() })
    buffer.add(entry('1'))
    // The clock also runs by itself, so this uses half the time, far from both limits.
    await clock.advance(100)
    expect(batches).toEqual([])
    buffer.add(entry('2'))
    await clock.advance(100)
    expect(batches).toEqual([['1', '2']])
  })

  test('the buffer writes 100 entries at once, without waiting', async () => {
    const { storage, batches, finish } = slowStorage()
    const buffer = createRequestLogBuffer({ storage, clock: createTestClock(), log: createSilentLogger() })
    for (let n = 0; n < 250; n++) buffer.add(entry(String(n)))
    expect(batches.map(({ length }) => length)).toEqual([100])
    finish[0]!()
    await settled()
    finish[1]!()
    await settled()
    expect(batches.map(({ length }) => length)).toEqual([100, 100, 50])
  })

  test('the buffer writes large bodies in smaller batches', async () => {
    const { storage, batches } = slowStorage()
    const buffer = createRequestLogBuffer({ storage, clock: createTestClock(), log: createSilentLogger() })
    for (let n = 0; n < 90; n++) buffer.add(entry(String(n), 'x'.repeat(16 * 1024)))
    expect(batches[0]!.length * 16).toBeLessThanOrEqual(512)
  })

  test('the buffer drops entries over capacity while storage is slow, then resumes', async () => {
    const { storage, batches, finish } = slowStorage()
    const buffer = createRequestLogBuffer({ storage, clock: createTestClock(), log: createSilentLogger() })
    for (let n = 0; n < 20_000; n++) buffer.add(entry(String(n)))
    const flushed = buffer.flush()
    // The list grows during the iteration.
    for (const end of finish) {
      end()
      await settled()
    }
    await flushed
    expect(batches.flat()).toHaveLength(5100)
    buffer.add(entry('later'))
    void buffer.flush()
    await settled()
    expect(batches.at(-1)).toEqual(['later'])
  })

  test('the buffer resumes after a batch that could not be written', async () => {
    const { storage, batches, finish } = slowStorage()
    const buffer = createRequestLogBuffer({ storage, clock: createTestClock(), log: createSilentLogger() })
    buffer.add(entry('1'))
    const first = buffer.flush()
    await settled()
    finish[0]!(new Error('disk full'))
    await first
    buffer.add(entry('2'))
    const second = buffer.flush()
    await settled()
    finish[1]!()
    await second
    expect(batches).toEqual([['1'], ['2']])
  })

  test('flushing the buffer includes entries that are being written and those added since', async () => {
    const { storage, batches, finish } = slowStorage()
    const buffer = createRequestLogBuffer({ storage, clock: createTestClock(), log: createSilentLogger() })
    for (let n = 0; n < 100; n++) buffer.add(entry(String(n)))
    buffer.add(entry('last'))
    let done = false
    const flushed = buffer.flush().then(() => (done = true))
    finish[0]!()
    await settled()
    expect(done).toBe(false)
    finish[1]!()
    await flushed
    expect(batches[1]).toEqual(['last'])
  })
})
