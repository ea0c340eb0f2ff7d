import { describe, expect, test } from 'vitest'
import { fromField, toField } from '../../../ui/src/state/schedule.ts'
import { bytes } from '../../../ui/src/state/size.ts'

describe('the date and time field', () => {
  test('uses the browser’s time zone, to the minute', () => {
    const at = new Date(2026, 10, 3, 9, 5, 30).getTime()
    expect(toField(at)).toBe('2026-11-03T09:05')
    expect(fromField('2026-11-03T09:05')).toBe(new Date(2026, 10, 3, 9, 5).toISOString())
  })

  test('has no value while empty', () => {
    expect(fromField('')).toBeNull()
  })
})

test('byte counts have a readable unit', () => {
  expect([bytes(1), bytes(1023), bytes(1024), bytes(3_670_016)]).toEqual([
    '1 byte',
    '1023 bytes',
    '1.0 KiB',
    '3.5 MiB',
  ])
})
