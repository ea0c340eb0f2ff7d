/** Rules of mailbox providers for senders, and checks of mail against them. Pure. */
import { sortByUrgency, createInsight, type Insight } from './insight.ts'

export const RULE_CHECKS = [
  'spf-or-dkim',
  'spf',
  'dkim',
  'dmarc',
  'reverse-dns',
  'tls',
  'complaints',
  'one-click',
  'freemail',
] as const
export type RuleCheck = (typeof RULE_CHECKS)[number]

/** What happens to bulk mail that breaks a rule. `warn`: the review and the insights show a warning. */
export const RULE_MODES = ['block', 'warn', 'off'] as const
export type RuleMode = (typeof RULE_MODES)[number]

/** A provider that publishes rules. */
export interface RulesProvider {
  /** ID in the table of providers. */
  id: string
  name: string
  /** Number of messages per day to the provider's mailboxes that makes a bulk sender. */
  bulk: number
  /** Domains of the provider's mailboxes. */
  domains: readonly string[]
}

/** One rule of a provider. */
export interface ProviderRule {
  id: string
  /** Its `RulesProvider.id`. */
  provider: string
  check: RuleCheck
  /** Whether the rule is for bulk senders only. */
  bulk: boolean
  /** Share of delivered emails; only for complaints. */
  limit: number | null
  /** The code in replies to mail that breaks the rule; null if unknown. */
  reply: string | null
  source: string
  /** Date from which the rule is enforced, YYYY-MM-DD. */
  date: string
}

export interface ProviderRules {
  providers: readonly RulesProvider[]
  rules: readonly ProviderRule[]
}

/** The facts about the mail of a domain. */
export interface RuleFacts {
  domain: string
  /**
   * Whether each record is known to be missing or invalid. The signature and the return path always belong to the
   * domain.
   */
  broken: { spf: boolean; dkim: boolean; dmarc: boolean }
  /** Problems with the reverse DNS of the IPs, as sentences with the fix; null if there are none. */
  reverseDns: string | null
  /** Numbers of emails of the last days, and of those reported as spam. */
  complaints: { delivered: number; complained: number }
  /** Numbers of TLS sessions with each provider, by `RulesProvider.id`, and of those that could not be encrypted. */
  tls: ReadonlyMap<string, { sessions: number; plain: number }>
  /** Whether opting out takes one click (RFC 8058); null if the mail needs no opt-out. */
  oneClick: boolean | null
}

/** Minimum number of complaints; fewer are not significant, whatever their share. */
const LEAST_COMPLAINTS = 4

/** Returns the share of delivered emails that were complained about; 0 while there are too few to judge. */
const complaintRate = ({ delivered, complained }: RuleFacts['complaints']): number =>
  complained < LEAST_COMPLAINTS || delivered === 0 ? 0 : complained / delivered

/** Whether mail with these facts breaks a rule. */
export function breaksRule(rule: ProviderRule, provider: RulesProvider, facts: RuleFacts): boolean {
  const { broken, reverseDns, complaints, tls, oneClick } = facts
  switch (rule.check) {
    case 'spf-or-dkim':
      return broken.spf && broken.dkim
    case 'spf':
    case 'dkim':
    case 'dmarc':
      return broken[rule.check]
    case 'reverse-dns':
      return reverseDns !== null
    case 'tls':
      return (tls.get(provider.id)?.plain ?? 0) > 0
    case 'complaints':
      return complaintRate(complaints) >= (rule.limit ?? 1)
    case 'one-click':
      return oneClick === false
    case 'freemail':
      return provider.domains.includes(facts.domain)
  }
}

/** The rules for a sender, by whether it is a bulk sender at each provider. */
export function selectRules(
  { providers, rules }: ProviderRules,
  isBulk: (provider: RulesProvider) => boolean,
): { rule: ProviderRule; provider: RulesProvider }[] {
  return rules.flatMap((rule) => {
    const provider = providers.find(({ id }) => id === rule.provider)
    return provider && (!rule.bulk || isBulk(provider)) ? [{ rule, provider }] : []
  })
}

/**
 * Checks mail against the rules and returns one insight for each check. `mode` determines how severe a broken rule is.
 */
