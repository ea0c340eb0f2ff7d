import { Type } from 'typebox'
import { section } from './formats.ts'

/** Defines a percentage. */
const percent = (initial: number, description: string) =>
  Type.Number({ exclusiveMinimum: 0, maximum: 100, default: initial, description })

/** Defines a percentage without a default of its own. */
const ownPercent = (description: string) =>
  Type.Optional(Type.Number({ exclusiveMinimum: 0, maximum: 100, description }))

/** Defines a minimum number of results. */
const least = (initial: number, description: string) =>
  Type.Integer({ minimum: 1, maximum: 1_000_000, default: initial, description })

const closes = 'An alert closes after its value was below this for 30 minutes, in percent.'

/** `[alerts]`: the levels at which alerts open and close. */
export const alertsSection = section(
  'Levels of alerts. An alert opens at the first level and closes below the second, which must be lower (docs/alerts.md).',
  {
    bounces_opens_percent: percent(
      3,
      'Permanent bounces among the emails of a domain in 24 hours, in percent, from which an alert opens.',
    ),
    bounces_closes_percent: percent(2, closes),
    bounces_least: least(100, 'Fewer emails than this in 24 hours open no alert about bounces.'),
    complaints_opens_percent: ownPercent(
      'Delivered emails of a domain in 7 days that were reported as spam, in percent, from which an alert opens. Default: a third of the lowest limit in the provider rules, such as 0.1.',
    ),
    complaints_closes_percent: ownPercent(
      'An alert about complaints closes after its value was below this for 30 minutes, in percent. Default: a fifth of the lowest limit in the provider rules, such as 0.06.',
    ),
    complaints_least: least(4, 'Fewer complaints than this in 7 days open no alert.'),
    deferrals_opens_percent: percent(
      70,
      'Deferrals among the results at a mailbox provider in the last hour, in percent, from which an alert opens. Greylisting alone causes 50.',
    ),
    deferrals_closes_percent: percent(40, closes),
    deferrals_least: least(50, 'Fewer results than this in an hour open no alert about deferrals.'),
    bulk_opens_percent: percent(
      80,
      "Messages to a provider in 24 hours, in percent of the number from which its rules for bulk mail apply. From this on, an alert opens if the domain's mail would break a rule.",
    ),
    bulk_closes_percent: percent(60, closes),
    dmarc_opens_percent: percent(
      10,
      'Messages that failed in DMARC reports of 7 days, in percent, from which an alert opens.',
    ),
    dmarc_closes_percent: percent(5, closes),
    dmarc_least: least(100, 'Fewer messages than this in DMARC reports of 7 days open no alert.'),
    tls_opens_percent: percent(
      10,
      'Sessions that failed in TLS reports of 7 days, in percent, from which an alert opens.',
    ),
    tls_closes_percent: percent(5, closes),
    tls_least: least(20, 'Fewer sessions than this in TLS reports of 7 days open no alert.'),
    queue_opens: least(
      20,
      'Deliveries that were attempted and still wait after 4 hours, from which an alert opens.',
    ),
    queue_closes: least(
      10,
      'An alert about the queue closes after fewer deliveries than this were waiting for 30 minutes.',
    ),
  },
)
