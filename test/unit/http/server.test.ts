import { once } from 'node:events'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { brotliCompressSync } from 'node:zlib'
import pino from 'pino'
import { afterEach, describe, expect, test } from 'vitest'
import { createListeners } from '../../../appliance/http/listeners.ts'
import { SECURITY_HEADERS } from '../../../appliance/http/security-headers.ts'
import { newId } from '../../../appliance/mail/ids.ts'
import { likelyFreePort } from '../../world/addresses.ts'
import {
  ask,
  errorText,
  hello,
  owner,
  sessionCookie,
  startApi,
  type Api,
  type ApiOptions,
} from './harness.ts'

const running: Api[] = []
const start = async (options?: ApiOptions) => {
  const api = await startApi(options)
  running.push(api)
  return api
}
afterEach(async () => {
  await Promise.all(running.splice(0).map((api) => api.close()))
})

/** Sends these bytes. Returns what the server sends until it closes the connection. */
const talk = (url: string, bytes: string): Promise<string> =>
  new Promise((resolve, reject) => {
    let text = ''
    const socket = connect(Number(new URL(url).port), '127.0.0.1', () => socket.write(bytes))
    socket.on('data', (chunk) => (text += chunk.toString()))
    socket.on('close', () => resolve(text))
    socket.on('error', reject)
  })

describe('the dashboard', () => {
  const build = async () => {
    const folder = await mkdtemp(join(tmpdir(), 'posthaste-dist-'))
    await mkdir(join(folder, 'assets'))
    await writeFile(join(folder, 'index.html'), '<!doctype html><title>Dashboard</title>')
    await writeFile(join(folder, 'assets', 'index-B4kS1xyz.js'), 'export {}')
    await writeFile(join(folder, 'icon.svg'), '<svg/>')
    return folder
  }

  test('serves the precompressed copy of a dashboard file, which has no URL of its own', async () => {
    const folder = await build()
    const copy = join(folder, 'assets', 'index-B4kS1xyz.js.br')
    await writeFile(copy, brotliCompressSync('export {}'))
    const { url } = await start({ dashboard: folder })
    const address = `${url}/dashboard/assets/index-B4kS1xyz.js`
    const small = await fetch(address, { headers: { 'accept-encoding': 'br' } })
    expect(await small.text()).toBe('export {}')
    expect(small.headers.get('content-encoding')).toBe('br')
    expect(small.headers.get('content-type')).toBe('application/javascript; charset=utf-8')
    expect(small.headers.get('cache-control')).toBe('public, max-age=31536000, immutable')
    const plain = await fetch(address, { headers: { 'accept-encoding': 'identity' } })
    expect(await plain.text()).toBe('export {}')
    expect([plain.headers.get('content-encoding'), plain.headers.get('vary')]).toEqual([
      null,
      'accept-encoding',
    ])
    expect((await ask(`${address}.br`, 'GET')).status).toBe(404)
    await rm(folder, { recursive: true, force: true })
  })

  test('serves the pages and files of the dashboard, and nothing else', async () => {
    const folder = await build()
    const { url } = await start({ dashboard: folder })
    for (const path of [
      '/dashboard',
      '/dashboard/',
      '/dashboard/emails/x?tab=source',
      '/dashboard/no.html',
    ]) {
      const { status, headers, text } = await ask(url + path, 'GET')
      expect([path, status, text]).toEqual([path, 200, '<!doctype html><title>Dashboard</title>'])
      expect(headers.get('cache-control')).toBe('no-cache')
      expect(headers.get('content-type')).toBe('text/html; charset=utf-8')
    }
    const asset = await ask(`${url}/dashboard/assets/index-B4kS1xyz.js`, 'GET')
    expect(asset.text).toBe('export {}')
    expect(asset.headers.get('cache-control')).toBe('public, max-age=31536000, immutable')
    expect((await ask(`${url}/dashboard/icon.svg`, 'GET')).headers.get('cache-control')).toBe('no-cache')
    expect((await ask(`${url}/dashboard/assets/gone-12345678.js`, 'GET')).status).toBe(404)
    for (const path of ['/dashboard/..%2f..%2fpackage.json', '/dashboard/%2e%2e/%2e%2e/package.json'])
      expect((await ask(url + path, 'GET')).text).not.toContain('posthaste')
    await rm(folder, { recursive: true })
  })

  test('the dashboard has a content security policy that allows only its own scripts, and no HSTS', async () => {
    const { url } = await start()
    const { headers } = await ask(`${url}/dashboard/`, 'GET')
    const policy = headers.get('content-security-policy')!.split(';')
    expect(policy).toEqual([
      "default-src 'none'",
      "script-src 'self'",
      "style-src 'self' 'unsafe-inline'",
      "img-src 'self' data:",
      "font-src 'self'",
      "connect-src 'self'",
      "manifest-src 'self'",
      "frame-src 'self'",
      "frame-ancestors 'none'",
      "form-action 'self'",
      "base-uri 'none'",
    ])
    expect(headers.get('x-frame-options')).toBe('DENY')
    expect(headers.get('strict-transport-security')).toBeNull()
    expect(headers.get('access-control-allow-origin')).toBeNull()
  })

  test('the dashboard and all API responses, including errors, have the same security headers', async () => {
    const { url } = await start()
    const ways = [
      ['GET', '/dashboard/', 503],
      ['GET', '/openapi.json', 200],
      ['POST', '/emails', 401],
      ['POST', '/email/sending', 401],
      ['GET', '/domains', 401],
      ['GET', '/nowhere', 404],
    ] as const
    for (const [method, path, status] of ways) {
      const answer = await ask(url + path, method)
      expect([path, answer.status]).toEqual([path, status])
      expect(Object.fromEntries(answer.headers)).toMatchObject(SECURITY_HEADERS)
    }
  })

  test('returns 503 with a hint if the dashboard is not built', async () => {
    const { url } = await start()
    const { status, text } = await ask(`${url}/dashboard/emails`, 'GET')
    expect(status).toBe(503)
    expect(text).toContain('npm run build')
  })

  test('/ redirects browsers to the dashboard, but not API clients', async () => {
    const { url } = await start()
    const page = await ask(url, 'GET', undefined, { accept: 'text/html,*/*' })
    expect([page.status, page.headers.get('location')]).toEqual([302, '/dashboard/'])
    expect((await ask(url, 'GET', undefined, { accept: 'application/json' })).text).toBe(
      errorText(404, 'not_found', 'The requested endpoint does not exist.'),
    )
  })
})

