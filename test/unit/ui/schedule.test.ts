import { describe, expect, test } from 'vitest'
import { fromField, toField } from '../../../ui/src/state/schedule.ts'
import { bytes } from '../../../ui/src/state/size.ts'

describe('the field for a date and a time', () => {
  test('means the browser’s own zone, to the minute', () => {
    const at = new Date(2026, 10, 3, 9, 5, 30).getTime()
    expect(toField(at)).toBe('2026-11-03T09:05')
    expect(fromField('2026-11-03T09:05')).toBe(new Date(2026, 10, 3, 9, 5).toISOString())
  })

  test('means nothing while it is not filled in', () => {
    expect(fromField('')).toBeNull()
  })
})

test('sizes have the unit that people read', () => {
  expect([bytes(1), bytes(1023), bytes(1024), bytes(3_670_016)]).toEqual([
    '1 byte',
    '1023 bytes',
    '1.0 KiB',
    '3.5 MiB',
  ])
})
