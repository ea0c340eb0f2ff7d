/** Delivery reports with a status part (RFC 3464), in each server's format: every style with every cause. */
import { PROVIDER_STYLES } from './provider-styles.ts'
import {
  CAUSES,
  CAUSE_LIST,
  mail,
  MESSAGE_ID,
  multipart,
  ORIGINAL,
  type Cause,
  type Sample,
} from './sample.ts'
import { SERVER_STYLES } from './server-styles.ts'
import { TO, type Style } from './style.ts'

const STYLES = [...SERVER_STYLES, ...PROVIDER_STYLES]

/** Builds a report of a style about a cause. */
function report(style: Style, cause: Cause): Sample {
  const parts: [string, string][] = [
    ['Content-Type: text/plain; charset=utf-8', style.notice(cause, TO)],
    [`Content-Type: ${style.statusType ?? 'message/delivery-status'}`, style.status(cause, TO)],
  ]
  const returned = style.returned === undefined ? 'message/rfc822' : style.returned
  if (returned !== null) parts.push([`Content-Type: ${returned}`, `${ORIGINAL}\n`])
  const [type, body] = multipart('multipart/report; report-type=delivery-status', parts)
  const header = [
    `From: ${style.from}`,
    'To: x@send.sender.example',
    `Subject: ${style.subject}`,
    ...(style.header ?? []),
    'MIME-Version: 1.0',
    type,
  ]
  return {
    origin: style.origin,
    name: cause.name,
    message: mail(header, body),
    kind: 'bounce',
    recipients: [TO],
    category: cause.category,
    invalid: cause.invalid,
    messageId: returned === null ? null : MESSAGE_ID,
  }
}

/** Builds the same report for a delay (RFC 3464 §2.3.3), or for success. */
function turned(sample: Sample, action: string, kind: 'delayed' | 'success'): Sample {
  const status = kind === 'delayed' ? '4.4.7' : '2.0.0'
  const message = sample.message
    .replace(/Action: fail\w*/, `Action: ${action}`)
    .replace(/\r\nStatus: .*/, `\r\nStatus: ${status}`)
    .replace(/\r\nDiagnostic-[Cc]ode: .*(?:\r\n[ \t].*)*/, '')
  const { origin, recipients, messageId } = sample
  const base: Sample = { origin, name: action, message, kind, recipients: recipients!, invalid: false }
  return messageId === undefined ? base : { ...base, messageId }
}

export const STRUCTURED: readonly Sample[] = STYLES.flatMap((style) =>
  CAUSE_LIST.map((cause) => report(style, cause)),
)

export const NOT_FINAL: readonly Sample[] = STYLES.flatMap((style) => {
  const sample = report(style, CAUSES.unknown)
  return [
    turned(sample, 'delayed', 'delayed'),
    turned(sample, 'relayed', 'success'),
    turned(sample, 'delivered', 'success'),
  ]
})
