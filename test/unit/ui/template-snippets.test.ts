import { spawnSync } from 'node:child_process'
import { stripTypeScriptTypes } from 'node:module'
import { describe, expect, test } from 'vitest'
import { LANGUAGES } from '../../../ui/src/state/snippets.ts'
import { buildTemplateRequest, renderTemplateSnippet } from '../../../ui/src/state/template-snippets.ts'

const times = { created_at: '', updated_at: '' }
const template = {
  id: '0199c0de-0000-7000-8000-000000000000',
  alias: 'order',
  from: null,
  subject: null,
  html: '<p>{{{ITEM}}} {{{EXTRA}}} {{{contact.first_name|you}}} {{{UNSUBSCRIBE_URL}}}</p>',
  text: null,
  variables: [
    { id: '1', key: 'ITEM', type: 'string' as const, fallback_value: `Ada's "tea" \\ $HOME`, ...times },
    { id: '2', key: 'NUMBER', type: 'number' as const, fallback_value: null, ...times },
    { id: '3', key: '1ST', type: 'string' as const, fallback_value: null, ...times },
  ],
}
const blanks = { origin: 'https://mail.example.org', domain: 'example.org' }
const of = (language: (typeof LANGUAGES)[number][0], one = template) =>
  renderTemplateSnippet(language, one, blanks)
const variables = { ITEM: `Ada's "tea" \\ $HOME`, NUMBER: 1, '1ST': '[1ST]', EXTRA: '[EXTRA]' }
const request = {
  from: 'Me <hello@example.org>',
  to: 'someone@example.com',
  subject: 'Hello',
  template: { id: 'order', variables },
}

describe('code that sends a template', () => {
  test('the request contains the alias, and a value for each variable, even if not declared', () => {
    expect(buildTemplateRequest(template, 'example.org')).toEqual(request)
  })

  test('the request omits what the template sets, and contains the ID if there is no alias', () => {
    const whole = { ...template, alias: null, from: 'Shop <shop@example.org>', subject: 'Order' }
    expect(buildTemplateRequest({ ...whole, html: '<p>Hi</p>', variables: [] }, 'example.org')).toEqual({
      to: 'someone@example.com',
      template: { id: template.id },
    })
  })

  test('the curl example passes a valid JSON body, whatever the values contain', () => {
    const printer = 'export POSTHASTE_API_KEY=re_1; curl() { printf "%s\\0" "$@"; }'
    const { stdout } = spawnSync('bash', ['-c', `${printer}\n${of('curl')}`], { encoding: 'utf8' })
    const [url, , key, , , , body] = stdout.split('\0')
    expect([url, key]).toEqual(['https://mail.example.org/emails', 'Authorization: Bearer re_1'])
    expect(JSON.parse(body!)).toEqual(request)
  })

  test('the Node example is valid, and sends the same request', () => {
    expect(() => stripTypeScriptTypes(of('node'))).not.toThrow()
    const [, call] = /emails\.send\((\{.*\})\)\n/s.exec(of('node'))!
    expect(spawnSync(process.execPath, ['-p', `JSON.stringify(${call!})`], { encoding: 'utf8' }).stdout).toBe(
      `${JSON.stringify(request)}\n`,
    )
  })

  test.skipIf(spawnSync('python3', ['--version']).status !== 0)('Python: the same request', () => {
    const [, call] = /Emails\.send\((\{.*\})\)\n/s.exec(of('python'))!
    const code = `import json; print(json.dumps(${call!}))`
    const { stdout } = spawnSync('python3', ['-c', code], { encoding: 'utf8' })
    expect(JSON.parse(stdout)).toEqual(request)
  })

  test.skipIf(spawnSync('php', ['--version']).status !== 0)('PHP: the same request', () => {
    const [, call] = /->send\((\[.*\])\);\n/s.exec(of('php'))!
    const { stdout } = spawnSync('php', ['-r', `echo json_encode(${call!});`], { encoding: 'utf8' })
    expect(JSON.parse(stdout)).toEqual(request)
  })

  test('every language contains the origin and reads the key from the environment', () => {
    for (const [language] of LANGUAGES) {
      expect(of(language)).toContain(blanks.origin)
      expect(of(language)).toContain('POSTHASTE_API_KEY')
    }
  })
})
