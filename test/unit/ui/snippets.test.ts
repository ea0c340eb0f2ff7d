import { spawnSync } from 'node:child_process'
import { stripTypeScriptTypes } from 'node:module'
import { describe, expect, test } from 'vitest'
import { LANGUAGES, snippet, WAYS } from '../../../ui/src/state/snippets.ts'

const blanks = {
  origin: 'https://mail.example.org',
  smtp: { host: 'mail.example.org', port: 2587 },
  token: 're_0123_abc-DEF',
  domain: 'example.org',
}
const of = (language: (typeof LANGUAGES)[number][0]) => snippet(language, 'api', blanks)

describe('the examples beside a new key', () => {
  test('hold the address of this appliance, the token and the domain, in every language', () => {
    for (const [language] of LANGUAGES) {
      expect(of(language)).toContain(blanks.origin)
      expect(of(language)).toContain(blanks.token)
      expect(of(language)).toContain('Me <hello@example.org>')
    }
  })

  test('over SMTP they hold host, port, user name and token, in every language', () => {
    for (const [language] of LANGUAGES) {
      const text = snippet(language, 'smtp', blanks)
      for (const part of ['mail.example.org', '2587', 'posthaste', blanks.token, 'hello@example.org'])
        expect(text).toContain(part)
    }
  })

  test('where SMTP is not spoken, every way is the API', () => {
    for (const [way] of WAYS)
      expect(snippet('node', way, { ...blanks, smtp: null })).toBe(snippet('node', 'api', blanks))
  })

  test('PHP: the client is told the origin with its scheme before it is made', () => {
    const [set, made] = ["putenv('RESEND_BASE_URL=https://mail.example.org');", 'Resend::client']
    expect(of('php')).toContain(set)
    expect(of('php').indexOf(set)).toBeLessThan(of('php').indexOf(made))
  })

  test('curl: the shell hands over one URL, two headers and a body that is JSON', () => {
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

  test('Node: it parses, and the client gets key and base URL', () => {
    expect(() => stripTypeScriptTypes(of('node'))).not.toThrow()
    expect(of('node')).toContain(
      "new Resend('re_0123_abc-DEF', {\n  baseUrl: 'https://mail.example.org',\n})",
    )
  })
})
