/** Tells machines from people. Pure: what is known of a request goes in, an opinion comes out. */
import type { RobotRule } from '../mail/robot.ts'
import { inNetworks, parseNetworks, type Cidr } from '../wire/networks.ts'

/** Somebody came for the pixel or a link. */
export interface Visit {
  method: string
  ip: string
  userAgent: string
  /** Sec-Purpose, Purpose or X-Moz: what browsers say that load ahead of the person. */
  purpose: string
}

/** What is known of the moment. */
export interface Moment {
  now: number
  /** When the first recipient's server took the email (Unix milliseconds); null: none has yet. */
  deliveredAt: number | null
  /** Different links of the email that the same address followed in the last seconds. */
  links: number
}

export interface Opinion {
  robot: boolean
  /** Who came instead of the person's own program; null: nobody known. */
  seenBy: string | null
}

/** Nobody reads so soon after the mail server took the email (milliseconds). */
const TOO_SOON = 2000
/** Nobody follows so many different links within seconds. */
const TOO_MANY = 4

export type Judge = (visit: Visit, moment: Moment) => Opinion

/** @param rules the first that fits decides */
export function createJudge(rules: readonly RobotRule[]): Judge {
  const known = rules.map((rule) => ({ rule, networks: parseNetworks(rule.networks) }))
  return (visit, { now, deliveredAt, links }) => {
    const robot = (seenBy: string): Opinion => ({ robot: true, seenBy })
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
  { rule, networks }: { rule: RobotRule; networks: readonly Cidr[] },
  { userAgent, ip }: Visit,
): boolean {
  const agent = userAgent.toLowerCase()
  const named = rule.agents.some((part) => agent.includes(part)) || rule.exactAgents.includes(agent)
  const anyName = rule.agents.length === 0 && rule.exactAgents.length === 0
  return (named || anyName) && (networks.length === 0 || inNetworks(ip, networks))
}
