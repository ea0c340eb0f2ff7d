/** Reviews and tests of a draft before it is sent, and the drafts that a contact would get. */
import { Type, type Static } from 'typebox'
import {
  LINK_KINDS,
  RECIPIENT_PREVIEWS,
  type RecipientPreview,
  type Review as Reviewed,
} from '../mail/broadcast.ts'
import type { TotalForecast } from '../shaping/shaping.ts'
import type { Broadcast } from '../storage/storage.ts'
import { Insight } from './insights.ts'
import { operationsIn } from './operation.ts'
import { path, pathText, pathUuid } from './parameters.ts'
import { presentForecast, providerForecast } from './segment-reach.ts'
import { count, described, Id, kind, listOf, literals, Nullable, optionalText, Timestamp } from './shared.ts'
import { timestamp } from './timestamp.ts'

/** POST /broadcasts/:id/test */
export const TestBroadcast = Type.Object(
  {
    // Optional here, so that a broadcast of another team gets `not_found` before any other error.
    to: Type.Optional(
      Type.Union(
        [Type.String(), Type.Array(Type.String())],
        described('Who gets it: at most 5 addresses. Required.'),
      ),
    ),
    variant: Type.Optional(Type.String(described('The variant of its A/B test, such as `B`. Default: A.'))),
    contact_id: optionalText('Id or address of the contact whose values it has. Default: sample values.'),
  },
  described('A test of a broadcast.'),
)

export const BroadcastTested = Type.Object(
  { object: kind('broadcast'), id: Id, email_ids: Type.Array(Id, described('The emails.')) },
  described('A test that was sent.'),
)

const whoGetsIt = {
  contacts: count('Contacts of the segment.'),
  eligible: count('Those that would get it.'),
  estimated: Type.Boolean(described('Whether the numbers are estimated from the first 50,000.')),
  out: Type.Record(Type.String(), Type.Integer(), described('Those that would not, by reason.')),
}
/** GET /broadcasts/:id/eligible */
export const BroadcastEligible = Type.Object(
  { object: kind('broadcast_eligible'), id: Id, ...whoGetsIt },
  described('Who would get a draft if it were sent now.'),
)

/** GET /broadcasts/:id/review */
export const BroadcastReview = Type.Object(
  {
    findings: Type.Array(Insight, described('What was checked, the most urgent first.')),
    recipients: Type.Object(whoGetsIt, described('Who would get it.')),
    providers: providerForecast,
    forecast: Type.Object(
      {
        hours: Nullable(
          Type.Number(),
          described(
            'Hours until the last email was attempted, with the wait of an A/B test; null: not known, or more than 60 days.',
          ),
        ),
        done_at: Nullable(
          Timestamp,
          described('About when that is, if it is sent now, or at `scheduled_at`; null: not known.'),
        ),
      },
      described('How long sending takes. Providers that are not known yet are left out.'),
    ),
    links: Type.Array(
      Type.Object({
        text: Type.String(
          described('The text of the link, or the description of its image; empty: neither.'),
        ),
        url: Type.String(described('Where it leads, with merge tags as they are in the draft.')),
        kind: literals(
          LINK_KINDS,
          described(
            'web · unsubscribe: the page where each recipient unsubscribes · merge_tag: another address for each recipient · other: no web address, such as mailto.',
          ),
        ),
        count: count('How often it is in the content.'),
      }),
      described('The links of the HTML, or of the text if there is no HTML.'),
    ),
    tags: Type.Array(
      Type.Object({
        key: Type.String(described('The name in the tag.')),
        fallback: Nullable(Type.String(), described('Used for contacts without a value.')),
        missing: count('Contacts without a value.'),
        known: Type.Boolean(described('Whether there is a field or property of that name.')),
      }),
      described('Merge tags, and how many contacts have no value.'),
    ),
    looked: count('Contacts that the tags were counted for.'),
    samples: Type.Array(
      Type.Object({
        email: Type.String(described('The address.')),
        subject: Type.String(described('The subject.')),
        text: Type.String(described('The beginning of the last part.')),
      }),
      described('What some contacts would get.'),
    ),
  },
  described('A review of a draft before it is sent.'),
)

const params = path({ id: pathUuid('The id of the broadcast.') })
const broadcastOperation = operationsIn('Broadcasts')
const contactOperation = operationsIn('Contacts')

export const testBroadcast = broadcastOperation('POST /broadcasts/:id/test', {
  summary: 'Send a test of a broadcast',
  params,
  description:
    'Sends the draft to up to 5 addresses, with `[Test]` before its subject. Each counts as an email, and a team can send 60 an hour. Not part of the hosted API.',
  body: TestBroadcast,
  response: { 200: BroadcastTested },
  errors: ['507'],
})
export const reviewBroadcast = broadcastOperation('GET /broadcasts/:id/review', {
  summary: 'Review a draft',
  params,
  response: { 200: BroadcastReview },
})

export const countBroadcastEligible = broadcastOperation('GET /broadcasts/:id/eligible', {
  summary: 'Count who would get a draft',
  params,
  description:
    'The contacts of the segment, those who would get the draft if it were sent now, and why the others would not: `excluded`, `unsubscribed`, `topic` or `suppressed`. Not part of the hosted API.',
  response: { 200: BroadcastEligible },
})

/** Formats the response of GET /broadcasts/:id/review. @param startsAt when sending begins (Unix milliseconds) */
export function presentReview(
  { findings, recipients, providers, links, tags: used, looked, samples, waitHours }: Reviewed,
  forecast: TotalForecast,
  startsAt: number,
): Static<typeof BroadcastReview> {
  const hours = forecast.hours === null ? null : forecast.hours + waitHours
  return {
    findings,
    recipients,
    links,
    tags: used,
    looked,
    samples,
    providers: providers.map((one, at) => presentForecast(one, forecast.providers[at]!)),
    forecast: {
      hours,
      done_at: hours === null ? null : timestamp(startsAt + Math.round(hours * 3_600_000)),
    },
  }
}

/** GET /contacts/:id/broadcasts */
export const ContactBroadcastList = listOf(
  Type.Object(
    {
      id: Id,
      name: Type.String(described('The name.')),
      status: literals(['scheduled', 'draft'], described('The status.')),
      scheduled_at: Nullable(Timestamp, described('When it is sent; null: not scheduled.')),
      prospect: literals(
        RECIPIENT_PREVIEWS,
        described(
          'eligible: the contact would get it · not_in_segment · excluded: in an excluded segment · unsubscribed · topic: opted out of its topic · suppressed: the address is on the suppression list.',
        ),
      ),
    },
    described('A broadcast that is not sent yet.'),
  ),
  'broadcasts',
)
export type ContactBroadcasts = Static<typeof ContactBroadcastList>

export const listContactBroadcasts = contactOperation('GET /contacts/:id/broadcasts', {
  summary: 'List the next broadcasts of a contact',
  description:
    'The newest 20 scheduled broadcasts, then the newest 20 drafts, with whether the contact would get each if it were sent now. Not part of the hosted API.',
  params: path({ id: pathText('The id or the address of the contact.') }),
  response: { 200: ContactBroadcastList },
})

/** Formats an element of GET /contacts/:id/broadcasts. */
export function presentContactBroadcast({
  broadcast: { id, name, status, scheduledAt },
  prospect,
}: {
  broadcast: Broadcast
  prospect: RecipientPreview
}): ContactBroadcasts['data'][number] {
  return {
    id,
    name,
    status: status === 'scheduled' ? 'scheduled' : 'draft',
    scheduled_at: scheduledAt === null ? null : timestamp(scheduledAt),
    prospect,
  }
}
