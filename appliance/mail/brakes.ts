/** The brakes of a broadcast: the results of its last emails that stop it, or its part for one provider. Pure. */
import type { Category } from './bounce.ts'
import type { BroadcastCounts, PauseFigures } from './broadcast.ts'

/** An email of a broadcast that was attempted lately. */
export interface RecentEmail {
  /** Empty if it isn't known yet. */
  provider: string
  lastEvent: string
  /** The category of its failure or delay; null if it neither failed nor was delayed. */
  category: Category | null
  /** Its first attempt (Unix milliseconds). */
  sentAt: number
}

/** The part of a broadcast for one provider, after a brake held it. */
export interface ProviderHold {
  /** When it was held; null: it was resumed. */
  heldAt: number | null
  figures: PauseFigures
  /** When it was last resumed. The brakes count only emails that were first attempted after that. */
  resumedAt: number | null
}
export type ProviderHolds = Readonly<Record<string, ProviderHold>>

/** What the brakes decide. */
export interface Braking {
  /** Providers whose part must be held. */
  held: Record<string, PauseFigures>
  /** Why the whole broadcast must pause; null: it goes on. */
  pause: { reason: keyof typeof BRAKES; figures: PauseFigures } | null
}

/** How many recent emails the brakes consider. */
export const BRAKE_WINDOW = 1000
/** The rates that pause a broadcast, and the minimum count. */
const BRAKES = {
  bounces: { share: 0.05, least: 10 },
  complaints: { share: 0.003, least: 4 },
} as const
/** From which share of complaints people are warned, and the minimum count. */
const WARNED = { share: 0.001, least: 2 } as const
/** Last events of emails that were delivered. */
const RECEIVED = ['delivered', 'opened', 'clicked', 'complained']
/** The share of a provider's emails that it refuses as spam or for reputation, and the minimum count. */
const REFUSED = { share: 0.2, least: 10 } as const
/** Replies of a filter: about the content, or about the reputation of an IP or a domain. */
const FILTERED: readonly (Category | null)[] = ['content', 'reputation']

/** Lists the providers whose part is held. */
export const heldProviders = (holds: ProviderHolds): string[] =>
  Object.entries(holds).flatMap(([provider, { heldAt }]) => (heldAt === null ? [] : [provider]))

/**
 * Decides whether a broadcast must pause. What a provider refuses counts for that provider first: its emails don't
 * count for the whole once its part is held.
 *
 * @param holds the providers that were held before
 */
export function brakesOf(recent: readonly RecentEmail[], holds: ProviderHolds): Braking {
  const held: Braking['held'] = {}
  const rest: RecentEmail[] = []
  for (const [provider, emails] of Map.groupBy(recent, (one) => one.provider)) {
    const hold = holds[provider]
    if (hold && hold.heldAt !== null) continue
    const since = hold?.resumedAt ?? -Infinity
    const counted = emails.filter(({ sentAt }) => sentAt > since)
    const count = counted.filter(({ lastEvent, category }) => isRefused(lastEvent, category)).length
    const of = counted.length
    if (provider !== '' && count >= REFUSED.least && count > of * REFUSED.share)
      held[provider] = { count, of }
    else rest.push(...counted)
  }
  return { held, pause: pauseOf(rest) }
}

const isRefused = (lastEvent: string, category: Category | null): boolean =>
  (lastEvent === 'bounced' || lastEvent === 'delivery_delayed') && FILTERED.includes(category)

function pauseOf(emails: readonly RecentEmail[]): Braking['pause'] {
  const of = emails.length
  const number = (event: string) => emails.filter(({ lastEvent }) => lastEvent === event).length
  const seen = { bounces: number('bounced'), complaints: number('complained') }
  for (const reason of ['complaints', 'bounces'] as const) {
    const count = seen[reason]
    if (count >= BRAKES[reason].least && count > of * BRAKES[reason].share)
      return { reason, figures: { count, of } }
  }
  return null
}

/** Explains in a sentence why the part of a broadcast for a provider is held. */
export const holdSentence = (provider: string, { count, of }: PauseFigures): string =>
  `${provider} refused ${count} of the last ${of} emails as spam or because of your reputation. Only its recipients wait.`

/**
 * Warns of complaints about a broadcast before they pause it, in a sentence. Null: there are few.
 * @param counts its emails by last event
 */
export function complaintWarning(counts: BroadcastCounts): string | null {
  const complained = counts.complained ?? 0
  const delivered = RECEIVED.reduce((sum, event) => sum + (counts[event] ?? 0), 0)
  if (complained < WARNED.least || complained <= delivered * WARNED.share) return null
  const share = `${Number(((100 * complained) / delivered).toFixed(2))}%`
  const numbers = `${complained.toLocaleString('en')} of ${delivered.toLocaleString('en')}`
  return `${numbers} delivered emails were reported as spam (${share}). Mailbox providers ask for less than ${100 * WARNED.share}%. Above ${100 * BRAKES.complaints.share}% of the last ${BRAKE_WINDOW.toLocaleString('en')}, Posthaste pauses the broadcast.`
}
