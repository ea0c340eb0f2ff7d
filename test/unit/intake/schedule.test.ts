import { describe, expect, test } from 'vitest'
import { MAX_SCHEDULE_AHEAD, parseSchedule } from '../../../appliance/intake/schedule.ts'
import { Refusal } from '../../../appliance/mail/refusals.ts'
import { checkSchedule } from '../../../appliance/intake/intake.ts'

/** A Wednesday. */
const NOW = Date.parse('2026-11-18T12:00:00Z')
const read = (text: string) => {
  const instant = parseSchedule(text, NOW)
  return instant === null ? null : new Date(instant).toISOString()
}
const refusal = (work: () => unknown): Refusal => {
  try {
    work()
  } catch (error) {
    if (error instanceof Refusal) return error
    throw error
  }
  throw new Error('It was not refused.')
}

describe('valid values of scheduled_at', () => {
  test.each([
    ['2026-11-20T09:30:00Z', '2026-11-20T09:30:00.000Z'],
    ['2026-11-20T09:30:00.123456+02:00', '2026-11-20T07:30:00.123Z'],
    ['2026-11-20T09:30:00-0500', '2026-11-20T14:30:00.000Z'],
    ['2026-11-20 09:30:00.5+00', '2026-11-20T09:30:00.500Z'],
    ['2026-11-20T09:30:00', '2026-11-20T09:30:00.000Z'],
    ['2026-11-20T09:30Z', '2026-11-20T09:30:00.000Z'],
    ['2026-11-20', '2026-11-20T00:00:00.000Z'],
  ])('accepts ISO 8601: %s', (text, instant) => {
    expect(read(text)).toBe(instant)
  })

  test.each([
    ['in 1 min', '2026-11-18T12:01:00.000Z'],
    ['in 1 hour', '2026-11-18T13:00:00.000Z'],
    ['in an hour', '2026-11-18T13:00:00.000Z'],
    [' In 2 Days ', '2026-11-20T12:00:00.000Z'],
    ['tomorrow at 9am', '2026-11-19T09:00:00.000Z'],
    ['9am', '2026-11-19T09:00:00.000Z'],
    ['Friday at 3pm', '2026-11-20T15:00:00.000Z'],
    ['Friday at 3pm ET', '2026-11-20T20:00:00.000Z'],
    ['Monday at 10:30 CET', '2026-11-23T09:30:00.000Z'],
    ['Dec 1 2026 at 10am', '2026-12-01T10:00:00.000Z'],
  ])('accepts natural language: %s', (text, instant) => {
    expect(read(text)).toBe(instant)
  })

  test.each(['', '  ', null, undefined])('treats %j as not set', (text) => {
    expect(parseSchedule(text, NOW)).toBeNull()
  })
})

describe('invalid values of scheduled_at', () => {
  test.each([
    'soon',
    'yes',
    'Friday at 3pm Pacific',
    'please send it tomorrow at 9am',
    'tomorrow at 9am or so',
    'tomorrow 9am to 10am',
    'in -5 minutes',
    'in 99999999999 years',
    '2026-02-30T00:00:00Z',
    '2026-13-01T00:00:00Z',
    '2026-11-20T25:00:00Z',
    '2026-11-20T09:00:00+24:00',
    '2026-11-24T09:00:00+99',
    '2026-11-20T09:00:00-0160',
    `in 1 hour${' '.repeat(200)}.`,
  ])('rejects text that is not fully understood: %s', (text) => {
    const { key, status, message } = refusal(() => parseSchedule(text, NOW))
    expect([key, status]).toEqual(['invalid_field', 422])
    expect(message).toContain('Invalid `scheduled_at` field: a date in ISO 8601')
  })

  test.each([
    '2026-11-18T11:59:59Z',
    '2026-11-18T12:00:00Z',
    'now',
    'yesterday',
    'last friday',
    '1 hour ago',
  ])('rejects a time that is not in the future: %s', (text) => {
    const { message, status } = refusal(() => checkSchedule(parseSchedule(text, NOW), NOW))
    expect([status, message]).toEqual([422, 'The `scheduled_at` field must be a future date'])
  })

  test('rejects a time more than 30 days ahead', () => {
    expect(checkSchedule(NOW + MAX_SCHEDULE_AHEAD, NOW)).toBeUndefined()
    expect(refusal(() => checkSchedule(NOW + MAX_SCHEDULE_AHEAD + 1, NOW)).message).toBe(
      'Invalid `scheduled_at` field: a date at most 30 days from now.',
    )
  })
})
