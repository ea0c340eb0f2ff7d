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
import { path, pathId } from './parameters.ts'
import { described, Id, kind, literals, Nullable } from './shared.ts'

const mode = literals(
  RULE_MODES,
  described(
    'What happens to bulk mail that breaks a rule. block: it is refused. warn: reviews and insights say so. off: nothing.',
  ),
)
const provider = Type.String(described('Id of the mailbox provider.'))
const name = Type.String(described('Its name.'))

/** GET and PUT /provider-rules. Not part of the hosted API. */
export const ProviderRules = Type.Object(
  {
    object: kind('provider_rules'),
    mode,
    rules: Type.Array(
      Type.Object({
        id: Type.String({ description: 'Id of the rule.', examples: ['gmail-dmarc'] }),
        provider,
        provider_name: name,
        check: literals(RULE_CHECKS, described('What it asks for.')),
        bulk_from: Nullable(
          Type.Integer(),
          described('Messages a day to the provider from which it applies; null: it always does.'),
        ),
        limit: Nullable(
          Type.Number(),
          described('Share of delivered emails, from 0 to 1; only for complaints.'),
        ),
        reply: Nullable(Type.String(), described('Code in replies to mail that breaks it; null: not known.')),
        source: Type.String(described('Where the provider publishes it.')),
        since: Type.String({ description: 'Since when it is enforced.', examples: ['2024-02-01'] }),
      }),
      described('All rules.'),
    ),
  },
  described('The rules of mailbox providers, and the mode of the team.'),
)
export type ProviderRules = Static<typeof ProviderRules>

/** PUT /provider-rules */
export const UpdateProviderRules = Type.Object({ mode }, described('The mode of the team.'))

/** GET /domains/:id/provider-rules. Not part of the hosted API. */
export const DomainProviderRules = Type.Object(
  {
    object: kind('domain_provider_rules'),
    domain_id: Id,
    mode,
    providers: Type.Array(
      Type.Object({
        provider,
        name,
        bulk_from: Type.Integer(described('Messages a day that make a bulk sender.')),
        messages: Type.Integer(described('Messages to it in the last 24 hours.')),
        bulk: Type.Boolean(described('Whether the domain is a bulk sender there.')),
      }),
      described('The providers that have rules.'),
    ),
    insights: Type.Array(Insight, described('One for each check; none if the mode is off.')),
  },
  described('Whether the mail of a domain meets the rules of mailbox providers.'),
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
  params: path({ id: pathId }),
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
