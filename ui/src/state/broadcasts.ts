/** Labels and formats broadcasts and their results. Pure. */
import CalendarClock from '@lucide/svelte/icons/calendar-clock'
import CircleDashed from '@lucide/svelte/icons/circle-dashed'
import Pause from '@lucide/svelte/icons/pause'
import Send from '@lucide/svelte/icons/send'
import { BROADCAST_STATUSES } from '../../../appliance/mail/broadcast.ts'
import type { BroadcastSummary } from '../api/broadcasts.ts'
import { STATUS_BADGES, type StatusBadge } from './status.ts'

type Standing = Pick<BroadcastSummary, 'status' | 'paused_at'>

/** Returns the label of a broadcast's status. */
export function getBroadcastBadge({ status, paused_at: paused }: Standing): StatusBadge {
  if (paused !== null && (status === 'queued' || status === 'scheduled'))
    return { word: 'paused', tone: 'amber', icon: Pause }
  if (status === 'draft') return { word: 'draft', tone: 'slate', icon: CircleDashed }
  if (status === 'scheduled') return { word: 'scheduled', tone: 'blue', icon: CalendarClock }
  if (status === 'queued') return { word: 'sending', tone: 'blue', icon: Send }
  return status === 'sent' ? { word: 'sent', tone: 'slate', icon: Send } : STATUS_BADGES[status]
}

const WORDS: Record<(typeof BROADCAST_STATUSES)[number], string> = {
  draft: 'Draft',
  scheduled: 'Scheduled',
  queued: 'Sending',
  sent: 'Sent',
  canceled: 'Canceled',
  failed: 'Failed',
}

export const BROADCAST_CHOICES = BROADCAST_STATUSES.map((status) => [status, WORDS[status]] as const)

/** Whether the broadcast can still be edited. */
export const isDraft = ({ status }: Pick<BroadcastSummary, 'status'>): boolean =>
  status === 'draft' || status === 'scheduled'

/** Minimum number of recipients for which people must type the number to confirm sending. */
export const LARGE_BROADCAST = 1000
/** How far "Send now" schedules a broadcast ahead, so that it can be undone. */
export const SEND_NOW_DELAY = 'in 30 seconds'
/** A start within this time shows a countdown, in milliseconds. */
export const COUNTDOWN_MS = 35_000

const OUT: Record<string, string> = {
  unsubscribed: 'unsubscribed from everything',
  topic: 'not subscribed to the topic',
  suppressed: 'on the suppression list',
  excluded: 'in an excluded segment',
  deleted: 'deleted meanwhile',
  canceled: 'left out because it was canceled',
}

/** Lists the reasons for which contacts are excluded, such as `12 unsubscribed from everything`. */
export const describeExclusions = (numbers: Readonly<Record<string, number>>): string[] =>
  Object.entries(numbers).flatMap(([reason, n]) =>
    n > 0 ? [`${n.toLocaleString('en')} ${OUT[reason] ?? reason}`] : [],
  )

/** The initial content of a new broadcast. */
export const BLANK_BROADCAST = `<!doctype html>
<html lang="en">
  <body>
    <p>Hi {{{contact.first_name|there}}},</p>
    <p></p>
    <p><a href="{{{UNSUBSCRIBE_URL}}}">Unsubscribe</a></p>
  </body>
</html>
`
