/** Labels and formats broadcasts and their results. Pure. */
import CalendarClock from '@lucide/svelte/icons/calendar-clock'
import CircleDashed from '@lucide/svelte/icons/circle-dashed'
import Pause from '@lucide/svelte/icons/pause'
import Send from '@lucide/svelte/icons/send'
import { BROADCAST_STATUSES } from '../../../appliance/mail/broadcast.ts'
import type { BroadcastSummary } from '../api/broadcasts.ts'
import { STATUS, type Look } from './status.ts'

type Standing = Pick<BroadcastSummary, 'status' | 'paused_at'>

/** Returns the label of a broadcast's status. */
export function ofBroadcast({ status, paused_at: paused }: Standing): Look {
  if (paused !== null && (status === 'queued' || status === 'scheduled'))
    return { word: 'paused', tone: 'amber', icon: Pause }
  if (status === 'draft') return { word: 'draft', tone: 'slate', icon: CircleDashed }
  if (status === 'scheduled') return { word: 'scheduled', tone: 'blue', icon: CalendarClock }
  if (status === 'queued') return { word: 'sending', tone: 'blue', icon: Send }
  return status === 'sent' ? { word: 'sent', tone: 'slate', icon: Send } : STATUS[status]
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

/** From this number of recipients on, people must type the number to send. */
export const MANY = 1000
/** The scheduled time of "Send now", so that it can be undone. */
export const UNDO = 'in 30 seconds'
/** Milliseconds. An earlier start shows a countdown. */
export const NEAR = 35_000

const OUT: Record<string, string> = {
  unsubscribed: 'unsubscribed from everything',
  topic: 'not subscribed to the topic',
  suppressed: 'on the suppression list',
  excluded: 'in an excluded segment',
  deleted: 'deleted meanwhile',
  canceled: 'left out because it was canceled',
}

/** Lists why contacts are excluded, such as `12 unsubscribed from everything`. */
export const leftOut = (numbers: Readonly<Record<string, number>>): string[] =>
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
