/** Receiving rules of a domain. Not part of the hosted API. */
import { Type, type Static } from 'typebox'
import {
  MAX_PATTERN_LENGTH,
  MAX_FORWARD_ADDRESSES,
  MAX_RULES_PER_DOMAIN,
  RECEIVING_ACTIONS,
} from '../mail/receiving-rules.ts'
import { operationsIn } from './operation.ts'
import { byId } from './parameters.ts'
import { array, kind, literals, object, string } from './schemas.ts'
import { Id } from './shared.ts'

const rules = array(
  object('A rule.', {
    pattern: string('The part of the address before the @. `*` stands for any text.', {
      minLength: 1,
      maxLength: MAX_PATTERN_LENGTH,
      examples: ['support+*'],
    }),
    action: literals(
      RECEIVING_ACTIONS,
      'keep: store the message and send `email.received` · forward: the same, and send it on to the addresses in `to` · webhook: send `email.received` and store nothing · refuse: reply 550 · drop: accept and discard the message.',
    ),
    to: Type.Optional(
      array(
        Type.String({ maxLength: 320 }),
        'Where to forward mail. Required with `forward`, and not allowed with other actions.',
        { minItems: 1, maxItems: MAX_FORWARD_ADDRESSES, examples: [['ada@example.org']] },
      ),
    ),
  }),
  'The first rule that matches decides. Without a match, the message is kept. `postmaster` and `abuse` are always kept.',
  { maxItems: MAX_RULES_PER_DOMAIN },
)

export const ReceivingRules = object('What a domain does with mail to its addresses.', {
  object: kind('receiving_rules'),
  domain_id: Id,
  rules,
})
export type ReceivingRules = Static<typeof ReceivingRules>

export const UpdateReceivingRules = object('All rules of a domain.', { rules })

const operation = operationsIn('Receiving')

export const getReceivingRules = operation('GET /domains/:id/receiving-rules', {
  summary: "Get a domain's receiving rules",
  description: 'Not part of the hosted API.',
  params: byId,
  response: { 200: ReceivingRules },
})
export const setReceivingRules = operation('PUT /domains/:id/receiving-rules', {
  summary: "Replace a domain's receiving rules",
  description: 'They apply from the next message on. Not part of the hosted API.',
  params: byId,
  body: UpdateReceivingRules,
  response: { 200: ReceivingRules },
})