describe('the sandbox inbox', () => {
  const mail = {
    id: newId(1_790_000_000_000),
    receivedAt: 1_790_000_000_120,
    mailFrom: 'bounce+1@send.acme.example',
    rcptTo: ['bob@example.com'],
    from: 'hi@acme.example',
    to: 'bob@example.com',
    subject: 'Hello',
    size: 5,
    tls: 'TLSv1.3',
    dkim: 'pass',
    spf: 'pass',
    dmarc: 'pass',
    authenticationResults: null,
  }
  const inbox = {
    list: (_reader: object, limit: number) => Array.from({ length: Math.min(limit, 30) }, () => mail),
    get: async (_reader: object, id: string) =>
      id === mail.id ? { ...mail, html: null, text: 'x', source: 'y' } : undefined,
  }

  test('lists the messages in the sandbox inbox, and shows each to team members', async () => {
    const api = await start({ sandboxInbox: inbox })
    const { json } = await api.call('GET', '/sandbox/messages?limit=2')
    const entry = {
      id: mail.id,
      received_at: '2026-09-21 14:13:20.12+00',
      rcpt_to: mail.rcptTo,
      dkim: 'pass',
    }
    expect(json).toMatchObject({ object: 'list', has_more: true, data: [entry, entry] })
    expect((json as { data: unknown[] }).data).toHaveLength(2)
    expect((await api.call('GET', `/sandbox/messages/${mail.id}`)).json).toMatchObject({
      object: 'sandbox_message',
      ...entry,
      text: 'x',
      source: 'y',
    })
    expect((await api.call('GET', `/sandbox/messages/${newId(0)}`)).text).toBe(
      errorText(404, 'not_found', 'Message not found'),
    )
    expect((await ask(`${api.url}/sandbox/messages`, 'GET')).status).toBe(401)
    expect((await ask(`${api.url}/session`, 'POST', owner)).json).toMatchObject({ node: { sandbox: true } })
  })
})

