/** How an email to one or more recipients is shown in one glance. Pure. */
import type { Timeline } from '../../../appliance/api/timeline.ts'
import type { RecipientCounts, RecipientStatus } from '../../../appliance/api/emails.ts'

/** What is known of the recipients of an email. */
export interface Standing {
  recipients: RecipientCounts
  opened: boolean
  clicked: boolean
}

/** A status with how many recipients have it. */
export interface Share {
  status: RecipientStatus
  /** `4/6 delivered`, or the status alone where all recipients have it. */
  words: string
  /** The same without the status; empty where all have it. */
  fraction: string
}

/** The statuses of an email's recipients, failures first, as the server orders them. */
export function sharesOf({ recipients }: Pick<Standing, 'recipients'>): Share[] {
  const counts = Object.entries(recipients) as [RecipientStatus, number][]
  const all = counts.reduce((sum, [, count]) => sum + count, 0)
  return counts.map(([status, count]) => {
    const fraction = count === all ? '' : `${count}/${all}`
    return { status, fraction, words: fraction === '' ? status : `${fraction} ${status}` }
  })
}

/** What people did, in the status words; a click tells of an open, too. */
export const marksOf = ({ opened, clicked }: Standing): ('opened' | 'clicked')[] =>
  clicked ? ['clicked'] : opened ? ['opened'] : []

/** All of it as a sentence: `4 delivered, 1 bounced; opened`. */
export function describeStanding(standing: Standing): string {
  const counts = Object.entries(standing.recipients)
  const words =
    counts.length === 1 && counts[0]![1] === 1
      ? [counts[0]![0]]
      : counts.map(([status, count]) => `${count} ${status}`)
  return [words.join(', '), ...marksOf(standing)].join('; ')
}

/** What a timeline tells of an email's recipients. Opens and clicks by bots do not count. */
export function standingIn({ recipients, events }: Pick<Timeline, 'recipients' | 'events'>): Standing {
  const seen = new Set(events.filter(({ visit }) => visit?.robot !== true).map(({ type }) => type))
  return { recipients, opened: seen.has('email.opened'), clicked: seen.has('email.clicked') }
}
