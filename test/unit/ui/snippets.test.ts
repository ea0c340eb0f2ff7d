import { spawnSync } from 'node:child_process'
import { stripTypeScriptTypes } from 'node:module'
import { describe, expect, test } from 'vitest'
import { LANGUAGES, renderSnippet, SNIPPET_PROTOCOLS } from '../../../ui/src/state/snippets.ts'

const blanks = {
  origin: 'https://mail.example.org',
  smtp: { host: 'mail.example.org', port: 2587 },
  token: 're_0123_abc-DEF',
  domain: 'example.org',
}
const of = (language: (typeof LANGUAGES)[number][0]) => renderSnippet(language, 'api', blanks)

describe('code examples for a new key', () => {
  test('examples contain server address, token and domain in every language', () => {
    for (const [language] of LANGUAGES) {
      expect(of(language)).toContain(blanks.origin)
      expect(of(language)).toContain(blanks.token)
      expect(of(language)).toContain('Me <hello@example.org>')
    }
  })

  test('SMTP examples contain host, port, user name and token in every language', () => {
    for (const [language] of LANGUAGES) {
      const text = renderSnippet(language, 'smtp', blanks)
      for (const part of ['mail.example.org', '2587', 'posthaste', blanks.token, 'hello@example.org'])
        expect(text).toContain(part)
    }
  })

  test('examples use the API if SMTP is unavailable', () => {
    for (const [way] of SNIPPET_PROTOCOLS)
      expect(renderSnippet('node', way, { ...blanks, smtp: null })).toBe(renderSnippet('node', 'api', blanks))
  })

  test('the PHP example sets the base URL before creating the client', () => {
    const [set, made] = ["putenv('RESEND_BASE_URL=https://mail.example.org');", 'Resend::client']
    expect(of('php')).toContain(set)
    expect(of('php').indexOf(set)).toBeLessThan(of('php').indexOf(made))
  })

  test('the curl example passes one URL, two headers and a JSON body', () => {
    const printer = 'curl() { printf "%s\\0" "$@"; }'
    const { stdout } = spawnSync('bash', ['-c', `${printer}\n${of('curl')}`], { encoding: 'utf8' })
    const [url, , key, , type, , body] = stdout.split('\0')
    expect([url, key, type]).toEqual([
      'https://mail.example.org/emails',
      'Authorization: Bearer re_0123_abc-DEF',
      'Content-Type: application/json',
    ])
    expect(JSON.parse(body!)).toEqual({
      from: 'Me <hello@example.org>',
      to: 'someone@example.com',
      subject: 'Hello',
      text: 'It works.',
    })
  })

  test('the Node example is valid, and passes the key and base URL to the client', () => {
    expect(() => stripTypeScriptTypes(of('node'))).not.toThrow()
    expect(of('node')).toContain(
      "new Resend('re_0123_abc-DEF', {\n  baseUrl: 'https://mail.example.org',\n})",
    )
  })
})
