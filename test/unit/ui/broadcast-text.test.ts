import { expect, test } from 'vitest'
import { formatHours, explainForecastLimit } from '../../../appliance/mail/forecast-text.ts'
import { describeFinishTime, findRateError, formatRate } from '../../../ui/src/state/broadcast-text.ts'

test('formats durations over a day in days, with what limits the speed', () => {
  const words = (hours: number | null) => formatHours(hours) + explainForecastLimit(hours, 'warm_up')
  expect([null, 0.1, 0.5, 6.5, 24, 25, 36, 72].map(words)).toEqual([
    'not known yet',
    'a few minutes',
    'about 30 min',
    'about 6.5 h',
    'about 24 h',
    'about 1 day, by the warm-up of your IPs',
    'about 1.5 days, by the warm-up of your IPs',
    'about 3 days, by the warm-up of your IPs',
  ])
  expect(explainForecastLimit(72, 'rate')).toBe(', by the rate of the broadcast')
  expect(explainForecastLimit(72, 'lanes')).toBe(', by the limits of the provider')
})

test('formats the end by time today, by weekday within a week, and by date after that', () => {
  const now = new Date(2026, 10, 26, 12, 0).getTime()
  const at = (day: number, hour: number, minute: number) =>
    describeFinishTime(new Date(2026, 10, day, hour, minute).getTime(), now)
  expect([at(26, 18, 40), at(27, 9, 5), at(33, 8, 0)]).toEqual([
    'Done about 18:40.',
    'Done about Friday 09:05.',
    'Done about Dec 3 08:00.',
  ])
})

test('accepts only whole numbers or nothing as a rate', () => {
  expect(['', ' 500 ', '1000000'].map(findRateError)).toEqual(['', '', ''])
  for (const bad of ['0', '1.5', '-3', 'many', '1000001'])
    expect(findRateError(bad)).toBe('Enter a whole number from 1 to 1,000,000, or nothing.')
  expect([null, 1, 1500].map(formatRate)).toEqual([
    'As fast as the limits of the mailbox providers allow',
    'At most 1 email per hour, spread evenly',
    'At most 1,500 emails per hour, spread evenly',
  ])
})
