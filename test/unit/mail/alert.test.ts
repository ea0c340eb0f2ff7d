import { expect, test } from 'vitest'
import {
  type Alert,
  ALERT_KINDS,
  ALERT_LEVELS,
  type AlertReading,
  alertTitle,
  CLOSE_DELAY_MS,
  decideAlerts,
} from '../../../appliance/mail/alert.ts'

const T0 = Date.UTC(2026, 0, 1)
const subject = { type: 'domain' as const, id: 'd1', name: 'shop.example' }

const reading = (value: number | null, more: Partial<AlertReading> = {}): AlertReading => ({
  scope: 'team',
  kind: 'bounces',
  subject,
  value,
  limit: 0.04,
  note: `${value} of the emails bounced.`,
  ...more,
})

const alert = (more: Partial<Alert> = {}): Alert => ({
  id: 'a1',
  teamId: 't1',
  ...reading(0.035),
  value: 0.035,
  openedAt: T0,
  calmSince: null,
  closedAt: null,
  muted: false,
  ...more,
})

const NOTHING = { open: [], update: [], close: [] }

test('an alert opens at 75% of the limit', () => {
  expect(decideAlerts([], [reading(0.0299)], T0)).toEqual(NOTHING)
  expect(decideAlerts([], [reading(0.03)], T0)).toEqual({ ...NOTHING, open: [reading(0.03)] })
})

test('a complaints alert opens at a third of the provider’s limit', () => {
  const complaints = (value: number) => reading(value, { kind: 'complaints', limit: 0.003 })
  expect(decideAlerts([], [complaints(0.0009)], T0).open).toEqual([])
  expect(decideAlerts([], [complaints(0.001)], T0).open).toHaveLength(1)
})

test('every alert kind closes at a lower value than it opens', () => {
  for (const kind of ALERT_KINDS) {
    const { opens, closes, least } = ALERT_LEVELS[kind]
    expect(closes).toBeLessThan(opens)
    expect(least).toBeGreaterThan(0)
    expect(alertTitle({ kind, subject })).toMatch(/^[A-Z]/)
  }
})

test('an open alert stays open between its two levels', () => {
  const { note } = reading(0.025)
  expect(decideAlerts([alert({ note })], [reading(0.025)], T0)).toEqual(NOTHING)
})

test('an alert closes after half an hour below its closing level, and a worse value restarts that time', () => {
  const open = alert()
  const calm = decideAlerts([open], [reading(0.01)], T0)
  expect(calm).toEqual({
    ...NOTHING,
    update: [{ alert: open, value: 0.035, note: open.note, calmSince: T0 }],
  })
  const waiting = alert({ calmSince: T0 })
  expect(decideAlerts([waiting], [reading(0.01)], T0 + CLOSE_DELAY_MS - 1)).toEqual(NOTHING)
  expect(decideAlerts([waiting], [reading(0.01)], T0 + CLOSE_DELAY_MS).close).toEqual([waiting])
  expect(decideAlerts([waiting], [reading(0.025)], T0 + CLOSE_DELAY_MS)).toMatchObject({
    close: [],
    update: [{ value: 0.025, calmSince: null }],
  })
})

test('values that oscillate around the opening level open one alert', () => {
  let open: Alert[] = []
  let opened = 0
  for (let step = 0; step < 100; step += 1) {
    const now = T0 + step * 5 * 60_000
    const decision = decideAlerts(open, [reading(step % 2 === 0 ? 0.031 : 0.019)], now)
    opened += decision.open.length
    if (decision.open.length > 0) open = [alert()]
    open = open.filter((one) => !decision.close.includes(one))
    open = open.map((one) => ({ ...one, ...decision.update[0], alert: undefined }) as Alert)
  }
  expect(opened).toBe(1)
})

test('an unknown value changes nothing, and a missing reading counts as below the closing level', () => {
  expect(decideAlerts([], [reading(null)], T0)).toEqual(NOTHING)
  expect(decideAlerts([alert({ calmSince: T0 })], [reading(null)], T0 + 9 * CLOSE_DELAY_MS)).toEqual(NOTHING)
  expect(decideAlerts([alert()], [], T0).update).toMatchObject([{ calmSince: T0 }])
})

test('alerts are separate by subject, kind and scope', () => {
  const other = [
    reading(0.05, { subject: { ...subject, id: 'd2' } }),
    reading(0.05, { kind: 'dmarc' }),
    reading(0.05, { scope: 'server' }),
  ]
  const { open } = decideAlerts([alert()], [reading(0.035), ...other], T0)
  expect(open).toEqual([other[0], other[2]])
})
