import type { LogSummary } from '../../../appliance/api/logs.ts'

/** Formats an SMTP envelope: `shop@example.com → ada@example.net +2`. */
export function formatEnvelope({
  mail_from: from,
  rcpt_to: [first],
  recipients,
}: NonNullable<LogSummary['envelope']>): string {
  const others = recipients > 1 ? ` +${recipients - 1}` : ''
  return `${from || '<>'} → ${first ?? 'no recipient'}${others}`
}
