import { describe, expect, test } from 'vitest'
import { MAX_LOGGED_BODY, formatBodyForLog, redactQuery } from '../../../appliance/http/request-log-body.ts'

const read = (body: unknown): unknown => JSON.parse(formatBodyForLog(body) ?? 'null')

describe('the query in the request log', () => {
  test.each([
    ['', null],
    ['limit=10&after=a%20b', 'limit=10&after=a%20b'],
    ['a&b=&=c', 'a&b=&=c'],
    ['q=%E0%A4%A', 'q=%E0%A4%A'],
    ['api_key=1&x=2', 'api_key=[removed]&x=2'],
    ['api%5Fkey=1', 'api%5Fkey=[removed]'],
    ['code=1&state=2&X-Amz-Signature=3', 'code=[removed]&state=[removed]&X-Amz-Signature=[removed]'],
    ['key=re_Ab12Cd34_secret', 'key=[removed]'],
    ['key=re%5FAb12Cd34_secret', 'key=[removed]'],
    ['re_Ab12Cd34_secret', '[removed]'],
    ['u=https%3A%2F%2Fa.example%2Fb%3Fs%3Dhush', 'u=https://a.example/b?[removed]'],
    ['u=https://a.example/b', 'u=https://a.example/b'],
  ])('stores the query without secrets: %s', (query, kept) => expect(redactQuery(query)).toBe(kept))

  test('truncates a long query', () => {
    expect(redactQuery(`q=${'x'.repeat(5000)}`)).toBe(`q=${'x'.repeat(998)}[cut: 4002 more characters]`)
  })
})

describe('the body in the request log', () => {
  test('keeps a small body unchanged', () => {
    const body = { from: 'a@b.example', to: ['c@d.example'], n: 1, yes: true, none: null, deep: { a: [{}] } }
    expect(read(body)).toEqual(body)
  })

  test('a missing body is stored as null, and arrays and text are stored under data', () => {
    expect(formatBodyForLog(undefined)).toBeNull()
    expect(formatBodyForLog(null)).toBeNull()
    expect(read([{ to: 'a' }])).toEqual({ data: [{ to: 'a' }] })
    expect(read('text')).toEqual({ data: 'text' })
  })

  test.each([
    'authorization',
    'Authorization',
    'Proxy-Authorization',
    'cookie',
    'Set-Cookie',
    'password',
    'new_password',
    'token',
    'access_token',
    'X-Auth-Token',
    'secret',
    'signing_secret',
    'api_key',
    'X-Api-Key',
    'apikey',
    'private_key',
    'passphrase',
    'credentials',
  ])('removes the value of %s at any depth', (name) => {
    expect(read({ headers: { [name]: 'hush' }, list: [{ [name]: { inner: 'hush' } }] })).toEqual({
      headers: { [name]: '[removed]' },
      list: [{ [name]: '[removed]' }],
    })
  })

  test('keeps fields whose names only resemble secrets', () => {
    const body = { tokens_left: 1, key: 'color', monkey: 'x', secretary: 'Ann' }
    expect(read(body)).toEqual(body)
  })

  test('replaces attachments with their sizes, in every encoding', () => {
    const content = [
      Buffer.alloc(5000).toString('base64'),
      Buffer.alloc(4999).toString('base64'),
      [1, 2, 3],
      { type: 'Buffer', data: [1, 2] },
      null,
      7,
    ]
    const email = { attachments: content.map((one) => ({ filename: 'a', content: one })) }
    const sizes = [
      '[removed: 5000 bytes]',
      '[removed: 4999 bytes]',
      '[removed: 3 bytes]',
      '[removed: 2 bytes]',
    ]
    const expected = {
      attachments: [...sizes, null, '[removed: 0 bytes]'].map((one) => ({ filename: 'a', content: one })),
    }
    expect(read(email)).toEqual(expected)
    expect(read([email])).toEqual({ data: [expected] })
  })

  test('removes tokens from links', () => {
    expect(
      read({
        url: 'https://mail.example/shared/abc.def',
        download_url: 'https://mail.example/downloads/attachments/abc',
        attachments: [{ path: 'https://user:pw@files.example/a.pdf?X-Signature=1#x' }],
        path: 'not a url?x',
      }),
    ).toEqual({
      url: 'https://mail.example/[removed]',
      download_url: 'https://mail.example/[removed]',
      attachments: [{ path: 'https://files.example/a.pdf[removed]' }],
      path: 'not a url?x',
    })
  })

  test('truncates a long text, shows by how much, and keeps the fields after it', () => {
    const { html, subject } = read({ html: 'x'.repeat(100_000), subject: 'Hi' }) as Record<string, string>
    expect(html).toBe(`${'x'.repeat(4096)}[cut: 95904 more characters]`)
    expect(subject).toBe('Hi')
  })

  test('truncates a long list, and shows by how much', () => {
    const { to } = read({ to: Array.from({ length: 5000 }, (_, n) => `user${n}@example.com`) }) as {
      to: string[]
    }
    expect(to[0]).toBe('user0@example.com')
    expect(to.at(-1)).toBe(`[cut: ${5000 - (to.length - 1)} more]`)
  })

  test.each([
    ['many fields', Object.fromEntries(Array.from({ length: 20_000 }, (_, n) => [`field${n}`, n]))],
    ['many numbers', { a: Array.from({ length: 100_000 }, () => 1e300) }],
    ['many empty objects', { a: Array.from({ length: 100_000 }, () => ({})) }],
    [
      'long names',
      Object.fromEntries(Array.from({ length: 100 }, (_, n) => [`${n}${'n'.repeat(10_000)}`, n])),
    ],
    ['control characters', { a: '\0'.repeat(100_000), b: '\0'.repeat(100_000), c: '\u{1F680}'.repeat(9000) }],
    ['lone surrogates', { a: '\ud800'.repeat(50_000), b: '\udc00'.repeat(50_000) }],
    ['many texts', { a: Array.from({ length: 50 }, () => 'é'.repeat(9000)) }],
  ])('limits the total size: %s', (_name, body) => {
    // Only the marks of omitted parts exceed the space for the request body.
    expect(Buffer.byteLength(formatBodyForLog(body)!)).toBeLessThan(MAX_LOGGED_BODY * 1.25)
  })

  test('truncates a deeply nested body', () => {
    const text = formatBodyForLog(JSON.parse('['.repeat(50_000) + ']'.repeat(50_000)))!
    expect(text).toContain('[cut: nested too deeply]')
    expect(text.length).toBeLessThan(100)
  })

  test('keeps a field named __proto__', () => {
    expect(formatBodyForLog(JSON.parse('{"__proto__":{"a":1}}'))).toBe('{"__proto__":{"a":1}}')
  })
})
