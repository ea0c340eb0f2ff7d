import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { loadReturnedMailRules } from '../../../appliance/config/returned-mail.ts'
import { InvalidTable } from '../../../appliance/config/tables.ts'

const folder = mkdtempSync(join(tmpdir(), 'posthaste-returned-'))
const file = join(folder, 'returned.toml')

/** Returns the errors about a file, without its folder. */
function refused(toml: string): string[] {
  writeFileSync(file, toml)
  try {
    loadReturnedMailRules(file)
  } catch (error) {
    if (!(error instanceof InvalidTable)) throw error
    return error.message.replaceAll(`${folder}/`, '').split('\n  ').slice(1)
  }
  throw new Error('the formats were taken')
}

const format = (...lines: string[]): string =>
  ['[[format]]', 'name = "mine"', 'kind = "bounce"', ...lines].join('\n')

describe('formats of returned mail', () => {
  test('loads the shipped formats, with unique names', () => {
    const { formats, reasons } = loadReturnedMailRules()
    expect(formats.length).toBeGreaterThan(35)
    expect(reasons.length).toBeGreaterThan(5)
    expect(new Set(formats.map(({ name }) => name)).size).toBe(formats.length)
  })

  test('puts the operator’s formats before the shipped ones', () => {
    writeFileSync(
      file,
      format(`recipient = ['^lost: {address}']`, `header = ["X-Mine: ^yes"]`, `text = ['gone']`),
    )
    const [first] = loadReturnedMailRules(file).formats
    expect(first).toMatchObject({ name: 'mine', kind: 'bounce', needsRecipient: false, recipientField: null })
    expect(first!.header).toEqual([{ field: 'x-mine', pattern: /^yes/imu }])
    expect(first!.recipient[0]!.exec('lost: ada@example.com')?.[1]).toBe('ada@example.com')
  })

  test.each([
    ['no condition', format(), 'has no condition'],
    ['an unknown kind', format(`text = ['x']`).replace('"bounce"', '"lost"'), 'format[0].kind is "lost"'],
    ['a test without a field', format(`header = ["nothing"]`), 'expected "field: pattern"'],
    [
      'a recipient without an address',
      format(`text = ['x']`, `recipient = ['^x$']`),
      'has a pattern without {address}',
    ],
    ['an invalid pattern', format(`text = ['(']`), 'is not a regular expression'],
    ['a pattern that may take forever', format(`text = ['(a+)+b']`), 'repeats a group'],
    ['an unknown key', `[[formats]]`, 'unknown key formats'],
  ])('rejects formats with %s', (_, toml, complaint) => {
    expect(refused(toml).join('\n')).toContain(complaint)
  })
})
