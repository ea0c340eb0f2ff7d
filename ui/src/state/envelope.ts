import { withUnicodeDomains } from '../../../appliance/mail/idn.ts'
import type { LogSummary } from '../../../appliance/http/schemas/logs.ts'

/** Who a message of SMTP was from and to: `shop@example.com → ada@example.net +2`. */
export function envelopeWords({
  mail_from: from,
  rcpt_to: [first],
  recipients,
}: NonNullable<LogSummary['envelope']>): string {
  const others = recipients > 1 ? ` +${recipients - 1}` : ''
  return withUnicodeDomains(`${from || '<>'} → ${first ?? 'nobody'}${others}`)
}

/** The email whose bounces go to a return path, `bounce+<32 hex>@send.example.com`; null where it is another address. */
export function emailOfReturnPath(address: string): string | null {
  const hex = /^bounce\+([0-9a-f]{32})@/i.exec(address)?.[1]?.toLowerCase()
  return hex?.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-') ?? null
}
