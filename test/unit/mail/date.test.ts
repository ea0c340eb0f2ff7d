import * as fc from '../../world/fast-check.ts'
import { describe, expect, test } from 'vitest'
import { formatDateTime, isDateTime } from '../../../appliance/mail/date.ts'

describe('a Date field', () => {
  test.each([
    'Fri, 20 Nov 2026 10:00:00 +0000',
    '20 Nov 2026 10:00 -0500',
    'fri,20 nov 2026 10:00:60 +0545',
    'Fri, 20 Nov 2026 10:00:00 +0000 (UTC)',
    // RFC 5322 §4.3.
    'Fri, 20 Nov 26 10:00:00 GMT',
    '20 Nov 126 10:00:00 EST',
    'Thu,\r\n      13\r\n        Feb\r\n          1969\r\n      23:32\r\n               -0330 (Newfoundland Time)',
    'Fri, 21 Nov 97 09(comment):   55  :  06 -0600',
    'Fri, 21 Nov 1997 09:55:06 Z',
    'Fri, 21 Nov 1997 09:55:06 CEST',
    '(a (nested \\) one)) 29 Feb 2028 9:05 +0100',
  ])('accepts the date %j', (value) => {
    expect(isDateTime(value)).toBe(true)
  })

  test.each([
    '',
    'yesterday',
    '2026-11-20T10:00:00Z',
    'Fri Nov 20 10:00:00 2026',
    'Fri, 20 Nov 2026 10:00:00',
    'Fri, 20 Nov 2026 24:00:00 +0000',
    'Fri, 20 Nov 2026 10:60:00 +0000',
    'Fri, 31 Nov 2026 10:00:00 +0000',
    'Sun, 29 Feb 2026 10:00:00 +0000',
    'Fri, 0 Nov 2026 10:00:00 +0000',
    'Fri, 20 Foo 2026 10:00:00 +0000',
    'Fre, 20 Nov 2026 10:00:00 +0000',
    'Fri, 20 Nov 2026 10:00:00 +0060',
    'Fri, 20 Nov 2026 10:00:00 +0000 (UTC',
    'Fri, 20 Nov 2026 10:00:00 +0000 UTC)',
    `${'('.repeat(11)}${')'.repeat(11)}20 Nov 2026 10:00:00 +0000`,
  ])('rejects the date %j', (value) => {
    expect(isDateTime(value)).toBe(false)
  })

  test('parses every date that Posthaste formats', () => {
    fc.assert(
      fc.property(fc.date({ min: new Date(0), max: new Date('2099-12-31'), noInvalidDate: true }), (date) => {
        const seconds = Math.floor(date.getTime() / 1000) * 1000
        const written = formatDateTime(date.getTime())
        expect(isDateTime(written)).toBe(true)
        expect(Date.parse(written)).toBe(seconds)
      }),
    )
  })
})
