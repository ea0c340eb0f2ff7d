import type { Stream } from '../../../appliance/mail/source.ts'
import { createRandom } from '../../../appliance/simulation/recipients.ts'
import { PERSONALITIES } from './personalities.ts'
import { domainsOf, type Mailbox, type Personality } from './personality.ts'

/** One email of a campaign. */
export interface PlannedEmail {
  /** Index of the team, from 0. */
  team: number
  stream: Stream
  to: string[]
}

/** A planned delivery and its expected outcome. */
export interface PlannedDelivery {
  recipient: string
  personality: Personality
  mailbox: Mailbox
  team: number
  stream: Stream
}

export interface Plan {
  emails: PlannedEmail[]
  /** By recipient. Each recipient gets one email. */
  deliveries: Map<string, PlannedDelivery>
}

/** Each team's share of the mail: one large, one medium, one small. */
const TEAM_SHARES: readonly number[] = [60, 30, 10]
const TRANSACTIONAL = 0.3
/** Share of emails with several recipients. */
const TO_SEVERAL = 0.03
const SEVERAL = 5

export const TEAMS = TEAM_SHARES.length

/** Plans a campaign with this many deliveries. The same seed gives the same plan. */
export function planCampaign(count: number, seed: number): Plan {
  const random = createRandom(seed)
  const plan: Plan = { emails: [], deliveries: new Map() }
  while (plan.deliveries.size < count) {
    const team = pick(TEAM_SHARES, random)
    const stream: Stream = random() < TRANSACTIONAL ? 'transactional' : 'broadcast'
    const several = stream === 'transactional' && random() < TO_SEVERAL ? SEVERAL : 1
    const to = Array.from({ length: Math.min(several, count - plan.deliveries.size) }, () => {
      const delivery = planDelivery(plan.deliveries.size, { team, stream }, random)
      plan.deliveries.set(delivery.recipient, delivery)
      return delivery.recipient
    })
    plan.emails.push({ team, stream, to })
  }
  return plan
}

const SHARES = PERSONALITIES.map(({ share }) => share)

function planDelivery(
  number: number,
  { team, stream }: Pick<PlannedEmail, 'team' | 'stream'>,
  random: () => number,
): PlannedDelivery {
  // The first deliveries cover every personality, so that even small campaigns include all of them.
  const personality = PERSONALITIES[number] ?? PERSONALITIES[pick(SHARES, random)]!
  const domains = domainsOf(personality)
  const domain = domains[Math.floor(random() * domains.length)]!
  const { unknown, full } = personality.mix ?? { unknown: 3, full: 0.5 }
  const mailbox = (['unknown', 'full', 'ok'] as const)[pick([unknown, full, 100 - unknown - full], random)]!
  const recipient = `r${number.toString().padStart(6, '0')}.${stream[0]}${team}-${mailbox}@${domain}`
  return { recipient, personality, mailbox, team, stream }
}

/** Picks an index with a probability proportional to its weight. */
function pick(weights: readonly number[], random: () => number): number {
  let left = random() * weights.reduce((sum, weight) => sum + weight, 0)
  const found = weights.findIndex((weight) => (left -= weight) < 0)
  return found < 0 ? weights.length - 1 : found
}
