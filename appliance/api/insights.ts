/** Advice on the deliverability of an email. */
import { Type, type Static } from 'typebox'
import { VERDICTS } from '../mail/insight.ts'
import { operationsIn } from './operation.ts'
import { byId } from './parameters.ts'
import { SendEmail } from './sending.ts'
import { array, kind, literals, Nullable, object, string } from './schemas.ts'

export const Insight = object('The result of one check.', {
  id: string('Which check.', { examples: ['dmarc'] }),
  verdict: literals(
    VERDICTS,
    'block: it can’t be sent like this. attention: receivers or readers may object. advice: it could be better. pass: no problem.',
  ),
  note: string('What was found, as a sentence.'),
  why: Nullable(Type.String(), 'Why it matters; null if it passed.'),
  fix: Nullable(Type.String(), 'What to do about it; null if it passed.'),
  evidence: array(Type.String(), 'What it was seen in, such as links; at most 5.'),
})

const Insights = object('Advice on an email.', {
  object: kind('insights'),
  insights: array(Insight, 'The most urgent first.'),
})
export type Insights = Static<typeof Insights>

const operation = operationsIn('Emails')

export const getEmailInsights = operation('GET /emails/:id/insights', {
  summary: 'Get advice on an email',
  description:
    'Checks sender, subject, size, links, images and parts of an email, with the current state of its domain. Not part of the hosted API.',
  params: byId,
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
