import { randomBytes } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { createLinkSigner } from '../../../appliance/http/links.ts'
import { newId } from '../../../appliance/mail/ids.ts'
import { parseDuration } from '../../../appliance/mail/date.ts'

const NOW = Date.UTC(2026, 10, 18)
const links = createLinkSigner(randomBytes(32))
const target = { teamId: newId(NOW), emailId: newId(NOW), attachmentId: newId(NOW), expiresAt: NOW + 1000 }
const token = links.sign('attachment', target)

describe('a signed link', () => {
  test('a signed link returns its target until it expires', () => {
    expect(links.open('attachment', token, NOW)).toEqual(target)
    expect(links.open('attachment', token, NOW + 999)).toEqual(target)
    expect(links.open('attachment', token, NOW + 1000)).toBe('expired')
    expect(token).toMatch(/^[\w-]+\.[\w-]+$/)
  })

  test('a signed link is invalid for another purpose and with another secret', () => {
    expect(links.open('share', token, NOW)).toBeUndefined()
    expect(createLinkSigner(randomBytes(32)).open('attachment', token, NOW)).toBeUndefined()
  })

  test('a signed link is invalid with any character changed, removed or added', () => {
    for (let at = 0; at < token.length; at++) {
      const other = token[at] === 'A' ? 'E' : 'A'
      const changed = token.slice(0, at) + other + token.slice(at + 1)
      expect(links.open('attachment', changed, NOW)).toBeUndefined()
      expect(links.open('attachment', token.slice(0, at) + token.slice(at + 1), NOW)).toBeUndefined()
    }
    for (const made of [
      '',
      '.',
      'a',
      `${token}.`,
      `${token}.x`,
      `.${token}`,
      `${token}=`,
      token.split('.')[0]!,
      'é.é',
    ])
      expect(links.open('attachment', made, NOW)).toBeUndefined()
  })
})

test.each([
  ['10m', 600_000],
  ['90 s', 90_000],
  ['2 hours', 7_200_000],
  ['1 Day', 86_400_000],
  ['48h', 172_800_000],
  ['30 mins', 1_800_000],
  ['1 hr', 3_600_000],
  ['', undefined],
  ['10', undefined],
  ['m', undefined],
  ['-1h', undefined],
  ['1.5h', undefined],
  ['1h30m', undefined],
  ['1 month', undefined],
  ['1e3 s', undefined],
])('parses the duration %j as %j milliseconds', (text, milliseconds) => {
  expect(parseDuration(text)).toBe(milliseconds)
})
