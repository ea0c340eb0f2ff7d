/** The mailbox providers of a segment, and its size by day. Not part of the hosted API. */
import { Type, type Static } from 'typebox'
import type { SegmentReach as StoredReach } from '../mail/broadcast.ts'
import { type Forecast, FORECAST_LIMITS } from '../shaping/shaping.ts'
import { operationsIn } from './operation.ts'
import { byId } from './parameters.ts'
import { arrayOfObjects, boolean, count, kind, literals, Nullable, object, string } from './schemas.ts'
import { Id } from './shared.ts'

/** The providers of contacts, with how long sending to them takes. */
export const providerForecast = arrayOfObjects('By mailbox provider, the largest first.', {
  provider: string('The provider; empty: not known yet.'),
  name: string('Its display name; empty: not known yet.'),
  contacts: count('Contacts that would get it.'),
  hours: Nullable(
    Type.Number(),
    'About how long sending takes, by the limits and the warm-up of the sending IPs and the rate of the broadcast. null: not known, or more than 60 days.',
  ),
  limited_by: Nullable(
    literals(
      FORECAST_LIMITS,
      'What makes it take so long: the rate of the broadcast, a warm-up, or the limits of the lanes.',
    ),
    'null: not known.',
  ),
})

/** Formats the forecast of a provider. */
export const presentForecast = (
  { provider, contacts }: { provider: string; contacts: number },
  { name, hours, limitedBy }: Forecast,
): Static<typeof providerForecast>[number] => ({ provider, name, contacts, hours, limited_by: limitedBy })

export const SegmentReach = object('Mailbox providers of the contacts of a segment.', {
  object: kind('segment_providers'),
  id: Id,
  contacts: count('Contacts of the segment.'),
  eligible: count('Those who are neither unsubscribed nor suppressed.'),
  estimated: boolean('Whether the numbers are estimated from the newest contacts.'),
  providers: providerForecast,
})
export type SegmentReach = Static<typeof SegmentReach>

export const SegmentDays = object('The size of a segment by day.', {
  object: kind('segment_days'),
  id: Id,
  days: arrayOfObjects('The last 30 days, today last.', {
    date: string('A day in UTC.', { examples: ['2026-01-31'] }),
    contacts: Nullable(
      Type.Integer(),
      'Contacts of the segment at the last count of that day; null: not counted, or there was no segment.',
    ),
  }),
})
export type SegmentDays = Static<typeof SegmentDays>

const operation = operationsIn('Segments')

export const getSegmentProviders = operation('GET /segments/:id/providers', {
  summary: 'Count the contacts of a segment by mailbox provider',
  description:
    'With a forecast of how long a broadcast to all of them takes. Examines the newest 60,000 contacts and estimates the rest. Not part of the hosted API.',
  params: byId,
  response: { 200: SegmentReach },
})
export const getSegmentDays = operation('GET /segments/:id/days', {
  summary: 'Get the size of a segment by day',
  description:
    'Sizes are recorded every hour and kept for 90 days. A segment with `filter` has a size for the days on which its contacts were counted. Not part of the hosted API.',
  params: byId,
  response: { 200: SegmentDays },
})

/** Formats the response of GET /segments/:id/providers. */
export const presentSegmentReach = (
  id: string,
  { contacts, eligible, estimated, providers }: StoredReach,
  forecast: readonly Forecast[],
): SegmentReach => ({
  object: 'segment_providers',
  id,
  contacts,
  eligible,
  estimated,
  providers: providers.map((one, at) => presentForecast(one, forecast[at]!)),
})

/** Formats the response of GET /segments/:id/days. */
export const presentSegmentDays = (id: string, days: SegmentDays['days']): SegmentDays => ({
  object: 'segment_days',
  id,
  days,
})
