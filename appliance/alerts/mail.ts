/** Composes the email about alerts to the owners of a team. Pure. */
import type { Notice } from '../intake/intake.ts'
import { type Alert, ALERT_FIXES, alertTitle } from '../mail/alert.ts'
import type { PendingAlertEmail } from '../storage/storage.ts'

const counted = (count: number, what: string): string =>
  `${count} ${count === 1 ? 'alert' : 'alerts'} ${what}`

function subjectOf({ opened, closed }: Pick<PendingAlertEmail, 'opened' | 'closed'>): string {
  const [first] = opened
  if (first && opened.length + closed.length === 1) return `Alert: ${alertTitle(first)}`
  const [last] = closed
  if (last && opened.length + closed.length === 1) return `Alert closed: ${alertTitle(last)}`
  const parts = [
    ...(opened.length > 0 ? [counted(opened.length, 'opened')] : []),
    ...(closed.length > 0 ? [counted(closed.length, 'closed')] : []),
  ]
  return parts.join(', ')
}

const openedLine = (alert: Alert): string => `${alertTitle(alert)}. ${alert.note} ${ALERT_FIXES[alert.kind]}`

const closedLine = (alert: Alert): string => `Closed: ${alertTitle(alert)}. It is back to normal.`

/**
 * Composes the email.
 * @param to the address of an owner
 * @param team name of the team
 * @param url URL of the alerts page; null if unknown
 */
export function composeAlertNotice(
  mailing: PendingAlertEmail,
  { to, team, url }: { to: string; team: string; url: string | null },
): Notice {
  const { opened, closed } = mailing
  const ids = [...opened, ...closed].map(({ id, closedAt }) => `${id}${closedAt === null ? '' : '+'}`)
  return {
    kind: 'alert',
    to,
    subject: subjectOf(mailing),
    paragraphs: [`Team ${team}:`, ...opened.map(openedLine), ...closed.map(closedLine)],
    action: url === null ? null : { label: 'Show alerts', url },
    after: [
      'You get this email because you are an owner of the team. At most one such email is sent in an hour.',
      'To choose what you are notified about, open Settings > Alerts.',
    ],
    // The server may crash before it records the email as sent.
    once: `alerts ${to} ${ids[0] ?? ''} ${ids.at(-1) ?? ''} ${ids.length}`,
  }
}
