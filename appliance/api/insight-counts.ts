/** How many sent emails of a domain failed each check. */
import type { Static } from 'typebox'
import type { InsightCounts } from '../mail/insight-counts.ts'
import { operationsIn } from './operation.ts'
import { byId, query } from './parameters.ts'
import { lastDays } from './report-summaries.ts'
import { arrayOfObjects, count, kind, object, string } from './schemas.ts'
import { Id } from './shared.ts'

const check = string('Id of the check, as in insights.', { examples: ['text'] })
const emails = count('Emails that failed it.')

/** GET /domains/:id/insights. Not part of the hosted API. */
export const DomainInsights = object('What was wrong with the emails of a domain.', {
  object: kind('domain_insights'),
  domain_id: Id,
  checked: count('Emails that were checked.'),
  failed: arrayOfObjects('The checks that emails failed, the most first.', {
    check,
    emails,
    note: string('The same in words, in English. The wording may change.', {
      examples: ['412 emails without a plain-text part'],
    }),
  }),
  days: arrayOfObjects('Every day of the period, oldest first.', {
    date: string('UTC day.', { examples: ['2026-11-25'] }),
    checked: count('Emails that were checked.'),
    failed: arrayOfObjects('The checks that emails failed.', { check, emails }),
  }),
})
export type DomainInsights = Static<typeof DomainInsights>

/** Default length of the period, in days. */
export const INSIGHT_DAYS = 30

const operation = operationsIn('Domains')

export const getDomainInsights = operation('GET /domains/:id/insights', {
  summary: 'Count the failed checks of a domain’s emails',
  description:
    'Emails are checked soon after they are sent, at most 50 a second. Broadcasts aren’t counted, because their review has the checks. Not part of the hosted API.',
  params: byId,
  querystring: query({ days: lastDays }),
  response: { 200: DomainInsights },
})

/** Formats the response. */
export const presentDomainInsights = (domainId: string, counts: InsightCounts): DomainInsights => ({
  object: 'domain_insights',
  domain_id: domainId,
  checked: counts.checked,
  failed: counts.failed,
  days: counts.days,
})
