/** Converts the `[alerts]` configuration to alert levels. Pure. */
import type { Config } from '../config/config.ts'
import { ALERT_LEVELS, BOUNCE_LIMIT, type AlertLevel, type AlertLevels } from '../mail/alert.ts'

/**
 * Returns the configured levels. Alerts about records and blocklists have none, because a single problem is too many.
 * The levels of bounces and bulk mail are shares of a limit.
 */
export function alertLevels({ alerts }: Pick<Config, 'alerts'>): AlertLevels {
  const share = (percent: number, of = 1): number => percent / 100 / of
  return {
    ...ALERT_LEVELS,
    bounces: {
      opens: share(alerts.bounces_opens_percent, BOUNCE_LIMIT),
      closes: share(alerts.bounces_closes_percent, BOUNCE_LIMIT),
      ofLimit: true,
      least: alerts.bounces_least,
    },
    complaints: complaintLevel(alerts),
    deferrals: {
      opens: share(alerts.deferrals_opens_percent),
      closes: share(alerts.deferrals_closes_percent),
      least: alerts.deferrals_least,
    },
    bulk: {
      ...ALERT_LEVELS.bulk,
      opens: share(alerts.bulk_opens_percent),
      closes: share(alerts.bulk_closes_percent),
    },
    dmarc: {
      opens: share(alerts.dmarc_opens_percent),
      closes: share(alerts.dmarc_closes_percent),
      least: alerts.dmarc_least,
    },
    tls: {
      opens: share(alerts.tls_opens_percent),
      closes: share(alerts.tls_closes_percent),
      least: alerts.tls_least,
    },
    queue: { ...ALERT_LEVELS.queue, opens: alerts.queue_opens, closes: alerts.queue_closes },
  }
}

/** The configuration sets both percentages or neither (cross-check.ts). Without them, the providers' limits apply. */
function complaintLevel(alerts: Config['alerts']): AlertLevel {
  const { complaints_opens_percent: opens, complaints_closes_percent: closes } = alerts
  const least = alerts.complaints_least
  if (opens === undefined || closes === undefined) return { ...ALERT_LEVELS.complaints, least }
  return { opens: opens / 100, closes: closes / 100, least }
}
