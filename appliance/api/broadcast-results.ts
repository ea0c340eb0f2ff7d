/** The results, recipients and clicked links of a broadcast. */
import { Type, type Static } from 'typebox'
import { variantName, VARIANTS } from '../mail/ab-test.ts'
import type { BroadcastReach, CurvePoint, EarlierRates, ProviderResult } from '../mail/broadcast.ts'
import type { Broadcast, BroadcastRecipient, RecipientRow } from '../storage/storage.ts'
import { describeLane, type addSendingRates } from './broadcast-lanes.ts'
import { formatCsvRecord } from '../mail/csv.ts'
import { AbTestResults } from './broadcast-ab-test.ts'
import { operationsIn, nonJsonContent } from './operation.ts'
import { choice, choiceCondition, limit, path, pathUuid, query, text } from './parameters.ts'
import { arrayOfObjects, count, literals, Nullable, object, string } from './schemas.ts'
import { Id, listOf, Timestamp } from './shared.ts'
import { isoTimestamp, timestamp, timestampOrNull } from './timestamp.ts'

/** The types that recipients can be listed by. */
export const RECIPIENT_TYPES = [
  ...(['sent', 'delivered', 'opened', 'clicked'] as const),
  ...(['bounced', 'complained', 'unsubscribed', 'suppressed'] as const),
] as const
const BOUNCE_TYPES = ['permanent', 'transient', 'undetermined'] as const

export const Recipient = object('A recipient.', {
  id: string('A cursor for `after` and `before`.'),
  contact_id: Nullable(Id, 'null: the address has no contact any more.'),
  email: string('The address.'),
  count: Type.Optional(count('How often it was opened or clicked.')),
  variant: Type.Optional(literals(VARIANTS, 'The variant of the A/B test that it got.')),
  bounce_type: Type.Optional(literals(BOUNCE_TYPES, 'The type of bounce.')),
  clicked_links: Type.Optional(
    arrayOfObjects('The links that were clicked.', {
      url: string('The link.'),
      clicks: count('Clicks on it.'),
    }),
  ),
})
export const RecipientList = listOf(Recipient, 'recipients')
export const ClickedLink = object('A clicked link.', {
  id: string('A cursor for `after` and `before`.'),
  url: string('The link.'),
  clicks: count('Clicks of people.'),
  unique_clicks: count('Contacts that clicked it.'),
})
export const ClickedLinkList = listOf(ClickedLink, 'links')

const rate = (description: string) => Nullable(Type.Number(), `${description} null: unknown.`)

export const BroadcastResults = object('Results.', {
  opened: count('Recipients that opened it.'),
  clicked: count('Recipients that clicked a link.'),
  unsubscribed: count('Recipients that unsubscribed with its link.'),
  providers: arrayOfObjects('By mailbox provider, the largest first.', {
    provider: string('The mailbox provider; empty: not known yet.'),
    name: string('Its display name.'),
    emails: count('Emails to it.'),
    waiting: count('In the queue.'),
    deferred: count('Of those in the queue, the ones to be retried later.'),
    delivered: count('Delivered.'),
    bounced: count('Bounced.'),
    complained: count('Reported as spam.'),
    state: Nullable(
      Type.String(),
      'What the queued emails wait for, in a sentence. null if none wait or the broadcast is paused.',
    ),
    until: Nullable(Timestamp, 'The time in `state`; null if the state has no time.'),
  }),
  first_48_hours: arrayOfObjects('Totals by hour, from the quarter hour in which sending began.', {
    at: Timestamp,
    delivered: count('Emails delivered until then.'),
    opened: count('Recipients that had opened it.'),
    clicked: count('Recipients that had clicked a link.'),
  }),
  earlier: object('Medians of the rates of the last broadcasts that were sent before this one, 0 to 1.', {
    broadcasts: count('How many were compared, at most 10.'),
    delivered: rate('Delivered, of those sent.'),
    bounced: rate('Bounced, of those sent.'),
    opened: rate('Opened, of those delivered.'),
    clicked: rate('Clicked, of those delivered.'),
    unsubscribed: rate('Unsubscribed, of those delivered.'),
    complained: rate('Reported as spam, of those delivered.'),
  }),
  ab_test: AbTestResults,
})
const params = path({ id: pathUuid('The id of the broadcast.') })
const operation = operationsIn('Broadcasts')

