import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { HostedClient, HostedObject } from '../../../appliance/moving/hosted.ts'
import { refusal, startHosted, type HostedWorld, type Instead } from '../../world/hosted.ts'
import {
  createHostedClient,
  HostedError,
  parseBaseUrl,
  validateKey,
} from '../../../appliance/moving/moving.ts'

let world: HostedWorld
let waits: number[]
let told: string[]
beforeAll(async () => {
  world = await startHosted()
})
afterAll(() => world.close())
beforeEach(() => {
  world.content = { '/things': Array.from({ length: 250 }, (_, at) => ({ id: `t${at}` })) }
  world.instead = () => undefined
  world.asked.length = 0
  waits = []
  told = []
})

const hosted = (change: { base?: string; key?: string } = {}): HostedClient =>
  createHostedClient({
    base: world.url,
    key: world.key,
    agent: 'Posthaste',
    now: () => Date.now(),
    ...change,
    wait: async (ms) => void waits.push(ms),
    tell: (line) => told.push(line),
  })
const all = async (list: AsyncGenerator<HostedObject>): Promise<HostedObject[]> => {
  const items: HostedObject[] = []
  for await (const item of list) items.push(item)
  return items
}
const failure = async (work: Promise<unknown>): Promise<HostedError> => {
  const error: unknown = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  expect(error).toBeInstanceOf(HostedError)
  return error as HostedError
}
/** Answers the first `count` requests with this. */
const first = (count: number, answer: Instead): void => {
  world.instead = (_, number) => (number <= count ? answer : undefined)
}

describe('a list from the hosted API', () => {
  test('reads a list page by page, in order and only once', async () => {
    const things = await all(hosted().list('/things'))
    expect(things.map(({ id }) => id)).toEqual(Array.from({ length: 250 }, (_, at) => `t${at}`))
    expect(world.asked).toEqual([
      'GET /things?limit=100',
      'GET /things?limit=100&after=t99',
      'GET /things?limit=100&after=t199',
    ])
    expect(waits).toEqual([])
  })

  test('resumes a list at the same page after rate limits and server errors', async () => {
    world.instead = (_, number) => {
      if (number === 2)
        return { ...refusal(429, 'rate_limit_exceeded', 'Too many.'), headers: { 'retry-after': '4' } }
      if (number === 4) return { status: 502, raw: '<html>Bad gateway</html>' }
      return undefined
    }
    expect(await all(hosted().list('/things'))).toHaveLength(250)
    expect(waits).toEqual([4000, 1000])
    expect(told).toEqual(['GET /things?limit=100&after=t99: the hosted API requested a wait of 4 seconds.'])
  })

  test('waits for the end of an exhausted rate limit window before the next page', async () => {
    first(1, {
      status: 200,
      body: { has_more: true, data: [{ id: 't9' }] },
      headers: { 'ratelimit-remaining': '0', 'ratelimit-reset': '1' },
    })
    expect(await all(hosted().list('/things'))).toHaveLength(241)
    expect(waits).toEqual([1000])
  })

  test('a list fails if the pages repeat or lack IDs', async () => {
    const page = (data: object[]) => ({ status: 200, body: { has_more: true, data } })
    world.instead = () => page([{ id: 'same' }])
    expect((await failure(all(hosted().list('/things')))).message).toContain('there is no next page')
    world.instead = () => page([])
    expect((await failure(all(hosted().list('/things')))).message).toContain('there is no next page')
    world.instead = () => page([{ name: 'no id' }])
    expect((await failure(all(hosted().list('/things')))).message).toContain('there is no next page')
  })

  test.each([
    ['HTML instead of JSON', { status: 200, raw: '<html>Welcome' }, 'did not return JSON'],
    ['truncated JSON', { status: 200, raw: '{"data":[{"id":' }, 'did not return JSON'],
    ['an object without data', { status: 200, body: { object: 'list' } }, 'did not return a list of objects'],
    ['a list of strings', { status: 200, body: { data: ['a'] } }, 'did not return a list of objects'],
    ['null', { status: 200, raw: 'null' }, 'did not return a list of objects'],
  ])('a list fails with %s', async (_, answer, words) => {
    world.instead = () => answer
    expect((await failure(all(hosted().list('/things')))).message).toContain(words)
  })
})

