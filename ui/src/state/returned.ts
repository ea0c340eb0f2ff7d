/** Texts about returned messages: their content and effect. */
import type { ReturnedMessage } from '../../../appliance/api/received.ts'

type Report = NonNullable<ReturnedMessage['report']>

const KINDS: Partial<Record<Report['kind'], string>> = {
  bounce: 'Bounce',
  delayed: 'Delay notice',
  success: 'Delivery confirmation',
  complaint: 'Spam complaint',
  'not-spam': 'Not-spam report',
  'auto-reply': 'Automatic reply',
  challenge: 'Challenge to confirm the sender',
  'read-receipt': 'Read receipt',
  'dmarc-aggregate': 'DMARC report',
  'dmarc-failure': 'DMARC failure report',
  'tls-report': 'TLS report',
  reply: 'Reply',
  unreadable: 'Unreadable message',
}

const EFFECTS: Record<Report['entries'][number]['effect'], string> = {
  bounced: 'delivery marked as bounced',
  suppressed: 'delivery marked as bounced and address suppressed',
  complained: 'delivery marked as complained and address suppressed',
  noted: 'no change, because it isn’t final',
  unchanged: 'no change, because the delivery is queued, or bounced or was complained about before',
  stranger: 'no change, because the address isn’t a recipient of this email',
  ambiguous: 'no change, because the email has several recipients',
}

/**
 * Describes a returned message in one line. There is no report if the message isn't parsed yet or its return path has
 * no code.
 */
export function describeReport(report: ReturnedMessage['report']): string {
  if (!report) return 'Not read: no changes'
  const from = report.reporting_mta ? ` from ${report.reporting_mta}` : ''
  const kind = `${KINDS[report.kind] ?? 'Other message'}${from}`
  if (report.entries.length === 0) return `${kind}: no changes`
  const entries = report.entries.map(({ recipient, status, diagnostic, effect }) => {
    const said = [status, diagnostic].filter(Boolean).join(' ')
    return `${recipient ?? 'unnamed recipient'}${said ? ` (${said})` : ''}: ${EFFECTS[effect]}`
  })
  return `${kind}. ${entries.join('. ')}`
}
