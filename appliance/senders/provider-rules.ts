/** Collects facts about a domain's mail, and checks it against the rules of mailbox providers. */
import type { Clock } from '../clock/clock.ts'
import type { Insight } from '../mail/insight.ts'
import {
  evaluateRules,
  formatProblem,
  selectRules,
  type ProviderRules,
  type RuleFacts,
  type RuleMode,
  type RulesProvider,
} from '../mail/provider-rules.ts'
import { refuse } from '../mail/refusals.ts'
import type { Domain, Storage } from '../storage/storage.ts'
import { computeStatusLights } from './recommended.ts'

/** Whether a domain's mail complies with the rules. */
export interface RuleCompliance {
  mode: RuleMode
  /** One insight for each check; empty if the mode is `off`. */
  insights: Insight[]
  /** Number of messages to each provider in the last 24 hours, and whether it makes the domain a bulk sender. */
  volumes: { provider: RulesProvider; messages: number; bulk: boolean }[]
}

/** The mail to check. Broadcasts always count as bulk mail, because their volume is known too late. */
export interface RuleCheckInput {
  domain: Domain
  /** Origin of the opt-out links of a broadcast; null if it has none. Undefined for other mail. */
  broadcast?: { origin: string | null } | undefined
  /**
   * Share of a provider's bulk threshold from which mail counts as bulk mail; a value below 1 warns early. Default: 1.
   */
  nearly?: number
}

export interface ProviderRuleChecker {
  /** Returns the rules. */
  rules(): ProviderRules
  /** Checks the mail of a domain against the rules. */
  standing(mail: RuleCheckInput): Promise<RuleCompliance>
  /**
   * Checks whether mail may be sent.
   * Refuses: `provider_rules`, if the team blocks bulk mail that breaks rules, and this mail does.
   */
  permit(mail: RuleCheckInput): Promise<void>
  /**
   * Like `permit`, for mail other than broadcasts, but only for recipients at providers to which the domain sends bulk
   * mail. Caches the facts about a domain for 30 seconds, because this runs for each email.
   */
  permitTo(domain: Domain, recipients: Iterable<string>): Promise<void>
}

export interface ProviderRuleCheckerDeps {
  storage: Pick<
    Storage,
    | 'getTeam'
    | 'sumMetrics'
    | 'breakDownMetrics'
    | 'listSources'
    | 'listAssignments'
    | 'regionMap'
    | 'listTlsResults'
  >
  clock: Clock
  /** Called for each check, because the rules can be replaced. */
  rules: () => ProviderRules
}

const DAY = 86_400_000
const QUARTER = 900_000
/** Number of past days whose complaints count. */
const COMPLAINT_DAYS = 7
/** How long `permitTo` caches the facts about a domain (milliseconds), and for how many domains. */
const KEPT_MS = 30_000
const MOST_KEPT = 10_000
/** Maximum number of TLS session results read for one recipient domain. */
const MOST_RESULTS = 1000

export function createProviderRuleChecker(deps: ProviderRuleCheckerDeps): ProviderRuleChecker {
  const { clock, rules } = deps
  const kept = new Map<string, { until: number; refusals: Promise<ReadonlyMap<string, string>> }>()
  const standing = (mail: RuleCheckInput): Promise<RuleCompliance> => judge(deps, mail)

  /** Returns, for each recipient domain that must not receive mail, the reason. */
  const refusals = async (domain: Domain): Promise<ReadonlyMap<string, string>> => {
    const team = await deps.storage.getTeam({ id: domain.teamId }, clock.now())
    if (team?.providerRules !== 'block') return new Map()
    const { mode, volumes } = await standing({ domain })
    if (!volumes.some(({ bulk }) => bulk)) return new Map()
    const facts = await factsOf(deps, { domain })
    return new Map(
      volumes.flatMap(({ provider, bulk }) => {
        const about = selectRules(rules(), () => bulk).filter((one) => one.provider.id === provider.id)
        const reasons = bulk ? brokenIn(evaluateRules(about, facts, mode)) : ''
        return reasons === '' ? [] : provider.domains.map((name) => [name, reasons] as const)
      }),
    )
  }

  return {
    rules,
    standing,
    async permit(mail) {
      const { mode, insights } = await standing(mail)
      const reasons = mode === 'block' ? brokenIn(insights) : ''
      if (reasons !== '') throw refuse('provider_rules', { reasons })
    },
    async permitTo(domain, recipients) {
      const now = clock.now()
      let known = kept.get(domain.id)
      if (!known || known.until <= now) {
        if (kept.size >= MOST_KEPT) kept.clear()
        known = { until: now + KEPT_MS, refusals: refusals(domain) }
        kept.set(domain.id, known)
        // The caller reports the failure; the next email tries again.
        known.refusals.catch(() => kept.delete(domain.id))
      }
      const refused = await known.refusals
      if (refused.size === 0) return
      for (const name of recipients) {
        const reasons = refused.get(name.toLowerCase())
        if (reasons !== undefined) throw refuse('provider_rules', { reasons })
      }
    },
  }
}