describe('the hosted API', () => {
  test('requests the hosted API five times while it returns 503, then reports what to do', async () => {
    first(99, refusal(503, 'service_unavailable', 'Maintenance.'))
    expect((await failure(hosted().get('/things'))).message).toBe(
      'GET /things: the hosted API returned status 503: Maintenance (after 5 attempts). Run the import again when the hosted API responds. Completed steps are kept.',
    )
    expect(waits).toEqual([1000, 2000, 4000, 8000])
  })

  test('reports if the hosted API cannot be reached', async () => {
    const { message, status } = await failure(hosted({ base: 'http://127.0.0.1:9' }).get('/things'))
    expect(message).toMatch(
      /^GET \/things: the hosted API cannot be reached \(\w.*\) \(after 5 attempts\)\. Run the import again/,
    )
    expect(status).toBe(null)
  })

  test('does not read a response beyond 16 MB', async () => {
    world.instead = () => ({ status: 200, raw: 'x'.repeat(17 * 1024 * 1024) })
    expect((await failure(hosted().get('/things'))).message).toContain('more than 16 MB')
  })

  test('rejects a response with too deeply nested JSON before parsing it', async () => {
    world.instead = () => ({ status: 200, raw: `{"data":${'['.repeat(100)}` })
    expect((await failure(hosted().get('/things'))).message).toMatch(/too complex.*64 levels of nesting/)
  })
})

describe('the API key of the hosted service', () => {
  test('reports a wrong API key once, without another attempt', async () => {
    const { message, status } = await failure(hosted({ key: 're_wrong_0123' }).get('/things'))
    expect(message).toBe(
      'GET /things: the hosted API returned status 403: API key is invalid. The key file must contain a valid key with full access.',
    )
    expect(status).toBe(403)
    expect(world.asked).toHaveLength(1)
  })

  test('no message contains the API key, even if the service echoes it', async () => {
    first(1, {
      ...refusal(429, 'rate_limit_exceeded', `Slow down, ${world.key}`),
      headers: { 'retry-after': '5' },
    })
    await hosted()
      .get('/things')
      .catch(() => undefined)
    world.instead = () => refusal(401, 'validation_error', `Who is ${world.key}?`)
    const { message } = await failure(hosted().get('/things'))
    expect(message).toContain('Who is re_…?')
    expect([message, ...told].join()).not.toContain(world.key)
  })

  test('does not send the API key to a redirect target', async () => {
    world.instead = () => ({ status: 302, headers: { location: `${world.url}/things` } })
    expect((await failure(hosted().get('/elsewhere'))).message).toContain('returned status 302')
    expect(world.asked).toEqual(['GET /elsewhere'])
  })

  test.each([['', 'two words', 're_\nfoo bar', 'short', 'ré_0123456789']].flat())(
    'rejects the API key %j',
    (text) => {
      expect(() => validateKey(text)).toThrow('The key file must contain only an API key')
    },
  )

  test('reads the API key without the trailing newline', () => {
    expect(validateKey('re_0123456789\n')).toBe('re_0123456789')
  })
})

describe('the base URL of the hosted API', () => {
  test.each([
    ['https://api.example.com', 'https://api.example.com'],
    ['https://api.example.com/', 'https://api.example.com'],
    ['https://example.com/mail/api/', 'https://example.com/mail/api'],
    ['http://127.0.0.1:8025', 'http://127.0.0.1:8025'],
    ['http://[::1]:8025/', 'http://[::1]:8025'],
    ['http://localhost:8025', 'http://localhost:8025'],
  ])('reads the base URL %s as %s', (text, base) => {
    expect(parseBaseUrl(text)).toBe(base)
  })

  test.each([
    'http://api.example.com',
    'http://127.0.0.1.example.com',
    'ftp://api.example.com',
    'api.example.com',
    'https://me:secret@api.example.com',
    'https://api.example.com/?key=1',
    '',
  ])('rejects the base URL %j', (text) => {
    expect(() => parseBaseUrl(text)).toThrow(
      '--from must be the URL of the API, such as https://api.example.com',
    )
  })
})
