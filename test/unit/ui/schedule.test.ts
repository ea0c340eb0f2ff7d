import { describe, expect, test } from 'vitest'
import { parseDateTimeField, formatDateTimeField } from '../../../ui/src/state/schedule.ts'
import { formatBytes } from '../../../ui/src/state/size.ts'

describe('the date and time field', () => {
  test('the date and time field uses the browser’s time zone, to the minute', () => {
    const at = new Date(2026, 10, 3, 9, 5, 30).getTime()
    expect(formatDateTimeField(at)).toBe('2026-11-03T09:05')
    expect(parseDateTimeField('2026-11-03T09:05')).toBe(new Date(2026, 10, 3, 9, 5).toISOString())
  })

  test('an empty date and time field has no value', () => {
    expect(parseDateTimeField('')).toBeNull()
  })
})

test('byte counts have a readable unit', () => {
  expect([formatBytes(1), formatBytes(1023), formatBytes(1024), formatBytes(3_670_016)]).toEqual([
    '1 byte',
    '1023 bytes',
    '1.0 KiB',
    '3.5 MiB',
  ])
})