/** Joins the reasons of broken rules; empty if no rule is broken. */
const brokenIn = (insights: readonly Insight[]): string =>
  insights
    .filter(({ verdict }) => verdict !== 'pass')
    .map(formatProblem)
    .join(' ')

async function judge(deps: ProviderRuleCheckerDeps, mail: RuleCheckInput): Promise<RuleCompliance> {
  const { storage, clock, rules } = deps
  const { domain, broadcast, nearly = 1 } = mail
  const team = await storage.getTeam({ id: domain.teamId }, clock.now())
  const mode = team?.providerRules ?? 'warn'
  const table = rules()
  const volumes = await volumesOf(deps, domain, table, nearly)
  if (mode === 'off') return { mode, insights: [], volumes }
  const isBulk = ({ id }: RulesProvider): boolean =>
    broadcast !== undefined || volumes.some(({ provider, bulk }) => provider.id === id && bulk)
  return {
    mode,
    volumes,
    insights: evaluateRules(selectRules(table, isBulk), await factsOf(deps, mail), mode),
  }
}

/** Each roll-up covers a whole quarter of an hour. */
const endOfQuarter = (now: number): number => Math.floor(now / QUARTER) * QUARTER + QUARTER

/** Counts the messages to each provider in the last 24 hours. */
async function volumesOf(
  { storage, clock }: ProviderRuleCheckerDeps,
  { teamId, id }: Domain,
  { providers }: ProviderRules,
  nearly: number,
): Promise<RuleCompliance['volumes']> {
  const end = endOfQuarter(clock.now())
  const sums = await storage.breakDownMetrics(
    {
      teamId,
      domainIds: [id],
      range: { start: end - DAY, end },
      by: 'provider',
      counters: ['delivered', ...BOUNCES],
      most: 100,
    },
    clock.now(),
  )
  return providers.map((provider) => {
    // Until a recipient domain has been looked up, its mail counts under its own name.
    const names = [provider.id, ...provider.domains.map((name) => `?${name}`)]
    const own = sums.filter(({ value }) => value !== null && names.includes(value))
    const messages = own.reduce((sum, { n }) => sum + n, 0)
    return { provider, messages, bulk: messages >= provider.bulk * nearly }
  })
}

/** A delivery ends with one of these outcomes or with `delivered`. */
const BOUNCES = ['bounced_permanent', 'bounced_transient', 'bounced_undetermined']

/** Reads the facts that the rules need. Records and IPs are evaluated by their last background check. */
async function factsOf(
  { storage, clock, rules }: ProviderRuleCheckerDeps,
  { domain, broadcast }: RuleCheckInput,
): Promise<RuleFacts> {
  const now = clock.now()
  const [sources, assignments] = [await storage.listSources({}, now), await storage.listAssignments({}, now)]
  const regions = await storage.regionMap({}, now)
  const lights = new Map(
    computeStatusLights(domain, { sources, assignments, regions }).map((light) => [light.name, light]),
  )
  const isBroken = (name: 'SPF' | 'DKIM' | 'DMARC'): boolean =>
    ['failed', 'pending'].includes(lights.get(name)?.status ?? '')
  const ptr = lights.get('PTR')
  return {
    domain: domain.name,
    broken: { spf: isBroken('SPF'), dkim: isBroken('DKIM'), dmarc: isBroken('DMARC') },
    reverseDns: ptr?.status === 'failed' ? ptr.note : null,
    complaints: await complaintsOf(storage, domain, now),
    tls: await tlsOf(storage, rules().providers, now),
    oneClick: broadcast === undefined ? null : (broadcast.origin?.startsWith('https:') ?? false),
  }
}

async function complaintsOf(
  storage: ProviderRuleCheckerDeps['storage'],
  { teamId, id }: Domain,
  now: number,
): Promise<RuleFacts['complaints']> {
  const end = endOfQuarter(now)
  const ranges = [{ start: end - COMPLAINT_DAYS * DAY, end }]
  const sums = await storage.sumMetrics({ teamId, domainIds: [id], ranges, together: true }, now)
  const of = (name: string): number => sums.find(({ counter }) => counter === name)?.n ?? 0
  return { delivered: of('delivered'), complained: of('complained') }
}

/** Counts the TLS sessions of this server with each provider, yesterday and today. */
async function tlsOf(
  storage: ProviderRuleCheckerDeps['storage'],
  providers: readonly RulesProvider[],
  now: number,
): Promise<RuleFacts['tls']> {
  const since = new Date(now - DAY).toISOString().slice(0, 10)
  const counts = new Map<string, { sessions: number; plain: number }>()
  for (const { id, domains } of providers) {
    const count = { sessions: 0, plain: 0 }
    for (const domain of domains)
      for (const { result, sessions } of await storage.listTlsResults(
        { since, domain, limit: MOST_RESULTS },
        now,
      )) {
        count.sessions += sessions
        if (result === 'starttls-not-supported') count.plain += sessions
      }
    counts.set(id, count)
  }
  return counts
}
