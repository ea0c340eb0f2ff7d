/** Advice on the deliverability of an email. */
import { Type, type Static } from 'typebox'
import { VERDICTS } from '../mail/insight.ts'
import { operationsIn } from './operation.ts'
import { path, pathId } from './parameters.ts'
import { SendEmail } from './sending.ts'
import { described, kind, literals, Nullable } from './shared.ts'

export const Insight = Type.Object(
  {
    id: Type.String({ description: 'Which check.', examples: ['dmarc'] }),
    verdict: literals(
      VERDICTS,
      described(
        'block: it can’t be sent like this. attention: receivers or readers may object. advice: it could be better. pass: no problem.',
      ),
    ),
    note: Type.String(described('What was found, as a sentence.')),
    why: Nullable(Type.String(), described('Why it matters; null if it passed.')),
    fix: Nullable(Type.String(), described('What to do about it; null if it passed.')),
    evidence: Type.Array(Type.String(), described('What it was seen in, such as links; at most 5.')),
  },
  described('The result of one check.'),
)

const Insights = Type.Object(
  {
    object: kind('insights'),
    insights: Type.Array(Insight, described('The most urgent first.')),
  },
  described('Advice on an email.'),
)
export type Insights = Static<typeof Insights>

const operation = operationsIn('Emails')

export const getEmailInsights = operation('GET /emails/:id/insights', {
  summary: 'Get advice on an email',
  description:
    'Checks sender, subject, size, links, images and parts of an email, with the current state of its domain. Not part of the hosted API.',
  params: path({ id: pathId }),
  response: { 200: Insights },
})

export const createInsights = operation('POST /insights', {
  access: 'sending',
  summary: 'Check an email without sending it',
  description:
    'Takes the body of POST /emails, checks it as acceptance would, and returns advice. Nothing is sent or stored. Files given by URL aren’t fetched. Not part of the hosted API.',
  body: SendEmail,
  response: { 200: Insights },
})

/** Formats the response. */
export const presentInsights = (insights: Insights['insights']): Insights => ({
  object: 'insights',
  insights,
})
