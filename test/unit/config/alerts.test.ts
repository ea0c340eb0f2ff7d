import { describe, expect, test } from 'vitest'
import { teamReadings, addResults } from '../../../appliance/alerts/readings.ts'
import { alertLevels } from '../../../appliance/assembly/alert-levels.ts'
import { loadConfig, type Config } from '../../../appliance/config/config.ts'
import { ALERT_LEVELS, decideAlerts } from '../../../appliance/mail/alert.ts'
import { newDomain, T0 } from '../../contract/fixtures.ts'

const load = (given: Record<string, string> = {}) =>
  loadConfig({ env: { POSTHASTE_HOSTNAME: 'mail.sender.test', ...given }, defaultFile: '/nonexistent' })

function configured(given: Record<string, string>): Config {
  const loaded = load(given)
  if ('complaints' in loaded) throw new Error(JSON.stringify(loaded.complaints))
  return loaded.config
}

/** Variables of `[alerts]`. */
const alerts = (keys: Record<string, number>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(keys).map(([key, value]) => [`POSTHASTE_ALERTS__${key.toUpperCase()}`, String(value)]),
  )

describe('alert thresholds', () => {
  test('alert thresholds are configured in percent', () => {
    expect(configured({}).alerts).toEqual({
      bounces_opens_percent: 3,
      bounces_closes_percent: 2,
      bounces_least: 100,
      complaints_least: 4,
      deferrals_opens_percent: 70,
      deferrals_closes_percent: 40,
      deferrals_least: 50,
      bulk_opens_percent: 80,
      bulk_closes_percent: 60,
      dmarc_opens_percent: 10,
      dmarc_closes_percent: 5,
      dmarc_least: 100,
      tls_opens_percent: 10,
      tls_closes_percent: 5,
      tls_least: 20,
      queue_opens: 20,
      queue_closes: 10,
    })
  })

  test('alert thresholds have the documented defaults', () => {
    const levels = alertLevels(configured({}))
    for (const kind of Object.keys(ALERT_LEVELS) as (keyof typeof ALERT_LEVELS)[]) {
      expect(levels[kind].opens).toBeCloseTo(ALERT_LEVELS[kind].opens, 12)
      expect(levels[kind].closes).toBeCloseTo(ALERT_LEVELS[kind].closes, 12)
      expect(levels[kind].least).toBe(ALERT_LEVELS[kind].least)
      expect(levels[kind].ofLimit).toBe(ALERT_LEVELS[kind].ofLimit)
    }
  })

  test('complaint thresholds can be absolute instead of shares of the limit', () => {
    const { complaints } = alertLevels(
      configured(alerts({ complaints_opens_percent: 0.05, complaints_closes_percent: 0.02 })),
    )
    expect(complaints).toEqual({ opens: 0.0005, closes: 0.0002, least: 4 })
  })

  test.each([
    ['bounces', { bounces_opens_percent: 2, bounces_closes_percent: 1 }, { bounced: 25, failed: 25 }],
    ['bounces', { bounces_least: 10 }, { delivered: 17, bounced: 3, failed: 3 }],
    ['complaints', { complaints_least: 1 }, { complained: 1 }],
    ['deferrals', { deferrals_opens_percent: 50 }, { deferred: 1200 }],
    ['queue', { queue_opens: 5, queue_closes: 2 }, {}],
  ])('the thresholds decide when an alert about %s opens: %j', (kind, keys, more) => {
    const { domain } = newDomain('t1', 'shop.example')
    const delivered = kind === 'complaints' ? 900 : 1000
    const results = { ...addResults([]), delivered, ...more }
    const each = new Map([[domain.id, results]])
    const facts = {
      domains: [domain],
      day: each,
      week: each,
      hour: new Map([['google', results]]),
      reports: [],
      bulk: [],
      old: 6,
    }
    const openedWith = (given: Record<string, string>): string[] => {
      const levels = alertLevels(configured(given))
      const around = {
        complaints: { limit: 0.003, provider: 'Gmail' },
        paused: new Set<string>(),
        nameOf: (id: string) => id,
        levels,
      }
      return decideAlerts([], teamReadings(facts, around), T0, levels).open.map((one) => one.kind)
    }
    expect(openedWith({})).not.toContain(kind)
    expect(openedWith(alerts(keys))).toContain(kind)
  })

  test.each([
    [
      { bounces_closes_percent: 3 },
      'alerts.bounces_closes_percent is 3, not below alerts.bounces_opens_percent (3)',
    ],
    [{ queue_opens: 10 }, 'alerts.queue_closes is 10, not below alerts.queue_opens (10)'],
    [{ deferrals_opens_percent: 101 }, 'alerts.deferrals_opens_percent is 101'],
    [{ tls_opens_percent: 0 }, 'alerts.tls_opens_percent is 0'],
    [{ dmarc_least: 0 }, 'alerts.dmarc_least is 0'],
    [
      { complaints_opens_percent: 0.1 },
      'alerts.complaints_opens_percent and alerts.complaints_closes_percent belong together',
    ],
  ])('rejects the thresholds %j', (keys, why) => {
    const loaded = load(alerts(keys))
    const messages = 'complaints' in loaded ? loaded.complaints.map(({ message }) => message) : []
    expect(messages).toEqual([expect.stringContaining(why)])
  })
})
