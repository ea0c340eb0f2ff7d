/** Summarizes the recipients of an email. Pure. */
import type { Timeline } from '../../../appliance/api/timeline.ts'
import type { RecipientCounts, RecipientStatus } from '../../../appliance/api/emails.ts'

/** Statuses of the recipients of an email. */
export interface RecipientStatuses {
  recipients: RecipientCounts
  opened: boolean
  clicked: boolean
}

/** A status and the number of recipients that have it. */
export interface StatusShare {
  status: RecipientStatus
  /** `4/6 delivered`, or only the status if all recipients have the same one. */
  words: string
  /** `words` without the status: `4/6`. Empty if all recipients have the same status. */
  fraction: string
}

/** Returns the statuses of an email's recipients, failures first, in the server's order. */
export function computeStatusShares({ recipients }: Pick<RecipientStatuses, 'recipients'>): StatusShare[] {
  const counts = Object.entries(recipients) as [RecipientStatus, number][]
  const all = counts.reduce((sum, [, count]) => sum + count, 0)
  return counts.map(([status, count]) => {
    const fraction = count === all ? '' : `${count}/${all}`
    return { status, fraction, words: fraction === '' ? status : `${fraction} ${status}` }
  })
}

/** Returns whether the email was opened and clicked. A click implies an open. */
export const getOpenOrClick = ({ opened, clicked }: RecipientStatuses): ('opened' | 'clicked')[] =>
  clicked ? ['clicked'] : opened ? ['opened'] : []

/** Describes all statuses: `4 delivered, 1 bounced; opened`. */
export function describeStatuses(standing: RecipientStatuses): string {
  const counts = Object.entries(standing.recipients)
  const words =
    counts.length === 1 && counts[0]![1] === 1
      ? [counts[0]![0]]
      : counts.map(([status, count]) => `${count} ${status}`)
  return [words.join(', '), ...getOpenOrClick(standing)].join('; ')
}

/** Returns the recipients of a timeline and whether the email was opened or clicked, ignoring bots. */
export function getRecipientStatuses({
  recipients,
  events,
}: Pick<Timeline, 'recipients' | 'events'>): RecipientStatuses {
  const seen = new Set(events.filter(({ visit }) => visit?.robot !== true).map(({ type }) => type))
  return { recipients, opened: seen.has('email.opened'), clicked: seen.has('email.clicked') }
}
