import { expect, test } from 'vitest'
import { describeDay, listReportDays } from '../../../ui/src/state/report-days.ts'

test('days without a report are included, oldest first, in UTC', () => {
  const days = [{ date: '2026-11-24', total: 12, failed: 2 }]
  const [since, until] = ['2026-11-23 00:00:00+00', '2026-11-25 13:30:00.123456+00']
  expect(listReportDays({ since, until, days })).toEqual([
    { date: '2026-11-23', passed: 0, failed: 0 },
    { date: '2026-11-24', passed: 10, failed: 2 },
    { date: '2026-11-25', passed: 0, failed: 0 },
  ])
})

test('describes a day of reports', () => {
  expect(describeDay({ date: '2026-11-24', passed: 1240, failed: 1 })).toBe('Nov 24: 1,240 passed, 1 failed')
  expect(describeDay({ date: '2026-11-25', passed: 0, failed: 0 })).toBe('Nov 25: no reports')
})