describe('the server', () => {
  const invalid = 'The request is not valid HTTP.'
  const oneHost = 'A request must have exactly one `Host` header (RFC 9112 §3.2).'
  const wrongMethod = 'Method is not allowed for the requested path.'
  test.each([
    ['nonsense', 'GARBAGE', 400, invalid],
    ['an unknown method', 'BREW /emails HTTP/1.1\r\nhost: x', 400, invalid],
    [
      'two Content-Length headers',
      'POST /emails HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ncontent-length: 2',
      400,
      invalid,
    ],
    [
      'Content-Length and chunked encoding together',
      'POST /emails HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ntransfer-encoding: chunked',
      400,
      invalid,
    ],
    [
      'an endless path',
      `GET /${'x'.repeat(40_000)} HTTP/1.1\r\nhost: x`,
      431,
      'The request has too many headers, or they are too long.',
    ],
    ['a request without Host', 'GET /healthz HTTP/1.1', 400, oneHost],
    ['a request with two Host headers', 'GET /healthz HTTP/1.1\r\nhost: a\r\nhost: b', 400, oneHost],
    [
      'an HTTP/1.0 request with two Host headers',
      'GET /healthz HTTP/1.0\r\nhost: a\r\nhost: b',
      400,
      oneHost,
    ],
  ])('rejects %s as invalid HTTP', async (_what, bytes, status, sentence) => {
    const { url } = await start()
    const [head, body] = (await talk(url, `${bytes}\r\n\r\n`)).split('\r\n\r\n')
    expect(head).toContain(`HTTP/1.1 ${status} `)
    expect(body).toBe(errorText(status, 'validation_error', sentence))
  })

  test.each([
    ['QUERY without a body', 'QUERY /emails HTTP/1.1\r\nhost: x\r\nconnection: close', 405, wrongMethod],
    [
      'a body of unknown type for an unknown path',
      'POST /nothing HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-type: x\r\ncontent-length: 0',
      404,
      'The requested endpoint does not exist.',
    ],
  ])('answers %s like any other unsupported method or path', async (_what, bytes, status, sentence) => {
    const { url } = await start()
    const [head, body] = (await talk(url, `${bytes}\r\n\r\n`)).split('\r\n\r\n')
    expect(head).toContain(`HTTP/1.1 ${status} `)
    expect(body).toBe(errorText(status, status === 404 ? 'not_found' : 'method_not_allowed', sentence))
  })

  test.each(['HTTP/1.0', 'HTTP/1.1\r\nhost: x\r\nexpect: the-unexpected'])(
    'accepts GET /healthz %j: HTTP/1.0 needs no Host, and an unknown Expect is ignored',
    async (rest) => {
      const { url } = await start()
      const answer = await talk(url, `GET /healthz ${rest}\r\nconnection: close\r\n\r\n`)
      expect(answer).toContain('HTTP/1.1 200 OK')
      expect(answer).toContain('content-type: application/json; charset=utf-8')
    },
  )

  test('returns an internal error as 500 without details, and logs the details', async () => {
    const lines: string[] = []
    const log = pino({}, { write: (line) => void lines.push(line) })
    const api = await start({
      log,
      accounts: (accounts) => ({ ...accounts, resume: () => Promise.reject(new Error('the disk is full')) }),
    })
    const { text } = await ask(`${api.url}/emails`, 'GET', undefined, { cookie: 'posthaste_session=x' })
    expect(text).toBe(errorText(500, 'internal_server_error', 'An unexpected error occurred.'))
    expect(lines.some((line) => line.includes('the disk is full'))).toBe(true)
  })

  test('logs each request with its ID, and never keys, passwords, cookies, queries or bodies', async () => {
    const lines: string[] = []
    const api = await start({ log: pino({}, { write: (line) => void lines.push(line) }) })
    const cookie = sessionCookie(await ask(`${api.url}/session`, 'POST', owner))
    await ask(`${api.url}/session`, 'POST', { ...owner, password: 'guessed-wrong' })
    await ask(`${api.url}/session`, 'GET', undefined, { cookie })
    await ask(`${api.url}/emails?api_key=${api.full}`, 'GET')
    await ask(`${api.url}/emails`, 'GET', undefined, { authorization: 'Bearer re_mistyped' })
    const { headers, json } = await api.call('POST', '/emails', hello)
    await expect.poll(() => lines.length).toBeGreaterThanOrEqual(6)
    const text = lines.join('')
    for (const secret of [
      api.full,
      owner.password,
      'guessed-wrong',
      cookie.split('=')[1]!,
      're_mistyped',
      'bob@',
    ])
      expect(text).not.toContain(secret)
    const line = lines.map((one) => JSON.parse(one) as Record<string, unknown>).at(-1)
    expect(line).toMatchObject({
      request_id: headers.get('x-request-id'),
      method: 'POST',
      path: '/emails',
      status: 200,
      team_id: api.teamId,
      email_id: (json as { id: string }).id,
    })
  })

  test('finishes the request in progress when the server closes, and accepts no new one', async () => {
    const api = await startApi()
    const body = JSON.stringify(hello)
    const head = [
      'POST /emails HTTP/1.1',
      'host: x',
      `authorization: Bearer ${api.full}`,
      'content-type: application/json',
      `content-length: ${body.length}`,
    ]
    let answer = ''
    const socket = connect(Number(new URL(api.url).port), '127.0.0.1')
    socket.on('data', (chunk) => (answer += chunk.toString()))
    const ended = once(socket, 'close')
    socket.write(`${head.join('\r\n')}\r\n\r\n${body.slice(0, 10)}`)
    // A response on another connection shows that the server has started on the first request.
    await ask(`${api.url}/healthz`, 'GET')
    const closing = api.close()
    await expect(ask(`${api.url}/healthz`, 'GET')).rejects.toThrow()
    socket.write(body.slice(10))
    await ended
    expect(answer).toContain('HTTP/1.1 200 OK')
    await closing
  })

  test('listens on all given addresses, or on none if one is in use', async () => {
    const none = createListeners((_request, response) => response.end('x'), 'http.listen', null)
    const servers = createListeners((_request, response) => response.end('x'), 'http.listen', null)
    const urls = await servers.listen(['127.0.0.1:0', '127.0.0.1:0'])
    for (const url of urls) expect((await ask(url, 'GET')).text).toBe('x')
    const free = likelyFreePort()
    await expect(none.listen([`127.0.0.1:${free}`, new URL(urls[1]!).host])).rejects.toThrow(
      'another program uses port',
    )
    await expect(ask(`http://127.0.0.1:${free}`, 'GET')).rejects.toThrow()
    await servers.close()
    await expect(ask(urls[0]!, 'GET')).rejects.toThrow()
  })
})
