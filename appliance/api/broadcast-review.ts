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
import {
  array,
  arrayOfObjects,
  boolean,
  count,
  kind,
  literals,
  Nullable,
  object,
  optionalText,
  record,
  string,
} from './schemas.ts'
import { Id, listOf, Timestamp } from './shared.ts'
import { timestamp } from './timestamp.ts'

export const TestBroadcast = object('A test of a broadcast.', {
  // Optional here, so that a broadcast of another team gets `not_found` before any other error.
  to: Type.Optional(
    Type.Union([Type.String(), Type.Array(Type.String())], {
      description: 'Who gets it: at most 5 addresses. Required.',
    }),
  ),
  variant: Type.Optional(string('The variant of its A/B test, such as `B`. Default: A.')),
  contact_id: optionalText('Id or address of the contact whose values it has. Default: sample values.'),
})

export const BroadcastTested = object('A test that was sent.', {
  object: kind('broadcast'),
  id: Id,
  email_ids: array(Id, 'The emails.'),
})

const whoGetsIt = {
  contacts: count('Contacts of the segment.'),
  eligible: count('Those that would get it.'),
  estimated: boolean('Whether the numbers are estimated from the first 50,000.'),
  out: record(Type.Integer(), 'Those that would not, by reason.'),
}
export const BroadcastEligible = object('Who would get a draft if it were sent now.', {
  object: kind('broadcast_eligible'),
  id: Id,
  ...whoGetsIt,
})

export const BroadcastReview = object('A review of a draft before it is sent.', {
  findings: array(Insight, 'What was checked, the most urgent first.'),
  recipients: object('Who would get it.', whoGetsIt),
  providers: providerForecast,
  forecast: object('How long sending takes. Providers that are not known yet are left out.', {
    hours: Nullable(
      Type.Number(),
      'Hours until the last email was attempted, with the wait of an A/B test; null: not known, or more than 60 days.',
    ),
    done_at: Nullable(
      Timestamp,
      'About when that is, if it is sent now, or at `scheduled_at`; null: not known.',
    ),
  }),
  links: arrayOfObjects('The links of the HTML, or of the text if there is no HTML.', {
    text: string('The text of the link, or the description of its image; empty: neither.'),
    url: string('Where it leads, with merge tags as they are in the draft.'),
    kind: literals(
      LINK_KINDS,
      'web · unsubscribe: the page where each recipient unsubscribes · merge_tag: another address for each recipient · other: no web address, such as mailto.',
    ),
    count: count('How often it is in the content.'),
  }),
  tags: arrayOfObjects('Merge tags, and how many contacts have no value.', {
    key: string('The name in the tag.'),
    fallback: Nullable(Type.String(), 'Used for contacts without a value.'),
    missing: count('Contacts without a value.'),
    known: boolean('Whether there is a field or property of that name.'),
  }),
  looked: count('Contacts that the tags were counted for.'),
  samples: arrayOfObjects('What some contacts would get.', {
    email: string('The address.'),
    subject: string('The subject.'),
    text: string('The beginning of the last part.'),
  }),
})

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

export const ContactBroadcastList = listOf(
  object('A broadcast that is not sent yet.', {
    id: Id,
    name: string('The name.'),
    status: literals(['scheduled', 'draft'], 'The status.'),
    scheduled_at: Nullable(Timestamp, 'When it is sent; null: not scheduled.'),
    prospect: literals(
      RECIPIENT_PREVIEWS,
      'eligible: the contact would get it · not_in_segment · excluded: in an excluded segment · unsubscribed · topic: opted out of its topic · suppressed: the address is on the suppression list.',
    ),
  }),
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
