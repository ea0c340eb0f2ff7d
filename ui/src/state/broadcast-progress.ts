/** How far a broadcast is, in numbers. */
import type { BroadcastSummary } from '../../../appliance/api/broadcasts.ts'

/** What became of the emails of a broadcast. */
export interface Progress {
  recipients: number
  /** Handed over, or given up. */
  tried: number
  delivered: number
  opened: number
  clicked: number
  bounced: number
}

/** Last events of emails that wait to be tried for the first time. */
const WAITING = ['queued', 'scheduled']
/** Last events of emails that somebody received. */
const RECEIVED = ['delivered', 'opened', 'clicked', 'complained']

/** Numbers of a broadcast by the last events of its emails; those to suppressed addresses are no emails that leave. */
export function progressOf({
  recipients,
  counts,
}: Pick<BroadcastSummary, 'recipients' | 'counts'>): Progress {
  const sum = (events: readonly string[]) => events.reduce((all, event) => all + (counts[event] ?? 0), 0)
  const suppressed = sum(['suppressed'])
  const emails = sum(Object.keys(counts)) - suppressed
  return {
    recipients: Math.max(recipients - suppressed, emails),
    tried: emails - sum(WAITING),
    delivered: sum(RECEIVED),
    opened: sum(['opened', 'clicked']),
    clicked: sum(['clicked']),
    bounced: sum(['bounced']),
  }
}

/** `12%` of a whole, with a decimal below ten; `–` of nothing. */
export function percent(part: number, whole: number): string {
  if (whole === 0) return '–'
  const share = (100 * part) / whole
  return `${share > 0 && share < 10 ? Number(share.toFixed(1)) : Math.round(share)}%`
}
