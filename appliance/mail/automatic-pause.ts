/**
 * Decides, from the results of its last emails, whether a broadcast or its part for one provider is paused
 * automatically. Pure.
 */
import type { BounceCategory } from './bounce.ts'
import type { BroadcastCounts, PauseFigures } from './broadcast.ts'

/** An email of a broadcast that was attempted recently. */
export interface RecentEmail {
  /** ID of the mailbox provider; empty if it isn't known yet. */
  provider: string
  lastEvent: string
  /** The category of the email's failure or delay; null if it neither failed nor was delayed. */
  category: BounceCategory | null
  /** Time of the first attempt (Unix milliseconds). */
  sentAt: number
}

/** The hold on the part of a broadcast for one provider. */
export interface ProviderHold {
  /** When the part was held; null after it was resumed. */
  heldAt: number | null
  figures: PauseFigures
  /** When the part was last resumed. Only emails that were first attempted after that count for decisions. */
  resumedAt: number | null
}
export type ProviderHolds = Readonly<Record<string, ProviderHold>>

/** The decision: which parts to hold, and whether to pause the whole broadcast. */
export interface PauseDecision {
  /** Providers whose part must be held. */
  held: Record<string, PauseFigures>
  /** Why the whole broadcast must pause; null if it continues. */
  pause: { reason: keyof typeof BRAKES; figures: PauseFigures } | null
}

/** Number of recent emails that the decision is based on. */
export const PAUSE_WINDOW = 1000
/** Shares above which a broadcast is paused, and minimum counts. */
const BRAKES = {
  bounces: { share: 0.05, least: 10 },
  complaints: { share: 0.003, least: 4 },
} as const
/** Share of complaints above which there is a warning, and the minimum count. */
const WARNED = { share: 0.001, least: 2 } as const
/** The last event of emails that were delivered. */
const RECEIVED = ['delivered', 'opened', 'clicked', 'complained']
/**
 * Share of a provider's emails refused as spam or for reputation above which its part is held, and the minimum count.
 */
const REFUSED = { share: 0.2, least: 10 } as const
/** Categories of a filter's replies: about the content, or about the reputation of an IP or a domain. */
const FILTERED: readonly (BounceCategory | null)[] = ['content', 'reputation']

/** Lists the providers whose part is held. */
export const listHeldProviders = (holds: ProviderHolds): string[] =>
  Object.entries(holds).flatMap(([provider, { heldAt }]) => (heldAt === null ? [] : [provider]))

/**
 * Decides whether a broadcast must pause. Refused emails count for the provider's own part first: once that part is
 * held, its emails don't count for the whole broadcast.
 *
 * @param holds the providers that were held before
 */
export function decidePause(recent: readonly RecentEmail[], holds: ProviderHolds): PauseDecision {
  const held: PauseDecision['held'] = {}
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

const isRefused = (lastEvent: string, category: BounceCategory | null): boolean =>
  (lastEvent === 'bounced' || lastEvent === 'delivery_delayed') && FILTERED.includes(category)

function pauseOf(emails: readonly RecentEmail[]): PauseDecision['pause'] {
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
export const explainHold = (provider: string, { count, of }: PauseFigures): string =>
  `${provider} refused ${count} of the last ${of} emails as spam or because of your reputation. Only its recipients wait.`

/**
 * Returns a warning, as a sentence, about complaints before they pause a broadcast; null if there are few.
 * @param counts number of the broadcast's emails by last event
 */
export function getComplaintWarning(counts: BroadcastCounts): string | null {
  const complained = counts.complained ?? 0
  const delivered = RECEIVED.reduce((sum, event) => sum + (counts[event] ?? 0), 0)
  if (complained < WARNED.least || complained <= delivered * WARNED.share) return null
  const share = `${Number(((100 * complained) / delivered).toFixed(2))}%`
  const numbers = `${complained.toLocaleString('en')} of ${delivered.toLocaleString('en')}`
  return `${numbers} delivered emails were reported as spam (${share}). Mailbox providers ask for less than ${100 * WARNED.share}%. Above ${100 * BRAKES.complaints.share}% of the last ${PAUSE_WINDOW.toLocaleString('en')}, Posthaste pauses the broadcast.`
}
