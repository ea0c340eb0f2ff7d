/** Distinguishes bots from people by the properties of a request. Pure. */
import type { BotRule } from '../mail/bot-rule.ts'
import { isInNetworks, parseNetworks, type Cidr } from '../wire/networks.ts'

/** A request for the pixel or a link. */
export interface Visit {
  method: string
  ip: string
  userAgent: string
  /** The Sec-Purpose, Purpose or X-Moz header, which browsers send when they prefetch. */
  purpose: string
}

/** Facts about the visit besides the request. */
export interface VisitContext {
  now: number
  /** When the first recipient's server accepted the email (Unix milliseconds); null before that. */
  deliveredAt: number | null
  /** Number of different links of the email that the same IP followed in the last seconds. */
  links: number
}

export interface VisitClassification {
  robot: boolean
  /** The program that made the visit in place of the recipient's own; null if unknown. */
  seenBy: string | null
}

/** No one opens an email this soon after delivery (milliseconds). */
const TOO_SOON = 2000
/** No one follows this many different links within seconds. */
const TOO_MANY = 4

export type ClassifyVisit = (visit: Visit, moment: VisitContext) => VisitClassification

/**
 * Creates a function that decides whether a visit was made by a bot.
 * @param rules the first matching rule applies
 */
export function createBotClassifier(rules: readonly BotRule[]): ClassifyVisit {
  const known = rules.map((rule) => ({ rule, networks: parseNetworks(rule.networks) }))
  return (visit, { now, deliveredAt, links }) => {
    const robot = (seenBy: string): VisitClassification => ({ robot: true, seenBy })
    if (visit.method !== 'GET') return robot('sent a HEAD request')
    if (/prefetch|preview|prerender/i.test(visit.purpose)) return robot('prefetched the content')
    if (visit.userAgent === '') return robot('sent no User-Agent')
    const rule = known.find((one) => fits(one, visit))?.rule
    if (rule?.is === 'robot') return robot(rule.name)
    if (deliveredAt === null) return robot('visited before delivery')
    if (now - deliveredAt < TOO_SOON) return robot('visited within seconds of delivery')
    if (links >= TOO_MANY) return robot('followed many links at once')
    return { robot: false, seenBy: rule?.name ?? null }
  }
}

function fits(
  { rule, networks }: { rule: BotRule; networks: readonly Cidr[] },
  { userAgent, ip }: Visit,
): boolean {
  const agent = userAgent.toLowerCase()
  const named = rule.agents.some((part) => agent.includes(part)) || rule.exactAgents.includes(agent)
  const anyName = rule.agents.length === 0 && rule.exactAgents.length === 0
  return (named || anyName) && (networks.length === 0 || isInNetworks(ip, networks))
}
