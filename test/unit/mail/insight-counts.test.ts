import { expect, test } from 'vitest'
import { checkSingleEmail } from '../../../appliance/advice/advice.ts'
import { firstDay, sumInsights } from '../../../appliance/mail/insight-counts.ts'

const NOW = Date.UTC(2026, 0, 3, 12)

test('daily counts are summed, sorted by count, and filled for every day of the period', () => {
  const rows = [
    { day: '2026-01-01', check: '', n: 5 },
    { day: '2026-01-01', check: 'text', n: 1 },
    { day: '2026-01-03', check: '', n: 1500 },
    { day: '2026-01-03', check: 'reply', n: 1400 },
  ]
  expect(sumInsights(rows, NOW, 3)).toEqual({
    checked: 1505,
    failed: [
      { check: 'reply', emails: 1400, note: '1,400 emails from a no-reply address' },
      { check: 'text', emails: 1, note: '1 email without a plain-text part' },
    ],
    days: [
      { date: '2026-01-01', checked: 5, failed: [{ check: 'text', emails: 1 }] },
      { date: '2026-01-02', checked: 0, failed: [] },
      { date: '2026-01-03', checked: 1500, failed: [{ check: 'reply', emails: 1400 }] },
    ],
  })
  expect(firstDay(NOW, 3)).toBe('2026-01-01')
})

test('every content check has a description', () => {
  const domain = {
    name: 'mail.acme.com',
    checks: [{ key: 'DMARC', status: 'verified' }],
    openTracking: true,
    clickTracking: true,
    trackingSubdomain: null,
  }
  const message = { from: 'a@mail.acme.com', subject: 'x', html: '<p>x</p>', text: null }
  for (const { id } of checkSingleEmail(message, domain, 1)) {
    const { failed } = sumInsights([{ day: '2026-01-03', check: id, n: 2 }], NOW, 1)
    expect(failed[0]!.note).not.toContain('that fail the check')
  }
})
