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

const closes = 'An alert closes when its value has been below this percentage for 30 minutes.'

/** `[alerts]`: the levels at which alerts open and close. */
export const alertsSection = section(
  'Levels of alerts. An alert opens at the first level and closes below the second, which must be lower (docs/alerts.md).',
  {
    bounces_opens_percent: percent(
      3,
      "An alert opens when this percentage of a domain's emails in 24 hours bounces permanently.",
    ),
    bounces_closes_percent: percent(2, closes),
    bounces_least: least(100, 'With fewer emails than this in 24 hours, no alert about bounces opens.'),
    complaints_opens_percent: ownPercent(
      "An alert opens when this percentage of a domain's delivered emails in 7 days is reported as spam. Default: a third of the lowest limit in the provider rules, such as 0.1.",
    ),
    complaints_closes_percent: ownPercent(
      'An alert about complaints closes when its value has been below this percentage for 30 minutes. Default: a fifth of the lowest limit in the provider rules, such as 0.06.',
    ),
    complaints_least: least(4, 'With fewer complaints than this in 7 days, no alert opens.'),
    deferrals_opens_percent: percent(
      70,
      'An alert opens when this percentage of the results at a mailbox provider in the last hour are deferrals. Greylisting alone causes 50%.',
    ),
    deferrals_closes_percent: percent(40, closes),
    deferrals_least: least(50, 'With fewer results than this in an hour, no alert about deferrals opens.'),
    bulk_opens_percent: percent(
      80,
      "An alert opens when a domain's messages to a provider in 24 hours reach this percentage of the number from which the provider's rules for bulk mail apply, if its mail would break a rule.",
    ),
    bulk_closes_percent: percent(60, closes),
    dmarc_opens_percent: percent(
      10,
      'An alert opens when this percentage of the messages in DMARC reports of 7 days failed.',
    ),
    dmarc_closes_percent: percent(5, closes),
    dmarc_least: least(100, 'With fewer messages than this in DMARC reports of 7 days, no alert opens.'),
    tls_opens_percent: percent(
      10,
      'An alert opens when this percentage of the sessions in TLS reports of 7 days failed.',
    ),
    tls_closes_percent: percent(5, closes),
    tls_least: least(20, 'With fewer sessions than this in TLS reports of 7 days, no alert opens.'),
    queue_opens: least(
      20,
      'An alert opens when this many deliveries were attempted and are still queued after 4 hours.',
    ),
    queue_closes: least(
      10,
      'An alert about the queue closes when there have been fewer such deliveries than this for 30 minutes.',
    ),
  },
)
