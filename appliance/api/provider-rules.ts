/** The rules of mailbox providers for senders, and a domain's compliance with them. */
import { Type, type Static } from 'typebox'
import {
  RULE_CHECKS,
  RULE_MODES,
  type ProviderRules as Table,
  type RuleMode,
} from '../mail/provider-rules.ts'
import type { RuleCompliance } from '../senders/senders.ts'
import { Insight } from './insights.ts'
import { operationsIn } from './operation.ts'
import { byId } from './parameters.ts'
import {
  array,
  arrayOfObjects,
  boolean,
  integer,
  kind,
  literals,
  Nullable,
  object,
  string,
} from './schemas.ts'
import { Id } from './shared.ts'

const mode = literals(
  RULE_MODES,
  'What happens to bulk mail that breaks a rule. block: it is refused. warn: reviews and insights say so. off: nothing.',
)
const provider = string('Id of the mailbox provider.')
const name = string('Its name.')

/** GET and PUT /provider-rules. Not part of the hosted API. */
export const ProviderRules = object('The rules of mailbox providers, and the mode of the team.', {
  object: kind('provider_rules'),
  mode,
  rules: arrayOfObjects('All rules.', {
    id: string('Id of the rule.', { examples: ['gmail-dmarc'] }),
    provider,
    provider_name: name,
    check: literals(RULE_CHECKS, 'What it asks for.'),
    bulk_from: Nullable(
      Type.Integer(),
      'Messages a day to the provider from which it applies; null: it always does.',
    ),
    limit: Nullable(Type.Number(), 'Share of delivered emails, from 0 to 1; only for complaints.'),
    reply: Nullable(Type.String(), 'Code in replies to mail that breaks it; null: not known.'),
    source: string('Where the provider publishes it.'),
    since: string('Since when it is enforced.', { examples: ['2024-02-01'] }),
  }),
})
export type ProviderRules = Static<typeof ProviderRules>

export const UpdateProviderRules = object('The mode of the team.', { mode })

/** GET /domains/:id/provider-rules. Not part of the hosted API. */
export const DomainProviderRules = object(
  'Whether the mail of a domain meets the rules of mailbox providers.',
  {
    object: kind('domain_provider_rules'),
    domain_id: Id,
    mode,
    providers: arrayOfObjects('The providers that have rules.', {
      provider,
      name,
      bulk_from: integer('Messages a day that make a bulk sender.'),
      messages: integer('Messages to it in the last 24 hours.'),
      bulk: boolean('Whether the domain is a bulk sender there.'),
    }),
    insights: array(Insight, 'One for each check; none if the mode is off.'),
  },
)
export type DomainProviderRules = Static<typeof DomainProviderRules>

const operation = operationsIn('Domains')

export const getProviderRules = operation('GET /provider-rules', {
  summary: 'Get the rules of mailbox providers',
  description: 'With their sources, and the mode of the team. Not part of the hosted API.',
  response: { 200: ProviderRules },
})

export const setProviderRules = operation('PUT /provider-rules', {
  summary: 'Set what happens to mail that breaks rules of mailbox providers',
  description:
    'Applies to broadcasts at once, and to other bulk mail within half a minute. Not part of the hosted API.',
  body: UpdateProviderRules,
  response: { 200: ProviderRules },
  errors: ['403'],
})

export const getDomainProviderRules = operation('GET /domains/:id/provider-rules', {
  summary: 'Check a domain against the rules of mailbox providers',
  description:
    'Based on the last checks of its records and IPs, the volume of the last 24 hours and the complaints of 7 days. Not part of the hosted API.',
  params: byId,
  response: { 200: DomainProviderRules },
})

/** Formats the response of GET /provider-rules. */
export function presentProviderRules(team: RuleMode, { providers, rules }: Table): ProviderRules {
  return {
    object: 'provider_rules',
    mode: team,
    rules: rules.map(({ id, provider: of, check, bulk, limit, reply, source, date }) => {
      const found = providers.find((one) => one.id === of)
      return {
        id,
        provider: of,
        provider_name: found?.name ?? of,
        check,
        bulk_from: bulk ? (found?.bulk ?? null) : null,
        limit,
        reply,
        source,
        since: date,
      }
    }),
  }
}

/** Formats the response of GET /domains/:id/provider-rules. */
export function presentRuleCompliance(domainId: string, standing: RuleCompliance): DomainProviderRules {
  return {
    object: 'domain_provider_rules',
    domain_id: domainId,
    mode: standing.mode,
    providers: standing.volumes.map(({ provider: { id, name: called, bulk: from }, messages, bulk }) => ({
      provider: id,
      name: called,
      bulk_from: from,
      messages,
      bulk,
    })),
    insights: standing.insights,
  }
}