export function evaluateRules(
  rules: readonly { rule: ProviderRule; provider: RulesProvider }[],
  facts: RuleFacts,
  mode: RuleMode,
): Insight[] {
  if (mode === 'off') return []
  const checks = RULE_CHECKS.filter((check) => rules.some(({ rule }) => rule.check === check))
  const judged = checks.flatMap((check) => {
    if (check === 'one-click' && facts.oneClick === null) return []
    const about = rules.filter(({ rule }) => rule.check === check)
    const broken = about.filter(({ rule, provider }) => breaksRule(rule, provider, facts))
    const named = broken.length > 0 ? broken : about
    const who = listOf([...new Set(named.map(({ provider }) => provider.name))])
    const replies = [...new Set(broken.map(({ rule }) => rule.reply).filter((reply) => reply !== null))]
    const { note, fix, well } = WORDS[check](facts, who, named)
    const why = replies.length > 0 ? `Such mail is refused with ${listOf(replies)}, or lands in spam.` : LANDS
    const evidence = broken.map(({ rule }) => rule.source)
    const verdict = broken.length === 0 ? null : mode === 'block' ? 'block' : 'attention'
    return [createInsight(`rule-${check}`, verdict, { note, why, fix, well, evidence })]
  })
  // If both SPF and DKIM are missing, the separate insights about each of them are redundant.
  const neither = judged.some(({ id, verdict }) => id === 'rule-spf-or-dkim' && verdict !== 'pass')
  return sortByUrgency(neither ? judged.filter(({ id }) => id !== 'rule-spf' && id !== 'rule-dkim') : judged)
}

const LANDS = 'Such mail is deferred, refused, or lands in spam.'

/** Returns the problem and its fix as one text. */
export function formatProblem({ note, fix }: Insight): string {
  const todo = fix ?? ''
  return `${note.replace(/\.$/, '')}: ${todo.charAt(0).toLowerCase()}${todo.slice(1)}`
}

const listOf = (names: readonly string[]): string =>
  names.length < 2 ? names.join() : `${names.slice(0, -1).join(', ')} and ${names.at(-1)!}`

const percent = (share: number): string => `${Number((share * 100).toFixed(2))}%`

type Words = (
  facts: RuleFacts,
  who: string,
  about: readonly { rule: ProviderRule; provider: RulesProvider }[],
) => { note: string; fix: string; well: string }

const record =
  (name: string): Words =>
  ({ domain }, who) => ({
    note: `${domain} has no valid ${name} record, which bulk mail to ${who} needs.`,
    fix: `Publish the one shown for ${domain} under Domains.`,
    well: `${name} passes for ${domain}, which bulk mail to ${who} needs.`,
  })

const WORDS: Record<RuleCheck, Words> = {
  spf: record('SPF'),
  dkim: record('DKIM'),
  dmarc: record('DMARC'),
  'spf-or-dkim': ({ domain }, who) => ({
    note: `${domain} has neither a valid SPF nor a DKIM record, and mail to ${who} needs one of them.`,
    fix: `Publish those shown for ${domain} under Domains.`,
    well: `SPF or DKIM passes for ${domain}, which mail to ${who} needs.`,
  }),
  'reverse-dns': ({ reverseDns }, who) => ({
    note: `The reverse DNS of a sending IP is wrong, and mail to ${who} needs it.`,
    fix: reverseDns ?? '',
    well: `The sending IPs have valid reverse DNS, which mail to ${who} needs.`,
  }),
  tls: ({ tls }, who, about) => {
    const counts = about.map(({ provider }) => tls.get(provider.id) ?? { sessions: 0, plain: 0 })
    const sum = (of: (one: (typeof counts)[number]) => number): number =>
      counts.reduce((n, one) => n + of(one), 0)
    return {
      note: `${sum(({ plain }) => plain)} of ${sum(({ sessions }) => sessions)} connections to ${who} weren’t encrypted, which breaks a rule.`,
      fix: 'Let port 25 go out directly, because firewalls that inspect it often remove STARTTLS.',
      well: `No connection to ${who} was left unencrypted.`,
    }
  },
  complaints: ({ complaints }, who, about) => {
    const limit = percent(Math.min(...about.map(({ rule }) => rule.limit ?? 1)))
    return {
      note: `${percent(complaintRate(complaints))} of the emails of the last 7 days were reported as spam; the limit of ${who} is ${limit}.`,
      fix: 'Send only to people who asked for it until the rate has fallen.',
      well: `Fewer emails were reported as spam than the limit of ${who}, ${limit}.`,
    }
  },
  'one-click': (_facts, who) => ({
    note: `Readers can’t opt out with one click, which bulk mail to ${who} needs.`,
    fix: 'Set `http.public_url` to an https URL that everybody can reach.',
    well: `Readers can opt out with one click, which bulk mail to ${who} needs.`,
  }),
  freemail: ({ domain }, who) => ({
    note: `From is at ${domain}, and ${who} refuses mail from there that it didn’t send.`,
    fix: 'Send from a domain of your own.',
    well: 'From is not at a provider of free mailboxes.',
  }),
}

/** Adds the insights of provider rules to other insights. Insights about DNS records replace the general one. */
export function mergeRuleInsights(insights: readonly Insight[], judged: readonly Insight[]): Insight[] {
  const told = judged.some(
    ({ id, verdict }) => verdict !== 'pass' && ['rule-spf', 'rule-dmarc', 'rule-spf-or-dkim'].includes(id),
  )
  return sortByUrgency([...insights.filter(({ id }) => !(told && id === 'dmarc')), ...judged])
}