export const getBroadcastResults = operation('GET /broadcasts/:id/results', {
  summary: 'Get the results of a broadcast',
  params,
  response: { 200: BroadcastResults },
})
const cursors = {
  after: text(string('The page after this row, exclusive.')),
  before: text(string('The page before this row, exclusive.')),
}
export const listBroadcastRecipients = operation('GET /broadcasts/:id/recipients', {
  summary: 'List recipients of a broadcast',
  params,
  querystring: query({
    limit,
    ...cursors,
    type: choice(RECIPIENT_TYPES, 'What happened. Required.'),
    email: text(string('Part of the address.')),
    bounce_type: choiceCondition(BOUNCE_TYPES, 'The type of bounce, with `type=bounced`.'),
  }),
  response: { 200: RecipientList },
})
export const exportBroadcastRecipients = operation('GET /broadcasts/:id/recipients/export.csv', {
  summary: 'Export recipients of a broadcast',
  description:
    'All recipients with their results, including those that got nothing. Only owners and admins, and API keys with full access. Not part of the hosted API.',
  params,
  querystring: query({ type: choiceCondition(RECIPIENT_TYPES, 'Only recipients with this result.') }),
  response: { 200: nonJsonContent('text/csv', 'The recipients, with a header row.') },
})
export const listBroadcastLinks = operation('GET /broadcasts/:id/clicked-links', {
  summary: 'List clicked links of a broadcast',
  params,
  querystring: query({ limit, ...cursors }),
  response: { 200: ClickedLinkList },
})

/**
 * Formats an element of GET /broadcasts/:id/recipients.
 *
 * @param type the list's filter
 */
export function presentRecipient(
  type: (typeof RECIPIENT_TYPES)[number],
  { id, contactId, email, opens, variant, links, bounceType }: BroadcastRecipient,
): Static<typeof Recipient> {
  return {
    id,
    contact_id: contactId,
    email,
    ...(variant !== null && { variant: variantName(variant) }),
    ...(type === 'opened' && { count: opens }),
    ...(type === 'clicked' && {
      count: links.reduce((sum, { clicks }) => sum + clicks, 0),
      clicked_links: links,
    }),
    ...(type === 'bounced' &&
      bounceType && { bounce_type: bounceType.toLowerCase() as (typeof BOUNCE_TYPES)[number] }),
  }
}

/** Formats a row of GET /broadcasts/:id/recipients/export.csv. `status`: the last event, `waiting` or `skipped`. */
export const presentRecipientRow = (row: RecipientRow) => ({
  email: row.email ?? '',
  contact_id: row.contactId,
  email_id: row.emailId ?? '',
  status: row.lastEvent ?? (row.skipped === null ? 'waiting' : 'skipped'),
  reason: row.skipped ?? '',
  sent_at: row.sentAt === null ? '' : isoTimestamp(row.sentAt),
  opens: row.opens,
  clicks: row.clicks,
  unsubscribed: row.unsubscribed,
  bounce_type: row.bounceType?.toLowerCase() ?? '',
  variant: row.variant === null ? '' : variantName(row.variant),
})

const COLUMNS = [
  'email',
  'contact_id',
  'email_id',
  'status',
  'reason',
  'sent_at',
  'opens',
  'clicks',
  'unsubscribed',
  'bounce_type',
  'variant',
] as const

/** The header row of the file. */
export const formatRecipientHeader = (): string => formatCsvRecord(COLUMNS)

/** Formats a recipient as a CSV row. */
export function formatRecipientRow(row: RecipientRow): string {
  const shown = presentRecipientRow(row)
  return formatCsvRecord(COLUMNS.map((column) => String(shown[column])))
}

/** Data that describes the lanes of a broadcast; `lanes` has one entry per provider, in order. */
interface Situation {
  broadcast: Pick<Broadcast, 'status' | 'paused' | 'holds'>
  lanes: ReturnType<typeof addSendingRates>
  now: number
  abTest: AbTestResults
}

/** Formats the response of GET /broadcasts/:id/results. */
export const presentResults = (
  reach: BroadcastReach,
  providers: ProviderResult[],
  { curve, earlier }: { curve: CurvePoint[]; earlier: EarlierRates },
  { broadcast, lanes, now, abTest }: Situation,
): Static<typeof BroadcastResults> => ({
  ...reach,
  providers: providers.map((row, at) => {
    const { provider, emails, waiting, deferred, delivered, bounced, complained } = row
    const name = provider === '' ? '' : lanes[at]!.name
    const state = describeLane(row, lanes[at]!, broadcast, now)
    const until = timestampOrNull(state === null ? null : lanes[at]!.until)
    return { provider, name, emails, waiting, deferred, delivered, bounced, complained, state, until }
  }),
  first_48_hours: curve.map(({ at, ...counts }) => ({ at: timestamp(at), ...counts })),
  earlier,
  ab_test: abTest,
})
